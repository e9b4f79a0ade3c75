"""A real server: what it accepts from a connection, and how it stops."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import httpx
import pytest

from mnemic.adapters.access import Keyring
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.server import address, check_reach, listening, run
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import FieldRefused, StoreFailed
from mnemic.kernel.results import Block
from tests.adapters.http.servers import PATIENCE_S, Served, served

MNEMIC = "import sys; from mnemic.adapters.cli import main; sys.exit(main())"
HEAD = b"POST /v1/spaces/notes/blocks HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"


def answer(connection: socket.socket) -> bytes:
    """Return all data of a connection until it is closed."""
    parts = []
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_a_server_answers_and_ends(tmp_path: Path) -> None:
    with served(tmp_path) as it, it.client() as client:
        made = client.put("/v1/spaces/notes")
        learned = client.post("/v1/spaces/notes/blocks", json={"content": "Ines moved it."})
    assert (made.status_code, learned.status_code) == (201, 201)
    assert "server" not in learned.headers


def test_serving_leaves_the_loggers_of_the_program_as_they_are(tmp_path: Path) -> None:
    logger = logging.getLogger("uvicorn")
    before = [*logger.handlers]
    spaces = Spaces(tmp_path / "memory.db", embedder=HashEmbedder())
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        settings = Settings(port=taken.getsockname()[1], open_loopback=True)
        with pytest.raises(StoreFailed):
            run(spaces, Keyring.open(tmp_path / "tokens"), settings, announce=lambda _: None)
    assert logger.handlers == before


def test_a_late_head_closes_the_connection(tmp_path: Path) -> None:
    with served(tmp_path, Settings(head_timeout_s=0.05)) as it, it.connect() as connection:
        connection.sendall(HEAD)
        assert answer(connection).startswith(b"HTTP/1.1 408 ")


def test_a_late_second_head_closes_the_connection(tmp_path: Path) -> None:
    with served(tmp_path, Settings(head_timeout_s=0.2)) as it, ExitStack() as stack:
        with it.busy():
            connection = stack.enter_context(it.connect())
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nGET /hea")
        said = answer(connection)
    assert said.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in said


def test_a_head_that_never_ends_is_cut_off(tmp_path: Path) -> None:
    with served(tmp_path) as it, it.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n" + b"x: y\r\n" * 20_000)
        assert answer(connection).startswith(b"HTTP/1.1 431 ")


def test_a_late_body_is_refused(tmp_path: Path) -> None:
    with served(tmp_path, Settings(body_timeout_s=0.05)) as it:
        with it.client() as client:
            client.put("/v1/spaces/notes")
        bearer = f"authorization: Bearer {it.secret}\r\n".encode()
        with it.connect() as connection:
            connection.sendall(HEAD + bearer + b"content-length: 100\r\n\r\n{")
            said = answer(connection)
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"request-too-slow"' in said


def test_a_client_that_disconnects_within_a_request_leaves_nothing(tmp_path: Path) -> None:
    with served(tmp_path) as it, it.client() as client:
        client.put("/v1/spaces/notes")
        bearer = f"authorization: Bearer {it.secret}\r\n".encode()
        with it.connect() as connection:
            connection.sendall(HEAD + bearer + b'content-length: 100\r\n\r\n{"content":"half')
        assert client.get("/v1/spaces/notes").json()["version"] == 1


def test_requests_that_come_at_once_are_answered_in_order(tmp_path: Path) -> None:
    with served(tmp_path) as it, it.connect() as connection:
        connection.sendall(
            b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
            b"GET /v1/nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        )
        said = answer(connection)
    assert re.findall(rb"HTTP/1.1 [0-9]{3}", said) == [b"HTTP/1.1 200", b"HTTP/1.1 404"]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"GET /healthz HTTP/1.1\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nhost: x\r\nhost: y\r\n", b"400"),
        (b"GET /healthz HTTP/1.0\r\n", b"200"),
    ],
)
def test_a_request_has_exactly_one_host_header(
    tmp_path: Path, head: bytes, expected: bytes
) -> None:
    with served(tmp_path) as it, it.connect() as connection:
        connection.sendall(head + b"connection: close\r\n\r\n")
        assert answer(connection).split(b" ")[1] == expected


def test_an_encoded_slash_does_not_separate_names(tmp_path: Path) -> None:
    with served(tmp_path) as it, it.client() as client:
        client.put("/v1/spaces/a%2Fblocks")
        assert client.get("/v1/spaces/a%2Fblocks").json()["space"] == "a/blocks"
        assert client.get("/v1/spaces/a/blocks").status_code == 404


def learning(it: Served, name: str, begun: Callable[[], object]) -> list[str]:
    """Learn until the server has stopped, and return what it acknowledged."""
    kept: list[str] = []
    with it.client() as client, suppress(httpx.TransportError):
        while True:
            content = f"{name} says {len(kept)}."
            client.post("/v1/spaces/notes/blocks", json={"content": content}).raise_for_status()
            kept.append(content)
            begun()
    return kept


def every(memory: SyncMemory) -> Iterator[Block]:
    """Yield all blocks, which may be more than a page."""
    after: int | None = -1
    while after is not None:
        page = memory.blocks(after=after, limit=1000)
        yield from page.items
        after = page.next_after


def test_nothing_that_was_acknowledged_is_lost_by_a_stop(tmp_path: Path) -> None:
    """The server is stopped under load."""
    with served(tmp_path) as it, ThreadPoolExecutor(4) as people:
        with it.client() as client:
            client.put("/v1/spaces/notes")
        answers = 0

        def begun() -> None:
            nonlocal answers
            answers += 1
            if answers > 40:
                it.server.should_exit = True

        told = [people.submit(learning, it, name, begun) for name in ("Ada", "Bo", "Cy", "Di")]
        acknowledged = {content for each in told for content in each.result(PATIENCE_S)}
    with SyncMemory.open(it.store, space="notes") as memory:
        found = {block.content for block in every(memory)}
        assert memory.verify().sound
    assert len(acknowledged) > 40
    assert acknowledged <= found


@pytest.mark.extended
@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_command_cleanly(tmp_path: Path, told: signal.Signals) -> None:
    command = [sys.executable, "-c", MNEMIC, "--json", "serve"]
    options = ["--db", str(tmp_path / "m.db"), "--port", "0", "--open-loopback"]
    with subprocess.Popen(
        command + options, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        blocks = f"{said['url']}/v1/spaces/default/blocks"
        learned = httpx.post(blocks, json={"content": "Kept."}, timeout=PATIENCE_S)
        os.kill(process.pid, told)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, learned.status_code) == (0, 201)
    assert said["spaces"] == ["default"]
    assert "Traceback" not in errors
    with SyncMemory.open(tmp_path / "m.db") as memory:
        assert [block.content for block in memory.blocks().items] == ["Kept."]


def test_an_address_in_use_is_reported() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        settings = Settings(port=taken.getsockname()[1])
        with pytest.raises(StoreFailed, match="cannot listen at"), listening(settings):
            pass


def test_an_ipv6_address_is_in_brackets() -> None:
    settings = Settings(host="::1", port=0)
    with listening(settings) as listener:
        assert address(listener, settings) == f"http://[::1]:{listener.getsockname()[1]}"


@pytest.mark.parametrize("settings", [Settings(host="0.0.0.0"), Settings(host="::")])  # noqa: S104
def test_an_interface_to_other_machines_requires_tokens(tmp_path: Path, settings: Settings) -> None:
    keyring = Keyring.open(tmp_path / "tokens")
    with pytest.raises(FieldRefused, match="no token"):
        check_reach(keyring, settings)
    keyring.create("ines", {"notes": "read"})
    check_reach(keyring, settings)


def test_a_short_response_is_sent_without_delay() -> None:
    with (
        listening(Settings(port=0)) as listener,
        socket.create_connection(listener.getsockname()),
        closing(listener.accept()[0]) as made,
    ):
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
