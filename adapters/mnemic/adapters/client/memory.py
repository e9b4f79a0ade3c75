"""``Memory``: the same operations for async hosts, on a memory on a server.

Concurrent calls are sent concurrently, over separate connections, and the server decides their
order. A caller that needs an order awaits one call before the next.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from functools import update_wrapper
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import anyio
from anyio import to_thread

from mnemic.adapters import inprocess
from mnemic.adapters.client.connection import AsyncConnection
from mnemic.adapters.client.server import (
    BACKOFF_S,
    RETRIES,
    TIMEOUT_S,
    server_at,
    space_named,
)
from mnemic.adapters.client.session import ClientSession, arguments_given
from mnemic.adapters.client.sse import Progress
from mnemic.adapters.client.subscription import EventSubscription
from mnemic.adapters.client.time_points import Date, Day, Point, point_named
from mnemic.adapters.client.transfer import (
    Download,
    check_own,
    export_request,
    import_request,
    imported,
    packed_export,
)
from mnemic.adapters.client.translation import embedder_name
from mnemic.adapters.embedders.shipped import EmbedderName
from mnemic.adapters.inprocess.dumps import AsyncDumps
from mnemic.adapters.inprocess.facade import AsyncFacade, MemoryTable, ViewTable
from mnemic.adapters.inprocess.operations.guide import Guided
from mnemic.adapters.inprocess.view import view_in_words
from mnemic.adapters.remote.calls import Call
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.kernel.errors import Closed, MnemicError
from mnemic.kernel.model.identity import BlockId, SessionId
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Clock, Embedder, Entropy
from mnemic.kernel.results import ExportResult, ImportResult, LogEntry, ReembedResult, Status

if TYPE_CHECKING:
    import httpx


class _Asking(AsyncDumps, AsyncFacade):
    """Base of classes whose operations are requests to a server."""

    def __init__(
        self, client_session: ClientSession, connection: Callable[[], AsyncConnection]
    ) -> None:
        self._client_session = client_session
        self._connection = connection

    async def ask(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Call an operation with arguments by name."""
        raise NotImplementedError

    async def _make(self, call: Call, progress: Progress | None = None) -> Any:
        request = self._client_session.request(call)
        answer = await self._connection().ask(request, progress)
        return self._client_session.concluded(call, request, answer)

    @staticmethod
    def _offered(call: Callable[..., Any]) -> Callable[..., Any]:
        async def operation(self: _Asking, /, *args: Any, **keywords: Any) -> Any:
            return await self.ask(call.__name__, arguments_given(call, args, keywords))

        return update_wrapper(operation, call)


