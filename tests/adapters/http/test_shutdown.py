"""Shutdown of a server while streams are open and commands are in progress."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event
from uuid import uuid4

import httpx
import pytest

from mnemic.adapters.access import Keyring
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from tests.adapters.http.live_servers import (
    COMMENT,
    PATIENCE_S,
    running,
    stream,
)

pytestmark = pytest.mark.extended

STOPPED_WITHIN_S = 20.0
"""A client that is waited for delays a shutdown by the grace of 30 seconds; otherwise it takes
1 or 2 seconds on an idle machine."""
LEARNERS = 4
MEGABYTES = 12
"""More than the buffers between a server and a reader hold."""
SERVE = "import sys; from mnemic.adapters.cli import main; sys.exit(main(sys.argv[1:]))"


@contextmanager
def served(folder: Path) -> Generator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Run ``mnemic serve`` as a process of its own, for a ``with`` block."""
    store = folder / "store.db"
    _, secret = Keyring.open(f"{store}.tokens").create("ines", {"*": "admin"})
    command = ["serve", "--db", str(store), "--port", "0", "--json", "--quiet"]
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, *command], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            headers = {"authorization": f"Bearer {secret}"}
            with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE_S) as client:
                yield process, client
        finally:
            if process.poll() is None:
                process.kill()


def learn_until_refused(client: httpx.Client, learner: int, begun: Event) -> list[str]:
    """Learn one text after the other, and return what was acknowledged."""
    acknowledged: list[str] = []
    with suppress(httpx.TransportError):
        for number in count():
            answer = client.post(
                "/v1/spaces/default/blocks", json={"content": f"{learner} learns {number}"}
            )
            if answer.status_code != 201:
                break
            acknowledged.append(answer.json()["block_id"])
            if number == 10:
                begun.set()
    return acknowledged


def test_stalled_readers_do_not_delay_shutdown(tmp_path: Path) -> None:
    with running(tmp_path) as server, server.inside("a") as client, ExitStack() as stack:
        for _ in range(MEGABYTES):
            lessons = [f"{uuid4()} {'gulls ' * 2500}" for _ in range(70)]
            client.post("blocks/batch", json={"lessons": lessons}).raise_for_status()
        for _ in range(3):
            stuck = stack.enter_context(client.stream("GET", "events"))
            assert stuck.status_code == 200
        found = time.monotonic()
        server.stop()
        assert time.monotonic() - found < STOPPED_WITHIN_S


def test_unread_complete_responses_do_not_delay_shutdown(tmp_path: Path) -> None:
    with running(tmp_path) as server, server.inside("a") as client:
        lessons = [f"{uuid4()} {'gulls ' * 2500}" for _ in range(70)]
        client.post("blocks/batch", json={"lessons": lessons}).raise_for_status()
        asked = f"GET {client.base_url.path}blocks HTTP/1.1\r\nhost: x\r\n"
        bearer = f"authorization: {client.headers['authorization']}\r\n\r\n"
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address) as connection:
            connection.sendall((asked + bearer).encode() * 20)
            assert connection.recv(1) == b"H"
            found = time.monotonic()
            server.stop()
            assert time.monotonic() - found < STOPPED_WITHIN_S


def test_unfinished_requests_do_not_delay_shutdown(tmp_path: Path) -> None:
    with running(tmp_path) as server, server.inside("a") as client:
        head = f"POST {client.base_url.path}blocks HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n"
        rest = f"authorization: {client.headers['authorization']}\r\nexpect: 100-continue\r\n\r\n"
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address) as connection:
            connection.sendall((head + rest).encode())
            assert connection.recv(12) == b"HTTP/1.1 100"  # the server waits for the body
            connection.sendall(b'{"content":')
            found = time.monotonic()
            server.stop()
            assert time.monotonic() - found < STOPPED_WITHIN_S


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
def test_streams_end_and_nothing_acknowledged_is_lost(tmp_path: Path, how: signal.Signals) -> None:
    begun = [Event() for _ in range(LEARNERS)]
    with (
        ThreadPoolExecutor(LEARNERS) as threads,
        served(tmp_path) as (process, client),
        stream(client, "/v1/spaces/default/events") as followed,
    ):
        learning = [
            threads.submit(learn_until_refused, client, each, begun[each])
            for each in range(LEARNERS)
        ]
        for each in begun:
            assert each.wait(PATIENCE_S)
        found = time.monotonic()
        process.send_signal(how)
        names = [each.name for each in followed]
        assert process.wait(STOPPED_WITHIN_S) == 0
        assert time.monotonic() - found < STOPPED_WITHIN_S
        acknowledged = {block for each in learning for block in each.result(PATIENCE_S)}
    assert names[-1] == COMMENT
    with SyncMemory.open(tmp_path / "store.db", embedder=HashEmbedder()) as memory:
        kept = {memory.block(each).id for each in acknowledged}
        assert memory.verify().sound
    assert len(acknowledged) > 10 * LEARNERS
    assert kept == acknowledged
