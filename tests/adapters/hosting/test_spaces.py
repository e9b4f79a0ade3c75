"""Spaces are opened on demand, shared, and closed when idle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from mnemic.adapters.cluster.settings import ClusterSettings
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import (
    Closed,
    FieldRefused,
    MnemicError,
    SpaceNotFound,
    VersionConflict,
    ViewReadOnly,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def hosting(store: Any, *names: str, **options: Any) -> AsyncGenerator[Spaces]:
    """Open the spaces of a store, for a ``with`` block, and create the named ones."""
    async with Spaces(store, embedder=HashEmbedder(), **options) as spaces:
        for name in names:
            assert await spaces.make(name)
        yield spaces


async def test_a_space_is_made_once() -> None:
    async with hosting(MemoryStore()) as spaces:
        assert [await spaces.make("notes"), await spaces.make("notes")] == [True, False]
        assert await spaces.names() == ("notes",)


async def test_of_concurrent_makers_of_a_space_one_is_its_creator() -> None:
    async with hosting(MemoryStore()) as spaces:
        answer = await asyncio.gather(*(spaces.make("notes") for _ in range(4)))
    assert sorted(answer) == [False, False, False, True]


@pytest.mark.parametrize("name", ["", " ", "x" * 1000, "\ud800"])
async def test_an_invalid_space_name_is_refused(name: str) -> None:
    async with hosting(MemoryStore()) as spaces:
        with pytest.raises(FieldRefused):
            await spaces.make(name)


@pytest.mark.parametrize("name", ["ghost", "..", "../notes", "notes ", ""])
async def test_holding_a_missing_space_does_not_create_it(name: str) -> None:
    async with hosting(MemoryStore(), "notes") as spaces:
        with pytest.raises(SpaceNotFound):
            await spaces.hold(name)
        assert await spaces.names() == ("notes",)


async def test_all_callers_share_one_opening() -> None:
    async with hosting(MemoryStore(), "notes") as spaces:
        found: list[object] = []

        async def look() -> None:
            with await spaces.hold("notes") as hold:
                found.append(hold.memory)

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(look)
        assert len(found) == 8
        assert len({id(each) for each in found}) == 1


async def test_each_caller_has_its_own_session_handle() -> None:
    async with hosting(MemoryStore(), "notes") as spaces:
        async with (
            spaces.session_handle("notes", actor="ines") as ines,
            spaces.session_handle("notes", actor="tomasz") as tomasz,
        ):
            await ines.learn("Ines moved the demo.")
            await tomasz.learn("Tomasz came late.")
            log = await ines.log(after=1)
        assert [entry.actor for entry in log] == ["ines", "tomasz"]


async def test_a_session_handle_may_be_read_only() -> None:
    async with (
        hosting(MemoryStore(), "notes") as spaces,
        spaces.session_handle("notes", actor="ines", read_only=True) as memory,
    ):
        with pytest.raises(ViewReadOnly):
            await memory.learn("Ines moved the demo.")
        assert (await memory.status()).version == 1


async def test_a_session_handle_may_require_a_version() -> None:
    async with hosting(MemoryStore(), "notes") as spaces:
        async with spaces.session_handle("notes", actor="ines", version=1) as memory:
            await memory.learn("Ines moved the demo.")
        async with spaces.session_handle("notes", actor="ines", version=1) as memory:
            with pytest.raises(VersionConflict):
                await memory.learn("And back.")


async def test_the_least_recently_used_space_is_closed() -> None:
    async with hosting(MemoryStore(), "a", "b", open_max=2) as spaces:
        with await spaces.hold("a") as hold:
            first = hold.memory
        with await spaces.hold("b") as hold:
            second = hold.memory
        await spaces.make("c")
        with pytest.raises(Closed):
            first.status()
        assert second.status().space == "b"
        with await spaces.hold("a") as hold:
            assert hold.memory.status().space == "a"


async def test_a_held_space_stays_open() -> None:
    async with hosting(MemoryStore(), "a", "b", open_max=1) as spaces:
        with await spaces.hold("a") as hold:
            with await spaces.hold("b"):
                pass
            await spaces.make("c")
            assert hold.memory.status().space == "a"


async def test_writes_survive_reopening(tmp_path: Path) -> None:
    async with hosting(tmp_path / "store.db", "a", "b", open_max=1) as spaces:
        async with spaces.session_handle("a", actor="ines") as memory:
            await memory.learn("Ines moved the demo.")
        async with spaces.session_handle("b", actor="ines"):
            pass
        async with spaces.session_handle("a", actor="ines") as memory:
            assert [each.content for each in (await memory.blocks()).items] == [
                "Ines moved the demo."
            ]


async def test_an_unknown_name_is_not_kept() -> None:
    async with hosting(MemoryStore(), open_max=1) as spaces:
        for number in range(20):
            with pytest.raises(SpaceNotFound):
                await spaces.hold(f"ghost {number}")
        assert spaces.open_count == 0


async def test_closing_closes_every_session_handle() -> None:
    async with hosting(MemoryStore(), "notes") as spaces:
        hold = await spaces.hold("notes")
        await spaces.close()
        await spaces.close()
        with pytest.raises(Closed):
            hold.memory.status()
        with pytest.raises(Closed):
            await spaces.hold("notes")
        hold.release()


async def test_a_store_is_closed_if_joining_a_cluster_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = SQLiteStore(tmp_path / "agent.db")
    monkeypatch.setattr("mnemic.adapters.hosting.spaces.open_given", lambda *_: made)
    monkeypatch.setattr(Spaces, "_join", lambda *_: anyio.sleep_forever())
    settings = ClusterSettings(id="one", url="http://one.example")
    with anyio.move_on_after(0.05):
        await Spaces(tmp_path / "agent.db", cluster=settings).__aenter__()
    with pytest.raises(MnemicError):
        made.spaces()
