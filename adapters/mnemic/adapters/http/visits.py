"""Visits: who comes in, to which space, and whether they may, for whatever is no plain verb."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from mnemic.adapters.hosting import Hold
from mnemic.adapters.http import reading
from mnemic.adapters.http.calling import Desk
from mnemic.adapters.http.security import Caller, check_scope, unseen
from mnemic.adapters.wire.verbs import Scope
from mnemic.kernel.errors import PointOutOfRange


@frozen(kw_only=True)
class Visit:
    """Somebody in a space that stays open until the hold is released."""

    caller: Caller
    space: str
    hold: Hold


def let_in(desk: Desk, scope: Any, wanted: Scope) -> tuple[Caller, str]:
    """Return who asks, and for which space, if they may do as much as *wanted* there.

    Raises:
        Unauthenticated: Nobody knows who asks.
        PointOutOfRange: They may not see such a space, whether there is one or not.
        Forbidden: They may see it, and not do that.
    """
    caller = desk.authenticate(scope)
    space = reading.segment(scope["path_params"]["space"])
    check_scope(caller, space, wanted)
    return caller, space


async def visit(desk: Desk, scope: Any, wanted: Scope) -> Visit:
    """Let somebody into a space.

    Raises:
        Unauthenticated, PointOutOfRange, Forbidden: See ``let_in``.
        LogCorrupt, StoreFailed: The space cannot be opened.
    """
    caller, space = let_in(desk, scope, wanted)
    try:
        hold = await desk.spaces.hold(space)
    except PointOutOfRange:
        raise unseen(space) from None
    return Visit(caller=caller, space=space, hold=hold)
