"""The seats of many clients over HTTP: who gets which, how long it is kept, and when it ends.

A seat outlives a request, for breadcrumbs and the session of the log live on it. It belongs to one
session of the protocol where there is one (before 2026-07-28), else to all clients that show the
same token and say the same name. It ends when the client says so, when nobody has used it for a
while, when too many are taken, or with the server; ending it ends the session of the log.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Protocol, Self

import anyio
from attrs import define, field, frozen
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER

from mnemic.adapters.access import Token
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.mcp.crew import Crew
from mnemic.adapters.mcp.limits import Limits
from mnemic.adapters.mcp.seats import Seat, Sessions
from mnemic.adapters.mcp.server import Context
from mnemic.adapters.wire.verbs import Scope

SEATS_MAX = 1000
IDLE_S = 30 * 60.0
"""How long a seat is kept that nobody uses; the SDK keeps sessions of the protocol as long."""
LOOK_AGAIN_S = 60.0
LOCAL = ""
"""Whose seats are those of callers without a token; no token has such an id."""


class Caller(Protocol):
    """Who makes a request."""

    @property
    def name(self) -> str:
        """As the log names them."""
        ...

    @property
    def token(self) -> Token | None:
        """What they showed; None: the host lets them in without."""
        ...

    @property
    def zone(self) -> str | None:
        """How far what they write is trusted; None: in full."""
        ...

    def allows(self, space: str, scope: Scope) -> bool:
        """Return whether they may do as much as *scope* in *space*."""
        ...


@frozen(kw_only=True)
class Visit:
    """A request before it is read: who makes it, and for which space."""

    caller: Caller
    space: str
    read_only: bool = False
    """Whether nobody may write, whoever they are."""

    @property
    def owner(self) -> str:
        """The id of the token; ids are public and never used twice."""
        token = self.caller.token
        return LOCAL if token is None else token.id

    def allows(self, scope: Scope) -> bool:
        """Return whether it may do as much as *scope*."""
        return (scope == "read" or not self.read_only) and self.caller.allows(self.space, scope)


VISIT = "mnemic.visit"
"""Under what name the ASGI scope of a request holds its visit."""


@define(kw_only=True, eq=False)
class _Place:
    """Where one client sits, or will."""

    used_s: float
    """When it was last asked for, by the clock of the event loop."""
    seat: Seat | None = None
    is_over: bool = False
    leaving: AsyncExitStack = field(factory=AsyncExitStack)
    turn: anyio.Lock = field(factory=anyio.Lock)
    """Held by whoever sits down or gets up."""


@define(kw_only=True, eq=False)
class Guests:
    """A reception for many clients."""

    spaces: Spaces
    sessions: Sessions = "auto"
    seats_max: int = SEATS_MAX
    idle_s: float = IDLE_S
    crew: Crew = field(factory=lambda: Crew(Limits()))
    """Makes the calls of all of them."""
    _places: dict[tuple[str, str, str], _Place] = field(factory=dict, init=False)
    """The one that nobody has used for longest stands first."""

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Self]:
        """Receive clients for an ``async with`` block, and let all of them go after it."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tidy)
            try:
                async with self.crew.working():
                    yield self
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    for key in list(self._places):
                        await self._end(key)

    async def seat(self, context: Context) -> Seat:
        """Return the seat of whoever makes a request.

        Raises:
            PointOutOfRange: There is no such space.
        """
        request: Any = context.request
        visit: Visit = request.scope[VISIT]
        session = request.headers.get(MCP_SESSION_ID_HEADER)
        key = (visit.owner, visit.space, _name(context) if session is None else f"#{session}")
        while True:
            place = self._places.pop(key, None)
            if place is None:
                place = _Place(used_s=anyio.current_time())
                while len(self._places) >= self.seats_max:
                    await self._end(next(iter(self._places)))
            place.used_s = anyio.current_time()
            self._places[key] = place
            async with place.turn:
                seat = place.seat or await self._sit(key, place, visit)
                if not place.is_over:
                    return seat

    async def gone(self, visit: Visit, session: str) -> None:
        """Let go of the seat of a session of the protocol that has ended."""
        await self._end((visit.owner, visit.space, f"#{session}"))

    async def _sit(self, key: tuple[str, str, str], place: _Place, visit: Visit) -> Seat:
        try:
            async with AsyncExitStack() as stack:
                caller = visit.caller
                found = self.spaces.seat(visit.space, actor=caller.name, zone=caller.zone)
                memory = await stack.enter_async_context(found)
                place.seat = Seat(
                    memory=memory,
                    allows=visit.allows,
                    allows_in=visit.caller.allows,
                    sessions=self.sessions,
                    read_only=visit.read_only,
                    crew=self.crew,
                )
                stack.push_async_callback(place.seat.leave)
                place.leaving = stack.pop_all()
        except BaseException:
            place.is_over = True
            if self._places.get(key) is place:
                del self._places[key]
            raise
        return place.seat

    async def _tidy(self) -> None:
        while True:
            await anyio.sleep(min(LOOK_AGAIN_S, self.idle_s))
            since = anyio.current_time() - self.idle_s
            for key in [key for key, each in self._places.items() if each.used_s <= since]:
                await self._end(key)

    async def _end(self, key: tuple[str, str, str]) -> None:
        place = self._places.pop(key, None)
        if place is not None:
            with anyio.CancelScope(shield=True):
                async with place.turn:
                    place.is_over = True
                    await place.leaving.aclose()


def _name(context: Context) -> str:
    said = context.session.client_params
    return "" if said is None else said.client_info.name
