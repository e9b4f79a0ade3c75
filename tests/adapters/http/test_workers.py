"""Several workers behind one address: start, death, replacement, shutdown, and what they share."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from threading import Event

import anyio
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from mnemic.adapters.access import Keyring
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.server import run
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.http.workers import WORKERS_MAX, check_count
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import FieldRefused
from tests.adapters.http.host import ENDLESS
from tests.adapters.http.live_servers import stream, take
from tests.adapters.http.worker_processes import (
    BLOCKS,
    PATIENCE_S,
    SERVE,
    Several,
    eventually,
    hosted,
    learn_all,
    lives,
    several,
)
from tests.adapters.mcp.clients import GATE, OIL, learned
from tests.adapters.mcp.servers import visiting

pytestmark = pytest.mark.extended

COUNT = 2
COMMANDS = 40
"""Commands of each client while workers die."""
SPACE = "/v1/spaces/default"
SILENCE_S = 4.0
"""Longer than a worker waits for the processor on a machine that is busy with other tests."""
SOON_S = 1.0
"""Time in which a stream shows another worker's write; it polls four times a second."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Several]:
    """Workers that no test stops; each test uses its own spaces."""
    with several(tmp_path_factory.mktemp("workers"), workers=COUNT) as running:
        yield running


@pytest.fixture
def clients(shared: Several) -> Generator[list[httpx.Client]]:
    """Clients that are connected to a worker each."""
    with ExitStack() as stack:
        yield shared.one_at_each(stack)


@pytest.fixture
def server(tmp_path: Path) -> Generator[Several]:
    """Workers over an empty store."""
    with several(tmp_path, workers=COUNT) as running:
        yield running


def has(answers: list[str], many: int) -> bool:
    """Return whether at least this many answers have arrived."""
    return len(answers) >= many


def is_replaced(server: Several, pid: int) -> bool:
    """Return whether a worker has ended, and another serves in its place."""
    return not lives(pid) and len(server.workers) == COUNT


def kinds(store: Path) -> Counter[str]:
    """Return the number of events of each kind in a verified log."""
    with SyncMemory.open(store, read_only=True) as memory:
        assert memory.verify().sound
        return Counter(memory.timeline().kinds)


# --- death and replacement --------------------------------------------------------------------


def test_workers_that_are_killed_under_load_lose_nothing_and_are_replaced(server: Several) -> None:
    before = server.workers
    answered: list[str] = []

    with ThreadPoolExecutor(4) as people:
        done = [people.submit(learn_all, server, person, COMMANDS, answered) for person in range(4)]
        for number, pid in enumerate(before):
            eventually(partial(has, answered, 20 + 40 * number))
            os.kill(pid, signal.SIGKILL)
        for each in done:
            each.result(PATIENCE_S)
    eventually(lambda: all(is_replaced(server, pid) for pid in before))
    assert server.stop() == 0
    assert len(set(answered)) == 4 * COMMANDS
    assert kinds(server.store)["block-learned"] == 4 * COMMANDS


@pytest.mark.parametrize("how", ["stopped", "interpreter lock held"])
def test_a_worker_that_hangs_is_replaced(tmp_path: Path, how: str) -> None:
    store = tmp_path / "store.db"
    with hosted(tmp_path, str(store), workers=COUNT, silence_max_s=SILENCE_S) as server:
        with server.client() as client:
            client.put(SPACE).raise_for_status()
            learned_text = client.post(BLOCKS, json={"content": ENDLESS})
            stuck = server.who_answered(learned_text)
            if how == "stopped":
                os.kill(stuck, signal.SIGSTOP)
            else:
                with suppress(httpx.TransportError):
                    client.post(f"{SPACE}/consolidate").raise_for_status()
        eventually(partial(is_replaced, server, stuck))
        with server.client() as client:
            assert client.get(SPACE).json()["inbox"] == 1
        assert server.stop() == 0


def test_a_worker_stopped_by_hand_is_replaced(server: Several) -> None:
    first, *_ = server.workers
    os.kill(first, signal.SIGTERM)
    eventually(partial(is_replaced, server, first))
    with ExitStack() as stack:
        clients = server.one_at_each(stack)
        assert [each.get("/readyz").status_code for each in clients] == [200] * COUNT


