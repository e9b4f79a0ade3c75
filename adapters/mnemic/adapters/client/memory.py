"""``Memory``: the same verbs for async hosts, on a memory that stands on a server.

Verbs that are called at once are sent at once, over connections of their own; which comes first is
up to the server. Whoever needs an order awaits one before the next.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from functools import update_wrapper
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

import anyio
from anyio import to_thread

from mnemic.adapters import inprocess
from mnemic.adapters.client.connection import AsyncConnection
from mnemic.adapters.client.desk import Desk, arguments_given
from mnemic.adapters.client.following import Following
from mnemic.adapters.client.past import Date, Point, point_named
from mnemic.adapters.client.server import (
    BACKOFF_S,
    RETRIES,
    TIMEOUT_S,
    server_at,
    space_named,
)
from mnemic.adapters.client.stream import Progress
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
from mnemic.adapters.entropy import SystemEntropy
from mnemic.adapters.inprocess.guiding import Guided
from mnemic.adapters.wire.calls import Call
from mnemic.kernel.errors import Closed, MnemicError
from mnemic.kernel.identity import BlockId, SessionId
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Clock, Embedder, Entropy
from mnemic.kernel.results import ExportResult, ImportResult, Moment, ReembedResult, Status

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")
T = TypeVar("T")


def _verb(
    call: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return the async twin of a verb on a server: same arguments, same result, same words."""

    async def verb(self: Any, /, *args: P.args, **keywords: P.kwargs) -> T:
        behind: _Asking = self
        given = arguments_given(call, args, keywords)
        return cast("T", await behind.ask(call.__name__, given))

    update_wrapper(verb, call)
    return verb


