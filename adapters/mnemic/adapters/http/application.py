"""The application: every verb at its place, and one form for everything that goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from attrs import frozen
from litestar import Litestar
from litestar.config.cors import CORSConfig
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ControllerRouterHandler

from mnemic.adapters.access import Keyring
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http import calling, health, metrics, places, streams, transfer
from mnemic.adapters.http.answers import Answer, of_error, status_in
from mnemic.adapters.http.calling import Desk
from mnemic.adapters.http.failures import (
    BodyTooLarge,
    MethodRefused,
    Overdue,
    Overloaded,
    PathUnknown,
    RequestTooSlow,
    RequestUnreadable,
    Stopping,
)
from mnemic.adapters.http.front import LOG, REQUEST_ID, Front, identified
from mnemic.adapters.http.handlers import Asked, options, placed
from mnemic.adapters.http.metrics import Metrics
from mnemic.adapters.http.observing import Observed, Observer
from mnemic.adapters.http.pieces import Pieces
from mnemic.adapters.http.posts import Post
from mnemic.adapters.http.relays import Relays, receiving
from mnemic.adapters.http.routes import Route, routes
from mnemic.adapters.http.security import CHALLENGE, authentication
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.http.watches import Watches
from mnemic.adapters.http.workers import Workers
from mnemic.adapters.wire.problems import names_a_file
from mnemic.kernel.errors import MnemicError, StoreBusy, Unauthenticated

EXPOSED = ("ETag", "Mnemic-Version", "X-Request-Id", "Link", "Retry-After", "Location")
"""Headers that a page of another origin may read."""
TAKEN = (
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "Last-Event-ID",
    "Mnemic-Session",
    "X-Request-Id",
)
"""Headers that it may send."""
ELSEWHERE = frozenset({"export", "import_space"})
"""Verbs whose bodies are files, no JSON: for other modules to serve."""

Extra = Callable[[Desk], Sequence[ControllerRouterHandler]]
During = Callable[[Litestar], AbstractAsyncContextManager[None]]


def application(
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings | None = None,
    *,
    extra: Sequence[Extra] = (),
    during: Sequence[During] = (),
    observers: Sequence[Observer] = (),
    post: Post | None = None,
) -> Front:
    """Return the HTTP door to *spaces*, as an ASGI application.

    Args:
        spaces: Entered by now; they stay open when the application ends.
        keyring: Who may come in.
        settings: Of the server; None: as they are by default.
        extra: Make further handlers, out of what all requests share.
        during: What is to be entered while the application lives.
        observers: Who watch every request, such as ``telemetry.observer``.
        post: Where this process stands among several that serve one address; None: it is alone.
    """
    settings = settings or Settings()
    stopping = asyncio.Event()
    desk = Desk(
        spaces=spaces,
        authenticate=authentication(keyring, settings),
        settings=settings,
        workers=Workers(settings.threads, settings.waiting_max),
        stopping=stopping,
        watches=Watches(settings.streams_max, stopping),
        relays=None if post is None else Relays(post=post, settings=settings),
    )
    counted = Metrics(desk)
    handlers: list[ControllerRouterHandler] = [
        *(_verb(desk, route) for route in routes().values() if route.verb.name not in ELSEWHERE),
        *places.handlers(desk),
        *streams.handlers(desk),
        *transfer.handlers(desk),
        *health.handlers(desk),
        *metrics.handlers(desk, counted),
    ]
    for more in extra:
        handlers += more(desk)
    app = Litestar(
        route_handlers=[*options(handlers), *handlers],  # or the framework adds its own
        openapi_config=None,  # ours says more: openapi.py
        cors_config=_cors(settings),
        logging_config=None,
        request_max_body_size=None,  # bodies are read, and limited, in reading.py
        exception_handlers={Exception: _failing(settings)},
        lifespan=[_working(desk), *during, *([] if post is None else [_reachable(post, counted)])],
        debug=False,
    )
    observed = Observed(app, (counted.observe, *observers), told=desk.watches.saw)
    return Front(observed, settings, stop=stopping.set)


def _verb(desk: Desk, route: Route) -> HTTPRouteHandler:
    """Return the handler of a verb."""

    async def handle(request: Asked) -> Answer | Pieces:
        return await calling.answer(desk, route, request)

    return placed(handle, route.method, route.path, name=route.verb.name)


def _working(desk: Desk) -> During:
    @asynccontextmanager
    async def working(_: Litestar) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            if not await desk.workers.close(desk.settings.grace_s):
                LOG.warning("%d verbs still run; they end at their next step", desk.workers.busy)

    return working


def _reachable(post: Post, counted: Metrics) -> During:
    """Let other processes of this server ask this one, for as long as it lives."""

    @asynccontextmanager
    async def reachable(app: Litestar) -> AsyncGenerator[None]:
        async def aside(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] == metrics.PATH:
                await Answer(body=await counted.own())(scope, receive, send)
                return
            scope[REQUEST_ID] = identified(scope)
            scope["path"] = scope["raw_path"].decode("latin-1")
            await app(scope, receive, send)

        async with receiving(post, aside):
            yield

    return reachable


def _cors(settings: Settings) -> CORSConfig | None:
    if not settings.origins:
        return None
    return CORSConfig(
        allow_origins=list(settings.origins),
        allow_headers=list(TAKEN),
        expose_headers=list(EXPOSED),
    )


# --- failures -------------------------------------------------------------------------------------


@frozen(kw_only=True)
class _Response:
    """An answer in the form that the framework wants of whoever handles its errors."""

    answer: Answer

    def to_asgi_response(self, **_: Any) -> Answer:
        """Return it, whatever for."""
        return self.answer


def _failing(settings: Settings) -> Callable[[Asked, Exception], Any]:
    """Return what answers a request that failed."""

    def failed(request: Asked, error: Exception) -> _Response:
        scope: Any = request.scope
        ours = _ours(scope, error)
        # Whoever has gone in the middle of a body is answered like everybody, and is no bug.
        if not isinstance(ours, MnemicError | ConnectionError):
            LOG.error("request %s met a bug", scope[REQUEST_ID], exc_info=error)
        elif names_a_file(ours):  # which only the log says: whoever asks learns its name
            LOG.warning("request %s: %s", scope[REQUEST_ID], ours)
        answer = of_error(
            ours,
            request_id=scope[REQUEST_ID],
            status=status_in(scope, ours),
            headers=_headers(ours, error, settings),
        )
        return _Response(answer=answer)

    return failed


def _ours(scope: Any, error: Exception) -> Exception:
    """Return what went wrong, as one of ours where the framework found it."""
    match error:
        case MethodNotAllowedException():
            return MethodRefused(f"{scope['method']} is not for {scope['path']:.200}")
        case NotFoundException():
            return PathUnknown(f"nothing stands at {scope['path']:.200}")
        case HTTPException() if error.status_code < 500:  # noqa: PLR2004 - whoever asked is wrong
            return RequestUnreadable(str(error.detail))
        case _:
            return error


def _headers(error: Exception, found: Exception, settings: Settings) -> dict[str, str]:
    """Return the headers that an error asks for."""
    match error:
        case Unauthenticated():
            return {"www-authenticate": CHALLENGE}
        case MethodRefused():
            methods: str = (getattr(found, "headers", None) or {}).get("allow", "")
            return {"allow": ", ".join(sorted(methods.split(", ")))}
        case BodyTooLarge() | RequestTooSlow():
            return {"connection": "close"}  # the rest of the body is not waited for
        case Overloaded() | Overdue() | Stopping() | StoreBusy():
            return {"retry-after": str(settings.retry_after_s)}
        case _:
            return {}
