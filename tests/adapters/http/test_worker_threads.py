"""The thread pool: concurrent calls, its queue, timeouts, and calls that run to their end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.http.endpoints.worker_threads import Workers
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.remote.transport_errors import Overdue, Overloaded, Stopping
from tests.adapters.http.interfaces import NOTES, interface

pytestmark = pytest.mark.extended

SOON_S = 0.05
LONG_S = 20.0
TRIES_MAX = 400
"""Attempts of a call with a short timeout: as many as make ``LONG_S``."""
LEARN = {"idempotency-key": "learned"}


def is_done(answer: httpx.Response) -> bool:
    """Return whether a call was answered in time."""
    return answer.status_code < 300


def is_overdue(answer: httpx.Response) -> bool:
    """Return whether a call had begun, and continues."""
    return (answer.status_code, answer.json().get("code")) == (503, "overdue")


class Slow(HashEmbedder):
    """An embedder that blocks until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Embed after the release."""
        self.asked.set()
        assert self.go_on.wait(LONG_S)
        return super().embed(texts)


def nothing() -> None:
    """Do nothing when a call has ended."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_call_beyond_the_queue_is_refused() -> None:
    workers, go_on = Workers(1, 1), threading.Event()
    ended: list[str] = []

    async def run(name: str) -> bool:
        return await workers.run(
            lambda: go_on.wait(LONG_S), timeout_s=LONG_S, done=lambda: ended.append(name)
        )

    first, second = (asyncio.create_task(run(name)) for name in ("first", "second"))
    while workers.busy < 2:  # noqa: ASYNC110 - counts iterations, not time
        await asyncio.sleep(0)  # one iteration of the loop, in which it begins
    with pytest.raises(Overloaded) as refusal:
        await run("third")
    go_on.set()
    assert list(await asyncio.gather(first, second)) == [True, True]
    assert refusal.value.facts == {"under_way": 2}
    assert ended == ["third", "first", "second"]
    assert await workers.close(LONG_S)


@pytest.mark.anyio
async def test_a_call_that_never_began_was_not_made() -> None:
    workers, go_on = Workers(1, 1), threading.Event()
    made: list[str] = []
    first = asyncio.create_task(
        workers.run(lambda: go_on.wait(LONG_S), timeout_s=LONG_S, done=nothing)
    )
    while not workers.busy:  # noqa: ASYNC110 - counts iterations, not time
        await asyncio.sleep(0)  # one iteration of the loop, in which it begins
    with pytest.raises(Overloaded, match="no worker was free"):
        await workers.run(lambda: made.append("late"), timeout_s=SOON_S, done=nothing)
    go_on.set()
    await first
    assert await workers.close(LONG_S)
    assert made == []


@pytest.mark.anyio
async def test_a_call_that_takes_too_long_goes_on() -> None:
    workers, begun, go_on = Workers(1, 0), threading.Event(), threading.Event()
    made: list[str] = []

    def work() -> None:
        begun.set()
        assert go_on.wait(LONG_S)
        made.append("done")

    late = asyncio.create_task(
        workers.run(work, timeout_s=SOON_S, done=lambda: made.append("let go"))
    )
    while not workers.busy:  # noqa: ASYNC110 - counts iterations, not time
        await asyncio.sleep(0)  # one iteration of the loop, in which it begins
    assert begun.wait(LONG_S)  # the timeout is checked after it has begun
    with pytest.raises(Overdue):
        await late
    assert (workers.busy, made) == (1, [])
    go_on.set()
    assert await workers.close(LONG_S)
    assert made == ["done", "let go"]


@pytest.mark.anyio
async def test_a_closed_pool_begins_nothing_more() -> None:
    workers = Workers(1, 0)
    ended: list[str] = []
    assert await workers.close(LONG_S)
    with pytest.raises(Stopping):
        await workers.run(nothing, timeout_s=LONG_S, done=lambda: ended.append("let go"))
    assert ended == ["let go"]


@pytest.mark.anyio
async def test_an_exception_is_raised_unchanged() -> None:
    workers = Workers(1, 0)

    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await workers.run(fail, timeout_s=LONG_S, done=nothing)
    assert await workers.close(LONG_S)


def test_a_command_that_is_overdue_is_answered_when_it_is_repeated(tmp_path: Path) -> None:
    embedder = Slow()
    key = {"idempotency-key": "once"}
    with interface(
        tmp_path, Settings(call_timeout_s=SOON_S, long_timeout_s=SOON_S), embedder=embedder
    ) as opened:

        def answer(
            method: str, path: str, until: Callable[[httpx.Response], bool] = is_done, **asked: Any
        ) -> httpx.Response:
            """Repeat the request: a busy machine may not even begin a call in so short a time."""
            answers = (opened.ask(method, path, **asked) for _ in range(TRIES_MAX))
            return next(filter(until, answers))

        answer("POST", f"{NOTES}/blocks", json={"content": "Ines moved the demo."}, headers=LEARN)
        late = answer("POST", f"{NOTES}/consolidate", is_overdue, headers=key)
        embedder.go_on.set()
        done = answer("POST", f"{NOTES}/consolidate", headers=key)
        status = answer("GET", NOTES).json()
    assert late.headers["retry-after"] == "1"
    assert (done.json()["promoted"], status["active"]) == (1, 1)


def test_a_full_server_sends_retry_after(tmp_path: Path) -> None:
    embedder = Slow()
    settings = Settings(threads=1, waiting_max=0, retry_after_s=7)
    with interface(tmp_path, settings, embedder=embedder) as opened:
        opened.learn("Ines moved the demo.")

        with ThreadPoolExecutor(1) as aside:
            first = aside.submit(opened.ask, "POST", f"{NOTES}/consolidate")
            assert embedder.asked.wait(LONG_S)
            second = opened.ask("POST", f"{NOTES}/curate", by="writer")
            embedder.go_on.set()
    assert (first.result().status_code, second.status_code) == (200, 503)
    assert (second.json()["code"], second.headers["retry-after"]) == ("overloaded", "7")
