"""How a function gets its place among the routes of the framework."""

from __future__ import annotations

from typing import Any

from litestar.handlers import HTTPRouteHandler


def placed(handle: Any, method: str, path: str, *, name: str) -> HTTPRouteHandler:
    """Return a handler at its place; who may GET may ask for the headers alone.

    Args:
        handle: Takes the request, and returns its answer.
        method: One of HTTP's.
        path: With the names of its parts in braces.
        name: Of the operation.
    """
    return HTTPRouteHandler(
        path.replace("}", ":str}"),
        http_method=["GET", "HEAD"] if method == "GET" else [method],  # type: ignore[list-item]
        name=name,
        status_code=200,
    )(handle)
