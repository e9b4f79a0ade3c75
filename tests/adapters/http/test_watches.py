"""Watches: who follows a log hears of what comes, by one look for all of them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import anyio
import pytest
from anyio import to_thread

from mnemic.adapters.http.failures import Overloaded, Stopping
from mnemic.adapters.http.watches import LOOK_TOLD_MAX_S, Watches

pytestmark = pytest.mark.anyio
LONG_S = 20.0
RARELY = 6
"""Looks after which the next one is long in coming."""
TRIES_MAX = 5


class Log:
    """A log that others write, and whose head fails on demand."""

    def __init__(self) -> None:
        self.version = 0
        self.fails = False
        self.looks: list[int] = []

    def head(self) -> int:
        self.looks.append(threading.get_ident())
        if self.fails:
            raise OSError("no disk")
        return self.version


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_who_follows_hears_of_what_others_write() -> None:
    watches, log = Watches(2, asyncio.Event()), Log()
    watch = watches.follow("a", log.head)
    log.version = 7
    await watch.rest(0, LONG_S)
    assert watch.version == 7
    watches.leave("a")


async def test_who_follows_hears_at_once_of_what_this_server_writes() -> None:
    watches, log = Watches(2, asyncio.Event()), Log()
    watch = watches.follow("a", log.head)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.rest, 0, LONG_S)
        await anyio.wait_all_tasks_blocked()
        watches.saw("a", 3)
    assert (watch.version, log.version) == (3, 0)
    watches.leave("a")


async def test_all_who_follow_one_log_share_one_watch_and_the_last_one_ends_it() -> None:
    watches, first, second = Watches(3, asyncio.Event()), Log(), Log()
    assert watches.follow("a", first.head) is watches.follow("a", second.head)
    watches.follow("b", second.head)
    assert watches.followers == 3
    for space in ("a", "a", "b"):
        watches.leave(space)
    assert watches.followers == 0


async def test_looks_are_taken_off_the_event_loop() -> None:
    watches, log = Watches(1, asyncio.Event()), Log()
    watch = watches.follow("a", log.head)
    log.version = 1
    await watch.rest(0, LONG_S)
    assert threading.get_ident() not in log.looks
    watches.leave("a")


async def test_a_head_that_cannot_be_seen_wakes_whoever_follows_to_find_out_themselves() -> None:
    watches, log = Watches(1, asyncio.Event()), Log()
    watch = watches.follow("a", log.head)
    log.fails = True
    with anyio.fail_after(LONG_S):
        await watch.rest(0, 2 * LONG_S)
    log.fails, log.version = False, 2
    while watch.version < 2:
        await watch.rest(0, LONG_S)
    watches.leave("a")


async def test_whoever_follows_hears_that_the_server_stops_and_nobody_else_begins() -> None:
    stopping = asyncio.Event()
    watches, log = Watches(2, stopping), Log()
    watch = watches.follow("a", log.head)
    stopping.set()
    with anyio.fail_after(LONG_S):
        await watch.rest(0, 2 * LONG_S)
    with pytest.raises(Stopping):
        watches.follow("a", log.head)
    watches.leave("a")


async def test_no_more_follow_than_may() -> None:
    watches, log = Watches(1, asyncio.Event()), Log()
    watches.follow("a", log.head)
    with pytest.raises(Overloaded):
        watches.follow("b", log.head)
    watches.leave("a")
    watches.follow("b", log.head)
    watches.leave("b")


async def test_what_nobody_follows_is_nobodys_news() -> None:
    Watches(1, asyncio.Event()).saw("a", 5)


async def test_a_log_that_tells_of_itself_is_looked_at_when_it_does() -> None:
    watches, log, tells = Watches(1, asyncio.Event()), Log(), list[Callable[[], None]]()

    def hear(tell: Callable[[], None]) -> Callable[[], None]:
        tells.append(tell)
        return tells.clear

    async def heard_after() -> float:
        """Return how long it takes to hear of something when the log tells of it."""
        log.looks.clear()
        while len(log.looks) < RARELY:  # by then it looks once in a second
            await watch.rest(log.version, 0.01)
        log.version += 1
        before = time.monotonic()
        await to_thread.run_sync(tells[0])
        await watch.rest(log.version - 1, LONG_S)
        assert watch.version == log.version
        return time.monotonic() - before

    watch = watches.follow("a", log.head, hear=hear)
    for _ in range(TRIES_MAX):  # of which most are as long as the machine is busy elsewhere
        if await heard_after() < LOOK_TOLD_MAX_S / 2:
            break
    else:
        raise AssertionError("nobody looked when the log told of itself")
    watches.leave("a")
    assert tells == []


async def test_a_log_whose_word_is_lost_is_looked_at_all_the_same() -> None:
    watches, log = Watches(1, asyncio.Event()), Log()
    watch = watches.follow("a", log.head, hear=lambda _: log.looks.clear)
    log.version = 3
    await watch.rest(0, LONG_S)
    assert watch.version == 3
    watches.leave("a")
