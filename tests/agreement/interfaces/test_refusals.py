"""A command that is refused changes nothing: not the log, not the state, not the next answer."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess.engine.opening import open_space
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import BatchRefused, Refused
from mnemic.kernel.policy import DEFAULT
from tests.agreement.snapshots import clock_of_columns, state_of_view

Bad = Callable[[SyncMemory, dict[str, str]], Any]
NAN = float("nan")
UNKNOWN = "0" * 16

REFUSED: dict[str, tuple[str, Bad]] = {
    "learn nothing": ("content-empty", lambda m, _: m.learn(" \n ")),
    "learn too much": ("content-too-long", lambda m, _: m.learn("x" * 200_001)),
    "learn under too many tags": (
        "tags-refused",
        lambda m, _: m.learn("x", tags=[str(number) for number in range(65)]),
    ),
    "learn under a long tag": ("tags-refused", lambda m, _: m.learn("x", tags=["x" * 129])),
    "learn half a character": ("field-refused", lambda m, _: m.learn("\ud800")),
    "learn with NaN confidence": ("field-refused", lambda m, _: m.learn("x", confidence=NAN)),
    "learn of no date": ("field-refused", lambda m, _: m.learn("x", created_at="tomorrow-ish")),
    "revise the unknown": ("block-not-found", lambda m, _: m.revise(UNKNOWN, "x")),
    "revise what is archived": ("block-not-active", lambda m, ids: m.revise(ids["old"], "x")),
    "revise into the same words": ("field-refused", lambda m, ids: m.revise(ids["a"], "fact a")),
    "revise into nothing": ("content-empty", lambda m, ids: m.revise(ids["a"], "")),
    "forget the unknown": ("block-not-found", lambda m, _: m.forget(UNKNOWN)),
    "forget for too long a reason": (
        "note-too-long",
        lambda m, ids: m.forget(ids["a"], "x" * 501),
    ),
    "erase the unknown": ("block-not-found", lambda m, _: m.erase(UNKNOWN)),
    "rezone what is archived": ("block-not-active", lambda m, ids: m.rezone(ids["old"], "x")),
    "rezone to nowhere": ("field-refused", lambda m, ids: m.rezone(ids["a"], " ")),
    "consolidate fewer than none": ("field-refused", lambda m, _: m.consolidate(-1)),
    "connect with itself": ("self-loop", lambda m, ids: m.connect(ids["a"], ids["a"])),
    "connect the unknown": ("block-not-found", lambda m, ids: m.connect(ids["a"], UNKNOWN)),
    "connect the archived": (
        "block-not-active",
        lambda m, ids: m.connect(ids["a"], ids["old"]),
    ),
    "connect too strongly": (
        "weight-out-of-range",
        lambda m, ids: m.connect(ids["a"], ids["b"], weight=1.01),
    ),
    "connect with NaN": (
        "weight-out-of-range",
        lambda m, ids: m.connect(ids["a"], ids["b"], weight=NAN),
    ),
    "connect once more": (
        "edge-exists",
        lambda m, ids: m.connect(ids["a"], ids["c"], if_exists="error"),
    ),
    "connect somehow": (
        "unknown-if-exists",
        lambda m, ids: m.connect(ids["a"], ids["c"], if_exists="merge"),
    ),
    "connect with too long a note": (
        "note-too-long",
        lambda m, ids: m.connect(ids["a"], ids["b"], note="x" * 501),
    ),
    "disconnect from itself": ("self-loop", lambda m, ids: m.disconnect(ids["a"], ids["a"])),
    "disconnect the unknown": (
        "block-not-found",
        lambda m, ids: m.disconnect(ids["a"], UNKNOWN),
    ),
    "recall in an unknown frame": ("frame-unknown", lambda m, _: m.recall("x", frame="nobody's")),
    "recall no block at all": ("field-refused", lambda m, _: m.recall("x", top_k=0)),
    "recall by an unknown key": (
        "field-refused",
        lambda m, _: m.recall("x", where={"colour": "red"}),
    ),
    "score above one": ("signal-out-of-range", lambda m, ids: m.outcome([ids["a"]], 1.5)),
    "score with NaN": ("signal-out-of-range", lambda m, ids: m.outcome([ids["a"]], NAN)),
    "score for nothing": ("field-refused", lambda m, ids: m.outcome([ids["a"]], 1, weight=0)),
    "score nobody": ("nothing-to-score", lambda m, _: m.outcome(signal=1.0)),
    "score an unknown decision": (
        "decision-not-found",
        lambda m, _: m.outcome(decision_id="d999", signal=1.0),
    ),
    "start a second session": ("session-state", lambda m, _: m.start_session()),
    "adopt no policy": ("policy-refused", lambda m, _: m.adopt_policy("loose")),  # type: ignore[arg-type]
    "look back beyond the end": ("point-out-of-range", lambda m, _: m.as_of(version=999)),
    "look back at two points": ("field-refused", lambda m, _: m.as_of(version=1, hour=0.0)),
    "revert the first event": ("point-out-of-range", lambda m, _: m.revert(0, 1)),
    "revert beyond the end": ("point-out-of-range", lambda m, _: m.revert(2, 999)),
    "revert backwards": ("field-refused", lambda m, _: m.revert(3, 2)),
    "revert half a version": ("field-refused", lambda m, _: m.revert(1.5, 2)),  # type: ignore[arg-type]
    "revert for too long a reason": (
        "note-too-long",
        lambda m, _: m.revert(2, 3, reason="x" * 501),
    ),
    "compare backwards": ("field-refused", lambda m, _: m.diff(3, 2)),
    "compare with no point": ("field-refused", lambda m, _: m.diff("soon")),
    "compare beyond the end": ("point-out-of-range", lambda m, _: m.diff(1, 999)),
    "compare with no decision": ("decision-not-found", lambda m, _: m.diff("d0")),
    "draw no stretches": ("field-refused", lambda m, _: m.timeline(bins=0)),
    "replay what was never decided": ("decision-not-found", lambda m, _: m.replay("d0")),
}


@pytest.fixture
def space() -> SessionHandle:
    _, space = open_space(
        MemoryStore(),
        space="default",
        policy=DEFAULT,
        clock=ManualClock(),
        entropy=SeededEntropy("refusals"),
        actor="agent",
        synchronous="full",
        read_only=False,
    )
    return space


@pytest.fixture
def memory(space: SessionHandle) -> Generator[SyncMemory]:
    with SyncMemory(space, embedder=HashEmbedder(16)) as memory:
        memory.start_session()
        yield memory


@pytest.fixture
def ids(memory: SyncMemory) -> dict[str, str]:
    """Three active blocks of which two are connected, an archived one, and one that waits."""
    found: dict[str, str] = {
        name: memory.learn(f"fact {name}").block_id for name in ("a", "b", "c", "old")
    }
    memory.consolidate()
    memory.connect(found["a"], found["c"], "supports")
    memory.forget(found["old"])
    found["new"] = memory.learn("fact new").block_id
    return found


@pytest.mark.parametrize("bad", REFUSED)
def test_a_refused_command_leaves_log_and_state_as_they_were(
    bad: str, memory: SyncMemory, ids: dict[str, str], space: SessionHandle
) -> None:
    code, ask = REFUSED[bad]
    before = space.log.head(), state_of_view(space.view()), space.session
    clock = clock_of_columns(space.state)
    with pytest.raises(Refused) as caught:
        ask(memory, ids)
    assert caught.value.code == code
    assert caught.value.recovery
    assert (space.log.head(), state_of_view(space.view()), space.session) == before
    assert clock_of_columns(space.state) == clock


def test_the_end_of_no_session_is_refused(memory: SyncMemory, space: SessionHandle) -> None:
    memory.learn("this waits, and goes on waiting")
    memory.end_session()
    memory.learn("this waits, and goes on waiting for longer")
    before = space.log.head()
    with pytest.raises(Refused) as caught:
        memory.end_session()
    assert caught.value.code == "session-state"
    assert space.log.head() == before


def listed(error: Refused) -> list[dict[str, Any]]:
    """Return the refusals of the items of a batch."""
    found: Any = error.facts["refused"]
    return list(found)


def test_the_items_of_a_batch_are_refused_one_by_one(
    memory: SyncMemory, ids: dict[str, str], space: SessionHandle
) -> None:
    before = state_of_view(space.view())
    with pytest.raises(BatchRefused) as lessons:
        memory.learn_many(["", {"content": "x", "tags": "not a list"}, {"words": "x"}])
    assert [refused["code"] for refused in listed(lessons.value)] == [
        "content-empty",
        "tags-refused",
        "field-refused",
    ]
    with pytest.raises(BatchRefused) as scored:
        memory.outcome([UNKNOWN, ids["old"], ids["new"]], 1.0)
    assert {refused["id"]: refused["code"] for refused in listed(scored.value)} == {
        UNKNOWN: "block-not-found",
        ids["old"]: "block-not-active",
        ids["new"]: "block-in-inbox",
    }
    assert state_of_view(space.view()) == before
