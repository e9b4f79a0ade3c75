from __future__ import annotations

import asyncio
import os
import socket
from math import inf
from pathlib import Path

import pytest

from mnemic.adapters.http.processes.heartbeats import (
    INTERVAL_MAX_S,
    LOOK_S,
    STARTING_S,
    Watch,
    beating,
)
from mnemic.adapters.http.processes.shared_counters import GONE, SharedCounters
from mnemic.adapters.http.processes.worker_slots import WorkerSlot

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")

SILENCE_S = 5.0
PATIENCE_S = 20.0


class Parent:
    """A parent with a manual clock, and its two started processes."""

    def __init__(self, silence_max_s: float = SILENCE_S) -> None:
        self.counters = SharedCounters(2)
        self.now_s = 1000.0
        self.watch = Watch(self.counters, silence_max_s, PATIENCE_S, self.now_s)
        for number in range(2):
            self.watch.begin(number)

    def looks(self, for_s: float, *beating: int) -> list[list[int]]:
        """Return the result of each check during a time in which these processes beat."""
        found: list[list[int]] = []
        end_s = self.now_s + for_s
        while self.now_s < end_s:
            for number in beating:
                self.counters.beat(number)
            self.now_s += LOOK_S
            found.append(list(self.watch.look(self.now_s)))
        return found


def test_a_beating_process_is_not_reported() -> None:
    parent = Parent()
    assert parent.looks(4 * STARTING_S, 0, 1) == [[]] * 480


def test_a_silent_process_is_reported_after_the_limit() -> None:
    parent = Parent()
    parent.looks(1.0, 0, 1)
    assert parent.looks(SILENCE_S + 2 * LOOK_S, 0) == [*([[]] * 10), [1], [1]]


def test_a_process_that_beats_again_is_not_reported() -> None:
    parent = Parent()
    parent.looks(1.0, 0, 1)
    parent.looks(2 * SILENCE_S, 0)
    assert parent.looks(1.0, 0, 1) == [[], []]


@pytest.mark.parametrize("asleep_s", [2 * INTERVAL_MAX_S, 3600.0, 1e9])
def test_time_in_which_the_parent_slept_does_not_count(asleep_s: float) -> None:
    parent = Parent()
    parent.looks(1.0, 0, 1)
    for _ in range(3):
        parent.now_s += asleep_s
        assert parent.looks(LOOK_S) == [[]]
    assert parent.looks(2 * SILENCE_S, 0, 1) == [[]] * 20


def test_a_starting_process_has_more_time() -> None:
    parent = Parent()
    assert parent.looks(STARTING_S, 0) == [[]] * 120
    assert parent.looks(LOOK_S, 0) == [[1]]
    assert parent.watch.end(1) == 0.0


def test_a_stopping_process_has_the_time_to_stop() -> None:
    parent = Parent()
    parent.looks(1.0, 0, 1)
    parent.counters.leave(1)
    assert parent.looks(PATIENCE_S + LOOK_S, 0) == [[]] * 41
    assert parent.looks(LOOK_S, 0) == [[1]]


def test_an_infinite_limit_reports_no_process() -> None:
    parent = Parent(inf)
    parent.looks(1.0, 0, 1)
    assert parent.looks(1000.0) == [[]] * 2000


def test_a_restarted_worker_begins_anew() -> None:
    parent = Parent()
    parent.looks(3.0, 0, 1)
    parent.looks(2 * SILENCE_S, 0)
    assert parent.watch.end(1) == 3.0
    parent.watch.begin(1)
    assert parent.looks(STARTING_S, 0) == [[]] * 120


def test_a_process_beats_while_its_loop_runs_and_marks_its_stop(tmp_path: Path) -> None:
    counters = SharedCounters(1)

    async def turn() -> int:
        with socket.socket(socket.AF_UNIX) as room:
            worker_slot = WorkerSlot(
                number=0,
                listener=room,
                peer_paths=[str(tmp_path)],
                peer_listener=room,
                counters=counters,
                lifeline=-1,
                reports=-1,
            )
            counters.begin(0)
            async with beating(worker_slot):
                while counters.beats(0) < 2:  # noqa: ASYNC110 - counts iterations, not time
                    await asyncio.sleep(0)
                return counters.beats(0)

    assert (asyncio.run(turn()), counters.beats(0)) == (2, GONE)
