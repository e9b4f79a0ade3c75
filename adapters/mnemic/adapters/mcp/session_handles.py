"""The session handle of a client: one per connection on the open memory, with its own session.

Active time passes only inside sessions, and an agent that does not know this would never begin one.
So a client handle begins a session at its first call that writes, and ends it when the client
leaves, unless the host wants sessions to be begun by ``mnemic_session`` alone. An idle session
costs at most the gap of the policy, so one that stays open for days does no harm. A session that is
open when the client leaves is ended, which consolidates what is pending.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias, TypeVar

import anyio
from attrs import define, evolve, field

from mnemic.adapters.inprocess.memory import Memory
from mnemic.adapters.inprocess.registry import SCOPES, Scope
from mnemic.adapters.mcp.call_limiter import CallLimiter
from mnemic.adapters.mcp.tools import Allows, ToolSet, least_scope
from mnemic.adapters.remote.calls import Call, perform
from mnemic.adapters.remote.shares import Client
from mnemic.kernel.errors import (
    Forbidden,
    MnemicError,
    SessionState,
    SpaceNotFound,
    ViewReadOnly,
)

Sessions: TypeAlias = Literal["auto", "manual"]
"""How sessions begin: automatically at the first write, or only by calls of ``start_session``."""
Progress = Callable[[int, int], None]
T = TypeVar("T")
SESSION_OPERATIONS = frozenset({"start_session", "end_session"})

logger = logging.getLogger(__name__)


def up_to(scope: Scope) -> Allows:
    """Return a function that allows a scope and those that it includes."""
    allowed = frozenset(SCOPES[: SCOPES.index(scope) + 1])
    return allowed.__contains__


everything = up_to("admin")
reading = up_to("read")


def everywhere(_space: str, _scope: Scope) -> bool:
    """Allow every scope in every space of the file."""
    return True


@define(kw_only=True)
class ClientHandle:
    """The handle of one client on one memory, with its permissions and session."""

    memory: Memory
    """This client's own session handle: actor, session and recent ids."""
    call_limiter: CallLimiter
    """Makes the calls; shared with other client handles."""
    allows: Allows = everything
    allows_in: Callable[[str, Scope], bool] = everywhere
    """What this client may do in a space that it names: a fork makes another one."""
    tool_set: ToolSet = "core"
    """Which tools are listed to this client; it may call the others too."""
    remedy: str | None = None
    """How the operator gives this client a wider scope; None: with another token."""
    sessions: Sessions = "auto"
    read_only: bool = False
    """Whether writes are refused regardless of the client's permissions."""
    client: Client | None = None
    """Whose share of the calls it uses; None: it is not limited."""
    _has_session: bool = field(default=False, init=False)
    _beginning: anyio.Lock = field(factory=anyio.Lock, init=False)
    _lock: anyio.Lock = field(factory=anyio.Lock, init=False)

    async def perform(self, call: Call, progress: Progress | None = None) -> Any:
        """Make a call, in a session if it writes, and return what the operation answers.

        Args:
            call: The call.
            progress: Called on a worker thread with the progress of long-running work.

        Raises:
            ViewReadOnly, Forbidden: This client may not make the call.
            SpaceNotFound: The call would create a space that the client may not see.
            MnemicError: Any refusal or failure of the operation.
        """
        call = self._checked(call)
        if call.scope != "read" and call.operation not in SESSION_OPERATIONS:
            await self._begin()
        answer = await perform(self.memory, call, progress)
        if call.operation in SESSION_OPERATIONS:
            self._has_session = call.operation == "start_session"
        return answer

    async def take(self, work: Callable[[], Awaitable[T]], *, is_long: bool = False) -> T:
        """Do work for the client, one at a time and within the limits. See ``CallLimiter.make``.

        Args:
            work: Makes calls on this handle.
            is_long: Whether one of them is long-running.

        Raises:
            Overloaded, ShareExceeded, Overdue, Stopping: The work was not done, or not in time.
        """
        return await self.call_limiter.make(
            work, client_lock=self._lock, client=self.client, is_long=is_long
        )

    def may(self, operation: str) -> bool:
        """Return whether this client may use an operation, at least in its unrecorded form."""
        return self.allows(least_scope(operation))

    async def leave(self) -> None:
        """End the open session, if any, and close the handle; a failure to end it is logged."""
        with anyio.CancelScope(shield=True):
            try:
                if self._has_session:
                    self._has_session = False
                    await self.memory.end_session()
            except MnemicError as error:
                # The client is gone, so the error can only be logged; acknowledged writes are safe.
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
                    logger.debug("a session is open already")
                self._has_session = True

    def _checked(self, call: Call) -> Call:
        """Return the call, made unrecorded if the client may not write but may read.

        Raises:
            ViewReadOnly, Forbidden: The client may not make the call at all.
            SpaceNotFound: The call would create a space that the client may not see.
        """
        may_skip_record = call.spec.can_skip_record and "record" not in call.arguments
        if may_skip_record and call.as_of is None and not self.allows(call.scope):
            call = evolve(call, arguments={**call.arguments, "record": False})
        if self.read_only and call.scope != "read":
            raise ViewReadOnly(f"{call.operation} would write, and this memory is served read-only")
        if not self.allows(call.scope):
            raise Forbidden(
                f"{call.operation} needs the scope {call.scope}",
                recovery=self.remedy,
                scope=call.scope,
            )
        if call.other_space is not None:
            self._check_new_space(call.other_space)
        return call

    def _check_new_space(self, space: str) -> None:
        """Refuse to create a space, without revealing whether an invisible one has that name."""
        if not self.allows_in(space, "read"):
            raise SpaceNotFound(
                f"there is no space {space!r:.200} that you may create",
                recovery="Ask for a token with the scope admin on that space too.",
                space=space,
            )
        if not self.allows_in(space, "admin"):
            raise Forbidden(f"the space {space!r:.200} needs the scope admin too", scope="admin")
