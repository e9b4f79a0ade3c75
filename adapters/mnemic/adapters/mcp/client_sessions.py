"""Session handles of many clients over HTTP: their assignment to clients, and their lifetime.

A session handle outlives a request, because it holds the recent ids and the session of the log. It
belongs to one protocol session where there is one (before 2026-07-28), otherwise to all clients
that present the same token and the same name. It ends when the client ends it, when it has been
idle for too long, when there are too many, or with the server; ending it ends the session of the
log.
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
from mnemic.adapters.inprocess.registry import Scope
from mnemic.adapters.mcp.call_limiter import CallLimiter, Limits
from mnemic.adapters.mcp.server import Context
from mnemic.adapters.mcp.session_handles import ClientHandle, Sessions
from mnemic.adapters.mcp.tools import ToolSet
from mnemic.adapters.remote.shares import Client, client_of

HANDLES_MAX = 1000
IDLE_S = 30 * 60.0
"""How long an idle session handle is kept; the SDK keeps idle protocol sessions for as long."""
SWEEP_INTERVAL_S = 60.0
LOCAL = ""
"""The owner of session handles of callers without a token; no token has this id."""


class Caller(Protocol):
    """The authenticated sender of a request."""

    @property
    def name(self) -> str:
        """The name used in the log."""
        ...

    @property
    def token(self) -> Token | None:
        """The token presented; None: the host requires none."""
        ...

    @property
    def zone(self) -> str | None:
        """The trust zone of what the caller writes; None: full trust."""
        ...

    def allows(self, space: str, scope: Scope) -> bool:
        """Return whether the caller has *scope* in *space*."""
        ...


@frozen(kw_only=True)
class ClientVisit:
    """The caller and the space of a request, known before its body is read."""

    caller: Caller
    space: str
    read_only: bool = False
    """Whether writes are refused for every caller."""

    @property
    def owner(self) -> str:
        """The id of the token; ids are public and never reused."""
        token = self.caller.token
        return LOCAL if token is None else token.id

    @property
    def client(self) -> Client | None:
        """Whose share of the server it uses; None: it is not limited."""
        return client_of(self.caller.token)

    def allows(self, scope: Scope) -> bool:
        """Return whether the request has *scope* in its space; ``admin`` needs a token."""
        if (self.read_only and scope != "read") or (self.caller.token is None and scope == "admin"):
            return False
        return self.caller.allows(self.space, scope)


VISIT = "mnemic.visit"
"""The key under which the ASGI scope of a request holds its ``ClientVisit``."""


@define(kw_only=True, eq=False)
class _Entry:
    """The session handle of one client, from before it is opened until it is closed."""

    used_s: float
    """Time of last use, by the clock of the event loop."""
    session_handle: ClientHandle | None = None
    home: Spaces | None = None
    """The spaces of the database in which it was opened."""
    is_over: bool = False
    leaving: AsyncExitStack = field(factory=AsyncExitStack)
    lock: anyio.Lock = field(factory=anyio.Lock)
    """Held while the session handle is opened or closed."""


@define(kw_only=True, eq=False)
class ClientSessions:
    """The session handles of many clients; a ``Reception`` for ``server``."""

    spaces: Spaces
    sessions: Sessions = "auto"
    tool_set: ToolSet = "core"
    handles_max: int = HANDLES_MAX
    idle_s: float = IDLE_S
    call_limiter: CallLimiter = field(factory=lambda: CallLimiter(Limits()))
    """Makes the calls of all clients."""
    _entries: dict[tuple[str, str, str], _Entry] = field(factory=dict, init=False)
    """In order of last use, the least recently used first."""

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Self]:
        """Serve clients for an ``async with`` block, and close all session handles after it."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tidy)
            try:
                async with self.call_limiter.working():
                    yield self
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    for key in list(self._entries):
                        await self._end(key)

    async def session_handle(self, context: Context) -> ClientHandle:
        """Return the session handle of the client that makes a request.

        Raises:
            SpaceNotFound: There is no such space.
        """
        request: Any = context.request
        visit: ClientVisit = request.scope[VISIT]
        session = request.headers.get(MCP_SESSION_ID_HEADER)
        key = (visit.owner, visit.space, _name(context) if session is None else f"#{session}")
        while True:
            entry = self._entries.pop(key, None)
            if entry is None:
                entry = _Entry(used_s=anyio.current_time())
                while len(self._entries) >= self.handles_max:
                    await self._end(next(iter(self._entries)))
            entry.used_s = anyio.current_time()
            self._entries[key] = entry
            if entry.home is not None and not self.spaces.is_at(entry.home, visit.space):
                await self._end(key)  # the space was moved to another database
                continue
            async with entry.lock:
                session_handle = entry.session_handle or await self._handle_for(key, entry, visit)
                if not entry.is_over:
                    return session_handle

    async def gone(self, visit: ClientVisit, session: str) -> None:
        """Close the session handle of a protocol session that has ended."""
        await self._end((visit.owner, visit.space, f"#{session}"))

    async def _handle_for(
        self, key: tuple[str, str, str], entry: _Entry, visit: ClientVisit
    ) -> ClientHandle:
        try:
            async with AsyncExitStack() as stack:
                caller = visit.caller
                found = self.spaces.session_handle(visit.space, actor=caller.name, zone=caller.zone)
                memory = await stack.enter_async_context(found)
                entry.home = self.spaces.home_of(visit.space)
                entry.session_handle = ClientHandle(
                    memory=memory,
                    allows=visit.allows,
                    allows_in=visit.caller.allows,
                    tool_set=self.tool_set,
                    sessions=self.sessions,
                    read_only=visit.read_only,
                    call_limiter=self.call_limiter,
                    client=visit.client,
                )
                stack.push_async_callback(entry.session_handle.leave)
                entry.leaving = stack.pop_all()
        except BaseException:
            entry.is_over = True
            if self._entries.get(key) is entry:
                del self._entries[key]
            raise
        return entry.session_handle

    async def _tidy(self) -> None:
        while True:
            await anyio.sleep(min(SWEEP_INTERVAL_S, self.idle_s))
            since = anyio.current_time() - self.idle_s
            for key in [key for key, each in self._entries.items() if each.used_s <= since]:
                await self._end(key)

    async def _end(self, key: tuple[str, str, str]) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            with anyio.CancelScope(shield=True):
                async with entry.lock:
                    entry.is_over = True
                    await entry.leaving.aclose()


def _name(context: Context) -> str:
    said = context.session.client_params
    return "" if said is None else said.client_info.name
