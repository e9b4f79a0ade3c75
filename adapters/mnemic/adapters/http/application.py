"""The ASGI application: routes for every operation, and one form for every error."""

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
from mnemic.adapters.http.endpoints import (
    dispatch,
    events,
    explorer,
    health,
    metrics,
    transfer,
)
from mnemic.adapters.http.endpoints import (
    spaces as space_endpoints,
)
from mnemic.adapters.http.endpoints.dispatch import Dispatcher
from mnemic.adapters.http.endpoints.leaders import Forwarding
from mnemic.adapters.http.endpoints.log_watchers import Watches
from mnemic.adapters.http.endpoints.metrics import Metrics
from mnemic.adapters.http.endpoints.worker_threads import Workers
from mnemic.adapters.http.messages.responses import Answer, of_error, status_in
from mnemic.adapters.http.messages.streamed_responses import Pieces
from mnemic.adapters.http.middleware.observation import Observed, Observer
from mnemic.adapters.http.middleware.request_ids import (
    LOG,
    REQUEST_ID,
    RequestMiddleware,
)
from mnemic.adapters.http.middleware.security import CHALLENGE, authentication
from mnemic.adapters.http.routing.handlers import Asked, options, placed
from mnemic.adapters.http.routing.routes import Route, routes
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.remote.errors import names_a_file
from mnemic.adapters.remote.shares import Shares
from mnemic.adapters.remote.transport_errors import (
    BodyTooLarge,
    MediaTypeRefused,
    MethodRefused,
    Overdue,
    Overloaded,
    PathUnknown,
    RequestTooSlow,
    RequestUnreadable,
    ShareExceeded,
    Stopping,
)
from mnemic.adapters.stores.leaders import LedElsewhere, MovedAway
from mnemic.kernel.errors import InboxFull, MnemicError, StoreBusy, Unauthenticated

EXPOSED = ("ETag", "Mnemic-Version", "X-Request-Id", "Link", "Retry-After", "Location")
"""Response headers that a page of another origin may read."""
TAKEN = (
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "Last-Event-ID",
    "Mnemic-Min-Version",
    "Mnemic-Session",
    "X-Request-Id",
)
"""Request headers that such a page may send."""
ELSEWHERE = frozenset({"export", "import_space"})
"""Operations whose bodies are files rather than JSON; other modules serve them."""

Extra = Callable[[Dispatcher], Sequence[ControllerRouterHandler]]
During = Callable[[Litestar], AbstractAsyncContextManager[None]]


def application(
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings | None = None,
    *,
    extra: Sequence[Extra] = (),
    around: Sequence[During] = (),
    during: Sequence[During] = (),
    observers: Sequence[Observer] = (),
) -> RequestMiddleware:
    """Return the HTTP interface to *spaces*, as an ASGI application.

    Args:
        spaces: Entered already, or by *around*; they stay open when the application ends.
        keyring: Tokens that may be used.
        settings: Of the server; None: the defaults.
        extra: Create further handlers from the dispatcher that all requests share.
        around: Context managers to enter while the application lives, before everything else.
        during: Context managers to enter after that, and to leave before it.
        observers: Observe every request, such as ``telemetry.observer``.
    """
    settings = settings or Settings()
    stopping = asyncio.Event()
    dispatcher = Dispatcher(
        spaces=spaces,
        authenticate=authentication(keyring, settings),
        settings=settings,
        workers=Workers(settings.threads, settings.waiting_max),
        stopping=stopping,
        watches=Watches(settings.streams_max, stopping),
        arriving=Shares(total=settings.threads + settings.waiting_max, what="requests"),
        forwarding=Forwarding(),
    )
    counted = Metrics(dispatcher)
    handlers: list[ControllerRouterHandler] = [
        *(
            _operation(dispatcher, route)
            for route in routes().values()
            if route.operation.name not in ELSEWHERE
        ),
        *space_endpoints.handlers(dispatcher),
        *events.handlers(dispatcher),
        *transfer.handlers(dispatcher),
        *health.handlers(dispatcher),
        *explorer.handlers(),
        *metrics.handlers(dispatcher, counted),
    ]
    for more in extra:
        handlers += more(dispatcher)
    app = Litestar(
        route_handlers=[*options(handlers), *handlers],  # otherwise the framework adds its own
        openapi_config=None,  # ours is more complete: openapi.py
        cors_config=_cors(settings),
        logging_config=None,
        request_max_body_size=None,  # requests.py reads and limits bodies
        exception_handlers={Exception: _exception_handler(settings)},
        lifespan=[*around, _working(dispatcher), *during],
        debug=False,
    )
    observed = Observed(app, (counted.observe, *observers), on_version=dispatcher.watches.advance)
    return RequestMiddleware(observed, settings, stop=stopping.set)


