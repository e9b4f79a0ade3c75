"""``SyncMemory``: every operation of mnemic as a plain method."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from attrs import evolve

from mnemic.adapters.ann.graphs import Retriever
from mnemic.adapters.checkpoints.directory import Wanted
from mnemic.adapters.inprocess.argument_limits import checks_arguments
from mnemic.adapters.inprocess.engine.analysis import TIMEOUT_S
from mnemic.adapters.inprocess.engine.commands import Command, Outcome, Progress
from mnemic.adapters.inprocess.engine.opening import EXTRACTOR_TIMEOUT_S, open_space
from mnemic.adapters.inprocess.engine.recent_ids import RecentIds
from mnemic.adapters.inprocess.id_arguments import completes_short_ids
from mnemic.adapters.inprocess.ledger.composed_graph import ComposedGraph
from mnemic.adapters.inprocess.operations.blocks import BlockOperations
from mnemic.adapters.inprocess.operations.checkpoints import CheckpointOperations
from mnemic.adapters.inprocess.operations.edges import EdgeOperations
from mnemic.adapters.inprocess.operations.experiments import ExperimentOperations
from mnemic.adapters.inprocess.operations.guide import Guided
from mnemic.adapters.inprocess.operations.host import Date, Day
from mnemic.adapters.inprocess.operations.recalls import RecallOperations
from mnemic.adapters.inprocess.operations.reextraction import ReExtractionOperations
from mnemic.adapters.inprocess.operations.references import ReferenceOperations
from mnemic.adapters.inprocess.operations.removal import RemovalOperations
from mnemic.adapters.inprocess.operations.reverts import RevertOperations
from mnemic.adapters.inprocess.registry import implements_operations, operation
from mnemic.adapters.inprocess.view import SyncView, view_at
from mnemic.kernel.decision import Decision, first_of
from mnemic.kernel.decisions.space import (
    decide_adopt_policy,
    decide_end_session,
    decide_start_session,
)
from mnemic.kernel.errors import (
    MnemicError,
    PolicyRefused,
    Refused,
    SessionState,
    Unavailable,
)
from mnemic.kernel.events import (
    BlocksPromoted,
    BlockSuperseded,
    Curated,
)
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import (
    Analyst,
    Clock,
    CommandRow,
    Embedder,
    Entropy,
    Extractor,
    Store,
    TokenCounter,
)
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.kernel.results import CurateResult, SessionResult, Status, Verification

EARLY_ALERT = "this is the state before version"
"""Beginning of the alert of a log that was opened read-only and cannot be read to its end."""
LOST_ALERT = "text is lost"
"""Beginning of the alert of a log that was opened read-only and has lost payloads."""


@implements_operations
@checks_arguments
@completes_short_ids
class SyncMemory(
    BlockOperations,
    RemovalOperations,
    EdgeOperations,
    RecallOperations,
    ComposedGraph,
    ReferenceOperations,
    ExperimentOperations,
    CheckpointOperations,
    RevertOperations,
    ReExtractionOperations,
    Guided,
):
    """One space of memory. Open it with ``SyncMemory.open`` and close it, or use ``with``.

    It is one session handle on the space, for one caller; ``session_handle`` returns handles for
    others. Operations may run on any number of threads at once; those that depend on the order of
    calls (sessions, recent ids) follow the order of their own session handle.

    Every writing operation takes ``command_id``: a command repeated with the same id, after a
    time-out say, is written once and answered as it was the first time.
    """

    @classmethod
    def open(  # one argument per part that a host may configure
        cls,
        path: str | Path | Store,
        *,
        space: str = "default",
        embedder: Embedder | None = None,
        embedders: Sequence[Embedder] = (),
        analyst: Analyst | None = None,
        analyst_timeout_s: float = TIMEOUT_S,
        extractor: Extractor | None = None,
        extractor_timeout_s: float = EXTRACTOR_TIMEOUT_S,
        policy: Policy | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        tokens: TokenCounter | None = None,
        actor: str = "agent",
        synchronous: str = "full",
        read_only: bool = False,
        checkpoints: Wanted = None,
        retriever: Retriever = "exact",
        keys: str | Path | None = None,
        scope: Mapping[str, str] | None = None,
    ) -> Self:
        """Open a space, and create it if it does not exist.

        Args:
            path: A file, ``":memory:"``, or a store of the host's own.
            space: Name of the space in the store.
            embedder: Turns texts into vectors; None: the shipped model that the space was built
                with, the bundled one for a new space. Loaded when needed. With several session
                handles it may be called on several threads at once, and so may an analyst.
            embedders: Embedders that the space had before ``reembed``, for new questions about the
                past, where the one of that time embeds the question. Those shipped with mnemic
                need not be given.
            analyst: Reads new blocks at promotion; None: the rules of ``analysts.rules``;
                ``NoAnalyst()``: no analysis.
            analyst_timeout_s: How long an analyst may take over one chunk, in seconds; analyses
                missing by then are recorded as failed. Range: (0, 86400].
            extractor: Finds facts in the messages of ``add`` where no extractor is named; None:
                messages are only learned. ``add(extract="rules")`` needs none.
            extractor_timeout_s: How long an extractor with a model may take over one window of
                messages, in seconds; then the messages count as unread. Range: (0, 86400].
            policy: The policy of a new space; an existing one keeps the policy it adopted.
            clock: The wall clock; None: the system's.
            entropy: Source of random bytes; None: the system's.
            tokens: Token counter; None: estimates one token per four characters.
            actor: The name to record as actor in the log.
            synchronous: ``full``: an acknowledged command survives a power cut. ``normal``: it
                survives a killed process.
            read_only: Never write; a damaged log opens up to its first bad record.
            checkpoints: A folder for files that make opening a long log quick; ``database`` or
                ``s3://bucket/prefix``: where hosts share them, see ``SharedCheckpoints``; None:
                next to the store's file, and no checkpoints for other stores; False: none.
            retriever: How vectors near to a question are found. ``exact``: by comparing all.
                ``ann``: by graphs over them, built in the background, which may miss some; such a
                decision records what was found. ``auto``: by graphs where there are many vectors
                and graphs are quicker; ``Graphs(...)`` configures when that is. Queries of the past
                are always answered exactly.
            keys: The file of keys that encrypt all text in the store, created with the first key;
                None: text is stored in the clear. Without that file the text cannot be read, and no
                copy of the store restores what was erased. A store is encrypted wholly or not at
                all.
            scope: The ``user``, ``agent`` or ``run`` of the caller: what is learned belongs to it,
                and recalls find nothing else; None: everything.

        Raises:
            NotAStore, StoreTooNew, StoreFailed, LogCorrupt, EmbedderMismatch: See each.
            KeysMissing: The text is encrypted, and *keys* is not the file that decrypts it.
            NotEncrypted: The text is not encrypted, and *keys* is given.
        """
        store, opened = open_space(
            path,
            space=space,
            policy=policy,
            clock=clock,
            entropy=entropy,
            actor=actor,
            synchronous=synchronous,
            read_only=read_only,
            checkpoints=checkpoints,
            retriever=retriever,
            keys=keys,
        )
        try:
            return cls(
                opened,
                store=store,
                embedder=embedder,
                embedders=embedders,
                analyst=analyst,
                analyst_timeout_s=analyst_timeout_s,
                extractor=extractor,
                extractor_timeout_s=extractor_timeout_s,
                tokens=tokens,
                scope=scope,
            )
        except BaseException:
            if store is not None:
                store.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- sessions ---------------------------------------------------------------------------

    @operation("POST ./sessions", "Upkeep", "write", status=201)
    def start_session(self, *, command_id: str | None = None) -> SessionResult:
        """Begin a session: active time passes from here on.

        Raises:
            SessionState: This memory has one open already.
            CommandIdReused: See the class.
        """
        space = self._open()
        command = Command("start_session", {}, command_id)

        def decide(view: View, _: Instant) -> Decision[SessionId]:
            # Another caller on this session handle may have been first.
            space.caller.check_no_session(view.open_sessions())
            return decide_start_session(view, SessionId(space.caller.entropy.token(8).hex()))

        def again(row: CommandRow) -> Outcome:
            # A caller that missed the answer continues the session that it started then.
            before = self._session_of(row)
            space.session = space.session or before.result
            return before

        repeated = space.remembered(command)
        before = None if repeated is None else again(repeated)
        if before is None:
            space.caller.check_no_session(space.snapshot().sessions)
        outcome = before or space.execute(command, decide, again=again)
        if outcome.events:
            self._recent = RecentIds()
        return self._session_result(outcome.result, "started", outcome.last)

    @operation("POST ./sessions/end", "Upkeep", "write")
    def end_session(self, *, command_id: str | None = None) -> SessionResult:
        """End the session, after consolidating what is pending.

        Raises:
            SessionState: None is open, or another session handle has ended it meanwhile.
            CommandIdReused: See the class.
            VectorRefused, EmbedderMismatch, Unavailable: The model failed. The session has ended
                nevertheless, and pending blocks stay in the inbox.
        """
        space = self._open()
        command = Command("end_session", {}, command_id)
        before = space.remembered(command)
        if before is not None:
            ended = self._session_of(before)
            return self._session_result(ended.result, "ended", ended.last)
        session = space.session
        if session is None:
            raise SessionState("no session is open", recovery="Start one first.")

        failure: MnemicError | None = None
        try:
            self._auto_consolidate()
        except (Refused, Unavailable) as error:
            failure = error
        outcome = space.execute(
            command, lambda view, _: decide_end_session(view, session), again=self._session_of
        )
        if failure is not None:
            raise failure
        return self._session_result(outcome.result, "ended", outcome.last)

    @contextmanager
    def session(self) -> Generator[SessionId]:
        """Hold a session open for a ``with`` block."""
        started = self.start_session()
        try:
            yield started.session_id
        finally:
            self.end_session()

    def _session_of(self, row: CommandRow) -> Outcome:
        """Return which session a remembered command of this actor started or ended."""
        recorded = self._space.event_at(row.last)
        assert recorded is not None  # noqa: S101 - a command is remembered with its events
        assert recorded.session_id is not None  # noqa: S101 - both events are of their session
        return Outcome(recorded.session_id, row.first, row.last, ())

    def _session_result(self, session: SessionId, action: str, version: int) -> SessionResult:
        from mnemic.adapters.inprocess.replay.reevaluation import versions
        from mnemic.adapters.inprocess.results import contradictions, replacements
        from mnemic.kernel.results import SessionResult

        space = self._space
        now = space.view()
        timeline = now.state.timeline
        active_us = int(timeline.active_us.values[version])
        started = timeline.sessions.at(version - 1).get(session, version)
        promoted = versions(now, BlocksPromoted, after=started, upto=version)
        revised = versions(now, BlockSuperseded, after=started, upto=version)
        changes = [space.event_at(each) for each in sorted((*promoted, *revised))]
        events = [each.event for each in changes if each is not None]
        return SessionResult(
            session_id=session,
            action=action,
            hour=active_us / MICROS_PER_HOUR,
            superseded=tuple(
                pair
                for event in events
                if isinstance(event, BlocksPromoted | BlockSuperseded)
                for pair in replacements(event)
            ),
            contradictions=tuple(
                pair
                for event in events
                if isinstance(event, BlocksPromoted)
                for pair in contradictions(event.links)
            ),
        )

    @operation("POST ./curate", "Upkeep", "write", destructive=True, same_twice=True)
    def curate(self, *, command_id: str | None = None) -> CurateResult:
        """Archive what faded, admit pending connections, and reinforce what matters."""
        from mnemic.kernel.decisions.curating import decide_curate
        from mnemic.kernel.results import CurateResult

        outcome = self._open().prepared(Command("curate", {}, command_id), decide_curate)
        event = first_of(outcome.events, Curated)
        if event is None:
            return CurateResult(total_edges_after=len(self._space.view().pairs()))
        return CurateResult(
            archived=len(event.archived),
            by_rule=event.by_rule,
            edges_pruned=len(event.pruned),
            edges_decayed=len(event.decayed),
            total_edges_after=event.edges_after,
            reinforced=len(event.reinforced),
            constitutional_reinforced=len(event.constitutional),
            pending_admitted=len(event.admitted),
        )

    # --- the space --------------------------------------------------------------------------

    @operation("PUT ./policy", "Upkeep", "admin", destructive=True, same_twice=True)
    def adopt_policy(self, policy: Policy, *, command_id: str | None = None) -> Policy:
        """Put *policy* in force from here on; the one already in force changes nothing.

        Raises:
            PolicyRefused: It is not a policy.
        """
        if not isinstance(policy, Policy):
            raise PolicyRefused(f"not a policy: {policy!r}")

        command = Command("adopt_policy", {"body": policy.body}, command_id)
        self._open().execute(command, lambda view, _: decide_adopt_policy(view, policy))
        return policy

    def status(self) -> Status:
        """Return counts, the clock, and what is in force."""
        log_state = self._space.log_state
        status, graphs, damage = super().status(), log_state.graphs, log_state.damage
        if damage is not None:
            alert = f"{EARLY_ALERT} {damage.facts['version']}: {damage}"
            status = evolve(status, alerts=(*status.alerts, alert))
        replaced = log_state.replaced
        if replaced is not None:
            alert = f"since this memory was opened, {replaced.message}"
            status = evolve(status, alerts=(*status.alerts, alert))
        missing = log_state.missing
        if missing is not None:
            status = evolve(status, alerts=(*status.alerts, f"{LOST_ALERT}: {missing}"))
        if graphs is None:
            return status
        return evolve(status, search=graphs.search(), alerts=(*status.alerts, *graphs.alerts))

    @property
    @operation("GET ./policy", "Upkeep")
    def policy(self) -> Policy:
        """The policy in force."""
        return self._view().policy

    # --- the past ---------------------------------------------------------------------------

    def as_of(
        self,
        *,
        hour: float | None = None,
        version: int | None = None,
        at: Day = None,
        decision: str | None = None,
        now: Date = None,
    ) -> SyncView:
        """Return the memory as it was: every query, nothing that writes.

        Args:
            hour: Active hours; everything up to and including it, decay evaluated at it.
            version: A version of the log.
            at: A wall-clock instant: the last version recorded by then. A day, ``"2026-11-17"`` or
                a date, means its end in the local time zone of this process, or in the one named in
                brackets: ``"2026-11-17[Europe/Berlin]"``. An instant without an offset is UTC.
            decision: What a recorded recall read.
            now: Evaluate ages at this instant instead of the point's own.

        Raises:
            PointOutOfRange, DecisionNotFound, FieldRefused: See each.
        """
        space = self._open()
        view = view_at(space, hour=hour, version=version, at=at, decision=decision, now=now)
        return SyncView(space, self._models, view, self._scope)

    def _at_one_version(self) -> SyncView:
        return self.as_of(version=self.status().version)

    @operation("POST ./verify", "The past")
    def verify(self, progress: Progress | None = None) -> Verification:
        """Walk the whole log and check every digest, every event and every payload."""
        from mnemic.adapters.inprocess import history

        return history.verify(self._open(), progress)
