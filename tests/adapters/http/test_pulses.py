from __future__ import annotations

import asyncio
import os
import socket
from math import inf
from pathlib import Path

import pytest

from mnemic.adapters.http.board import GONE, Board
from mnemic.adapters.http.posts import Post
from mnemic.adapters.http.pulses import LOOK_S, STARTING_S, STEP_MAX_S, Watch, beating

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")

SILENCE_S = 5.0
PATIENCE_S = 20.0


class Parent:
    """A parent whose clock a test moves, and its two processes, both of which have begun."""

    def __init__(self, silence_max_s: float = SILENCE_S) -> None:
        self.board = Board(2)
        self.now_s = 1000.0
        self.watch = Watch(self.board, silence_max_s, PATIENCE_S, self.now_s)
        for number in range(2):
            self.watch.begin(number)

    def looks(self, for_s: float, *beating: int) -> list[list[int]]:
        """Return what each look finds for some time in which these beat."""
        found: list[list[int]] = []
        end_s = self.now_s + for_s
        while self.now_s < end_s:
            for number in beating:
                self.board.beat(number)
            self.now_s += LOOK_S
            found.append(list(self.watch.look(self.now_s)))
        return found


def test_whoever_beats_is_left_alone() -> None:
    parent = Parent()
    assert parent.looks(4 * STARTING_S, 0, 1) == [[]] * 480


def test_whoever_stands_still_is_found_once_the_time_is_over() -> None:
    parent = Parent()
    parent.looks(1.0, 0, 1)
    assert parent.looks(SILENCE_S + 2 * LOOK_S, 0) == [*([[]] * 10), [1], [1]]


def test_whoever_beats_again_is_left_alone_again() -> None:
    parent = Parent()
    parent.looks(1.0, 0, 1)
    parent.looks(2 * SILENCE_S, 0)
    assert parent.looks(1.0, 0, 1) == [[], []]


@pytest.mark.parametrize("asleep_s", [2 * STEP_MAX_S, 3600.0, 1e9])
def test_a_parent_that_slept_blames_nobody_for_it(asleep_s: float) -> None:
    parent = Parent()
    parent.looks(1.0, 0, 1)
    for _ in range(3):
        parent.now_s += asleep_s
        assert parent.looks(LOOK_S) == [[]]
    assert parent.looks(2 * SILENCE_S, 0, 1) == [[]] * 20


def test_whoever_has_not_begun_yet_has_more_time() -> None:
    parent = Parent()
    assert parent.looks(STARTING_S, 0) == [[]] * 120
    assert parent.looks(LOOK_S, 0) == [[1]]
    assert parent.watch.end(1) == 0.0


def test_whoever_stops_has_as_long_as_any_who_stops() -> None:
    parent = Parent()
    parent.looks(1.0, 0, 1)
    parent.board.leave(1)
    assert parent.looks(PATIENCE_S + LOOK_S, 0) == [[]] * 41
    assert parent.looks(LOOK_S, 0) == [[1]]


def test_nobody_is_found_where_the_time_has_no_end() -> None:
    parent = Parent(inf)
    parent.looks(1.0, 0, 1)
    assert parent.looks(1000.0) == [[]] * 2000


def test_a_post_that_is_taken_again_begins_anew() -> None:
    parent = Parent()
    parent.looks(3.0, 0, 1)
    parent.looks(2 * SILENCE_S, 0)
    assert parent.watch.end(1) == 3.0
    parent.watch.begin(1)
    assert parent.looks(STARTING_S, 0) == [[]] * 120


def test_a_process_beats_while_its_loop_turns_and_says_that_it_stops(tmp_path: Path) -> None:
    board = Board(1)

    async def turn() -> int:
        with socket.socket(socket.AF_UNIX) as room:
            post = Post(
                number=0,
                listener=room,
                rooms=[str(tmp_path)],
                room=room,
                board=board,
                lifeline=-1,
                reports=-1,
            )
            board.begin(0)
            async with beating(post):
                while board.beats(0) < 2:  # noqa: ASYNC110 - of turns, not of time
                    await asyncio.sleep(0)
                return board.beats(0)

    assert (asyncio.run(turn()), board.beats(0)) == (2, GONE)
