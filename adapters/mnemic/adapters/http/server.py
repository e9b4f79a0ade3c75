"""The server: uvicorn around the application, and how it begins and ends.

It stops when it is told to (SIGTERM, SIGINT): takes no new connection, ends streams, finishes what
is under way, closes the spaces, and leaves with 0. What was acknowledged stands in the log before
the answer is sent, so nothing of it can be lost.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from types import FrameType
from typing import Any, cast

import uvicorn

from mnemic.adapters.access import Keyring
from mnemic.adapters.clocks import SystemClock
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.accepting import Entrance
from mnemic.adapters.http.agents import Agents, load
from mnemic.adapters.http.application import application
from mnemic.adapters.http.connections import Connection, connection
from mnemic.adapters.http.front import LOG, Front
from mnemic.adapters.http.observing import Observer
from mnemic.adapters.http.posts import Post, site
from mnemic.adapters.http.pulses import Watch, beating
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.http.supervision import Supervisor, check_count
from mnemic.kernel.errors import FieldRefused, StoreFailed

BACKLOG = 1024
HANG_UP_S = 2.0
"""How long a server that stops waits for somebody to take the end of an answer."""
PORT_MAX = 65_535
SIGNALS = (signal.SIGINT, signal.SIGTERM)

STOPPING_S = 10.0
"""What a worker may need to stop besides the grace of its settings: closing spaces, mostly."""

Announce = Callable[[str], None]
"""Called with the address once the server listens."""
Observing = Callable[[], AbstractContextManager[Sequence[Observer] | None]]
"""Gives who watch the requests of a process, for as long as it serves."""


class Server(uvicorn.Server):
    """A uvicorn that tells the application when it stops, before it waits for what is under way."""

    def __init__(self, app: Front, settings: Settings, post: Post | None = None) -> None:
        self._app = app
        self._post = post
        self._entrance: Entrance | None = None
        super().__init__(_config(app, settings))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve: alone, or as one of several that share a socket."""
        if self._post is None:
            await super().startup(sockets)
            return
        await super().startup([])
        self._entrance = Entrance(
            post=self._post,
            protocol=self._protocol,
            held=lambda: len(self.server_state.connections),
        )
        self._entrance.open()
        self._post.say_ready()

    def _protocol(self) -> asyncio.Protocol:
        """Return what serves a connection."""
        of_connections = cast("type[Connection]", self.config.http_protocol_class)
        return of_connections(
            self.config, self.server_state, self.lifespan.state, asyncio.get_running_loop()
        )

    async def on_tick(self, counter: int) -> bool:
        """Say whether it is time to stop; called ten times a second."""
        if self._entrance is not None:
            self._entrance.tell()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop. Streams never end by themselves, so they are told first."""
        self._app.stop()
        if self._entrance is not None:
            await self._entrance.close()
        hanging_up = asyncio.create_task(self._hang_up())
        try:
            await super().shutdown(sockets)
        finally:
            hanging_up.cancel()

    async def _hang_up(self) -> None:
        """Cut off who takes nothing any more, or sends nothing more of a request it has begun."""
        while True:
            before = self._waiting()
            await asyncio.sleep(HANG_UP_S)
            for each, stand in self._waiting().items():
                if each.transport.is_closing() or before.get(each) == stand:
                    each.transport.abort()

    def _waiting(self) -> dict[Connection, tuple[int, int]]:
        """Return for whom something waits, with how far they have come: taking, and sending."""
        connections = cast("tuple[Connection, ...]", tuple(self.server_state.connections))
        return {each: each.stand for each in connections if each.is_waited_for}


async def serve(
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings,
    *,
    announce: Announce = lambda _: None,
    begun: Callable[[Server], None] = lambda _: None,
    observers: Sequence[Observer] = (),
) -> None:
    """Serve until told to stop, in this process alone.

    Args:
        spaces: Not entered yet.
        keyring: Who may come in.
        settings: Of the server.
        announce: Told the address.
        begun: Given the server, for whoever wants to stop it: by ``should_exit = True``.
        observers: Who watch every request.

    Raises:
        FieldRefused: See ``check_reach``.
        StoreFailed: The address is taken or is none of this machine.
    """
    check_reach(keyring, settings)
    with listening(settings) as listener:
        async with spaces:
            door = _with_agents(spaces, keyring, settings, observers=observers)
            server = Server(door, settings)
            begun(server)
            with _signals(server):
                announce(address(listener, settings))
                await server.serve(sockets=[listener])


async def _serve_at(
    post: Post,
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings,
    *,
    observers: Sequence[Observer],
) -> None:
    """Serve until told to stop, as one of several processes, or until their parent has gone."""
    loop = asyncio.get_running_loop()
    async with beating(post), spaces:
        door = _with_agents(spaces, keyring, settings, observers=observers, post=post)
        server = Server(door, settings, post)

        def orphaned() -> None:
            loop.remove_reader(post.lifeline)
            LOG.error("worker %d stops: the process that keeps it has gone", post.number)
            post.abandon()
            server.should_exit = True

        with _signals(server):
            loop.add_reader(post.lifeline, orphaned)
            await server.serve(sockets=[post.listener])


def _with_agents(
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings,
    *,
    observers: Sequence[Observer],
    post: Post | None = None,
) -> Front:
    """Return the application, with the MCP door in it where its extra is installed."""
    if find_spec("mcp") is None:
        return application(spaces, keyring, settings, observers=observers, post=post)
    agents = Agents()
    return application(
        spaces,
        keyring,
        settings,
        extra=[agents.handlers],
        during=[agents.running],
        observers=observers,
        post=post,
    )


def run(
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings,
    *,
    announce: Announce,
    observing: Observing = nullcontext,
    workers: int = 1,
) -> None:
    """Serve until told to stop, on event loops of its own. See ``serve``.

    Args:
        spaces: Not entered yet. With several workers it must name its store, which each of them
            opens, and what else it was given comes along with a fork: nothing of that may hold a
            thread, a connection or a lock.
        keyring: Who may come in.
        settings: Of the server; its limits are those of each worker.
        announce: Told the address, once all workers serve.
        observing: Entered in each worker: who watch its requests.
        workers: Processes that serve; 1: this one. More are forked from it, and replaced where one
            dies or hangs; see ``supervision``.

    Raises:
        FieldRefused: See ``check_reach`` and ``supervision.check_count``.
        StoreFailed: The address is taken or is none of this machine.
        WorkersFailed: The workers cannot begin, or end again and again.
    """
    check_count(workers)
    if workers == 1:
        with observing() as observers:
            _run(serve(spaces, keyring, settings, announce=announce, observers=observers or ()))
        return
    check_reach(keyring, settings)
    spaces.check_shared()
    if find_spec("mcp") is not None:
        load()  # once, instead of once in each worker
    spaces.load_shared()

    def work(post: Post) -> None:
        with observing() as observers:
            _run(_serve_at(post, spaces, keyring, settings, observers=observers or ()))

    with listening(settings) as listener, site(listener, workers) as found:
        gc.freeze()  # what is there by now is never collected, so workers go on sharing its pages
        try:
            # A worker waits for its connections first, and then for its verbs.
            patience_s = 2 * settings.grace_s + STOPPING_S
            watch = Watch(found.board, settings.silence_max_s, patience_s, time.monotonic())
            Supervisor(work, found, patience_s, watch).run(
                lambda: announce(address(listener, settings))
            )
        finally:
            gc.unfreeze()


def _run(serving: Coroutine[Any, Any, None]) -> None:
    """Serve on an event loop of one's own."""
    factory = uvicorn.Config(application).get_loop_factory()
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serving)


