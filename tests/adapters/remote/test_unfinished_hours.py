"""An hour given with a version is fixed, whatever is written later within the hour."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.remote.calls import Call, answered
from mnemic.adapters.remote.time_points import view_named
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import FieldRefused, PointOutOfRange
from mnemic.specs.strategies.vectors import PlaneEmbedder


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Generator[SyncMemory]:
    opened = SyncMemory.open(
        ":memory:", clock=clock, entropy=SeededEntropy("hours"), embedder=PlaneEmbedder()
    )
    with opened as memory:
        memory.learn("the gate opens at six")
        memory.consolidate()
        yield memory


def test_later_writes_of_the_same_hour_are_left_out(memory: SyncMemory) -> None:
    before = memory.as_of(hour=5.0)
    word = f"hour:5.0@{before.version}"
    answer = before.status(), before.recall("gate")
    memory.learn("the crane needs oil")
    memory.consolidate()
    again = view_named(memory, word)
    assert memory.as_of(hour=5.0).version > before.version
    assert (again.status(), again.recall("gate")) == answer
    assert (again.version, again.hour) == (before.version, 5.0)


def test_an_operation_is_called_as_of_such_an_hour(memory: SyncMemory) -> None:
    version = memory.status().version
    memory.learn("the crane needs oil")
    call = Call(operation="blocks", as_of=f"hour:0.0@{version}")
    assert len(answered(memory, call).items) == 1


def test_an_hour_that_ended_before_the_version_is_that_hour(
    memory: SyncMemory, clock: ManualClock
) -> None:
    memory.start_session()
    clock.advance(hours=0.75)
    memory.learn("the crane needs oil")
    view = view_named(memory, f"hour:0.5@{memory.status().version}")
    assert view.status() == memory.as_of(hour=0.5).status()


def test_ages_are_evaluated_at_the_given_instant(memory: SyncMemory) -> None:
    now = "2030-01-01T00:00:00Z"
    view = view_named(memory, f"hour:0.0@{memory.status().version}", now)
    assert view.recall("gate") == memory.as_of(hour=0.0, now=now).recall("gate")


@pytest.mark.parametrize("word", ["hour:1.0@", "hour:1.0@x", "hour:1.0@-1", "hour:@3", "hour:x@3"])
def test_an_invalid_hour_is_refused(memory: SyncMemory, word: str) -> None:
    with pytest.raises(FieldRefused):
        view_named(memory, word)


def test_a_future_version_is_refused(memory: SyncMemory) -> None:
    with pytest.raises(PointOutOfRange):
        view_named(memory, "hour:1.0@999")
