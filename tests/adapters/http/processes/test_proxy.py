"""Forwarding between processes behind one address: state of one process is reachable by all."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from mnemic.adapters.access import Keyring
from mnemic.adapters.http.middleware.request_ids import REQUEST_ID
from mnemic.adapters.http.processes import merged_metrics
from mnemic.adapters.http.processes.proxy import WorkerProxy
from mnemic.adapters.http.processes.worker_slots import WorkerSlot, worker_slots
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.remote.transport_errors import Overdue, Overloaded
from tests.adapters.http.live_servers import stream, take
from tests.adapters.http.worker_processes import (
    BLOCKS,
    PATIENCE_S,
    Several,
    eventually,
    several,
)
from tests.adapters.mcp.clients import GATE, OIL, kinds, learned
from tests.adapters.mcp.servers import visiting

pytestmark = pytest.mark.extended

ERAS = ["auto", "legacy"]
"""Clients of the protocol since 2026-07-28, which has no sessions, and before."""
SPACE = "/v1/spaces/default"
SOON_S = 1.0
"""Time in which a stream shows another worker's write; it polls four times a second."""
SCRAPE_S = 10.0
"""Prometheus' default timeout."""
TAKES = {"accept": "application/json, text/event-stream"}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Several]:
    """Three workers shared by the tests of this module; each test uses its own spaces."""
    with several(tmp_path_factory.mktemp("relays")) as running:
        yield running


@pytest.fixture
def clients(server: Several) -> Generator[list[httpx.Client]]:
    """Three clients, each connected to another worker."""
    with ExitStack() as stack:
        yield server.one_at_each(stack)


@pytest.mark.parametrize("era", ERAS)
def test_an_agent_has_one_session_handle_at_all_workers(server: Several, era: str) -> None:
    async def conversation() -> None:
        with server.client() as admin:
            admin.put(f"/v1/spaces/{era}").raise_for_status()
        async with visiting(f"{server.url}/mcp/{era}", server.secret, mode=era) as agent:
            ids: list[str] = []
            async with anyio.create_task_group() as tasks:  # connections to all workers

                async def one(number: int) -> None:
                    ids.append(await learned(agent, f"{GATE} {number}"))

                for number in range(9):
                    tasks.start_soon(one, number)
            last = await learned(agent, OIL)
            listed = [str(each.uri) for each in (await agent.list_resources()).resources]
            assert (await kinds(agent)).count("session-started") == 1
            assert set(listed[2:]) == {f"mnemic://blocks/{each}" for each in (last, *ids)}

    anyio.run(conversation)


def test_a_session_of_the_protocol_is_known_to_all_workers(clients: list[httpx.Client]) -> None:
    session = begun(clients[0], "/mcp/default")
    pinged = [each.post("/mcp/default", json=PING, headers=session) for each in clients]
    ended = clients[1].delete("/mcp/default", headers=session)
    after = [each.post("/mcp/default", json=PING, headers=session) for each in clients]
    assert [answer.status_code for answer in (*pinged, ended)] == [200] * 4
    assert [answer.status_code for answer in after] == [404] * 3
    assert len({answer.headers["x-request-id"] for answer in pinged}) == 3


def test_forwarded_requests_are_authorized_alike(
    server: Several, clients: list[httpx.Client]
) -> None:
    keyring = Keyring.open(f"{server.store}.tokens")
    token, secret = keyring.create("reader", {"default": "read"})
    bearer = {**TAKES, "authorization": f"Bearer {secret}"}
    statuses: list[list[int]] = []
    for name in ({}, {"host": "evil.example"}, {"origin": "http://evil.example"}):
        answers = [
            each.post("/mcp/default", json=INITIALIZE, headers={**bearer, **name})
            for each in clients
        ]
        statuses.append([answer.status_code for answer in answers])
    keyring.revoke(token.id)
    answers = [each.post("/mcp/default", json=INITIALIZE, headers=bearer) for each in clients]
    statuses.append([answer.status_code for answer in answers])
    assert statuses == [[200] * 3, [421] * 3, [403] * 3, [401] * 3]


