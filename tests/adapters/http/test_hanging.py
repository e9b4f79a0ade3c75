"""Workers that hang: what their parent sees, whom it kills, and what is left standing."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import httpx
import pytest

from mnemic.adapters.http.failures import WorkersFailed
from mnemic.adapters.http.posts import Post, site
from mnemic.adapters.http.pulses import Watch
from mnemic.adapters.http.supervision import DEATHS_MAX, Supervisor
from mnemic.adapters.inprocess import SyncMemory
from tests.adapters.http.host import ENDLESS
from tests.adapters.http.several import (
    BLOCKS,
    Several,
    asked_again,
    eventually,
    hosted,
    lives,
)

SPACE = "/v1/spaces/default"
SILENCE_S = 4.0
"""Longer than a machine that is busy with other tests lets a worker wait for its turn."""
LONGER_S = SILENCE_S + 1.5
LOOKS_S = 1.5
"""In which a parent looks at its workers several times."""
COMMANDS = 25
"""Of each client that goes on while a worker hangs."""
PEOPLE = 6


@pytest.fixture
def server(tmp_path: Path) -> Generator[Several]:
    """Three workers that may be silent for a short time only."""
    with (
        hosted(tmp_path, str(tmp_path / "store.db"), silence_max_s=SILENCE_S) as running,
        running.client() as client,
    ):
        client.put(SPACE).raise_for_status()
        yield running


def is_replaced(server: Several, post: int, pid: int) -> bool:
    """Return whether somebody else stands at a post, and the one before has gone."""
    return server.workers[post] != pid and not lives(pid)


def ends(client: httpx.Client) -> set[str]:
    """Return what the server's numbers say of workers that have ended."""
    return {
        line
        for line in client.get("/metrics").text.splitlines()
        if line.startswith("mnemic_worker_ends_total") and not line.endswith(" 0.0")
    }


def test_a_worker_that_is_stopped_under_load_is_replaced_and_nothing_is_lost(
    server: Several, tmp_path: Path
) -> None:
    before, answered = server.workers, list[str]()

    def work(person: int) -> None:
        with server.client() as client:
            keys = (f"{person}-{each}" for each in range(COMMANDS))
            answered.extend(asked_again(client, f"content of {key}", key) for key in keys)

    with ThreadPoolExecutor(PEOPLE) as people:
        done = [people.submit(work, person) for person in range(PEOPLE)]
        eventually(lambda: len(answered) >= PEOPLE)
        os.kill(before[1], signal.SIGSTOP)
        eventually(partial(is_replaced, server, 1, before[1]))
        for each in done:
            each.result()
    with server.client() as client:
        assert ends(client) == {'mnemic_worker_ends_total{reason="hung",worker="1"} 1.0'}
    assert {**server.workers, 1: before[1]} == before
    said = server.log.read_text()
    assert f"worker 1 (process {before[1]}) gives no sign of life" in said
    assert f"(process {before[1]}) hung and was ended by SIGKILL; another takes over" in said
    assert server.stop() == 0
    with SyncMemory.open(tmp_path / "store.db", read_only=True) as memory:
        assert memory.verify().sound
        learned = [event.kind for event in memory.log(limit=1000)].count("block-learned")
    assert (learned, len(set(answered))) == (PEOPLE * COMMANDS, PEOPLE * COMMANDS)


def test_others_are_served_while_a_worker_hangs(server: Several) -> None:
    with ExitStack() as stack:
        clients = server.one_at_each(stack)
        stopped = server.workers[0]
        os.kill(stopped, signal.SIGSTOP)
        while lives(stopped):
            assert [each.get("/readyz").status_code for each in clients[1:]] == [200] * 2
            with server.client() as newcomer:
                assert newcomer.get("/healthz").status_code == 200


def test_a_worker_whose_threads_let_nobody_run_says_where_and_is_replaced(server: Several) -> None:
    before = server.workers
    with server.client() as client:
        learned = client.post(BLOCKS, json={"content": ENDLESS})
        stuck = server.who_answered(learned)
        with suppress(httpx.TransportError):
            client.post(f"{SPACE}/consolidate").raise_for_status()
    (post,) = (post for post, pid in before.items() if pid == stuck)
    eventually(partial(is_replaced, server, post, stuck))
    assert "host.py" in server.log.read_text().split("gives no sign of life")[1]
    with server.client() as client:
        assert client.get(SPACE).json()["inbox"] == 1


def test_a_parent_that_was_stopped_kills_nobody(server: Several) -> None:
    before = server.workers
    os.kill(server.process.pid, signal.SIGSTOP)
    stopped_s = time.monotonic()
    with ExitStack() as stack:
        clients = server.one_at_each(stack)
        while time.monotonic() < stopped_s + LONGER_S:
            assert [each.get("/readyz").status_code for each in clients] == [200] * 3
        os.kill(server.process.pid, signal.SIGCONT)
        woken_s = time.monotonic()
        while time.monotonic() < woken_s + LOOKS_S:
            assert [each.get("/readyz").status_code for each in clients] == [200] * 3
    assert server.workers == before
    assert server.stop() == 0


def test_processes_that_are_all_stopped_and_go_on_together_are_left_alone(server: Several) -> None:
    before = server.workers
    everybody = [server.process.pid, *before.values()]
    with server.client() as client, ThreadPoolExecutor(1) as aside:
        for each in everybody:
            os.kill(each, signal.SIGSTOP)
        stopped_s = time.monotonic()
        answer = aside.submit(client.get, "/readyz")
        eventually(lambda: time.monotonic() > stopped_s + LONGER_S)
        assert not answer.done()
        for each in everybody:
            os.kill(each, signal.SIGCONT)
        assert answer.result().status_code == 200
        woken_s = time.monotonic()
        while time.monotonic() < woken_s + LOOKS_S:
            assert client.get("/readyz").status_code == 200
    assert server.workers == before


def test_workers_that_hang_again_and_again_end_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def stand_still(post: Post) -> None:
        post.say_ready()
        post.board.beat(post.number)
        os.kill(os.getpid(), signal.SIGSTOP)

    caplog.set_level(logging.ERROR)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        site(listener, 1) as made,
    ):
        watch = Watch(made.board, 0.2, 1.0, time.monotonic())
        supervisor = Supervisor(stand_still, made, 1.0, watch)
        with pytest.raises(WorkersFailed, match=f"worker 0 hung .* {DEATHS_MAX} times in a row"):
            supervisor.run(lambda: None)
    assert made.board.ends(0) == {"died": 0, "hung": DEATHS_MAX}
    assert len(caplog.records) == DEATHS_MAX
