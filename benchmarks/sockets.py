"""Servers in processes of their own, and connections to them with minimal overhead.

The overhead of a usual client would exceed the measured times. So requests are encoded before the
clock runs and sent over a plain socket that stays open, and answers are read exactly to their end.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import uvicorn
from attrs import frozen

from mnemic.adapters.http.server import address, config, listening
from mnemic.adapters.http.settings import Settings

END = b"\r\n\r\n"
LENGTH = b"content-length: "
PIECE = 1 << 16
WAIT_S: Final = 60.0
"""Limit for an answer, or for the end of a server."""

ENDS: Final = (0, -signal.SIGTERM)
"""Exit codes of a stopped server: by itself, or by the signal after its shutdown (uvicorn)."""


@frozen(kw_only=True)
class Interface:
    """Address of a server, and its token."""

    port: int
    token: str = ""
    process: int = 0
    """Process id of the server."""

    def request(
        self, path: str, document: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> bytes:
        """Return a whole request, ready to be sent."""
        body = json.dumps(document).encode()
        answer = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in answer.items())
        return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


@frozen(kw_only=True)
class Reply:
    """An answer, and how long it took."""

    status: int
    body: bytes
    seconds: float

    @property
    def document(self) -> dict[str, Any]:
        """The parsed body."""
        said: dict[str, Any] = json.loads(self.body)
        return said

    @property
    def made(self) -> dict[str, Any]:
        """The parsed body, if the request succeeded."""
        assert self.status < 300, self.body  # noqa: PLR2004 - RFC 9110, section 15
        return self.document


class Connection:
    """One persistent connection. Answers must have a Content-Length."""

    def __init__(self, interface: Interface) -> None:
        self._socket = socket.create_connection(("127.0.0.1", interface.port), timeout=WAIT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection without reading the rest."""
        self._socket.close()

    def send(self, request: bytes) -> None:
        """Send a request, or a part of one."""
        self._socket.sendall(request)

    def ask(self, request: bytes) -> Reply:
        """Send a request and read the whole answer."""
        start = time.perf_counter()
        self._socket.sendall(request)
        found = self._more(b"")
        while END not in found:
            found = self._more(found)
        head, _, body = found.partition(END)
        length = int(head.lower().partition(LENGTH)[2].partition(b"\r\n")[0])
        while len(body) < length:
            body = self._more(body)
        seconds = time.perf_counter() - start
        return Reply(status=int(head.split(b" ", 2)[1]), body=body, seconds=seconds)

    def _more(self, found: bytes) -> bytes:
        piece = self._socket.recv(PIECE)
        if not piece:
            raise ConnectionError("the server hung up")
        return found + piece


# --- servers --------------------------------------------------------------------------------


@contextmanager
def serving(store: Path, token: str, *, workers: int = 1) -> Generator[Interface]:
    """Run ``mnemic serve`` on a store, with its defaults, for a ``with`` block."""
    command = [str(Path(sys.executable).with_name("mnemic")), "--json", "--db", str(store)]
    asked = ["serve", "--port", "0", "--quiet", "--workers", str(workers)]
    with _running([*command, *asked]) as (line, process):
        port = int(json.loads(line)["url"].rpartition(":")[2])
        yield Interface(port=port, token=token, process=process)


@contextmanager
def floor(length: int) -> Generator[Interface]:
    """Run the same server around an application that does nothing, for a ``with`` block.

    Args:
        length: Bytes of each of its answers.
    """
    answering = f"import sockets; sockets.answer_nothing({length})"
    with _running([sys.executable, "-c", answering]) as (line, process):
        yield Interface(port=int(line), process=process)


@contextmanager
def _running(command: list[str]) -> Generator[tuple[str, int]]:
    """Run a server, yield its first line of output and its process id, and stop it in the end."""
    child = subprocess.Popen(  # noqa: S603 - our own
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert child.stdout is not None
        line = child.stdout.readline()
        if not line:
            sys.exit(f"{command[0]} did not start: {child.wait(WAIT_S)}")
        yield line, child.pid
    finally:
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=WAIT_S)
    assert child.returncode in ENDS, child.returncode


def answer_nothing(length: int) -> None:
    """Run the server of ``floor``: answer every request with as many constant bytes."""
    body = b"." * length
    head = [(b"content-type", b"text/plain"), (b"content-length", str(length).encode())]

    class Nothing:
        """Application that reads a request and answers with constant bytes."""

        settings = Settings(port=0)

        def stop(self) -> None:
            """Do nothing, as there are no long-running requests."""

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            """Answer a request or a lifespan message."""
            kind = (await receive())["type"]
            if scope["type"] == "lifespan":
                await send({"type": f"{kind}.complete"})
                await receive()
                await send({"type": "lifespan.shutdown.complete"})
                return
            await send({"type": "http.response.start", "status": 200, "headers": head})
            await send({"type": "http.response.body", "body": body})

    app: Any = Nothing()
    with listening(app.settings) as listener:
        print(address(listener, app.settings).rpartition(":")[2], flush=True)
        uvicorn.Server(config(app, app.settings)).run(sockets=[listener])
