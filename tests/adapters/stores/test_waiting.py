"""A thread that waits for others: what it comes to hold is wanted by somebody, or given back."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from attrs import define, field

from mnemic.adapters.stores.locking import WriterQueue
from mnemic.adapters.stores.waiting import StandIn
from mnemic.kernel.errors import Closed, StoreBusy, StoreFailed

PATIENCE_S = 20.0
"""Nobody waits as long as this unless something is wrong."""
STACK_MAX = 2**46
"""More bytes for a thread than a machine can address at once with everything else in it."""


@define
class Thing:
    """Something to wait for; the test says when it is to be had."""

    free: threading.Semaphore = field(factory=lambda: threading.Semaphore(0))
    back: threading.Semaphore = field(factory=lambda: threading.Semaphore(0))
    failure: Exception | None = None

    def come_through(self) -> None:
        assert self.free.acquire(timeout=PATIENCE_S)
        if self.failure is not None:
            raise self.failure

    def go_back(self) -> None:
        self.back.release()


@pytest.fixture
def thing() -> Thing:
    return Thing()


@pytest.fixture
def stand_in(thing: Thing) -> Generator[StandIn]:
    waiting = StandIn(thing.come_through, thing.go_back)
    yield waiting
    thing.free.release()
    waiting.dismiss(lambda: None)


def test_who_waits_long_enough_has_it(thing: Thing, stand_in: StandIn) -> None:
    thing.free.release()
    assert stand_in.wait(PATIENCE_S)
    thing.free.release()
    assert stand_in.wait(PATIENCE_S)
    assert not thing.back.acquire(blocking=False)


def test_what_comes_when_nobody_wants_it_is_given_back(thing: Thing, stand_in: StandIn) -> None:
    assert not stand_in.wait(0.0)
    assert stand_in.stands
    thing.free.release()
    assert thing.back.acquire(timeout=PATIENCE_S)
    assert not stand_in.stands


def test_who_comes_next_takes_over_the_wait_of_who_went_away(
    thing: Thing, stand_in: StandIn
) -> None:
    assert not stand_in.wait(0.0)
    threading.Timer(0.05, thing.free.release).start()  # while the next one waits
    assert stand_in.wait(PATIENCE_S)
    assert not thing.back.acquire(blocking=False)


def test_what_cannot_be_had_is_told_to_who_waits(thing: Thing, stand_in: StandIn) -> None:
    thing.failure = StoreFailed("no such folder")
    thing.free.release()
    with pytest.raises(StoreFailed, match="no such folder"):
        stand_in.wait(PATIENCE_S)
    thing.failure = None
    thing.free.release()
    assert stand_in.wait(PATIENCE_S)


def test_a_bug_in_the_wait_ends_neither_the_wait_nor_those_that_follow(
    thing: Thing, stand_in: StandIn
) -> None:
    thing.failure = OSError("no such descriptor")
    thing.free.release()
    with pytest.raises(OSError, match="no such descriptor"):
        stand_in.wait(PATIENCE_S)
    assert not stand_in.stands
    thing.failure = None
    thing.free.release()
    assert stand_in.wait(PATIENCE_S)


def test_where_no_thread_can_be_had_the_wait_is_refused_and_the_next_goes_on(thing: Thing) -> None:
    size = threading.stack_size(STACK_MAX)
    try:
        stand_in = StandIn(thing.come_through, thing.go_back)
        with pytest.raises(StoreFailed, match="no thread can wait"):
            stand_in.wait(PATIENCE_S)
    finally:
        threading.stack_size(size)
    thing.free.release()
    assert stand_in.wait(PATIENCE_S)
    stand_in.dismiss(lambda: None)


def test_nothing_is_closed_while_somebody_stands_at_it(thing: Thing) -> None:
    stand_in, closed = StandIn(thing.come_through, thing.go_back), threading.Event()
    assert not stand_in.wait(0.0)
    stand_in.dismiss(closed.set)
    assert not closed.is_set()
    thing.free.release()
    assert thing.back.acquire(timeout=PATIENCE_S)
    assert closed.wait(PATIENCE_S)


def test_who_never_waited_is_dismissed_at_once(thing: Thing) -> None:
    closed = threading.Event()
    StandIn(thing.come_through, thing.go_back).dismiss(closed.set)
    assert closed.is_set()


# --- the queue of writers -----------------------------------------------------------------------


def test_a_turn_that_nobody_waited_for_any_more_is_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(WriterQueue(path)) as one, closing(WriterQueue(path, patience_s=0.0)) as two:
        with one.turn(), pytest.raises(StoreBusy), two.turn():
            pass
        with one.turn():  # the wait of the other has come to its end by then
            pass


def test_a_queue_closed_while_its_wait_goes_on_leaves_the_turn_to_others(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with closing(WriterQueue(path)) as one:
        two = WriterQueue(path, patience_s=0.0)
        with one.turn():
            with pytest.raises(StoreBusy), two.turn():
                pass
            two.close()
            two.close()
        with one.turn():
            pass
    with pytest.raises(Closed), two.turn():
        pass
