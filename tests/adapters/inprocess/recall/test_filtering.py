"""where=: filters of a recall, and listings of blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import MnemicError

Open: TypeAlias = Callable[..., SyncMemory]

LESSONS: Mapping[str, Mapping[str, Any]] = {
    "rota": {
        "tags": ["ops", "team/infra"],
        "author": "Ann",
        "thread": "standup",
        "created_at": "2025-11-01",
        "metadata": {"page": 1, "by": {"x": [1, 2]}},
    },
    "deploy": {
        "tags": ["ops"],
        "category": "decision",
        "author": "Bob",
        "thread": "standup",
        "created_at": "2025-11-02T12:00:00+02:00",
        "metadata": {"page": 2, "open": True},
    },
    "party": {"tags": ["team/social"], "category": "message", "created_at": "2025-12-01"},
    "myth": {"created_at": "unknown", "author": "Ann"},
}


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    size = len(LESSONS)
    said = {text: tuple(float(n == at) for n in range(size)) for at, text in enumerate(LESSONS)}
    memory = opened(embedder=ScriptedEmbedder({**said, "ask": (1.0,) * size}, size))
    for content, lesson in LESSONS.items():
        memory.learn(content, **lesson)
    memory.consolidate()
    return memory


FILTERS: list[tuple[dict[str, Any] | None, set[str]]] = [
    (None, {"rota", "deploy", "party", "myth"}),
    ({}, {"rota", "deploy", "party", "myth"}),
    ({"tags": "ops"}, {"rota", "deploy"}),
    ({"tags": ["ops", "team/infra"]}, {"rota"}),
    ({"tags": {"team/infra", "ops"}}, {"rota"}),
    ({"tags": "team/"}, {"rota", "party"}),
    ({"tags": "team"}, set()),
    ({"tags": ["nobody"]}, set()),
    ({"category": "decision"}, {"deploy"}),
    ({"category": ["decision", "message"]}, {"deploy", "party"}),
    ({"category": "nothing"}, set()),
    ({"author": "Ann"}, {"rota", "myth"}),
    ({"author": ("Ann", "Bob")}, {"rota", "deploy", "myth"}),
    ({"author": "ann"}, set()),
    ({"thread": "standup"}, {"rota", "deploy"}),
    ({"metadata": {"page": 2}}, {"deploy"}),
    ({"metadata": {"page": 2, "open": False}}, set()),
    ({"metadata": {"by": {"x": [1, 2]}}}, {"rota"}),
    ({"metadata": {"by": {"x": (1, 2)}}}, {"rota"}),
    ({"since": "2025-11-02T10:00:00Z"}, {"deploy", "party"}),
    ({"since": "2025-11-02T10:00:00.000001Z"}, {"party"}),
    ({"until": "2025-11-02T10:00:00Z"}, {"rota", "deploy"}),
    ({"until": datetime(2025, 11, 2, 9, 59, 59, tzinfo=UTC)}, {"rota"}),
    ({"since": "2025-11-02", "until": "2025-11-30"}, {"deploy"}),
    ({"tags": "ops", "author": "Bob", "thread": "standup"}, {"deploy"}),
    ({"tags": "ops", "category": "message"}, set()),
    ({"tags": None, "author": None, "since": None, "metadata": None}, set(LESSONS)),
]


def _id(value: object) -> str:
    """Return an id that is stable across processes, unlike the order of a set."""
    return json.dumps(
        value, default=lambda each: sorted(each) if isinstance(each, set) else str(each)
    )


@pytest.mark.parametrize(("where", "wanted"), FILTERS, ids=_id)
def test_only_blocks_that_meet_every_condition_are_recalled(
    memory: SyncMemory, where: dict[str, Any] | None, wanted: set[str]
) -> None:
    for query in ("ask", None):
        found = memory.recall(query, where=where, top_k=10)
        assert {block.content for block in found.blocks} == wanted
        assert found.dropped == ()
        assert memory.replay(str(found.decision_id)).outcome == "reproduced"
        view = memory.as_of(decision=found.decision_id)
        assert view.recall(query, where=where, top_k=10).digest == found.digest


def test_a_one_shot_filter_is_read_once(memory: SyncMemory) -> None:
    found = memory.recall("ask", where={"tags": iter(["ops", "team/infra"])}, command_id="once")
    assert [block.content for block in found.blocks] == ["rota"]
    assert memory.replay(str(found.decision_id)).outcome == "reproduced"


def test_a_filter_applies_to_neighbours_too(memory: SyncMemory) -> None:
    ids = {block.content: block.id for block in memory.blocks().items}
    memory.connect(ids["rota"], ids["party"])
    found = memory.recall("rota", where={"tags": "ops"}, record=False)
    assert ids["party"] not in found.block_ids


BAD: list[Any] = [
    {"colour": "red"},
    {"tag": "ops"},
    {1: 2, "a": 3},
    {"tags": 5},
    {"tags": [5]},
    {"category": 1.5},
    {"author": b"Ann"},
    {"metadata": "page"},
    {"metadata": {"page": {1, 2}}},
    {"metadata": {"page": float("nan")}},
    {"metadata": {1: 2, "a": 3}},
    {"since": "yesterday"},
    {"until": 7},
    "ops",
    [("tags", "ops", "x")],
    7,
]


@pytest.mark.parametrize("where", BAD, ids=str)
def test_an_invalid_filter_is_refused(memory: SyncMemory, where: Any) -> None:
    before = memory.status()
    assert refused(lambda: memory.recall("ask", where=where)) == "field-refused"
    assert memory.status() == before


# --- listings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, ["rota", "deploy", "party", "myth"]),
        ({"tag": "ops"}, ["rota", "deploy"]),
        ({"tag": "team/"}, ["rota", "party"]),
        ({"category": "message"}, ["party"]),
        ({"author": "Ann"}, ["rota", "myth"]),
        ({"thread": "standup"}, ["rota", "deploy"]),
        ({"status": "active"}, ["rota", "deploy", "party", "myth"]),
        ({"status": "inbox"}, []),
        ({"author": "Ann", "tag": "ops"}, ["rota"]),
    ],
)
def test_blocks_are_listed_in_the_order_of_learning(
    memory: SyncMemory, given: dict[str, Any], wanted: list[str]
) -> None:
    assert [block.content for block in memory.blocks(**given).items] == wanted


def test_a_listing_is_paged_by_version(memory: SyncMemory) -> None:
    first = memory.blocks(limit=3)
    assert [block.content for block in first.items] == ["rota", "deploy", "party"]
    assert first.next_after == first.items[-1].learned_version
    second = memory.blocks(limit=3, after=first.next_after)
    assert ([block.content for block in second.items], second.next_after) == (["myth"], None)
    assert memory.blocks(limit=4).next_after is None
    filtered = memory.blocks(author="Ann", limit=1)
    assert (
        memory.blocks(author="Ann", limit=1, after=filtered.next_after).items[0].content == "myth"
    )


@pytest.mark.parametrize("limit", [0, -1, 1001, True, 2.5, "all", None])
def test_a_listing_has_a_limit(memory: SyncMemory, limit: Any) -> None:
    assert refused(lambda: memory.blocks(limit=limit)) == "field-refused"
    assert refused(lambda: memory.history(limit=limit)) == "field-refused"
    assert refused(lambda: memory.log(limit=limit)) == "field-refused"


@pytest.mark.parametrize("after", [1.5, "x", True])
def test_a_listing_continues_after_a_version(memory: SyncMemory, after: Any) -> None:
    assert refused(lambda: memory.blocks(after=after)) == "field-refused"
    assert refused(lambda: memory.log(after=after)) == "field-refused"


@pytest.mark.parametrize("block_id", [None, 7, ["x"], {}, "", "0" * 16, "nonsense"], ids=str)
def test_an_invalid_block_id_is_not_found(memory: SyncMemory, block_id: Any) -> None:
    known = memory.blocks().items[0].id
    calls: list[Callable[[], object]] = [
        lambda: memory.block(block_id),
        lambda: memory.edges(block_id),
        lambda: memory.forget(block_id),
        lambda: memory.revise(block_id, "new"),
        lambda: memory.rezone(block_id, "new"),
        lambda: memory.connect(known, block_id),
        lambda: memory.disconnect(block_id, known),
    ]
    assert [refused(call) for call in calls] == ["block-not-found"] * len(calls)
    is_listed = isinstance(block_id, str | list)  # as one id, or as several
    code = "block-not-found" if is_listed else "field-refused"
    assert refused(lambda: memory.erase(block_id)) == code
    assert memory.outcome([known, block_id], 1.0).updated == (known,)


def test_an_unknown_status_is_refused(memory: SyncMemory) -> None:
    assert refused(lambda: memory.blocks(status="asleep")) == "field-refused"
    assert refused(lambda: memory.block("0" * 16)) == "block-not-found"
    assert refused(lambda: memory.edges("0" * 16)) == "block-not-found"
    assert refused(lambda: memory.history(of="0" * 16)) == "block-not-found"