def check_reach(keyring: Keyring, settings: Settings) -> None:
    """Refuse to open a door to other machines that asks nobody who they are, or at no place.

    Raises:
        FieldRefused: Saying which.
    """
    if not 0 <= settings.port <= PORT_MAX:
        raise FieldRefused(f"no port has the number {settings.port}", field="port")
    if settings.open_loopback and not settings.is_on_loopback:
        raise FieldRefused(
            f"{settings.host} can be reached from other machines, which must come with a token",
            recovery="Listen at 127.0.0.1, or leave out --open-loopback and make tokens.",
            field="open_loopback",
        )
    if not settings.is_on_loopback and not has_live_token(keyring):
        raise FieldRefused(
            f"{settings.host} can be reached from other machines, and there is no token in "
            f"{keyring.path}",
            recovery="Make one with `mnemic token create NAME --write SPACE`, or listen at "
            "127.0.0.1.",
            field="tokens",
        )


def has_live_token(keyring: Keyring) -> bool:
    """Return whether anybody could come in with a token."""
    now_us = SystemClock().now_us()
    return any(token.state(now_us) == "live" for token in keyring.list())


@contextmanager
def listening(settings: Settings) -> Generator[socket.socket]:
    """Listen at the address of the settings, for a ``with`` block.

    Raises:
        StoreFailed: It is taken, or none of this machine.
    """
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        listener = socket.create_server(
            (settings.host.strip("[]"), settings.port), family=family, backlog=BACKLOG
        )
    except OSError as error:
        raise StoreFailed(
            f"cannot listen at {settings.host}:{settings.port}: {error}",
            recovery="Name another --port (0: any that is free), or another --host.",
        ) from error
    with listener:
        # Each connection takes it over. asyncio does so only where the protocol of the socket was
        # named; without it an answer in two pieces waits 40 ms for the other side's word.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


def address(listener: socket.socket, settings: Settings) -> str:
    """Return where the server can be asked."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listener.getsockname()[1]}"


def _config(app: Any, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=connection(settings.head_timeout_s),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # the application keeps its own, without queries
        proxy_headers=False,  # who asks is who has connected
        server_header=False,
        limit_concurrency=settings.connections_max,
        timeout_keep_alive=settings.idle_timeout_s,
        timeout_graceful_shutdown=int(settings.grace_s) or 1,
    )


@contextmanager
def _signals(server: Server) -> Generator[None]:
    """Let a signal stop the server, and be done with it then.

    uvicorn raises the signals that it caught once more when it is done, for whoever stood there
    before; that is us, so the process ends by itself and not by a signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_: int, __: FrameType | None) -> None:
        server.should_exit = True

    before: dict[signal.Signals, Any] = {each: signal.signal(each, stop) for each in SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
