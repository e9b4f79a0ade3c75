"""Session handle on an open space: the caller, what it reads, and the commands that it issues.

Session handles of one space share its log, its state and its queue of commands, and have an actor
and a session each. A snapshot does not change; between two snapshots of a handle, other handles and
processes may have written anything.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from attrs import evolve

from mnemic.adapters.ann.graphs import GraphBuilder
from mnemic.adapters.codec import Codec
from mnemic.adapters.inprocess.engine.caller import Caller
from mnemic.adapters.inprocess.engine.command_executor import CommandExecutor
from mnemic.adapters.inprocess.engine.commands import Command, Decide, Outcome, ReplayHandler
from mnemic.adapters.inprocess.engine.log_state import LogState, Published
from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.authorization import within
from mnemic.kernel.errors import FieldRefused, HistoryReplaced, Refused, SessionState
from mnemic.kernel.events import Event, Recorded
from mnemic.kernel.model.identity import BlockId, SessionId
from mnemic.kernel.ports import CommandRow, Log, PayloadRow, Record, Store
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.validation import checked_name
from mnemic.projections.state.erasing import erased_alone
from mnemic.projections.state.state import State
from mnemic.projections.view import Snapshot, View


class _Informed:
    """Context manager that records which replacements of the log its caller got an error about.

    Args:
        caller: The caller.
        log_state: The log.
    """

    __slots__ = ("_caller", "_log_state")

    def __init__(self, caller: Caller, log_state: LogState) -> None:
        self._caller = caller
        self._log_state = log_state

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, HistoryReplaced):
            self._caller.informed = self._log_state.replacements


class SessionHandle:
    """One caller's handle on an open space.

    Args:
        log_state: The log and the state folded from it.
        executor: Carries out commands.
        caller: The caller: actor, zone, session and expected version.
        store: The store of the space, where forks are created too.
    """

    def __init__(
        self,
        log_state: LogState,
        executor: CommandExecutor,
        caller: Caller,
        *,
        store: Store | None = None,
    ) -> None:
        self.log_state = log_state
        self.executor = executor
        self.caller = caller
        self.store = store
        self._pinned: Snapshot | None = None

    @property
    def name(self) -> str:
        """The name of the space."""
        return self.log_state.log.name

    @property
    def log(self) -> Log:
        """The log of the space."""
        return self.log_state.log

    @property
    def codec(self) -> Codec:
        """The codec of the log's events."""
        return self.log_state.codec

    @property
    def graphs(self) -> GraphBuilder | None:
        """Graphs over the vectors; None: every search is exact."""
        return self.log_state.graphs

    @property
    def read_only(self) -> bool:
        """Whether this session handle may not write."""
        return self.caller.read_only

    # --- session handles ------------------------------------------------------------------------

    def handle_of(
        self,
        actor: str,
        session: str | None,
        *,
        read_only: bool = False,
        version: int | None = None,
        zone: str | None = None,
    ) -> SessionHandle:
        """Return another session handle on this space, for *actor*.

        Args:
            actor: The name to record as actor in the log.
            session: An open session of this actor to continue; None: none.
            read_only: Whether it may not write.
            version: Version that the log must have when it writes; None: any.
            zone: Its trust zone, if that is lower than the zone of this handle; otherwise, and for
                None, it gets the zone of this handle.

        Raises:
            FieldRefused: The actor, the session or the zone is not a valid name, or the version is
                not a whole number.
            SessionState: The session is not open, or another actor started it.
        """
        checked_name("actor", actor)
        zone = self.caller.zone if zone is None else self._lower(checked_name("zone", zone))
        if version is not None and type(version) is not int:
            raise FieldRefused(f"version must be a whole number, got {version!r}", field="version")
        if session is not None:
            self._check_session(SessionId(checked_name("session", session)), actor)
        caller = evolve(
            self.caller,
            actor=actor,
            session=None if session is None else SessionId(session),
            read_only=self.caller.read_only or read_only,
            expected_version=version,
            answered_version=None,
            zone=zone,
            informed=self.log_state.replacements,
        )
        return SessionHandle(self.log_state, self.executor, caller, store=self.store)

    def _lower(self, zone: str) -> str:
        """Return the lower of this session handle's zone and another, by the policy in force."""
        mine = self.caller.zone
        if mine is None:
            return zone
        return mine if within(self.snapshot().policy, mine, zone) else zone

    def _check_session(self, session: SessionId, actor: str) -> None:
        snapshot = self.snapshot()
        started = snapshot.sessions.get(session)
        if started is None:
            raise SessionState(
                f"no session {session!r} is open",
                recovery="Start a session, or leave the session out.",
                session_id=session,
            )
        if snapshot.state.timeline.actor_at(started) != actor:
            raise SessionState(
                f"session {session} was not started by {actor!r}",
                recovery="Continue it as the actor that started it, or start another session.",
                session_id=session,
            )

    @property
    def session(self) -> SessionId | None:
        """The open session of this handle; None: it has none, or another handle has ended it."""
        if self.caller.session is None:
            return None
        return self.caller.session_among(self._last().snapshot.sessions)

    @session.setter
    def session(self, session: SessionId | None) -> None:
        self.caller.session = session

    def _last(self) -> Published:
        """Return what was published last, or everything if the state was dropped."""
        published = self.log_state.published
        return published if published.head.version >= 0 else self._current()

    # --- reading --------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return the snapshot of the whole log, or the pinned one.

        Raises:
            Closed: The space was closed.
            HistoryReplaced: The log is not a continuation of what this handle has read.
            LogCorrupt: An event cannot be read, or folded.
        """
        return self._current().snapshot if self._pinned is None else self._pinned

    def _current(self) -> Published:
        self.check_informed()
        with self._informed():
            return self.log_state.current()

    @property
    def state(self) -> State:
        """The state of the last snapshot: another object once text was erased."""
        return self._last().snapshot.state

    def view(self, moment: Instant | None = None) -> View:
        """Return the view of the present, or at a moment of its last version."""
        return self.view_of(self.snapshot(), moment)

    def view_of(self, snapshot: Snapshot, moment: Instant | None = None) -> View:
        """Return the view of a snapshot, at the present or at a moment of its last version."""
        return self.caller.view(snapshot, moment or self.caller.moment(snapshot))

    @contextmanager
    def pinned(self) -> Generator[None]:
        """Answer all queries inside the ``with`` block from the same snapshot.

        They are then of one version, however much others append.
        """
        before, self._pinned = self._pinned, self.snapshot()
        try:
            yield
        finally:
            self._pinned = before

    @contextmanager
    def unpinned(self) -> Generator[None]:
        """Answer queries inside the ``with`` block from the newest snapshot, then pin that."""
        before, self._pinned = self._pinned, None
        try:
            yield
        finally:
            self._pinned = None if before is None else self._current().snapshot

    def recorded(self, after: int, upto: int | None = None) -> Iterator[Recorded]:
        """Yield the events with version in (after, upto]; see ``LogState``."""
        with self._informed():
            yield from self.log_state.recorded(after, upto)

    def event_at(self, version: int) -> Recorded | None:
        """Return the event at *version*, if the log has it."""
        with self._informed():
            return self.log_state.event_at(version)

    def decoded(self, record: Record, rows: Sequence[PayloadRow]) -> Recorded:
        """Return the event in *record* with its payloads; what is known to be lost is marked."""
        return self.log_state.reader.decoded(record, rows)

    def digest_at(self, version: int) -> bytes:
        """Return the chain digest of the log as it ends with the event at *version*."""
        with self._informed():
            return self.log_state.digest_at(version)

    # --- commands -------------------------------------------------------------------------------

    @contextmanager
    def prepared_erasure(self, decide: Callable[[], Decision[Any]]) -> Generator[None]:
        """Do the long work of an erasure before its command; see ``LogState.prepared_erasure``.

        Args:
            decide: Decides on the erasure as the command will, which may decide otherwise.
        """
        gone = frozenset[BlockId]()
        with suppress(Refused):  # the command is refused too
            gone = erased_alone(decide().events) or gone
        with self.log_state.prepared_erasure(gone):
            yield

    def execute(
        self, command: Command, decide: Decide, *, again: ReplayHandler | None = None
    ) -> Outcome:
        """Decide on the head of the log and append the decision; see ``CommandExecutor``."""
        with self._informed():
            return self.executor.execute(self.caller, command, decide, again=again)

    def prepared(
        self, command: Command, decide: Decide, *, again: ReplayHandler | None = None
    ) -> Outcome:
        """Decide on a snapshot, for slow decisions, then append; see ``CommandExecutor``."""
        with self._informed():
            return self.executor.prepared(self.caller, command, decide, again=again)

    def remembered(self, command: Command) -> CommandRow | None:
        """Return what a command of this actor with this id wrote; see ``CommandExecutor``."""
        with self._informed():
            return self.executor.remembered(self.caller, command)

    def events_of(self, row: CommandRow) -> tuple[Event, ...]:
        """Return the events that a command wrote."""
        return tuple(each.event for each in self.recorded(row.first - 1, row.last))

    def decided_again(self, row: CommandRow, decide: Decide) -> Outcome:
        """Repeat the decision of a command that was written; see ``CommandExecutor``."""
        return self.executor.decided_again(self.caller, row, decide)

    def check_writable(self) -> None:
        """Refuse when nothing may be written.

        Raises:
            ViewReadOnly: The space or this session handle is read-only.
        """
        self.caller.check_writable(space_is_read_only=self.log_state.is_read_only)

    def check_not_erased(self, snapshot: Snapshot | None = None) -> None:
        """Refuse when the space has been erased.

        Raises:
            SpaceErased: Its text is erased, and no new text may be written.
        """
        self.caller.check_not_erased((snapshot or self.snapshot()).erased_at)

    # --- another history ------------------------------------------------------------------------

    def check_informed(self) -> None:
        """Refuse once, if the log was found to be another history since this handle was last used.

        Raises:
            HistoryReplaced: Another session handle has found that.
        """
        known, self.caller.informed = self.caller.informed, self.log_state.replacements
        self.log_state.check_unreplaced(known)

    def check_history(self) -> None:
        """Refuse to answer from a log that is another one by now; see ``LogState``."""
        with self._informed():
            self.log_state.check_history()

    def _informed(self) -> _Informed:
        """Return a context in which an error that reports a replaced history informs the caller."""
        return _Informed(self.caller, self.log_state)

    def inform_again(self) -> None:
        """Report the last replacement once more: its error reached no caller."""
        self.caller.informed = min(self.caller.informed, self.log_state.replacements - 1)

    # --- closing --------------------------------------------------------------------------------

    @property
    def left(self) -> tuple[str, ...]:
        """The names of leftover files that may still hold erased text, or its keys."""
        writer = self.log_state.checkpoint_writer
        return (*(() if writer is None else writer.left), *self.keys_left)

    @property
    def keys_left(self) -> tuple[str, ...]:
        """The names of leftover files that may still hold keys of erased, encrypted text."""
        left: tuple[str, ...] = getattr(self.log, "left", ())
        return left
