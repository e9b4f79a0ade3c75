"""What a connection refuses before a request reaches the application: always a problem document."""

from __future__ import annotations

import json
import socket
from collections.abc import Generator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.http.connections import HEAD_MAX_BYTES
from mnemic.adapters.http.settings import Settings
from tests.adapters.http.servers import Served, served

GET = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
PADDING = b"x: "


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    folder: Path = tmp_path_factory.mktemp("connections")
    with served(folder) as it:
        yield it


def answered(connection: socket.socket) -> bytes:
    """Return all data of a connection until it is closed."""
    parts = []
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def exchanged(server: Served, data: bytes) -> bytes:
    """Send data on a new connection and return the whole answer."""
    with server.connect() as connection:
        connection.sendall(data)
        return answered(connection)


def problem(answer: bytes) -> tuple[int, dict[str, Any]]:
    """Return the status and the document of an answer that must be a problem document."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    document = json.loads(body)
    assert headers["content-type"] == "application/problem+json"
    assert headers["content-length"] == str(len(body))
    assert headers["connection"] == "close"
    assert document["instance"] == f"urn:mnemic:request:{headers['x-request-id']}"
    assert document["status"] == int(status.split(" ")[1])
    return document["status"], document


def padded(size: int) -> bytes:
    """Return a request whose headers are this long in all, up to a few bytes."""
    line = PADDING + b"y" * (8 * 1024 - len(PADDING) - 2) + b"\r\n"
    lines = [line] * (size // len(line))
    rest = size - len(GET) - len(b"".join(lines))
    return GET + b"".join(lines) + PADDING + b"y" * (rest - len(PADDING) - 2) + b"\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    ],
)
def test_what_is_not_http_gets_a_problem_document(server: Served, data: bytes) -> None:
    status, document = problem(exchanged(server, data))
    assert (status, document["code"]) == (400, "request-unreadable")
    assert document["recovery"]


def test_a_head_that_is_too_long_gets_a_problem_document_at_once(server: Served) -> None:
    data = padded(HEAD_MAX_BYTES + 200)
    assert data.endswith(b"\r\n\r\n")
    status, document = problem(exchanged(server, data))
    assert (status, document["code"]) == (431, "head-too-large")
    assert document["limit_bytes"] == HEAD_MAX_BYTES


def test_a_head_within_the_limit_is_served(server: Served) -> None:
    assert exchanged(server, padded(HEAD_MAX_BYTES - 200)).startswith(b"HTTP/1.1 200 ")


def test_a_body_beyond_the_limit_of_the_head_is_served(server: Served) -> None:
    with server.client() as client:
        client.put("/v1/spaces/notes").raise_for_status()
        text = "word " * (HEAD_MAX_BYTES // 4)
        lessons = {"lessons": [text[:30_000], text[:29_000], text[:28_000]]}
        answer = client.post("/v1/spaces/notes/blocks/batch", json=lessons)
    assert answer.status_code == 200


def test_a_late_head_gets_a_problem_document(tmp_path: Path) -> None:
    with served(tmp_path, Settings(head_timeout_s=0.05)) as it:
        status, document = problem(exchanged(it, GET))
    assert (status, document["code"]) == (408, "request-too-slow")


def test_an_error_behind_a_request_does_not_disturb_its_response(server: Served) -> None:
    with server.busy():
        connection = server.connect()
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nnonsense\r\n\r\n")
    with connection:
        head, _, body = answered(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert json.loads(body) == {"status": "alive"}


def test_too_many_connections_get_a_problem_document(tmp_path: Path) -> None:
    few = Settings(connections_max=3, retry_after_s=7)
    with served(tmp_path, few) as it, ExitStack() as stack:
        busy = (
            f"POST /v1/spaces/default/blocks HTTP/1.1\r\nhost: x\r\n"
            f"authorization: Bearer {it.secret}\r\ncontent-type: application/json\r\n"
            "content-length: 9\r\nexpect: 100-continue\r\n\r\n"
        )
        with it.client() as client:
            client.put("/v1/spaces/default").raise_for_status()
        for _ in range(2):  # silent ones would make room
            connection = stack.enter_context(it.connect())
            connection.sendall(busy.encode())
            assert b" 100 " in connection.recv(64)
        answer = exchanged(it, GET + b"\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 7" in head
    assert json.loads(body)["code"] == "overloaded"


def test_the_log_names_the_peer_of_a_refused_request(
    server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", logger="mnemic.http")
    _, document = problem(exchanged(server, b"nonsense\r\n\r\n"))
    request_id = document["instance"].rpartition(":")[2]
    lines = [record.getMessage() for record in caplog.records if record.name == "mnemic.http"]
    assert lines == [f"{request_id} 127.0.0.1 400: the request is not valid HTTP"]
