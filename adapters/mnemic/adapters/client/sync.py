"""``SyncMemory``: every verb as a plain method, on a memory that stands on a server."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import update_wrapper
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from mnemic.adapters import inprocess
from mnemic.adapters.client.connection import Connection
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
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.identity import BlockId, SessionId
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Clock, Embedder, Entropy
from mnemic.kernel.results import ExportResult, ImportResult, Moment, ReembedResult, Status

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")
T = TypeVar("T")


def _verb(call: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return the twin of a verb on a server: same arguments, same result, same words."""

    def verb(self: Any, /, *args: P.args, **keywords: P.kwargs) -> T:
        behind: _Asking = self
        given = arguments_given(call, args, keywords)
        return cast("T", behind.ask(call.__name__, given))

    update_wrapper(verb, call)
    return verb


class _Asking:
    """Something whose verbs are asked of a server."""

    def __init__(self, desk: Desk, connection: Connection) -> None:
        self._desk = desk
        self._connection = connection

    def ask(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Ask a verb with arguments by name."""
        raise NotImplementedError

    def _make(self, call: Call, progress: Progress | None = None) -> Any:
        request = self._desk.request(call)
        answer = self._connection.ask(request, progress)
        return self._desk.concluded(call, request, answer)


class SyncView(_Asking):
    """The memory as it was. See ``inprocess.SyncView``."""

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

    def __init__(self, desk: Desk, connection: Connection, point: Point, status: Status) -> None:
        super().__init__(desk, connection)
        self._point = point.fixed(status)
        self.version = status.version
        """The version the view stands at."""
        self.hour = status.hour
        """The active hours decay is evaluated at."""

    def ask(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Ask a verb as of this point."""
        return self._make(self._point.call(verb, arguments))


class SyncMemory(_Asking, Guided):
    """One space of memory on a server. Close it in the end, or use ``with SyncMemory.open(…)``.

    It may be used on any number of threads at once; sessions and breadcrumbs go by the order of the
    answers. What a verb does is told by ``inprocess.SyncMemory``.
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
        transport: httpx.BaseTransport | None = None,
    ) -> Self:
        """Prepare to ask a server about one of its spaces. Nothing is sent yet, unless *make*.

        Args:
            address: Of the server, such as ``http://127.0.0.1:8377``. Over a network it should
                begin with ``https``: the token and all words go along.
            space: Which of the server's spaces.
            token: As ``mnemic token create`` printed it; None: the environment's
                ``MNEMIC_TOKEN``, if there is one. Who acts, as the log names it, is its name.
            session: Go on with this open session, which the same token began; None: with none.
            make: Make the space if it is not there. It takes a token that may.
            timeout_s: How long to wait for a connection, and for each piece of an answer, in
                seconds. Range: (0, 86400].
            retries: How often to send again what got no answer, where that is safe: what only
                reads, and what carries a command id. Range: [0, 100].
            backoff_s: The first pause before that, in seconds; each later one is twice the one
                before, up to 10.
            entropy: Where random command ids come from; None: the system.
            transport: Another way to carry requests, such as one with certificates of your own.

        Raises:
            FieldRefused: One of them is none.
            Unavailable: The extra ``http`` is not installed.
        """
        server = server_at(
            address, token=token, timeout_s=timeout_s, retries=retries, backoff_s=backoff_s
        )
        desk = Desk(server, space_named(space), entropy or SystemEntropy(), session=session)
        memory = cls(desk, Connection(server, transport))
        if make:
            try:
                memory._connection.ask(desk.making())
            except BaseException:
                memory.close()
                raise
        return memory

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; an open session stays open in the log."""
        self._connection.close()

    def ask(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Ask a verb with arguments by name."""
        call, session = self._desk.live(verb, arguments), self._desk.session
        try:
            return self._make(call, arguments.get("progress"))
        except MnemicError as error:
            if self._desk.doubts(verb, error):
                self._settle()
            if not self._desk.goes_on(verb, error, session):
                raise
        return self._make(call, arguments.get("progress"))

    def _settle(self) -> None:
        call = Call(verb="status")
        request = self._desk.request(call, in_session=False)
        with suppress(MnemicError):
            self._desk.settle(self._desk.concluded(call, request, self._connection.ask(request)))

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

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return cast("Policy", self.ask("policy", {}))

    def reembed(
        self, embedder: Embedder | EmbedderName, *, progress: Progress | None = None
    ) -> ReembedResult:
        """Move to another embedder that ships with mnemic, by name or as an object of ours.

        Raises:
            FieldRefused: It is another one: no server can be given a model.
        """
        given = {"embedder": embedder_name(embedder), "progress": progress}
        return cast("ReembedResult", self.ask("reembed", given))

    def export(
        self,
        path: str | Path,
        *,
        upto: int | None = None,
        words: bool = True,
        progress: Progress | None = None,
    ) -> ExportResult:
        """Write the log to files here. See ``inprocess.SyncMemory.export``.

        It is checked from end to end before the files appear.

        Args:
            path: A file here that does not exist.
            upto: Last version; None: all.
            words: Whether the words and vectors are in it.
            progress: Called now and then with the events checked and those there are.

        Raises:
            ExportCorrupt: What came is not what was sent.
            FieldRefused, StoreFull, StoreFailed, MnemicError: See the verb in the process.
        """
        request = export_request(self._desk.space, {"upto": upto, "words": words})
        with Download(path) as download:
            self._connection.ask(request, into=download)
            return download.settled(progress)

    @staticmethod
    def import_space(  # as in the process; a store is a server here
        path: str | Path,
        into: str | SyncMemory,
        *,
        space: str | None = None,
        actor: str = "import",
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        keys: str | Path | None = None,
        progress: Progress | None = None,
    ) -> ImportResult:
        """Make a space of an export that lies here. See ``inprocess.SyncMemory.import_space``.

        Args:
            path: The file of lines.
            into: An open memory on the server, or the server's address; then the token is the
                environment's.
            space: Name of the new space; None: the one that was exported.
            actor: Cannot be said: it is the token's name.
            clock: Cannot be said.
            entropy: Cannot be said.
            keys: Cannot be said.
            progress: Called now and then with the looks taken and those to take: two per event.

        Raises:
            ExportCorrupt, FieldRefused, SpaceExists, MnemicError: See the verb in the process.
        """
        check_own(actor, clock=clock, entropy=entropy, keys=keys)
        with packed_export(path) as packed, _reached(into) as memory:
            request = import_request(packed, space)
            answer = memory._connection.ask(request, progress)  # noqa: SLF001 - one of our own
            return imported(answer, request, memory._desk.server)  # noqa: SLF001 - one of our own

    @contextmanager
    def session(self) -> Generator[SessionId]:
        """Hold a session open for a ``with`` block."""
        started = self.start_session()
        try:
            yield started.session_id
        finally:
            self.end_session()

    def as_of(
        self,
        *,
        hour: float | None = None,
        version: int | None = None,
        at: Date = None,
        decision: str | None = None,
        now: Date = None,
    ) -> SyncView:
        """Return the memory as it was. See ``inprocess.SyncMemory.as_of``.

        Raises:
            PointOutOfRange, DecisionNotFound, FieldRefused: See each.
        """
        point = point_named(hour=hour, version=version, at=at, decision=decision, now=now)
        return SyncView(self._desk, self._connection, point, self._make(point.call("status")))

    def events(self, *, after: int = -1) -> Generator[Moment]:
        """Yield the events of the log as they happen, those of the past first. It does not end.

        A broken stream is taken up again where it broke. After about a minute without any server
        it is given up.

        Args:
            after: Begin behind this version; -1: at the beginning.

        Raises:
            FieldRefused: It is no version.
            ServerUnreachable, MnemicError: See each.
        """
        return self._connection.follow(Following(self._desk.server, self._desk.space, after))


def _reached(into: str | SyncMemory) -> AbstractContextManager[SyncMemory]:
    return nullcontext(into) if isinstance(into, SyncMemory) else SyncMemory.open(into)
