"""The HTTP server: uvicorn around the application, its start and its shutdown.

On SIGTERM or SIGINT the server accepts no more connections, ends streams, finishes the requests in
progress, closes the spaces, and exits with 0. What was acknowledged is in the log before the
response is sent, so nothing of it can be lost.
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
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.application import application
from mnemic.adapters.http.mcp_mount import Agents, load
from mnemic.adapters.http.middleware.observation import Observer
from mnemic.adapters.http.middleware.request_ids import LOG, RequestMiddleware
from mnemic.adapters.http.processes.accepting import SharedListener
from mnemic.adapters.http.processes.connections import Connection, connection
from mnemic.adapters.http.processes.heartbeats import Watch, beating
from mnemic.adapters.http.processes.supervision import Supervisor, check_count
from mnemic.adapters.http.processes.worker_slots import WorkerSlot, worker_slots
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.system.clocks import SystemClock
from mnemic.kernel.errors import FieldRefused, StoreFailed

BACKLOG = 1024
HANG_UP_S = 2.0
"""How long a stopping server waits for a client to read the rest of a response."""
PORT_MAX = 65_535
SIGNALS = (signal.SIGINT, signal.SIGTERM)

STOPPING_S = 10.0
"""Time a worker may need to stop in addition to the grace period, mostly for closing spaces."""

Announce = Callable[[str], None]
"""Called with the address once the server listens."""
Observing = Callable[[], AbstractContextManager[Sequence[Observer] | None]]
"""Context manager that returns the request observers of a process for as long as it serves."""


class Server(uvicorn.Server):
    """uvicorn server that notifies the application of a shutdown before it waits for requests."""

    def __init__(
        self, app: RequestMiddleware, settings: Settings, worker_slot: WorkerSlot | None = None
    ) -> None:
        self._app = app
        self._worker_slot = worker_slot
        self._listener: SharedListener | None = None
        super().__init__(_config(app, settings))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve: alone, or as one of several processes that share a socket."""
        if self._worker_slot is None:
            await super().startup(sockets)
            return
        await super().startup([])
        self._listener = SharedListener(
            worker_slot=self._worker_slot,
            protocol=self._protocol,
            held=lambda: len(self.server_state.connections),
        )
        self._listener.open()
        self._worker_slot.report_ready()

    def _protocol(self) -> asyncio.Protocol:
        """Return a new protocol that serves a connection."""
        of_connections = cast("type[Connection]", self.config.http_protocol_class)
        return of_connections(
            self.config, self.server_state, self.lifespan.state, asyncio.get_running_loop()
        )

    async def on_tick(self, counter: int) -> bool:
        """Return whether it is time to stop; called ten times a second."""
        if self._listener is not None:
            self._listener.publish_load()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop. Streams never end by themselves, so the application ends them first."""
        self._app.stop()
        if self._listener is not None:
            await self._listener.close()
        closing_stalled = asyncio.create_task(self._close_stalled())
        try:
            await super().shutdown(sockets)
        finally:
            closing_stalled.cancel()

    async def _close_stalled(self) -> None:
        """Close connections whose clients stop reading, or do not send the rest of a request."""
        while True:
            before = self._stalled()
            await asyncio.sleep(HANG_UP_S)
            for each, progress in self._stalled().items():
                if each.transport.is_closing() or before.get(each) == progress:
                    each.transport.abort()

    def _stalled(self) -> dict[Connection, tuple[int, int]]:
        """Return the connections that wait for their client, with their progress both ways."""
        connections = cast("tuple[Connection, ...]", tuple(self.server_state.connections))
        return {each: each.progress for each in connections if each.waits_for_client}


async def serve(
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings,
    *,
    announce: Announce = lambda _: None,
    begun: Callable[[Server], None] = lambda _: None,
    observers: Sequence[Observer] = (),
) -> None:
    """Serve until stopped, in this process alone.

    Args:
        spaces: Not entered yet.
        keyring: Tokens that may be used.
        settings: Of the server.
        announce: Called with the address.
        begun: Called with the server, so that a caller can stop it by ``should_exit = True``.
        observers: Observe every request.

    Raises:
        FieldRefused: See ``check_reach``.
        StoreFailed: The address is in use, or does not belong to this machine.
    """
    check_reach(keyring, settings)
    with listening(settings) as listener:
        async with spaces:
            interface = _with_mcp(spaces, keyring, settings, observers=observers)
            server = Server(interface, settings)
            begun(server)
            with _signals(server):
                announce(address(listener, settings))
                await server.serve(sockets=[listener])


async def _serve_at(
    worker_slot: WorkerSlot,
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings,
    *,
    observers: Sequence[Observer],
) -> None:
    """Serve as one of several processes until stopped, or until the parent has ended."""
    loop = asyncio.get_running_loop()
    async with beating(worker_slot), spaces:
        interface = _with_mcp(
            spaces, keyring, settings, observers=observers, worker_slot=worker_slot
        )
        server = Server(interface, settings, worker_slot)

        def orphaned() -> None:
            loop.remove_reader(worker_slot.lifeline)
            LOG.error("worker %d stops because its parent process has ended", worker_slot.number)
            worker_slot.abandon()
            server.should_exit = True

        with _signals(server):
            loop.add_reader(worker_slot.lifeline, orphaned)
            await server.serve(sockets=[worker_slot.listener])


def _with_mcp(
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings,
    *,
    observers: Sequence[Observer],
    worker_slot: WorkerSlot | None = None,
) -> RequestMiddleware:
    """Return the application, with the MCP interface in it if its extra is installed."""
    if find_spec("mcp") is None:
        return application(spaces, keyring, settings, observers=observers, worker_slot=worker_slot)
    agents = Agents()
    return application(
        spaces,
        keyring,
        settings,
        extra=[agents.handlers],
        during=[agents.running],
        observers=observers,
        worker_slot=worker_slot,
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
    """Serve until stopped, on new event loops. See ``serve``.

    Args:
        spaces: Not entered yet. With several workers it must name its store by address, so that
            each worker can open it. Its other arguments are carried across a fork: none of them
            may hold a thread, a connection or a lock.
        keyring: Tokens that may be used.
        settings: Of the server; its limits apply to each worker.
        announce: Called with the address, once all workers serve.
        observing: Entered in each worker; returns the observers of its requests.
        workers: Number of processes that serve; 1: this one. More are forked from it, and replaced
            when one dies or hangs; see ``supervision``.

    Raises:
        FieldRefused: See ``check_reach`` and ``supervision.check_count``.
        StoreFailed: The address is in use, or does not belong to this machine.
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

    def work(worker_slot: WorkerSlot) -> None:
        with observing() as observers:
            _run(_serve_at(worker_slot, spaces, keyring, settings, observers=observers or ()))

    with listening(settings) as listener, worker_slots(listener, workers) as found:
        gc.freeze()  # existing objects are never collected, so workers go on sharing their pages
        try:
            # A worker waits for its connections first, and then for its operations.
            patience_s = 2 * settings.grace_s + STOPPING_S
            watch = Watch(found.counters, settings.silence_max_s, patience_s, time.monotonic())
            Supervisor(work, found, patience_s, watch).run(
                lambda: announce(address(listener, settings))
            )
        finally:
            gc.unfreeze()