class _Asking:
    """Something whose verbs are asked of a server."""

    def __init__(self, desk: Desk, connection: Callable[[], AsyncConnection]) -> None:
        self._desk = desk
        self._connection = connection

    async def ask(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Ask a verb with arguments by name."""
        raise NotImplementedError

    async def _make(self, call: Call, progress: Progress | None = None) -> Any:
        request = self._desk.request(call)
        answer = await self._connection().ask(request, progress)
        return self._desk.concluded(call, request, answer)


class View(_Asking):
    """The memory as it was. See ``inprocess.View``."""

    analogies = _verb(inprocess.SyncView.analogies)
    block = _verb(inprocess.SyncView.block)
    blocks = _verb(inprocess.SyncView.blocks)
    compare = _verb(inprocess.SyncView.compare)
    composed_with = _verb(inprocess.SyncView.composed_with)
    composition = _verb(inprocess.SyncView.composition)
    deep_reference = _verb(inprocess.SyncView.deep_reference)
    diff = _verb(inprocess.SyncView.diff)
    edges = _verb(inprocess.SyncView.edges)
    frontier = _verb(inprocess.SyncView.frontier)
    history = _verb(inprocess.SyncView.history)
    ledger = _verb(inprocess.SyncView.ledger)
    log = _verb(inprocess.SyncView.log)
    near_duplicates = _verb(inprocess.SyncView.near_duplicates)
    pending_connections = _verb(inprocess.SyncView.pending_connections)
    recall = _verb(inprocess.SyncView.recall)
    status = _verb(inprocess.SyncView.status)
    timeline = _verb(inprocess.SyncView.timeline)

    def __init__(
        self,
        desk: Desk,
        connection: Callable[[], AsyncConnection],
        point: Point,
        status: Status,
    ) -> None:
        super().__init__(desk, connection)
        self._point = point.fixed(status)
        self.version = status.version
        """The version the view stands at."""
        self.hour = status.hour
        """The active hours decay is evaluated at."""

    async def ask(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Ask a verb as of this point."""
        return await self._make(self._point.call(verb, arguments))


class Memory(_Asking, Guided):
    """One space of memory on a server, for async hosts. ``async with Memory.open(address) as …``.

    What a verb does is told by ``inprocess.SyncMemory``.
    """

    adopt_policy = _verb(inprocess.SyncMemory.adopt_policy)
    analogies = _verb(inprocess.SyncMemory.analogies)
    backtest = _verb(inprocess.SyncMemory.backtest)
    block = _verb(inprocess.SyncMemory.block)
    blocks = _verb(inprocess.SyncMemory.blocks)
    checkpoint = _verb(inprocess.SyncMemory.checkpoint)
    checkpoints = _verb(inprocess.SyncMemory.checkpoints)
    compare = _verb(inprocess.SyncMemory.compare)
    compose = _verb(inprocess.SyncMemory.compose)
    composed_graph = _verb(inprocess.SyncMemory.composed_graph)
    composed_with = _verb(inprocess.SyncMemory.composed_with)
    composition = _verb(inprocess.SyncMemory.composition)
    connect = _verb(inprocess.SyncMemory.connect)
    connect_by_query = _verb(inprocess.SyncMemory.connect_by_query)
    connects = _verb(inprocess.SyncMemory.connects)
    consolidate = _verb(inprocess.SyncMemory.consolidate)
    curate = _verb(inprocess.SyncMemory.curate)
    deep_reference = _verb(inprocess.SyncMemory.deep_reference)
    diff = _verb(inprocess.SyncMemory.diff)
    disconnect = _verb(inprocess.SyncMemory.disconnect)
    dream = consolidate
    drop_checkpoints = _verb(inprocess.SyncMemory.drop_checkpoints)
    edges = _verb(inprocess.SyncMemory.edges)
    end_session = _verb(inprocess.SyncMemory.end_session)
    erase = _verb(inprocess.SyncMemory.erase)
    erase_space = _verb(inprocess.SyncMemory.erase_space)
    explain = _verb(inprocess.SyncMemory.explain)
    forget = _verb(inprocess.SyncMemory.forget)
    fork = _verb(inprocess.SyncMemory.fork)
    frontier = _verb(inprocess.SyncMemory.frontier)
    history = _verb(inprocess.SyncMemory.history)
    label = _verb(inprocess.SyncMemory.label)
    learn = _verb(inprocess.SyncMemory.learn)
    learn_many = _verb(inprocess.SyncMemory.learn_many)
    ledger = _verb(inprocess.SyncMemory.ledger)
    log = _verb(inprocess.SyncMemory.log)
    near_duplicates = _verb(inprocess.SyncMemory.near_duplicates)
    outcome = _verb(inprocess.SyncMemory.outcome)
    pending_connections = _verb(inprocess.SyncMemory.pending_connections)
    recall = _verb(inprocess.SyncMemory.recall)
    receipt = _verb(inprocess.SyncMemory.receipt)
    replay = _verb(inprocess.SyncMemory.replay)
    replay_all = _verb(inprocess.SyncMemory.replay_all)
    retract_label = _verb(inprocess.SyncMemory.retract_label)
    revert = _verb(inprocess.SyncMemory.revert)
    revise = _verb(inprocess.SyncMemory.revise)
    rezone = _verb(inprocess.SyncMemory.rezone)
    start_session = _verb(inprocess.SyncMemory.start_session)
    status = _verb(inprocess.SyncMemory.status)
    timeline = _verb(inprocess.SyncMemory.timeline)
    verify = _verb(inprocess.SyncMemory.verify)
    verify_receipt = _verb(inprocess.SyncMemory.verify_receipt)
    what_if = _verb(inprocess.SyncMemory.what_if)
    why_not = _verb(inprocess.SyncMemory.why_not)

    def __init__(
        self, desk: Desk, connecting: Callable[[], AsyncConnection], *, make: bool
    ) -> None:
        super().__init__(desk, self._entered)
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
        entropy: Entropy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> Self:
        """Prepare to ask a server about one of its spaces; enter it to begin.

        Arguments and errors as ``SyncMemory.open``.
        """
        server = server_at(
            address, token=token, timeout_s=timeout_s, retries=retries, backoff_s=backoff_s
        )
        desk = Desk(server, space_named(space), entropy or SystemEntropy(), session=session)
        return cls(desk, lambda: AsyncConnection(server, transport), make=make)

    def _entered(self) -> AsyncConnection:
        if self._open is None:
            raise Closed("the memory is not open", recovery="Enter it: async with memory.")
        return self._open

    async def __aenter__(self) -> Self:
        self._open = self._connecting()
        if self._making:
            try:
                await self._open.ask(self._desk.making())
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

    async def ask(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Ask a verb with arguments by name."""
        call, session = self._desk.live(verb, arguments), self._desk.session
        try:
            return await self._make(call, arguments.get("progress"))
        except MnemicError as error:
            if self._desk.doubts(verb, error):
                await self._settle()
            if not self._desk.goes_on(verb, error, session):
                raise
        return await self._make(call, arguments.get("progress"))

    async def _settle(self) -> None:
        call = Call(verb="status")
        request = self._desk.request(call, in_session=False)
        with suppress(MnemicError):
            answer = await self._entered().ask(request)
            self._desk.settle(self._desk.concluded(call, request, answer))

    # --- breadcrumbs ------------------------------------------------------------------------

    @property
    def last_learned_block_id(self) -> BlockId | None:
        """The block that this client learned last, since its session began."""
        return self._desk.crumbs.last_learned

    @property
    def last_recall_block_ids(self) -> tuple[BlockId, ...]:
        """The blocks of the last recall, best first."""
        return self._desk.crumbs.last_recalled

    @property
    def session_block_ids(self) -> tuple[BlockId, ...]:
        """Every block that was learned, recalled or scored, in the order of the first time."""
        return self._desk.crumbs.touched

    # --- verbs that are called otherwise here -----------------------------------------------

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
        """Write the log to files here. See ``SyncMemory.export``.

        *progress* is called on a worker thread.
        """
        request = export_request(self._desk.space, {"upto": upto, "words": words})
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
        """Make a space of an export that lies here. See ``SyncMemory.import_space``."""
        check_own(actor, clock=clock, entropy=entropy, keys=keys)
        with await to_thread.run_sync(packed_export, path) as packed:
            async with _reached(into) as memory:
                request = import_request(packed, space)
                answer = await memory._entered().ask(request, progress)  # noqa: SLF001 - of ours
                return imported(answer, request, memory._desk.server)  # noqa: SLF001 - of ours

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
        at: Date = None,
        decision: str | None = None,
        now: Date = None,
    ) -> View:
        """Return the memory as it was. See ``inprocess.SyncMemory.as_of``.

        Raises:
            PointOutOfRange, DecisionNotFound, FieldRefused: See each.
        """
        point = point_named(hour=hour, version=version, at=at, decision=decision, now=now)
        return View(self._desk, self._connection, point, await self._make(point.call("status")))

    def events(self, *, after: int = -1) -> AsyncGenerator[Moment]:
        """Yield the events of the log as they happen. See ``SyncMemory.events``."""
        following = Following(self._desk.server, self._desk.space, after)
        return self._entered().follow(following)


def _reached(into: str | Memory) -> AbstractAsyncContextManager[Memory]:
    return nullcontext(into) if isinstance(into, Memory) else Memory.open(into)