def test_a_body_that_is_too_long_is_refused_by_all_workers(clients: list[httpx.Client]) -> None:
    long = {**INITIALIZE, "padding": "x" * (17 << 20)}
    answers = [each.post("/mcp/default", json=long, headers=TAKES) for each in clients]
    assert [answer.status_code for answer in answers] == [413] * 3


def begun(client: httpx.Client, path: str = "/mcp") -> dict[str, str]:
    """Begin a session of the protocol, and return the headers that continue it."""
    opened = client.post(path, json=INITIALIZE, headers=TAKES)
    return {**TAKES, "mcp-session-id": opened.headers["mcp-session-id"]}


def test_listeners_at_any_worker_see_the_end_of_a_session(tmp_path: Path) -> None:
    with several(tmp_path) as server, ExitStack() as stack:
        clients = server.one_at_each(stack)
        sessions = [begun(clients[0]) for _ in clients]
        streams = [
            stack.enter_context(each.stream("GET", "/mcp", headers=session))
            for each, session in zip(clients, sessions, strict=True)
        ]
        assert [each.status_code for each in streams] == [200] * 3
        assert server.stop() == 0
        assert [each.read() for each in streams] == [b""] * 3


def is_replaced(server: Several, worker_slot: int, pid: int) -> bool:
    """Return whether a worker was replaced."""
    return server.workers[worker_slot] != pid


def test_when_the_worker_of_a_session_dies_its_client_begins_anew(tmp_path: Path) -> None:
    """As the protocol requires: an unknown session is answered with 404."""
    with several(tmp_path) as server, ExitStack() as stack:
        clients = server.one_at_each(stack)
        session = begun(clients[0])
        for worker_slot, pid in server.workers.items():
            os.kill(pid, signal.SIGKILL)
            eventually(partial(is_replaced, server, worker_slot, pid))
        with server.client() as client:
            lost = client.post("/mcp", json=PING, headers=session)
            again = client.post("/mcp", json=INITIALIZE, headers=TAKES)
    assert (lost.status_code, again.status_code) == (404, 200)