class View(_Asking, ViewTable, of=inprocess.SyncView):
    """The memory as it was. See ``inprocess.View``."""

    def __init__(
        self,
        client_session: ClientSession,
        connection: Callable[[], AsyncConnection],
        point: Point,
        status: Status,
    ) -> None:
        super().__init__(client_session, connection)
        self._point = point.fixed(status)
        self._recorded_at = status.recorded_at
        self.version = status.version
        """The version of the view."""
        self.hour = status.hour
        """The active hours decay is evaluated at."""

    def __repr__(self) -> str:
        return view_in_words(self, self._client_session.space, self._recorded_at)

    async def ask(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Call an operation as of this point."""
        return await self._make(self._point.call(operation, arguments))


class Memory(_Asking, MemoryTable, Guided, of=inprocess.SyncMemory):
    """One space of memory on a server, for async hosts. ``async with Memory.open(address) as …``.

    The operations are documented in ``inprocess.SyncMemory``.
    """

    def __init__(
        self,
        client_session: ClientSession,
        connecting: Callable[[], AsyncConnection],
        *,
        make: bool,
    ) -> None:
        super().__init__(client_session, self._entered)
        self._connecting = connecting
        self._making = make
        self._open: AsyncConnection | None = None

    @classmethod
    def open(
        cls,
        address: str,
        *,
        space: str = "default",
        token: str | None = None,
        session: str | None = None,
        make: bool = False,
        timeout_s: float = TIMEOUT_S,
        retries: int = RETRIES,
        backoff_s: float = BACKOFF_S,
        read_your_writes: bool = False,
        entropy: Entropy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> Self:
        """Prepare access to a space on a server; enter the memory to connect.

        Arguments and errors as ``SyncMemory.open``.
        """
        server = server_at(
            address,
            token=token,
            timeout_s=timeout_s,
            retries=retries,
            backoff_s=backoff_s,
            read_your_writes=read_your_writes,
        )
        client_session = ClientSession(
            server, space_named(space), entropy or SystemEntropy(), session=session
        )
        return cls(client_session, lambda: AsyncConnection(server, transport), make=make)

    def _entered(self) -> AsyncConnection:
        if self._open is None:
            raise Closed("the memory is not open", recovery="Enter it: async with memory.")
        return self._open

    async def __aenter__(self) -> Self:
        self._open = self._connecting()
        if self._making:
            try:
                await self._open.ask(self._client_session.making())
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await self.close()
                raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self.close()

    async def close(self) -> None:
        """Close the connection; an open session stays open in the log."""
        if self._open is not None:
            await self._open.close()

    async def ask(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Call an operation with arguments by name."""
        call, session = (
            self._client_session.live(operation, arguments),
            self._client_session.session,
        )
        try:
            return await self._make(call, arguments.get("progress"))
        except MnemicError as error:
            if self._client_session.doubts(operation, error):
                await self._settle()
            if not self._client_session.goes_on(operation, error, session):
                raise
        return await self._make(call, arguments.get("progress"))

    async def _settle(self) -> None:
        call = Call(operation="status")
        request = self._client_session.request(call, in_session=False)
        with suppress(MnemicError):
            answer = await self._entered().ask(request)
            self._client_session.settle(self._client_session.concluded(call, request, answer))

    # --- recent ids ------------------------------------------------------------------------

    @property
    def last_learned_block_id(self) -> BlockId | None:
        """The block that this client learned last, since its session began."""
        return self._client_session.recent.last_learned

    @property
    def last_recall_block_ids(self) -> tuple[BlockId, ...]:
        """The blocks of the last recall, best first."""
        return self._client_session.recent.last_recalled

    @property
    def session_block_ids(self) -> tuple[BlockId, ...]:
        """Every block that was learned, recalled or scored, in the order of the first time."""
        return self._client_session.recent.touched

    # --- operations with another signature here --------------------------------------------------

    async def policy(self) -> Policy:
        """Return the policy in force; awaited, for the log may have moved on."""
        return cast("Policy", await self.ask("policy", {}))

    async def reembed(
        self, embedder: Embedder | EmbedderName, *, progress: Progress | None = None
    ) -> ReembedResult:
        """Move to another embedder that ships with mnemic. See ``SyncMemory.reembed``."""
        given = {"embedder": embedder_name(embedder), "progress": progress}
        return cast("ReembedResult", await self.ask("reembed", given))

    async def export(
        self,
        path: str | Path,
        *,
        upto: int | None = None,
        words: bool = True,
        progress: Progress | None = None,
    ) -> ExportResult:
        """Write the log to files on this machine. See ``SyncMemory.export``.

        *progress* is called on a worker thread.
        """
        request = export_request(self._client_session.space, {"upto": upto, "words": words})
        with await to_thread.run_sync(Download, path) as download:
            await self._entered().ask(request, into=download)
            return await to_thread.run_sync(download.settled, progress)

    @staticmethod
    async def import_space(
        path: str | Path,
        into: str | Memory,
        *,
        space: str | None = None,
        actor: str = "import",
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        keys: str | Path | None = None,
        progress: Progress | None = None,
    ) -> ImportResult:
        """Create a space from an export on this machine. See ``SyncMemory.import_space``."""
        check_own(actor, clock=clock, entropy=entropy, keys=keys)
        with await to_thread.run_sync(packed_export, path) as packed:
            async with _reached(into) as memory:
                request = import_request(packed, space)
                answer = await memory._entered().ask(request, progress)  # noqa: SLF001 - of ours
                return imported(answer, request, memory._client_session.server)  # noqa: SLF001 - of ours

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[SessionId]:
        """Hold a session open for an ``async with`` block."""
        started = await self.start_session()
        try:
            yield started.session_id
        finally:
            with anyio.CancelScope(shield=True):
                await self.end_session()

    async def as_of(
        self,
        *,
        hour: float | None = None,
        version: int | None = None,
        at: Day = None,
        decision: str | None = None,
        now: Date = None,
    ) -> View:
        """Return the memory as it was. See ``inprocess.SyncMemory.as_of``.

        Raises:
            PointOutOfRange, DecisionNotFound, FieldRefused: See each.
        """
        point = point_named(hour=hour, version=version, at=at, decision=decision, now=now)
        return View(
            self._client_session, self._connection, point, await self._make(point.call("status"))
        )

    async def _at_one_version(self) -> View:
        status = await self.status()
        return await self.as_of(version=status.version)

    def events(self, *, after: int = -1) -> AsyncGenerator[LogEntry]:
        """Yield the events of the log as they happen. See ``SyncMemory.events``."""
        subscription = EventSubscription(
            self._client_session.server, self._client_session.space, after
        )
        return self._entered().follow(subscription)


def _reached(into: str | Memory) -> AbstractAsyncContextManager[Memory]:
    return nullcontext(into) if isinstance(into, Memory) else Memory.open(into)
