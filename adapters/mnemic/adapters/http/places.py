"""What stands beside the verbs: the spaces, and how one is made."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from anyio import to_thread
from litestar.types import ControllerRouterHandler

from mnemic.adapters.http import reading
from mnemic.adapters.http.answers import Answer, of_document
from mnemic.adapters.http.calling import Desk
from mnemic.adapters.http.handlers import Asked, placed
from mnemic.adapters.http.routes import ROOT, SPACE, check_name
from mnemic.adapters.http.security import Caller, check_scope, check_writes
from mnemic.adapters.http.settings import Settings


def handlers(desk: Desk) -> list[ControllerRouterHandler]:
    """Return the handlers of this module."""

    async def spaces(request: Asked) -> Answer:
        caller = desk.authenticate(request.scope)
        reading.check_fields(reading.query(request.scope), ())
        seen = [
            {"space": name, "scope": scope_of(caller, name)}
            for name in await desk.spaces.names()
            if caller.sees(name)
        ]
        return of_document({"items": seen})

    async def make_space(request: Asked) -> Answer:
        scope: Any = request.scope
        caller = desk.authenticate(scope)
        name = reading.segment(scope["path_params"]["space"])
        check_scope(caller, name, "admin")
        check_writes(desk.settings, "admin")
        reading.check_fields(reading.query(scope), ())
        check_name(name)
        made = await desk.spaces.make(name)
        return of_document({"space": name, "made": made}, status=201 if made else 200)

    async def openapi(request: Asked) -> Answer:
        reading.check_fields(reading.query(request.scope), ())
        return await to_thread.run_sync(described, desk.settings)

    return [
        placed(spaces, "GET", f"{ROOT}/spaces", name="spaces"),
        placed(make_space, "PUT", SPACE, name="make_space"),
        placed(openapi, "GET", f"{ROOT}/openapi.json", name="openapi"),
    ]


@lru_cache(maxsize=8)
def described(settings: Settings) -> Answer:
    """Return the description of this door, made when somebody first asks."""
    from mnemic.adapters.http.openapi import document

    return of_document(document(settings))


def scope_of(caller: Caller, space: str) -> str:
    """Return how far somebody reaches in a space that they see."""
    if caller.allows(space, "admin"):
        return "admin"
    return "write" if caller.allows(space, "write") else "read"
