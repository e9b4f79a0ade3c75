"""``AgentSessionContract``: what the OpenAI Agents SDK relies on in a ``Session``."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import pytest

MakeSession = Callable[..., Any]
"""Returns a session: ``make(session_id, limit=None)``, all of one store."""

ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "Where does Ines live?"},
    {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"who": "Ines"}'},
    {"type": "function_call_output", "call_id": "1", "output": "Oslo"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "In Oslo.", "extra": None}]},
]


class AgentSessionContract(ABC):
    """The guarantees of a session.

    Implement the fixture ``make``.
    """

    @pytest.fixture
    @abstractmethod
    def make(self) -> MakeSession:
        """Return a function that returns sessions of one store."""

    def test_items_come_back_in_order(self, make: MakeSession) -> None:
        async def work() -> None:
            session = make("a")
            assert session.session_id == "a"
            assert await session.get_items() == []
            await session.add_items(ITEMS[:2])
            await session.add_items([])
            await session.add_items(ITEMS[2:])
            assert await session.get_items() == ITEMS
            assert await make("a").get_items() == ITEMS

        asyncio.run(work())

    @pytest.mark.parametrize(("limit", "count"), [(0, 0), (1, 1), (3, 3), (4, 4), (99, 4)])
    def test_the_latest_items_are_returned(self, make: MakeSession, limit: int, count: int) -> None:
        async def work() -> None:
            await make("a").add_items(ITEMS)
            latest = ITEMS[len(ITEMS) - count :]
            assert await make("a").get_items(limit=limit) == latest
            assert await make("a", limit=limit).get_items() == latest
            assert await make("a", limit=1).get_items(limit=limit) == latest

        asyncio.run(work())

    def test_the_latest_item_is_popped(self, make: MakeSession) -> None:
        async def work() -> None:
            session = make("a")
            assert await session.pop_item() is None
            await session.add_items(ITEMS)
            assert [await session.pop_item() for _ in range(2)] == [ITEMS[3], ITEMS[2]]
            assert await session.get_items() == ITEMS[:2]
            await session.add_items(ITEMS[3:])
            assert await session.get_items() == [*ITEMS[:2], ITEMS[3]]
            assert [await session.pop_item() for _ in range(4)][-2:] == [ITEMS[0], None]

        asyncio.run(work())

    def test_a_session_is_cleared_and_goes_on(self, make: MakeSession) -> None:
        async def work() -> None:
            session = make("a")
            await session.clear_session()
            await session.add_items(ITEMS)
            await session.clear_session()
            assert await session.get_items() == []
            await session.add_items(ITEMS[:1])
            assert await session.get_items() == ITEMS[:1]

        asyncio.run(work())

    def test_sessions_are_kept_apart(self, make: MakeSession) -> None:
        names = ("a", "a/b", "a b", "ä'; DROP TABLE items; --", "x" * 300)

        async def work() -> None:
            for name in names:
                await make(name).add_items([{"role": "user", "content": name}])
            await make("a").pop_item()
            for name in names[1:]:
                assert await make(name).get_items() == [{"role": "user", "content": name}]

        asyncio.run(work())

    @pytest.mark.parametrize(
        "content",
        ["", " ", "日本 \u2028 🧠", "same", "O'Reilly; \"--", [], [{"type": "image"}], None],
    )
    def test_any_item_is_kept(self, make: MakeSession, content: Any) -> None:
        async def work() -> None:
            items = [{"role": "user", "content": content}, {"role": "user", "content": content}]
            await make("a").add_items(items)
            assert await make("a").get_items() == items

        asyncio.run(work())

    def test_items_that_are_added_at_once_are_all_kept(self, make: MakeSession) -> None:
        async def work() -> None:
            session = make("a")
            added = [{"role": "user", "content": f"message {n}"} for n in range(8)]
            await asyncio.gather(*(session.add_items([item]) for item in added))
            found = await session.get_items()
            assert sorted(item["content"] for item in found) == [item["content"] for item in added]

        asyncio.run(work())