def _operation(dispatcher: Dispatcher, route: Route) -> HTTPRouteHandler:
    """Return the handler of an operation."""

    async def handle(request: Asked) -> Answer | Pieces:
        return await dispatch.answer(dispatcher, route, request)

    return placed(handle, route.method, route.path, name=route.operation.name)


def _working(dispatcher: Dispatcher) -> During:
    @asynccontextmanager
    async def working(_: Litestar) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await dispatcher.forwarding.close()
            if not await dispatcher.workers.close(dispatcher.settings.grace_s):
                LOG.warning(
                    "%d operations still run; they end at their next step", dispatcher.workers.busy
                )

    return working


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
    """An answer in the form that the framework requires of exception handlers."""

    answer: Answer

    def to_asgi_response(self, **_: Any) -> Answer:
        """Return the answer as it is."""
        return self.answer


def _exception_handler(settings: Settings) -> Callable[[Asked, Exception], Any]:
    """Return the exception handler of the application."""

    def failed(request: Asked, error: Exception) -> _Response:
        scope: Any = request.scope
        ours = _own_error(scope, error)
        # A client that disconnects within a body gets a response like any other, and is no bug.
        if not isinstance(ours, MnemicError | ConnectionError):
            LOG.error("request %s met a bug", scope[REQUEST_ID], exc_info=error)
        elif names_a_file(ours):  # only the log holds the path; the client sees the file name
            LOG.warning("request %s: %s", scope[REQUEST_ID], ours)
        answer = of_error(
            ours,
            request_id=scope[REQUEST_ID],
            status=status_in(scope, ours),
            headers=_headers(ours, error, settings),
        )
        return _Response(answer=answer)

    return failed


def _own_error(scope: Any, error: Exception) -> Exception:
    """Return the error as one of ours if the framework raised it."""
    match error:
        case MethodNotAllowedException():
            return MethodRefused(f"{scope['method']} is not for {scope['path']:.200}")
        case NotFoundException():
            return PathUnknown(f"there is no path {scope['path']:.200}")
        case HTTPException() if error.status_code < 500:  # noqa: PLR2004 - an error of the client
            return RequestUnreadable(str(error.detail))
        case _:
            return error


def _headers(error: Exception, found: Exception, settings: Settings) -> dict[str, str]:
    """Return the headers that an error requires."""
    match error:
        case Unauthenticated():
            return {"www-authenticate": CHALLENGE}
        case MethodRefused():
            methods: str = (getattr(found, "headers", None) or {}).get("allow", "")
            return {"allow": ", ".join(sorted(methods.split(", ")))}
        case MediaTypeRefused() if "content_encoding" in error.facts:
            return {"accept-encoding": "identity", "connection": "close"}  # the body is not read
        case BodyTooLarge() | RequestTooSlow():
            return {"connection": "close"}  # the rest of the body is not read
        case (
            Overloaded()
            | ShareExceeded()
            | InboxFull()
            | Overdue()
            | Stopping()
            | StoreBusy()
            | LedElsewhere()
            | MovedAway()
        ):
            return {"retry-after": str(settings.retry_after_s)}
        case _:
            return {}
