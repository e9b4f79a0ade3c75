"""The HTTP server: uvicorn around the application, its start and its shutdown.

On SIGTERM or SIGINT the server accepts no more connections, ends streams, finishes the requests in
progress, closes the spaces, and exits with 0. What was acknowledged is in the log before the
response is sent, so nothing of it can be lost.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from types import FrameType
from typing import Any

import uvicorn

from mnemic.adapters.access import Keyring
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.application import application
from mnemic.adapters.http.connections import Connection
from mnemic.adapters.http.mcp_mount import with_mcp
from mnemic.adapters.http.middleware.observation import Observer, Observing
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.http.workers import Worker, check_count, supervise
from mnemic.adapters.system.clocks import SystemClock
from mnemic.kernel.errors import FieldRefused, StoreFailed

BACKLOG = 1024
PORT_MAX = 65_535
SIGNALS = (signal.SIGINT, signal.SIGTERM)

Announce = Callable[[str], None]
"""Called with the address once the server listens."""


async def serve(
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings,
    *,
    announce: Announce = lambda _: None,
    begun: Callable[[uvicorn.Server], None] = lambda _: None,
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
            server = uvicorn.Server(
                config(with_mcp(spaces, keyring, settings, observers=observers), settings)
            )
            begun(server)
            with _signals(server):
                announce(address(listener, settings))
                await server.serve(sockets=[listener])


def run(
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings,
    *,
    announce: Announce,
    observing: Observing = nullcontext,
    prepare: Callable[[], None] = lambda: None,
    workers: int = 1,
) -> None:
    """Serve until stopped, on new event loops. See ``serve``.

    Args:
        spaces: Not entered yet. With several workers it must name its store by address, so that
            each worker can open it.
        keyring: Tokens that may be used.
        settings: Of the server; its limits apply to each worker.
        announce: Called with the address, once all workers serve.
        observing: Entered in each worker; returns the observers of its requests.
        prepare: Called first in each of several workers, to set up what it does not inherit, such
            as logging.
        workers: Number of processes that serve; 1: this one. More are spawned, so *spaces*,
            *keyring*, *observing* and *prepare* must be picklable then; see ``workers``.

    Raises:
        FieldRefused: See ``check_reach``, ``check_count`` and ``supervise``.
        StoreFailed: The address is in use, or does not belong to this machine.
        WorkersFailed: A worker could not begin.
    """
    check_count(workers)
    if workers == 1:
        with observing() as observers:
            factory = config(application, settings).get_loop_factory()
            with asyncio.Runner(loop_factory=factory) as runner:
                runner.run(
                    serve(spaces, keyring, settings, announce=announce, observers=observers or ())
                )
        return
    check_reach(keyring, settings)
    spaces.check_shared()
    worker = Worker(
        spaces=spaces, keyring=keyring, settings=settings, observing=observing, prepare=prepare
    )
    with listening(settings) as listener:
        supervise(
            worker,
            listener,
            partial(config, settings=settings),
            count=workers,
            begun=lambda: announce(address(listener, settings)),
        )


def check_reach(keyring: Keyring, settings: Settings) -> None:
    """Refuse an invalid port, and an unauthenticated interface that other machines can reach.

    Raises:
        FieldRefused: Names the setting.
    """
    if not 0 <= settings.port <= PORT_MAX:
        raise FieldRefused(f"the port {settings.port} is out of range", field="port")
    if settings.open_loopback and not settings.is_on_loopback:
        raise FieldRefused(
            f"{settings.host} can be reached from other machines, which need a token",
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


def config(app: Any, settings: Settings) -> uvicorn.Config:
    """Return uvicorn's configuration for an application, or for what makes it."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # the application writes its own, without queries
        proxy_headers=False,  # the client is the peer of the connection
        server_header=False,
        limit_concurrency=settings.connections_max,
        timeout_keep_alive=settings.idle_timeout_s,
        timeout_graceful_shutdown=int(settings.grace_s) or 1,
        timeout_worker_healthcheck=int(min(settings.silence_max_s, threading.TIMEOUT_MAX)),
    )


@contextmanager
def _signals(server: uvicorn.Server) -> Generator[None]:
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
