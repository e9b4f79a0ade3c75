"""A model server for tests: it returns scripted answers, and records the requests."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, TypeAlias

import pytest
from attrs import define, field, frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.endpoints import ChatAnalyst, EndpointEmbedder

DIMENSION = 8

Embedding: TypeAlias = Callable[..., EndpointEmbedder]
Chatting: TypeAlias = Callable[..., ChatAnalyst]


@frozen
class Request:
    """A request that the server received."""

    path: str
    key: str | None
    document: dict[str, Any]
    client: tuple[str, int]


@frozen
class Reply:
    """What it answers."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(factory=dict)
    waits_for: Event | None = None
    """Until then nothing is sent."""


@define
class Server:
    """Replies in the order of the script, and with a valid answer once that is used up."""

    url: str
    script: deque[Reply] = field(factory=deque)
    requests: list[Request] = field(factory=list)

    def reply(self, request: Request) -> Reply:
        """Return the reply to *request*."""
        self.requests.append(request)
        if self.script:
            return self.script.popleft()
        if request.path == "/v1/embeddings":
            return Reply(200, vectors(HashEmbedder(DIMENSION).embed(request.document["input"])))
        note = json.loads(request.document["messages"][1]["content"])
        return Reply(200, said({"tags": [note["category"]], "alignment": 0.5, "summary": None}))

    def inputs(self) -> list[list[str]]:
        """Return the texts of each request for vectors."""
        return [request.document["input"] for request in self.requests]


def vectors(rows: Any) -> bytes:
    """Return the answer that holds *rows*, one per text."""
    entries = [
        {"index": place, "embedding": [float(entry) for entry in row]}
        for place, row in enumerate(rows)
    ]
    return json.dumps({"object": "list", "data": entries}).encode()


def said(answer: object) -> bytes:
    """Return the completion in which a model answers *answer*, a text or a JSON value."""
    content = answer if isinstance(answer, str) else json.dumps(answer)
    return json.dumps({"choices": [{"message": {"content": content}}]}).encode()


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that have hung up."""


@pytest.fixture
def server() -> Generator[Server]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            key = self.headers["Authorization"]
            asked = Request(self.path, key, json.loads(body), self.client_address)
            reply = served.reply(asked)
            if reply.waits_for is not None:
                reply.waits_for.wait(10)
            self.send_response_only(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

    with _Quiet(("127.0.0.1", 0), Handler) as listening:
        served = Server(f"http://127.0.0.1:{listening.server_address[1]}/v1")
        thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        listening.shutdown()
        thread.join()


@pytest.fixture
def pauses() -> list[float]:
    """Return the seconds that clients would have waited between two tries."""
    return []


@pytest.fixture
def embedding(server: Server, pauses: list[float]) -> Generator[Embedding]:
    """Make embedders of the server; all are closed."""
    with ExitStack() as stack:

        def make(**options: Any) -> EndpointEmbedder:
            given: dict[str, Any] = {"dimension": DIMENSION, "api_key": "", "sleep": pauses.append}
            return stack.enter_context(EndpointEmbedder(server.url, "tiny", **(given | options)))

        yield make


@pytest.fixture
def chatting(server: Server, pauses: list[float]) -> Generator[Chatting]:
    """Make analysts of the server; all are closed."""
    with ExitStack() as stack:

        def make(**options: Any) -> ChatAnalyst:
            given: dict[str, Any] = {"api_key": "", "concurrency": 1, "sleep": pauses.append}
            return stack.enter_context(ChatAnalyst(server.url, "small", **(given | options)))

        yield make


def texts(count: int) -> Sequence[str]:
    """Return *count* different texts."""
    return [f"text number {number}" for number in range(count)]
