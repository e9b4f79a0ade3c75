"""Several processes behind one address: start, load sharing, death, replacement, and shutdown."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from threading import Event

import httpx
import pytest

from mnemic.adapters.access import Keyring
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.processes.supervision import WORKERS_MAX, check_count
from mnemic.adapters.http.server import run
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import FieldRefused
from tests.adapters.http.worker_processes import (
    BLOCKS,
    PATIENCE_S,
    SERVE,
    Several,
    asked_again,
    eventually,
    lives,
    several,
)

pytestmark = pytest.mark.extended

COMMANDS = 40
"""Commands of each client while workers die."""
MODEL_BYTES = 31 << 20
"""The vectors of the bundled model alone; with its tokeniser and its libraries it is 76 MB."""
_PRIVATE = re.compile(r"^Private_\w+: +(\d+) kB$", re.MULTILINE)


@pytest.fixture
def server(tmp_path: Path) -> Generator[Several]:
    """Three workers over an empty store."""
    with several(tmp_path) as running:
        yield running


def has(answers: list[str], many: int) -> bool:
    """Return whether at least this many answers have arrived."""
    return len(answers) >= many


def kinds(store: Path) -> Counter[str]:
    """Return the number of events of each kind in a verified log."""
    with SyncMemory.open(store, read_only=True) as memory:
        assert memory.verify().sound
        return Counter(memory.timeline().kinds)


def test_connections_are_distributed_over_workers(server: Several) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in range(9)]
        answered = Counter(server.who_answered(each.get("/healthz")) for each in clients)
    assert set(answered) == set(server.workers.values())
    assert max(answered.values()) <= 4  # 3 each; on a busy machine a connection may be late


def test_workers_that_are_killed_under_load_lose_nothing_and_are_replaced(server: Several) -> None:
    before = server.workers
    answered: list[str] = []

    def work(person: int) -> None:
        with server.client() as client:
            keys = (f"{person}-{each}" for each in range(COMMANDS))
            answered.extend(asked_again(client, f"content of {key}", key) for key in keys)

    with ThreadPoolExecutor(4) as people:
        done = [people.submit(work, person) for person in range(4)]
        for worker_slot in range(3):
            eventually(partial(has, answered, 20 + 40 * worker_slot))
            os.kill(before[worker_slot], signal.SIGKILL)
        for each in done:
            each.result(PATIENCE_S)
    eventually(lambda: set(server.workers.values()).isdisjoint(before.values()))
    assert server.stop() == 0
    assert len(set(answered)) == 4 * COMMANDS
    assert kinds(server.store)["block-learned"] == 4 * COMMANDS


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
def test_all_workers_stop_with_their_parent_and_nothing_acknowledged_is_lost(
    server: Several, how: signal.Signals
) -> None:
    begun = [Event() for _ in range(4)]

    def work(person: int) -> int:
        acknowledged = 0
        with server.client() as client, suppress(httpx.TransportError):
            while client.post(BLOCKS, json={"content": f"{person}: {acknowledged}"}).is_success:
                acknowledged += 1
                if acknowledged == 5:
                    begun[person].set()
        return acknowledged

    with ThreadPoolExecutor(4) as people:
        answer = [people.submit(work, person) for person in range(4)]
        assert all(each.wait(PATIENCE_S) for each in begun)
        assert server.stop(how) == 0
        acknowledged = sum(each.result(PATIENCE_S) for each in answer)
    assert not any(lives(pid) for pid in server.workers.values())
    stands = kinds(server.store)["block-learned"]
    assert acknowledged <= stands <= acknowledged + 4  # the last of each may have come too late


def test_workers_stop_when_the_parent_is_killed(server: Several) -> None:
    with server.client() as client:
        client.post(BLOCKS, json={"content": "Ines opens the gate."}).raise_for_status()
    server.process.kill()
    server.process.wait(PATIENCE_S)
    eventually(lambda: not any(lives(pid) for pid in server.workers.values()))
    assert kinds(server.store)["block-learned"] == 1
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.url)


def test_a_worker_stopped_by_hand_is_replaced(server: Several) -> None:
    before = server.workers
    os.kill(before[0], signal.SIGTERM)
    eventually(lambda: server.workers[0] != before[0])
    with ExitStack() as stack:
        clients = server.one_at_each(stack)
        assert [each.get("/readyz").status_code for each in clients] == [200] * 3
    assert server.stop() == 0


def test_a_worker_killed_by_an_unnamed_signal_is_replaced(server: Several) -> None:
    before = server.workers
    os.kill(before[0], signal.SIGRTMIN + 1)
    eventually(lambda: server.workers[0] != before[0])
    assert f"was ended by signal {signal.SIGRTMIN + 1}" in server.log.read_text()
    assert server.stop() == 0


def test_workers_that_die_again_and_again_end_the_server(server: Several) -> None:
    def killed() -> bool:
        with suppress(ProcessLookupError):
            os.kill(server.workers[1], signal.SIGKILL)
        return server.process.poll() is not None

    eventually(killed)
    assert server.process.returncode == 5
    assert '"code": "workers-failed"' in server.log.read_text()
    assert "SIGKILL soon after it began, 5 times in a row" in server.log.read_text()
    eventually(lambda: not any(lives(pid) for pid in server.workers.values()))


def test_workers_that_cannot_begin_say_why(tmp_path: Path) -> None:
    with several(tmp_path) as server, server.client() as client:
        client.post(BLOCKS, json={"content": "Ines opens the gate."}).raise_for_status()
        store = server.store
        server.stop()
    command = [sys.executable, "-c", SERVE, "--db", str(store), "--json", "serve", "--port", "0"]
    ran = subprocess.run(
        [*command, "--open-loopback", "--workers", "2", "--telemetry"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        env={**os.environ, "OTEL_TRACES_EXPORTER": "pigeons"},
    )
    assert ran.returncode == 5
    assert "worker " in ran.stderr
    assert "names 'pigeons', which is no exporter here" in ran.stderr


@pytest.mark.parametrize("number", [0, -1, WORKERS_MAX + 1])
def test_invalid_numbers_of_workers_are_refused(number: int) -> None:
    with pytest.raises(FieldRefused) as refused:
        check_count(number)
    assert refused.value.facts["field"] == "workers"


def test_a_process_with_threads_is_not_forked() -> None:
    over = Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        with pytest.raises(FieldRefused, match="threads run here"):
            check_count(2)
    finally:
        over.set()
        thread.join()
    check_count(2)


@pytest.mark.parametrize("store", [":memory:", MemoryStore()], ids=["memory", "object"])
def test_a_store_that_others_cannot_open_is_served_by_one(
    tmp_path: Path, store: str | MemoryStore
) -> None:
    keyring, settings = Keyring.open(tmp_path / "tokens"), Settings(port=0, open_loopback=True)
    with pytest.raises(FieldRefused, match="cannot share a store"):
        run(Spaces(store), keyring, settings, announce=lambda _: None, workers=2)


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="of Linux")
def test_the_bundled_model_is_loaded_once_and_shared(server: Several) -> None:
    workers = server.workers.values()
    before = [private_bytes(pid) for pid in workers]
    with ExitStack() as stack:
        clients = server.one_at_each(stack)
        clients[0].post(BLOCKS, json={"content": "Ines opens the gate."}).raise_for_status()
        clients[0].post("/v1/spaces/default/consolidate").raise_for_status()
        found = [each.post("/v1/spaces/default/recall", json={"query": "gate"}) for each in clients]
    assert [len(each.json()["block_ids"]) for each in found] == [1] * 3
    grown = [private_bytes(pid) - then for pid, then in zip(workers, before, strict=True)]
    assert max(grown) < MODEL_BYTES


def private_bytes(pid: int) -> int:
    """Return the size of a process's private memory."""
    answer = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(each) for each in _PRIVATE.findall(answer)) * 1024


def test_the_store_is_closed_cleanly(server: Several) -> None:
    with server.client() as client:
        client.post(BLOCKS, json={"content": "Ines opens the gate."}).raise_for_status()
    server.stop()
    assert not server.store.with_name("store.db-wal").exists()
    with sqlite3.connect(server.store) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