@contextmanager
def hanging_up(folder: Path) -> Generator[WorkerProxy]:
    """Return a proxy to a process that closes each connection at the first request."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        worker_slots(listener, 2) as made,
        socket.socket(socket.AF_UNIX) as room,
    ):
        path = folder / "room"
        room.bind(str(path))
        room.listen()
        worker_slot = WorkerSlot(
            number=0,
            listener=listener,
            peer_paths=[made.paths[0], str(path)],
            peer_listener=made.peer_listeners[0],
            counters=made.counters,
            lifeline=made.lifeline[0],
            reports=made.lifeline[1],
        )

        def hang_up() -> None:
            asker, _ = room.accept()
            with asker:
                asker.recv(4096)

        with ThreadPoolExecutor(1) as pool:
            pool.submit(hang_up)
            yield WorkerProxy(worker_slot=worker_slot, settings=Settings())


def passed_on(relays: WorkerProxy) -> None:
    """Forward a request to the other process."""
    scope = {
        "method": "POST",
        "raw_path": b"/mcp",
        "query_string": b"",
        "headers": [],
        REQUEST_ID: "r1",
    }

    async def ask() -> None:
        await relays.pass_on(1, scope, anyio.sleep_forever, None, body=b"{}")

    anyio.run(ask)


def test_a_request_to_a_dying_worker_is_overdue(tmp_path: Path) -> None:
    """Otherwise a client would assume that nothing was begun, and learn the text twice."""
    with hanging_up(tmp_path) as relays:
        with pytest.raises(Overdue, match="may have done"):
            passed_on(relays)
        Path(relays.worker_slot.peer_paths[1]).unlink()
        with pytest.raises(Overloaded, match="another takes over"):
            passed_on(relays)


def test_a_failing_worker_leaves_the_metrics_of_the_others(tmp_path: Path) -> None:
    async def fail(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 Oh\r\ncontent-length: 7\r\n\r\nwhy not")
        writer.close()

    async def own() -> bytes:
        return b"blocks 1\n"

    async def scraped(relays: WorkerProxy) -> bytes:
        async with await asyncio.start_unix_server(fail, relays.worker_slot.peer_paths[1]):
            return await merged_metrics.merged_of_workers(relays, own)

    with hanging_up(tmp_path) as relays:
        with pytest.raises(Overdue):
            passed_on(relays)
        Path(relays.worker_slot.peer_paths[1]).unlink()
        page = asyncio.run(scraped(relays))
    assert page.endswith(b'blocks{worker="0"} 1.0\n')


def test_a_hung_worker_does_not_delay_metrics(tmp_path: Path) -> None:
    with several(tmp_path) as server, server.client() as client:
        asked = server.who_answered(client.get("/healthz"))
        stuck = next(pid for pid in server.workers.values() if pid != asked)
        os.kill(stuck, signal.SIGSTOP)
        try:
            begun_s = time.monotonic()
            page = client.get("/metrics")
            took_s = time.monotonic() - begun_s
        finally:
            os.kill(stuck, signal.SIGCONT)
        assert page.status_code == 200
        assert took_s < SCRAPE_S


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
    one, two, three = clients
    one.put("/v1/spaces/sitting").raise_for_status()
    begun = one.post("/v1/spaces/sitting/sessions", json={}).json()["session_id"]
    headers = {"mnemic-session": begun}
    learn = two.post("/v1/spaces/sitting/blocks", json={"content": GATE}, headers=headers)
    ended = three.post("/v1/spaces/sitting/sessions/end", headers=headers)
    after = one.post("/v1/spaces/sitting/blocks", json={"content": OIL}, headers=headers)
    assert (learn.status_code, ended.status_code, after.status_code) == (201, 200, 409), after.text


def test_concurrent_repeats_of_a_command_are_executed_once(
    clients: list[httpx.Client],
) -> None:
    clients[0].put("/v1/spaces/once").raise_for_status()

    def ask(number: int) -> httpx.Response:
        key = {"idempotency-key": "the same"}
        content = {"content": "Only once."}
        return clients[number % 3].post("/v1/spaces/once/blocks", json=content, headers=key)

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
        return clients[number % 3].post(path, json=content, headers=headers).status_code

    with ThreadPoolExecutor(16) as people:
        assert Counter(people.map(ask, range(16))) == {201: 1, 412: 15}


def test_a_space_that_is_made_is_there_for_all(clients: list[httpx.Client]) -> None:
    made = [each.put("/v1/spaces/fresh").status_code for each in clients]
    learned_in = [
        each.post("/v1/spaces/fresh/blocks", json={"content": f"{number}"}).status_code
        for number, each in enumerate(clients)
    ]
    seen = [each.get("/v1/spaces/fresh").json()["version"] for each in clients]
    assert (made, learned_in, seen) == ([201, 200, 200], [201] * 3, [seen[0]] * 3)


def test_the_metrics_page_covers_all_workers(server: Several, clients: list[httpx.Client]) -> None:
    for each in clients:
        each.get("/v1/nowhere")
    pages = [each.get("/metrics") for each in clients]
    counted = [
        {
            sample.labels["worker"]
            for family in text_string_to_metric_families(page.text)
            for sample in family.samples
            if sample.name == "mnemic_requests_total" and sample.labels["status"] == "404"
        }
        for page in pages
    ]
    assert counted == [{"0", "1", "2"}] * 3
    assert len(set(re.findall(r'process_start_time_seconds{worker="(\d)"}', pages[0].text))) == 3
    assert len(re.findall("# TYPE mnemic_requests_total counter", pages[0].text)) == 1
    with httpx.Client(base_url=server.url, timeout=PATIENCE_S) as stranger:
        assert stranger.get("/metrics").status_code == 401


def test_lines_of_the_log_name_the_process(server: Several, clients: list[httpx.Client]) -> None:
    answered = clients[0].post(BLOCKS, json={"content": "Whoever wrote this."})
    assert server.who_answered(answered) in server.workers.values()
