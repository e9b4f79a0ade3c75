"""Route handlers of the framework, made from plain functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from mnemic.adapters.http.messages.responses import Answer

Asked: TypeAlias = Request[Any, Any, Any]
Handle: TypeAlias = Callable[[Asked], Awaitable[Any]]
"""Takes a request, and returns an answer, or another ASGI application that sends one."""


def placed(handle: Handle, method: str, path: str, *, name: str) -> HTTPRouteHandler:
    """Return a route handler; one for GET answers HEAD as well.

    Args:
        handle: Answers the request.
        method: An HTTP method.
        path: With the names of its parameters in braces.
        name: Name of the operation.
    """

    async def answer(request: Asked) -> ASGIApp:
        found: ASGIApp = await handle(request)
        return found

    methods: Any = ["GET", "HEAD"] if method == "GET" else [method]
    place = HTTPRouteHandler(
        path.replace("}", ":str}"), http_method=methods, name=name, status_code=200
    )
    return place(answer)


def options(handlers: Iterable[object]) -> list[HTTPRouteHandler]:
    """Return OPTIONS handlers that list the methods of each path.

    The framework has its own, one for each handler: of several handlers on one path it lists only
    the methods of the first.
    """
    methods: dict[str, set[str]] = {}
    for handler in handlers:
        if isinstance(handler, HTTPRouteHandler):
            for path in handler.paths:
                methods.setdefault(path, {"OPTIONS"}).update(handler.http_methods)
    return [
        placed(_telling(", ".join(sorted(names))), "OPTIONS", path.replace(":str}", "}"), name=path)
        for path, names in methods.items()
    ]


def _telling(allowed: str) -> Handle:
    async def tell(_: Asked) -> Answer:
        return Answer(status=204, headers={"allow": allowed})

    return tell
