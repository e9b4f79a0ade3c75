"""Authenticated access to a space, for endpoints that are no plain operations."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from mnemic.adapters.hosting import Hold
from mnemic.adapters.http.endpoints.dispatch import Dispatcher
from mnemic.adapters.http.messages import requests
from mnemic.adapters.http.middleware.security import Caller, check_scope, unseen
from mnemic.adapters.inprocess.registry import Scope
from mnemic.kernel.errors import SpaceNotFound


@frozen(kw_only=True)
class AuthContext:
    """A caller and a space that stays open until the hold is released."""

    caller: Caller
    space: str
    hold: Hold


def authorize(dispatcher: Dispatcher, scope: Any, wanted: Scope) -> tuple[Caller, str]:
    """Return the caller and the space of a request, if the caller has the scope *wanted* there.

    Raises:
        Unauthenticated: The caller cannot be identified.
        SpaceNotFound: They may not see such a space, whether or not it exists.
        Forbidden: They may see it, but do not have the scope.
    """
    caller = dispatcher.authenticate(scope)
    space = requests.segment(scope["path_params"]["space"])
    check_scope(caller, space, wanted)
    return caller, space


async def auth_context(dispatcher: Dispatcher, scope: Any, wanted: Scope) -> AuthContext:
    """Authenticate a request, and open its space.

    Raises:
        Unauthenticated, SpaceNotFound, Forbidden: See ``authorize``.
        LogCorrupt, StoreFailed: The space cannot be opened.
    """
    caller, space = authorize(dispatcher, scope, wanted)
    try:
        hold = await dispatcher.spaces.hold(space)
    except SpaceNotFound:
        raise unseen(space) from None
    return AuthContext(caller=caller, space=space, hold=hold)
