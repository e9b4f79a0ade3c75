"""Request smuggling: requests with two contradictory lengths."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.adapters.http.servers import Served, served
from tests.fuzz.interfaces import (
    BODY,
    CHUNKED,
    CHUNKS,
    JSON,
    LENGTH,
    SPACE,
    request,
    sent,
)

INNER = request(b"DELETE " + SPACE)
AMBIGUOUS = {
    "two lengths": (JSON + LENGTH + b"Content-Length: 0\r\n", BODY),
    "a length, then chunks": (JSON + LENGTH + CHUNKED, CHUNKS),
    "chunks, then a length": (JSON + CHUNKED + LENGTH, CHUNKS),
    "a space before the colon": (JSON + b"Transfer-Encoding : chunked\r\n", CHUNKS),
    "a length with a sign": (JSON + b"Content-Length: +31\r\n", BODY),
    "a length below zero": (JSON + b"Content-Length: -1\r\n", BODY),
    "a length beyond all numbers": (JSON + b"Content-Length: 9" + b"9" * 30 + b"\r\n", BODY),
    "a header that goes on": (JSON + b"X: a\r\n Content-Length: 31\r\n", BODY),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A server with one space that must remain empty."""
    folder: Path = tmp_path_factory.mktemp("smuggling")
    with served(folder) as it, it.client() as client:
        client.put("/v1/spaces/default").raise_for_status()
        version = client.get("/v1/spaces/default").headers["mnemic-version"]
        yield it
        assert client.get("/v1/spaces/default").headers["mnemic-version"] == version


@pytest.mark.parametrize("how", AMBIGUOUS)
def test_ambiguous_request_lengths_are_refused(server: Served, how: str) -> None:
    headers, body = AMBIGUOUS[how]
    data = request(b"POST " + SPACE + b"/blocks", headers, body + INNER)
    assert sent(server, data.replace(b"@", server.secret.encode())) == [b"HTTP/1.1 400 Bad Request"]
