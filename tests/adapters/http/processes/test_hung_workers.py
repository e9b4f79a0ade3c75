"""Hung workers: how their parent detects them, and which ones it kills."""

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

from mnemic.adapters.http.processes.heartbeats import Watch
from mnemic.adapters.http.processes.supervision import DEATHS_MAX, Supervisor
from mnemic.adapters.http.processes.worker_slots import WorkerSlot, worker_slots
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.remote.transport_errors import WorkersFailed
from tests.adapters.http.host import ENDLESS
from tests.adapters.http.worker_processes import (
    BLOCKS,
    Several,
    asked_again,
    eventually,
    hosted,
    lives,
)

pytestmark = pytest.mark.extended

SPACE = "/v1/spaces/default"
SILENCE_S = 4.0
"""Longer than a worker waits for the processor on a machine that is busy with other tests."""
LONGER_S = SILENCE_S + 1.5
LOOKS_S = 1.5
"""Time for several checks by the parent."""
COMMANDS = 25
"""Commands of each client while a worker hangs."""
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


def is_replaced(server: Several, worker_slot: int, pid: int) -> bool:
    """Return whether a worker was replaced, and its process has ended."""
    return server.workers[worker_slot] != pid and not lives(pid)


def ends(client: httpx.Client) -> set[str]:
    """Return the server's metrics of workers that have ended."""
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
    assert f"worker 1 (process {before[1]}) sends no heartbeat" in said
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


def test_a_worker_that_holds_the_interpreter_lock_is_replaced(server: Several) -> None:
    before = server.workers
    with server.client() as client:
        learned = client.post(BLOCKS, json={"content": ENDLESS})
        stuck = server.who_answered(learned)
        with suppress(httpx.TransportError):
            client.post(f"{SPACE}/consolidate").raise_for_status()
    (worker_slot,) = (worker_slot for worker_slot, pid in before.items() if pid == stuck)
    eventually(partial(is_replaced, server, worker_slot, stuck))
    assert "host.py" in server.log.read_text().split("sends no heartbeat")[1]
    with server.client() as client:
        assert client.get(SPACE).json()["inbox"] == 1


def test_a_parent_that_was_stopped_kills_no_worker(server: Several) -> None:
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


def test_processes_suspended_together_are_not_killed(server: Several) -> None:
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
    def stand_still(worker_slot: WorkerSlot) -> None:
        worker_slot.report_ready()
        worker_slot.counters.beat(worker_slot.number)
        os.kill(os.getpid(), signal.SIGSTOP)

    caplog.set_level(logging.ERROR)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        worker_slots(listener, 1) as made,
    ):
        watch = Watch(made.counters, 0.2, 1.0, time.monotonic())
        supervisor = Supervisor(stand_still, made, 1.0, watch)
        with pytest.raises(WorkersFailed, match=f"worker 0 hung .* {DEATHS_MAX} times in a row"):
            supervisor.run(lambda: None)
    assert made.counters.ends(0) == {"died": 0, "hung": DEATHS_MAX}
    assert len(caplog.records) == DEATHS_MAX
