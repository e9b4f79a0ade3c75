"""Watches: the followers of a log learn of new events by one poll for all of them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import anyio
import pytest
from anyio import to_thread

from mnemic.adapters.http.endpoints.log_watchers import POLL_NOTIFIED_MAX_S, Watches
from mnemic.adapters.remote.transport_errors import Overloaded, Stopping

pytestmark = pytest.mark.anyio
LONG_S = 20.0
RARELY = 6
"""Number of polls after which the interval is long."""
TRIES_MAX = 5


class Log:
    """A log written by others, whose head fails on demand."""

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


async def test_followers_see_writes_of_others() -> None:
    watches, log = Watches(2, asyncio.Event()), Log()
    watch = watches.follow("a", log.head)
    log.version = 7
    await watch.wait(0, LONG_S)
    assert watch.version == 7
    watches.leave("a")


async def test_followers_see_writes_of_this_server_at_once() -> None:
    watches, log = Watches(2, asyncio.Event()), Log()
    watch = watches.follow("a", log.head)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.wait, 0, LONG_S)
        await anyio.wait_all_tasks_blocked()
        watches.advance("a", 3)
    assert (watch.version, log.version) == (3, 0)
    watches.leave("a")


async def test_followers_of_a_log_share_one_watch_and_the_last_one_ends_it() -> None:
    watches, first, second = Watches(3, asyncio.Event()), Log(), Log()
    assert watches.follow("a", first.head) is watches.follow("a", second.head)
    watches.follow("b", second.head)
    assert watches.followers == 3
    for space in ("a", "a", "b"):
        watches.leave(space)
    assert watches.followers == 0


async def test_polls_run_off_the_event_loop() -> None:
    watches, log = Watches(1, asyncio.Event()), Log()
    watch = watches.follow("a", log.head)
    log.version = 1
    await watch.wait(0, LONG_S)
    assert threading.get_ident() not in log.looks
    watches.leave("a")


async def test_an_unreadable_head_wakes_the_followers() -> None:
    watches, log = Watches(1, asyncio.Event()), Log()
    watch = watches.follow("a", log.head)
    log.fails = True
    with anyio.fail_after(LONG_S):
        await watch.wait(0, 2 * LONG_S)
    log.fails, log.version = False, 2
    while watch.version < 2:
        await watch.wait(0, LONG_S)
    watches.leave("a")


async def test_a_space_that_is_in_another_database_now_is_watched_there() -> None:
    watches, before, now = Watches(2, asyncio.Event()), Log(), Log()
    watch = watches.follow("a", before.head)
    before.fails = True
    with anyio.fail_after(LONG_S):
        await watch.wait(0, 2 * LONG_S)
    assert watches.follow("a", now.head) is watch
    now.version = 1
    await watch.wait(0, LONG_S)
    assert watch.version == 1
    for _ in range(2):
        watches.leave("a")


async def test_stopping_wakes_followers_and_refuses_new_ones() -> None:
    stopping = asyncio.Event()
    watches, log = Watches(2, stopping), Log()
    watch = watches.follow("a", log.head)
    stopping.set()
    with anyio.fail_after(LONG_S):
        await watch.wait(0, 2 * LONG_S)
    with pytest.raises(Stopping):
        watches.follow("a", log.head)
    watches.leave("a")


async def test_the_number_of_followers_is_limited() -> None:
    watches, log = Watches(1, asyncio.Event()), Log()
    watches.follow("a", log.head)
    with pytest.raises(Overloaded):
        watches.follow("b", log.head)
    watches.leave("a")
    watches.follow("b", log.head)
    watches.leave("b")


async def test_no_event_without_subscribers() -> None:
    Watches(1, asyncio.Event()).advance("a", 5)


async def test_a_notification_triggers_a_poll() -> None:
    watches, log, tells = Watches(1, asyncio.Event()), Log(), list[Callable[[], None]]()

    def subscribe(tell: Callable[[], None]) -> Callable[[], None]:
        tells.append(tell)
        return tells.clear

    async def heard_after() -> float:
        """Return how long it takes to see a write after a notification."""
        log.looks.clear()
        while len(log.looks) < RARELY:  # by then it polls once a second
            await watch.wait(log.version, 0.01)
        log.version += 1
        before = time.monotonic()
        await to_thread.run_sync(tells[0])
        await watch.wait(log.version - 1, LONG_S)
        assert watch.version == log.version
        return time.monotonic() - before

    watch = watches.follow("a", log.head, subscribe=subscribe)
    for _ in range(TRIES_MAX):  # some are slow because the machine is busy
        if await heard_after() < POLL_NOTIFIED_MAX_S / 2:
            break
    else:
        raise AssertionError("no poll followed the notification")
    watches.leave("a")
    assert tells == []


async def test_a_log_is_polled_when_notifications_are_lost() -> None:
    watches, log = Watches(1, asyncio.Event()), Log()
    watch = watches.follow("a", log.head, subscribe=lambda _: log.looks.clear)
    log.version = 3
    await watch.wait(0, LONG_S)
    assert watch.version == 3
    watches.leave("a")
