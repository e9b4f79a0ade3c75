"""``SyncMemory``: every operation as a plain method, on a memory on a server."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import update_wrapper
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from mnemic.adapters import inprocess
from mnemic.adapters.client.connection import Connection
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
from mnemic.adapters.inprocess.dumps import SyncDumps
from mnemic.adapters.inprocess.facade import MemoryTable, SyncFacade, ViewTable
from mnemic.adapters.inprocess.operations.guide import Guided
from mnemic.adapters.inprocess.view import view_in_words
from mnemic.adapters.remote.calls import Call
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.model.identity import BlockId, SessionId
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Clock, Embedder, Entropy
from mnemic.kernel.results import ExportResult, ImportResult, LogEntry, ReembedResult, Status

if TYPE_CHECKING:
    import httpx


class _Asking(SyncDumps, SyncFacade):
    """Base of classes whose operations are requests to a server."""

    def __init__(self, client_session: ClientSession, connection: Connection) -> None:
        self._client_session = client_session
        self._connection = connection

    def ask(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Call an operation with arguments by name."""
        raise NotImplementedError

    def _make(self, call: Call, progress: Progress | None = None) -> Any:
        request = self._client_session.request(call)
        answer = self._connection.ask(request, progress)
        return self._client_session.concluded(call, request, answer)

    @staticmethod
    def _offered(call: Callable[..., Any]) -> Callable[..., Any]:
        def operation(self: _Asking, /, *args: Any, **keywords: Any) -> Any:
            return self.ask(call.__name__, arguments_given(call, args, keywords))

        return update_wrapper(operation, call)


class SyncView(_Asking, ViewTable, of=inprocess.SyncView):
    """The memory as it was. See ``inprocess.SyncView``."""

    def __init__(
        self, client_session: ClientSession, connection: Connection, point: Point, status: Status
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

    def ask(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Call an operation as of this point."""
        return self._make(self._point.call(operation, arguments))


class SyncMemory(_Asking, MemoryTable, Guided, of=inprocess.SyncMemory):
    """One space of memory on a server. Close it in the end, or use ``with SyncMemory.open(…)``.

    It may be used on any number of threads at once; sessions and recent ids follow the order of the
    answers. The operations are documented in ``inprocess.SyncMemory``.
    """

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
        transport: httpx.BaseTransport | None = None,
    ) -> Self:
        """Prepare access to a space on a server. Nothing is sent yet, unless *make*.

        Args:
            address: Of the server, such as ``http://127.0.0.1:8377``. Over a network it should
                begin with ``https``: the token and all texts are sent.
            space: The space on the server.
            token: As ``mnemic token create`` printed it; None: the environment's
                ``MNEMIC_TOKEN``, if there is one. Its name is the actor in the log.
            session: An open session to continue, which the same token began; None: none.
            make: Create the space if it does not exist. The token needs the right to.
            timeout_s: How long to wait for a connection, and for each part of an answer, in
                seconds. Range: (0, 86400].
            retries: How often to repeat an unanswered request where that is safe: if it only
                reads, or carries a command id. Range: [0, 100].
            backoff_s: The first pause before a retry, in seconds; each later one is twice the one
                before, up to 10.
            read_your_writes: Whether each answer must be of the last version of the space that this
                client has seen, whichever host of a cluster gives it.
            entropy: Source of random command ids; None: the system.
            transport: Another transport for requests, such as one with your own certificates.

        Raises:
            FieldRefused: One of them is invalid.
            Unavailable: The extra ``http`` is not installed.
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
        memory = cls(client_session, Connection(server, transport))
        if make:
            try:
                memory._connection.ask(client_session.making())
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

    def ask(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Call an operation with arguments by name."""
        call, session = (
            self._client_session.live(operation, arguments),
            self._client_session.session,
        )
        try:
            return self._make(call, arguments.get("progress"))
        except MnemicError as error:
            if self._client_session.doubts(operation, error):
                self._settle()
            if not self._client_session.goes_on(operation, error, session):
                raise
        return self._make(call, arguments.get("progress"))

    def _settle(self) -> None:
        call = Call(operation="status")
        request = self._client_session.request(call, in_session=False)
        with suppress(MnemicError):
            self._client_session.settle(
                self._client_session.concluded(call, request, self._connection.ask(request))
            )

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

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return cast("Policy", self.ask("policy", {}))

    def reembed(
        self, embedder: Embedder | EmbedderName, *, progress: Progress | None = None
    ) -> ReembedResult:
        """Move to another embedder that ships with mnemic, by name or as an object.

        Raises:
            FieldRefused: It is another embedder: a model cannot be sent to a server.
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
        """Write the log to files on this machine. See ``inprocess.SyncMemory.export``.

        It is checked from end to end before the files appear.

        Args:
            path: A file on this machine that does not exist.
            upto: Last version; None: all.
            words: Whether the texts and vectors are in it.
            progress: Called from time to time with the number of events checked and the total.

        Raises:
            ExportCorrupt: What was received is not what was sent.
            FieldRefused, StoreFull, StoreFailed, MnemicError: See the operation in the process.
        """
        request = export_request(self._client_session.space, {"upto": upto, "words": words})
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
        """Create a space from an export on this machine. See ``inprocess.SyncMemory.import_space``.

        Args:
            path: The file of lines.
            into: An open memory on the server, or the server's address; then the token is the
                environment's.
            space: Name of the new space; None: the one that was exported.
            actor: Cannot be given: it is the token's name.
            clock: Cannot be given.
            entropy: Cannot be given.
            keys: Cannot be given.
            progress: Called from time to time with the steps done and to do: two per event.

        Raises:
            ExportCorrupt, FieldRefused, SpaceExists, MnemicError: See the operation in the process.
        """
        check_own(actor, clock=clock, entropy=entropy, keys=keys)
        with packed_export(path) as packed, _reached(into) as memory:
            request = import_request(packed, space)
            answer = memory._connection.ask(request, progress)  # noqa: SLF001 - one of our own
            return imported(answer, request, memory._client_session.server)  # noqa: SLF001 - one of our own

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
        at: Day = None,
        decision: str | None = None,
        now: Date = None,
    ) -> SyncView:
        """Return the memory as it was. See ``inprocess.SyncMemory.as_of``.

        Raises:
            PointOutOfRange, DecisionNotFound, FieldRefused: See each.
        """
        point = point_named(hour=hour, version=version, at=at, decision=decision, now=now)
        return SyncView(
            self._client_session, self._connection, point, self._make(point.call("status"))
        )

    def _at_one_version(self) -> SyncView:
        status = self.status()
        return self.as_of(version=status.version)

    def events(self, *, after: int = -1) -> Generator[LogEntry]:
        """Yield the events of the log as they happen, past ones first. It does not end.

        A broken stream is continued where it broke. After about a minute without any server it
        fails.

        Args:
            after: Begin after this version; -1: at the beginning.

        Raises:
            FieldRefused: *after* is not a version.
            ServerUnreachable, MnemicError: See each.
        """
        return self._connection.follow(
            EventSubscription(self._client_session.server, self._client_session.space, after)
        )


def _reached(into: str | SyncMemory) -> AbstractContextManager[SyncMemory]:
    return nullcontext(into) if isinstance(into, SyncMemory) else SyncMemory.open(into)
