"""Records: what every integration keeps its values in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.openai_agents import MnemicSession
from mnemic.adapters.integrations.records import Put, Records


@pytest.fixture
def records(memory: SyncMemory) -> Records:
    return Records(memory, root="root", actor="actor")


LONG = " a b\n" * 5000
"""Longer than the metadata of a block may be."""


@pytest.mark.parametrize(
    "value",
    [
        LONG,
        {"content": LONG, "role": "user"},
        {"parts": [{"text": "short"}, {"text": LONG, "more": {"at": None}}], "last": 1.5},
        [LONG],
        {"": LONG},
    ],
)
def test_a_text_is_stored_once_wherever_the_value_has_it(records: Records, value: Any) -> None:
    records.write({("a",): Put(value=value, text=LONG)})
    found = records.get(("a",))
    assert found is not None
    assert found.value == value
    assert found.block.content == LONG.strip()
    assert len(str(found.block.metadata)) < 300


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"text": "twice", "again": "twice"}, "twice"),
        ({"text": "a", 1: "b"}, "b"),
        ({"text": "e\u0301"}, "e\u0301"),
        ({"text": " "}, " "),
        ({"text": "another"}, "text"),
        (None, "text"),
        (("text", 2), "text"),
    ],
)
def test_any_value_comes_back_with_any_text(records: Records, value: Any, text: str) -> None:
    records.write({("a",): Put(value=value, text=text)})
    found = records.get(("a",))
    assert found is not None
    as_json = {"text": "a", "1": "b"} if text == "b" else value
    assert found.value == (list(value) if isinstance(value, tuple) else as_json)


def test_a_last_part_that_is_empty_is_a_key_of_its_own(records: Records) -> None:
    records.write({("a", name): Put(value=name) for name in ("b", "%")})
    assert records.get(("a", "")) is None
    assert records.revisions(("a", "")) == []
    records.write({("a", ""): None})
    records.write({("a", ""): Put(value="empty")})
    assert {each.path: each.value for each in records.below("a")} == {
        ("a", "b"): "b",
        ("a", "%"): "%",
        ("a", ""): "empty",
    }
    records.write({("a", ""): None})
    assert [each.path for each in records.below("a")] == [("a", "b"), ("a", "%")]


def test_a_long_message_of_a_session_is_kept(memory: SyncMemory) -> None:
    item = {"role": "assistant", "content": [{"type": "output_text", "text": LONG}]}
    session = MnemicSession("a", memory)
    asyncio.run(session.add_items([item]))
    assert asyncio.run(session.get_items()) == [item]
