"""Endpoints of the server itself: the list of spaces, their creation, and the OpenAPI document."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from anyio import to_thread
from litestar.types import ControllerRouterHandler

from mnemic.adapters.http.endpoints.dispatch import Dispatcher
from mnemic.adapters.http.messages import requests
from mnemic.adapters.http.messages.responses import Answer, of_document
from mnemic.adapters.http.middleware.security import Caller, check_scope, check_writes
from mnemic.adapters.http.routing.handlers import Asked, placed
from mnemic.adapters.http.routing.routes import ROOT, SPACE, check_name
from mnemic.adapters.http.settings import Settings


def handlers(dispatcher: Dispatcher) -> list[ControllerRouterHandler]:
    """Return the handlers of this module."""

    async def spaces(request: Asked) -> Answer:
        caller = dispatcher.authenticate(request.scope)
        requests.check_fields(requests.query(request.scope), ())
        seen = [
            {"space": name, "scope": scope_of(caller, name)}
            for name in await dispatcher.spaces.names()
            if caller.sees(name)
        ]
        return of_document({"items": seen})

    async def make_space(request: Asked) -> Answer:
        scope: Any = request.scope
        caller = dispatcher.authenticate(scope)
        name = requests.segment(scope["path_params"]["space"])
        check_scope(caller, name, "admin")
        check_writes(dispatcher.settings, "admin")
        requests.check_fields(requests.query(scope), ())
        check_name(name)
        made = await dispatcher.spaces.make(name)
        return of_document({"space": name, "made": made}, status=201 if made else 200)

    async def openapi(request: Asked) -> Answer:
        requests.check_fields(requests.query(request.scope), ())
        return await to_thread.run_sync(described, dispatcher.settings)

    return [
        placed(spaces, "GET", f"{ROOT}/spaces", name="spaces"),
        placed(make_space, "PUT", SPACE, name="make_space"),
        placed(openapi, "GET", f"{ROOT}/openapi.json", name="openapi"),
    ]


@lru_cache(maxsize=8)
def described(settings: Settings) -> Answer:
    """Return the OpenAPI document of this interface, made on the first request."""
    from mnemic.adapters.http.description.openapi import document

    return of_document(document(settings))


def scope_of(caller: Caller, space: str) -> str:
    """Return the highest scope that a caller has on a space that they may see."""
    if caller.allows(space, "admin"):
        return "admin"
    return "write" if caller.allows(space, "write") else "read"