# --- start and shutdown -----------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
def test_all_workers_stop_with_their_parent_and_nothing_acknowledged_is_lost(
    server: Several, how: signal.Signals
) -> None:
    begun = [Event() for _ in range(4)]
    workers = server.workers

    def work(person: int) -> int:
        acknowledged = 0
        with server.client() as client, suppress(httpx.TransportError):
            while client.post(BLOCKS, json={"content": f"{person}: {acknowledged}"}).is_success:
                acknowledged += 1
                if acknowledged == 5:
                    begun[person].set()
        return acknowledged

    with ThreadPoolExecutor(4) as people, server.client() as follower:
        answer = [people.submit(work, person) for person in range(4)]
        assert all(each.wait(PATIENCE_S) for each in begun)
        with stream(follower, f"{SPACE}/events") as followed:
            take(followed, 2)
            assert server.stop(how) == 0  # the stream ends, and nobody waits for it
        acknowledged = sum(each.result(PATIENCE_S) for each in answer)
    assert not any(lives(pid) for pid in workers)
    assert not server.store.with_name("store.db-wal").exists()
    written = kinds(server.store)["block-learned"]
    assert acknowledged <= written <= acknowledged + 4  # the last of each may have come too late
    with closing(sqlite3.connect(server.store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_workers_stop_when_the_parent_is_killed(server: Several) -> None:
    workers = server.workers
    with server.client() as client:
        client.post(BLOCKS, json={"content": "Ines opens the gate."}).raise_for_status()
    server.process.kill()
    server.process.wait(PATIENCE_S)
    eventually(lambda: not any(lives(pid) for pid in workers))
    assert kinds(server.store)["block-learned"] == 1
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.url)


def test_workers_that_cannot_begin_say_why(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    SyncMemory.open(store, embedder=HashEmbedder()).close()
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
    assert '"code": "workers-failed"' in ran.stderr
    assert "names 'pigeons', which is no exporter here" in ran.stderr


@pytest.mark.parametrize("number", [0, -1, WORKERS_MAX + 1])
def test_invalid_numbers_of_workers_are_refused(number: int) -> None:
    with pytest.raises(FieldRefused) as refused:
        check_count(number)
    assert refused.value.facts["field"] == "workers"


@pytest.mark.parametrize("store", [":memory:", MemoryStore()], ids=["memory", "object"])
def test_a_store_that_others_cannot_open_is_served_by_one(
    tmp_path: Path, store: str | MemoryStore
) -> None:
    keyring, settings = Keyring.open(tmp_path / "tokens"), Settings(port=0, open_loopback=True)
    with pytest.raises(FieldRefused, match="cannot share a store"):
        run(Spaces(store), keyring, settings, announce=lambda _: None, workers=2)


def test_a_model_that_cannot_be_sent_to_workers_is_refused(tmp_path: Path) -> None:
    class Local(HashEmbedder):
        """A class that no other process can import."""

    spaces = Spaces(tmp_path / "store.db", embedder=Local())
    keyring, settings = Keyring.open(tmp_path / "tokens"), Settings(port=0, open_loopback=True)
    with pytest.raises(FieldRefused, match="models that can be pickled"):
        run(spaces, keyring, settings, announce=lambda _: None, workers=2)


# --- what workers share -----------------------------------------------------------------------


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_an_agent_may_reach_any_worker(shared: Several, era: str) -> None:
    """Clients of the protocol since 2026-07-28, and before, when it had sessions."""

    async def conversation() -> None:
        with shared.client() as admin:
            admin.put(f"/v1/spaces/{era}").raise_for_status()
        async with visiting(f"{shared.url}/mcp/{era}", shared.secret, mode=era) as agent:
            ids: set[str] = set()
            async with anyio.create_task_group() as tasks:  # connections to all workers

                async def one(number: int) -> None:
                    ids.add(await learned(agent, f"{GATE} {number}"))

                for number in range(9):
                    tasks.start_soon(one, number)
        with shared.client() as admin:
            found = admin.get(f"/v1/spaces/{era}/blocks", params={"limit": 100}).json()["items"]
        assert {each["id"] for each in found} == ids

    anyio.run(conversation)


def test_a_stream_shows_writes_of_other_workers(clients: list[httpx.Client]) -> None:
    reader, *writers = clients
    reader.put("/v1/spaces/followed").raise_for_status()
    with stream(reader, "/v1/spaces/followed/events") as followed:
        assert [event.name for event in take(followed, 2)] == ["space-opened", "policy-adopted"]
        waits_s: list[float] = []
        for number, writer in enumerate(writers * 3):
            writer.post("/v1/spaces/followed/blocks", json={"content": f"{number}"})
            written = time.monotonic()
            assert next(followed).name == "block-learned"
            waits_s.append(time.monotonic() - written)
        assert min(waits_s) < SOON_S  # longer ones are due to the machine


def test_a_session_of_the_log_goes_on_at_any_worker(clients: list[httpx.Client]) -> None:
    one, two = clients
    one.put("/v1/spaces/sitting").raise_for_status()
    begun = one.post("/v1/spaces/sitting/sessions", json={}).json()["session_id"]
    headers = {"mnemic-session": begun}
    learn = two.post("/v1/spaces/sitting/blocks", json={"content": GATE}, headers=headers)
    ended = one.post("/v1/spaces/sitting/sessions/end", headers=headers)
    after = two.post("/v1/spaces/sitting/blocks", json={"content": OIL}, headers=headers)
    assert (learn.status_code, ended.status_code, after.status_code) == (201, 200, 409), after.text


def test_concurrent_repeats_of_a_command_are_executed_once(
    clients: list[httpx.Client],
) -> None:
    clients[0].put("/v1/spaces/once").raise_for_status()

    def ask(number: int) -> httpx.Response:
        key = {"idempotency-key": "the same"}
        content = {"content": "Only once."}
        return clients[number % COUNT].post("/v1/spaces/once/blocks", json=content, headers=key)

    with ThreadPoolExecutor(16) as people:
        answers = list(people.map(ask, range(16)))
    assert len({answer.json()["block_id"] for answer in answers}) == 1
    log = clients[0].get("/v1/spaces/once/log").json()["items"]
    assert Counter(event["kind"] for event in log)["block-learned"] == 1


def test_of_concurrent_conditional_writes_one_succeeds(clients: list[httpx.Client]) -> None:
    clients[0].put("/v1/spaces/guarded").raise_for_status()
    etag = clients[0].get("/v1/spaces/guarded/log").headers["etag"]

    def ask(number: int) -> int:
        headers = {"if-match": etag}
        path, content = "/v1/spaces/guarded/blocks", {"content": f"{number}"}
        return clients[number % COUNT].post(path, json=content, headers=headers).status_code

    with ThreadPoolExecutor(16) as people:
        assert Counter(people.map(ask, range(16))) == {201: 1, 412: 15}


def test_a_space_that_is_made_is_there_for_all(clients: list[httpx.Client]) -> None:
    made = [each.put("/v1/spaces/fresh").status_code for each in clients]
    learned_in = [
        each.post("/v1/spaces/fresh/blocks", json={"content": f"{number}"}).status_code
        for number, each in enumerate(clients)
    ]
    seen = [each.get("/v1/spaces/fresh").json()["version"] for each in clients]
    assert (made, learned_in, seen) == ([201, 200], [201] * COUNT, [seen[0]] * COUNT)


def test_metrics_are_those_of_all_workers(server: Several) -> None:
    with ExitStack() as stack:
        clients = server.one_at_each(stack)
        for client in clients:
            client.get("/v1/nowhere")
        assert [refused(client) for client in clients] == [COUNT] * COUNT
        first, *_ = server.workers
        os.kill(first, signal.SIGKILL)
        eventually(partial(is_replaced, server, first))
        with server.client() as client:
            eventually(lambda: client.get("/readyz").is_success)
            assert refused(client) == COUNT
            page = client.get("/metrics").text
            assert "\nmnemic_requests_in_flight 1.0\n" in page
            assert "pid=" not in page
    with httpx.Client(base_url=server.url, timeout=PATIENCE_S) as stranger:
        assert stranger.get("/metrics").status_code == 401


def refused(client: httpx.Client) -> float:
    """Return how many requests for unknown paths were counted."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    return sum(
        sample.value
        for family in families
        for sample in family.samples
        if sample.name == "mnemic_requests_total" and sample.labels["status"] == "404"
    )
