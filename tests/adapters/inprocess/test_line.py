"""A lock that lets in whoever came first."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mnemic.adapters.inprocess.line import Line

PEOPLE = 6
PATIENCE_S = 60.0


def test_threads_come_in_the_order_in_which_they_came() -> None:
    line, came = Line(), list[int]()

    def stand(number: int) -> None:
        with line:
            came.append(number)

    with ThreadPoolExecutor(PEOPLE) as pool:
        with line:
            standing = []
            for number in range(PEOPLE):
                standing.append(pool.submit(stand, number))
                until_there_wait(number + 1, line)
        for each in standing:
            each.result(PATIENCE_S)
    assert came == list(range(PEOPLE))


def test_whoever_gave_it_back_stands_behind_those_who_wait() -> None:
    line, came = Line(), list[str]()

    def stand() -> None:
        with line:
            came.append("who waited")

    with ThreadPoolExecutor(1) as pool:
        with line:
            standing = pool.submit(stand)
            until_there_wait(1, line)
        with line:
            came.append("who had it before")
        standing.result(PATIENCE_S)
    assert came == ["who waited", "who had it before"]


def test_a_failure_within_lets_in_the_next() -> None:
    line = Line()
    with pytest.raises(ZeroDivisionError), line:
        raise ZeroDivisionError
    with line:
        assert len(line) == 0


def until_there_wait(count: int, line: Line) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(line) < count:
        assert time.monotonic() < deadline, f"{len(line)} of {count} wait"
        time.sleep(0.001)
