"""Where a client sits: one seat on the open memory for each connection, with a session of its own.

Active time passes only inside sessions, and an agent that was never told so would never begin
one. So a seat begins a session by itself at its first call that writes, and ends it when the client
goes, unless the host wants sessions to be begun by ``mnemic_session`` alone. An idle session costs
at most the gap of the policy, so one that stays open for days does no harm. Whatever session stands
open when the client goes is ended, which consolidates what is pending.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias, TypeVar

import anyio
from attrs import define, evolve, field

from mnemic.adapters.inprocess.memory import Memory
from mnemic.adapters.mcp.addresses import expanded
from mnemic.adapters.mcp.crew import Crew
from mnemic.adapters.mcp.tools import Allows, least_scope
from mnemic.adapters.wire.calls import RECORDERS, Call, perform
from mnemic.adapters.wire.verbs import Scope
from mnemic.kernel.errors import (
    Forbidden,
    MnemicError,
    PointOutOfRange,
    SessionState,
    ViewReadOnly,
)

Sessions: TypeAlias = Literal["auto", "manual"]
"""Who begins sessions: the door, or whoever calls ``start_session``."""
Progress = Callable[[int, int], None]
T = TypeVar("T")
SESSION_VERBS = frozenset({"start_session", "end_session"})

logger = logging.getLogger(__name__)


def everything(_scope: Scope) -> bool:
    """Allow whatever there is: the host that opened the file may."""
    return True


def everywhere(_space: str, _scope: Scope) -> bool:
    """Allow whatever there is, in every space of the file."""
    return True


def reading(scope: Scope) -> bool:
    """Allow what writes nothing."""
    return scope == "read"


@define(kw_only=True)
class Seat:
    """One client on one memory."""

    memory: Memory
    """A handle of its own: actor, session and breadcrumbs are this client's."""
    crew: Crew
    """Makes the calls, those of other seats among them."""
    allows: Allows = everything
    allows_in: Callable[[str, Scope], bool] = everywhere
    """What this client may do in a space that it names: a fork makes another one."""
    sessions: Sessions = "auto"
    read_only: bool = False
    """Whether nobody may write here, whatever they are allowed."""
    _has_session: bool = field(default=False, init=False)
    _beginning: anyio.Lock = field(factory=anyio.Lock, init=False)
    _turn: anyio.Lock = field(factory=anyio.Lock, init=False)

    async def perform(self, call: Call, progress: Progress | None = None) -> Any:
        """Make a call, in a session if it writes, and return what the verb answers.

        Args:
            call: What is called. Ids of blocks may be shortened to 8 characters.
            progress: Told on a worker thread how far long work is.

        Raises:
            ViewReadOnly, Forbidden: This client may not do that.
            PointOutOfRange: It would make a space that it may not see.
            MnemicError: Whatever the verb refuses or fails at.
        """
        call = self._checked(call)
        if call.scope != "read" and call.verb not in SESSION_VERBS:
            await self._begin()
        answer = await perform(self.memory, await expanded(self.memory, call), progress)
        if call.verb in SESSION_VERBS:
            self._has_session = call.verb == "start_session"
        return answer

    async def take(self, work: Callable[[], Awaitable[T]], *, is_long: bool = False) -> T:
        """Do what a client asks for, in turn and within the limits of the door. See ``Crew.make``.

        Args:
            work: Calls of this seat.
            is_long: Whether one of them is of those that take long.

        Raises:
            Overloaded, Overdue, Stopping: It was not done, or not in time.
        """
        return await self.crew.make(work, turn=self._turn, is_long=is_long)

    def may(self, verb: str) -> bool:
        """Return whether this client may use a verb, if need be without leaving a trace."""
        return self.allows(least_scope(verb))

    async def leave(self) -> None:
        """End the session that is open, if any, and let go of the seat. Never raises."""
        with anyio.CancelScope(shield=True):
            try:
                if self._has_session:
                    self._has_session = False
                    await self.memory.end_session()
            except MnemicError as error:
                # Nobody is there to be told; what was acknowledged is written.
                logger.warning("the session of a client that left was not ended: %s", error)
            finally:
                await self.memory.close()

    async def _begin(self) -> None:
        if self.sessions == "manual" or self._has_session:
            return
        async with self._beginning:
            if not self._has_session:
                try:
                    await self.memory.start_session()
                except SessionState:
                    logger.debug("a session stands open already")
                self._has_session = True

    def _checked(self, call: Call) -> Call:
        """Return a call as this client may make it: who may not write leaves no trace.

        Raises:
            ViewReadOnly, Forbidden: It may not be made at all.
            PointOutOfRange: It would make a space that this client may not see.
        """
        traceless = call.verb in RECORDERS and "record" not in call.arguments
        if traceless and call.as_of is None and not self.allows(call.scope):
            call = evolve(call, arguments={**call.arguments, "record": False})
        if self.read_only and call.scope != "read":
            raise ViewReadOnly(f"{call.verb} would write, and this memory is served read-only")
        if not self.allows(call.scope):
            raise Forbidden(f"{call.verb} takes the scope {call.scope}", scope=call.scope)
        named = call.arguments.get("space")
        if call.verb == "fork" and isinstance(named, str):
            self._check_made(named.strip())  # as the verb itself will read it
        return call

    def _check_made(self, space: str) -> None:
        """Refuse to make a space, without saying whether one is there that is not to be seen."""
        if not self.allows_in(space, "read"):
            raise PointOutOfRange(
                f"there is no space {space!r:.200} that you may make",
                recovery="Ask for a token with the scope admin on that space too.",
                space=space,
            )
        if not self.allows_in(space, "admin"):
            raise Forbidden(f"a fork to {space!r:.200} takes the scope admin there", scope="admin")
