"""So many calls at once, so many waiting, each answered in time, and none stopped half-way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.http.failures import Overdue, Overloaded, Stopping
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.http.workers import Workers
from tests.adapters.http.doors import NOTES, door

SOON_S = 0.05
LONG_S = 20.0


class Slow(HashEmbedder):
    """An embedder that takes its time, until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Embed when it may."""
        self.asked.set()
        assert self.go_on.wait(LONG_S)
        return super().embed(texts)


def nothing() -> None:
    """Do nothing when a call has ended."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_call_beyond_the_queue_is_sent_away() -> None:
    workers, go_on = Workers(1, 1), threading.Event()
    ended: list[str] = []

    async def run(name: str) -> bool:
        return await workers.run(
            lambda: go_on.wait(LONG_S), timeout_s=LONG_S, done=lambda: ended.append(name)
        )

    first, second = (asyncio.create_task(run(name)) for name in ("first", "second"))
    while workers.busy < 2:  # noqa: ASYNC110 - of turns, not of time
        await asyncio.sleep(0)  # a turn of the loop, in which it begins
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
    while not workers.busy:  # noqa: ASYNC110 - of turns, not of time
        await asyncio.sleep(0)  # a turn of the loop, in which it begins
    with pytest.raises(Overloaded, match="no worker was free"):
        await workers.run(lambda: made.append("late"), timeout_s=SOON_S, done=nothing)
    go_on.set()
    await first
    assert await workers.close(LONG_S)
    assert made == []


@pytest.mark.anyio
async def test_a_call_that_takes_too_long_goes_on() -> None:
    workers, go_on = Workers(1, 0), threading.Event()
    made: list[str] = []

    def work() -> None:
        assert go_on.wait(LONG_S)
        made.append("done")

    with pytest.raises(Overdue):
        await workers.run(work, timeout_s=SOON_S, done=lambda: made.append("let go"))
    assert (workers.busy, made) == (1, [])
    go_on.set()
    assert await workers.close(LONG_S)
    assert made == ["done", "let go"]


@pytest.mark.anyio
async def test_whoever_stops_begins_nothing_more() -> None:
    workers = Workers(1, 0)
    ended: list[str] = []
    assert await workers.close(LONG_S)
    with pytest.raises(Stopping):
        await workers.run(nothing, timeout_s=LONG_S, done=lambda: ended.append("let go"))
    assert ended == ["let go"]


@pytest.mark.anyio
async def test_a_failure_comes_out_as_it_is() -> None:
    workers = Workers(1, 0)

    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await workers.run(fail, timeout_s=LONG_S, done=nothing)
    assert await workers.close(LONG_S)


def test_a_command_that_is_overdue_is_answered_when_it_is_repeated(tmp_path: Path) -> None:
    embedder = Slow()
    key = {"idempotency-key": "once"}
    with door(
        tmp_path, Settings(call_timeout_s=SOON_S, long_timeout_s=SOON_S), embedder=embedder
    ) as opened:
        opened.learn("Ines moved the demo.")
        late = opened.ask("POST", f"{NOTES}/consolidate", headers=key)
        embedder.go_on.set()
        answers = [late]
        while answers[-1].status_code == 503:
            answers.append(opened.ask("POST", f"{NOTES}/consolidate", headers=key))
        status = opened.ask("GET", NOTES).json()
    assert (late.status_code, late.json()["code"]) == (503, "overdue")
    assert late.headers["retry-after"] == "1"
    assert (answers[-1].json()["promoted"], status["active"]) == (1, 1)


def test_a_server_that_is_full_says_when_to_come_again(tmp_path: Path) -> None:
    embedder = Slow()
    settings = Settings(threads=1, waiting_max=0, retry_after_s=7)
    with door(tmp_path, settings, embedder=embedder) as opened:
        opened.learn("Ines moved the demo.")

        with ThreadPoolExecutor(1) as aside:
            first = aside.submit(opened.ask, "POST", f"{NOTES}/consolidate")
            assert embedder.asked.wait(LONG_S)
            second = opened.ask("POST", f"{NOTES}/curate")
            embedder.go_on.set()
    assert (first.result().status_code, second.status_code) == (200, 503)
    assert (second.json()["code"], second.headers["retry-after"]) == ("overloaded", "7")
