"""The application: every verb at its place, and one form for everything that goes wrong."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from attrs import frozen
from litestar import Litestar, Request
from litestar.config.cors import CORSConfig
from litestar.exceptions import (
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
)
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, ControllerRouterHandler

from mnemic.adapters.access import Keyring
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http import calling, places
from mnemic.adapters.http.answers import Answer, of_error
from mnemic.adapters.http.calling import Desk
from mnemic.adapters.http.failures import MethodRefused, PathUnknown, RequestUnreadable
from mnemic.adapters.http.handlers import placed
from mnemic.adapters.http.front import LOG, REQUEST_ID, Front
from mnemic.adapters.http.routes import Route, routes
from mnemic.adapters.http.security import CHALLENGE, authentication, header
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.http.workers import Workers
from mnemic.kernel.errors import MnemicError, Unauthenticated, Unavailable, VersionConflict

EXPOSED = ["ETag", "Mnemic-Version", "X-Request-Id", "Link", "Retry-After", "Location"]
"""Headers that a page of another origin may read."""
TAKEN = ["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match"]
UNUSUAL = ["Last-Event-ID", "Mnemic-Session", "X-Request-Id"]
ELSEWHERE = frozenset({"export", "import_space"})
"""Verbs whose bodies are no JSON, and that other modules serve."""


def application(
    spaces: Spaces,
    keyring: Keyring,
    settings: Settings | None = None,
    *,
    extra: Callable[[Desk], Sequence[ControllerRouterHandler]] | None = None,
) -> Front:
    """Return the HTTP door to *spaces*, as an ASGI application.

    Args:
        spaces: Entered by now; they stay open when the application ends.
        keyring: Who may come in.
        settings: Of the server; None: as they are by default.
        extra: Makes further handlers, out of what all requests share.
    """
    settings = settings or Settings()
    desk = Desk(
        spaces=spaces,
        authenticate=authentication(keyring, settings),
        settings=settings,
        workers=Workers(settings.workers, settings.waiting_max),
    )
    handlers = [
        *(_verb(desk, route) for route in routes().values() if route.verb.name not in ELSEWHERE),
        *places.handlers(desk),
        *(extra(desk) if extra is not None else ()),
    ]
    app = Litestar(
        route_handlers=handlers,
        openapi_config=None,
        cors_config=_cors(settings),
        logging_config=None,
        request_max_body_size=None,  # bodies are read, and limited, by us
        exception_handlers={Exception: _failed},
        lifespan=[_working(desk)],
        debug=False,
    )
    return Front(app, settings)


def _verb(desk: Desk, route: Route) -> HTTPRouteHandler:
    """Return the handler of a verb."""

    async def handle(request: Request[Any, Any, Any]) -> ASGIApp:
        return await calling.answer(desk, route, request.scope, request.receive)

    return placed(handle, route.method, route.path, name=route.verb.name)


def _working(desk: Desk) -> Callable[[Litestar], Any]:
    @asynccontextmanager
    async def working(_: Litestar) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            if not await desk.workers.close(desk.settings.grace_s):
                LOG.warning("%d verbs still run; they end by themselves", desk.workers.busy)

    return working


def _cors(settings: Settings) -> CORSConfig | None:
    if not settings.origins:
        return None
    return CORSConfig(
        allow_origins=list(settings.origins),
        allow_headers=[*TAKEN, *UNUSUAL],
        expose_headers=EXPOSED,
    )


# --- failures -------------------------------------------------------------------------------------


def _failed(request: Request[Any, Any, Any], error: Exception) -> Any:
    """Return the answer to a request that failed."""
    scope: Any = request.scope
    ours = _ours(scope, error)
    if not isinstance(ours, MnemicError):
        LOG.error("request %s met a bug", scope[REQUEST_ID], exc_info=error)
    answer = of_error(
        ours, request_id=scope[REQUEST_ID], status=_status(scope, ours), headers=_headers(ours, error)
    )
    return _Responded(answer=answer)


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


def _status(scope: Any, error: Exception) -> int | None:
    """Return the status of an error, if it is not its own."""
    conditions = (b"if-match", b"if-none-match")
    if isinstance(error, VersionConflict) and any(header(scope, name) for name in conditions):
        return 412
    return None


def _headers(error: Exception, found: Exception) -> dict[str, str]:
    match error:
        case Unauthenticated():
            return {"www-authenticate": CHALLENGE}
        case MethodRefused():
            allowed = getattr(found, "headers", None) or {}
            return {"allow": allowed.get("allow", "")}
        case Unavailable():
            return {"retry-after": "1"}
        case _:
            return {}


@frozen(kw_only=True)
class _Responded:
    """An answer in the form that the framework wants of its handlers of errors."""

    answer: Answer

    def to_asgi_response(self, **_: Any) -> Answer:
        return self.answer
