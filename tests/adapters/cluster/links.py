"""Networks that can be cut: TCP ports of this machine that carry bytes to other addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from attrs import frozen

CHUNK = 1 << 16
LOOPBACK = "127.0.0.1"


class Link:
    """A port that carries bytes to a target, and can be cut in two ways.

    Attributes:
        port: Port of this machine at which it listens.
        target: A port of this machine, or a socket in the file system. New connections go to it.
    """

    def __init__(self, target: int | Path) -> None:
        self.target = target
        self.port = 0
        self._flows = asyncio.Event()
        self._flows.set()
        self._is_closed = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The address of an HTTP server behind it."""
        return f"http://{LOOPBACK}:{self.port}"

    async def listen(self) -> None:
        """Begin to accept connections."""
        self._server = await asyncio.start_server(self._carry, LOOPBACK, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Hang up, and accept no more connections."""
        if self._server is not None:
            self._server.close()
        await self.cut(silently=False)
        self._flows.set()

    async def cut(self, *, silently: bool) -> None:
        """Carry nothing; silently, or by hanging up and refusing connections."""
        self._flows.clear()
        self._is_closed = not silently
        if self._is_closed:
            for each in self._writers:
                each.transport.abort()

    async def mend(self) -> None:
        """Carry bytes again, also those that were sent meanwhile."""
        self._is_closed = False
        self._flows.set()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            if not self._is_closed:
                await self._flows.wait()
            if self._is_closed:
                raise ConnectionAbortedError
            if isinstance(self.target, Path):
                back, there = await asyncio.open_unix_connection(self.target)
            else:
                back, there = await asyncio.open_connection(LOOPBACK, self.target)
        except OSError:  # it is cut, or nothing listens there
            self._writers.discard(writer)
            writer.transport.abort()
            return
        self._writers.add(there)
        ways = [asyncio.create_task(self._copy(*way)) for way in ((reader, there), (back, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for each in (writer, there):
                self._writers.discard(each)
                each.close()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(CHUNK):
                await self._flows.wait()
                writer.write(data)
                await writer.drain()
            await self._flows.wait()
        except OSError:
            return


@frozen(kw_only=True)
class HostLinks:
    """How one host is reached, and how it reaches the servers of its database."""

    clients: Link
    hosts: Link
    """Over which other hosts pass requests on to it."""
    servers: Sequence[Link]

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which a process finds the servers, if the address names none."""
        return {
            "PGHOST": ",".join(LOOPBACK for _ in self.servers),
            "PGPORT": ",".join(str(each.port) for each in self.servers),
        }


class Network:
    """Links, all of which are served by one thread."""

    def __init__(self) -> None:
        self._links: list[Link] = []
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="links", daemon=True)
        self._thread.start()

    def link(self, target: int | Path) -> Link:
        """Return a new link to *target*."""
        made = Link(target)
        self._run(made.listen())
        self._links.append(made)
        return made

    def host_links(self, port: int, sockets: Sequence[Path]) -> HostLinks:
        """Return the links of a host that listens at *port* to servers with these *sockets*."""
        return HostLinks(
            clients=self.link(port),
            hosts=self.link(port),
            servers=tuple(self.link(each) for each in sockets),
        )

    def cut(self, *links: Link, silently: bool = True) -> None:
        """Cut links; see ``Link.cut``."""
        for each in links:
            self._run(each.cut(silently=silently))

    def mend(self, *links: Link) -> None:
        """Mend links."""
        for each in links:
            self._run(each.mend())

    def close(self) -> None:
        """Hang up everywhere."""
        for each in self._links:
            self._run(each.close())
        self._run(_until_ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def _until_ended() -> None:
    """Wait until all connections have ended."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def network() -> Generator[Network]:
    """Open a network for a ``with`` block."""
    made = Network()
    try:
        yield made
    finally:
        made.close()
