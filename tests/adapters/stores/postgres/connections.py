"""A proxy to a server that can be cut, or fall silent, at the worst moment."""

from __future__ import annotations

import select
import socket
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, quote, urlsplit

SOCKET = ".s.PGSQL.5432"
CHUNK = 65536


class Line:
    """Carries bytes between clients and the server at *address*, until told otherwise.

    Attributes:
        address: Where clients reach the server over this line.
    """

    def __init__(self, address: str, folder: Path) -> None:
        parts = urlsplit(address)
        options = dict(parse_qsl(parts.query))
        self._server = Path(options["host"]) / SOCKET
        options["host"] = str(folder)
        query = "&".join(f"{name}={quote(value)}" for name, value in options.items())
        self.address = parts._replace(query=query).geturl()
        self._interface = socket.socket(socket.AF_UNIX)
        self._interface.bind(str(folder / SOCKET))
        self._interface.listen()
        self._answering: Callable[[], None] | None = None
        self._asking: Callable[[], None] | None = None
        self._silences: list[threading.Event] = []
        self._is_over = threading.Event()
        self._pairs: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._welcome)]
        self._threads[0].start()

    def cut_before_the_next_answer(self, then: Callable[[], None] = lambda: None) -> None:
        """Let the server execute the next request, and lose its answer."""
        self._answering = then

    def cut_before_the_next_question(self, then: Callable[[], None] = lambda: None) -> None:
        """Lose the next request before it arrives."""
        self._asking = then

    def silence_the_last(self) -> None:
        """Forward nothing more for the latest client, without hanging up."""
        self._silences[-1].set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        with suppress(OSError):
            self._interface.shutdown(socket.SHUT_RDWR)
        self._interface.close()
        for each in self._pairs:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in self._pairs:
            each.close()

    def _welcome(self) -> None:
        with suppress(OSError):
            while not self._is_over.is_set():
                client, _ = self._interface.accept()
                server = socket.socket(socket.AF_UNIX)
                self._pairs += [client, server]
                server.connect(str(self._server))
                silence = threading.Event()
                self._silences.append(silence)
                thread = threading.Thread(target=self._carry, args=(client, server, silence))
                self._threads.append(thread)
                thread.start()

    def _carry(
        self, client: socket.socket, server: socket.socket, silence: threading.Event
    ) -> None:
        with suppress(OSError):
            self._carry_on(client, server, silence)
        for each in (client, server):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _carry_on(
        self, client: socket.socket, server: socket.socket, silence: threading.Event
    ) -> None:
        while not self._is_over.is_set():
            for come in select.select([client, server], [], [])[0]:
                said = come.recv(CHUNK)
                if silence.is_set():
                    self._is_over.wait()
                    return
                if not said or self._is_cut(is_answer=come is server):
                    return
                (client if come is server else server).sendall(said)

    def _is_cut(self, *, is_answer: bool) -> bool:
        if is_answer:
            then, self._answering = self._answering, None
        else:
            then, self._asking = self._asking, None
        if then is not None:
            then()
        return then is not None


@contextmanager
def line(address: str) -> Generator[Line]:
    """Open a proxy to the server at *address*, for a ``with`` block."""
    # A socket's name may have a hundred bytes, and a folder of pytest may take them all.
    with (
        tempfile.TemporaryDirectory(prefix="mnemic-line-") as folder,
        Line(address, Path(folder)) as laid,
    ):
        yield laid