def _run(serving: Coroutine[Any, Any, None]) -> None:
    """Serve on a new event loop."""
    factory = uvicorn.Config(application).get_loop_factory()
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serving)


def check_reach(keyring: Keyring, settings: Settings) -> None:
    """Refuse an invalid port, and an unauthenticated interface that other machines can reach.

    Raises:
        FieldRefused: Names the setting.
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
    """Return whether there is a token that can be used."""
    now_us = SystemClock().now_us()
    return any(token.state(now_us) == "live" for token in keyring.list())


@contextmanager
def listening(settings: Settings) -> Generator[socket.socket]:
    """Listen at the address of the settings, for a ``with`` block.

    Raises:
        StoreFailed: It is in use, or does not belong to this machine.
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
        # Each connection inherits it. asyncio sets it only if the protocol of the socket was given;
        # without it a response in two pieces waits 40 ms for an acknowledgement of the other side.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


def address(listener: socket.socket, settings: Settings) -> str:
    """Return the base URL of the server."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listener.getsockname()[1]}"


def _config(app: Any, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=connection(settings),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # the application writes its own, without queries
        proxy_headers=False,  # the client is the peer of the connection
        server_header=False,
        limit_concurrency=settings.connections_max,
        timeout_keep_alive=settings.idle_timeout_s,
        timeout_graceful_shutdown=int(settings.grace_s) or 1,
    )


@contextmanager
def _signals(server: Server) -> Generator[None]:
    """Let a signal stop the server, and consume the signal.

    uvicorn raises the signals that it caught once more when it has stopped, for the previous
    handlers; these are ours, so the process ends normally and not by a signal.
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
