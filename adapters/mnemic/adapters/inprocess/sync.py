"""``SyncMemory``: every verb of mnemic as a plain method."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from attrs import evolve

from mnemic.adapters.checkpoints.shelf import Wanted
from mnemic.adapters.inprocess import history
from mnemic.adapters.inprocess.admission import admitting
from mnemic.adapters.inprocess.analysing import TIMEOUT_S
from mnemic.adapters.inprocess.block_verbs import BlockVerbs
from mnemic.adapters.inprocess.breadcrumbs import Breadcrumbs
from mnemic.adapters.inprocess.checkpoint_verbs import CheckpointVerbs
from mnemic.adapters.inprocess.commands import Command, Outcome, Written
from mnemic.adapters.inprocess.composed_graph import ComposedGraph
from mnemic.adapters.inprocess.consolidation import Progress
from mnemic.adapters.inprocess.deliberating import ReferenceVerbs
from mnemic.adapters.inprocess.edge_verbs import EdgeVerbs
from mnemic.adapters.inprocess.exchange_verbs import ExchangeVerbs
from mnemic.adapters.inprocess.experiment_verbs import ExperimentVerbs
from mnemic.adapters.inprocess.guiding import Guided
from mnemic.adapters.inprocess.host import Date
from mnemic.adapters.inprocess.opening import open_space
from mnemic.adapters.inprocess.recall_verbs import RecallVerbs
from mnemic.adapters.inprocess.revert_verbs import RevertVerbs
from mnemic.adapters.inprocess.snapshot import SyncView, view_at
from mnemic.adapters.inprocess.whereabouts import Whereabouts
from mnemic.adapters.proximity.keeper import Retriever
from mnemic.kernel.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.decisions.curating import decide_curate
from mnemic.kernel.errors import (
    CommandIdReused,
    MnemicError,
    PolicyRefused,
    Refused,
    SessionState,
    Unavailable,
)
from mnemic.kernel.events import Curated, PolicyAdopted, SessionEnded, SessionStarted
from mnemic.kernel.identity import SessionId
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import (
    Analyst,
    Clock,
    CommandRow,
    Embedder,
    Entropy,
    Store,
    TokenCounter,
)
from mnemic.kernel.reading import Moment
from mnemic.kernel.results import CurateResult, SessionResult, Status, Verification
from mnemic.projections.views import View


@admitting
class SyncMemory(
    BlockVerbs,
    EdgeVerbs,
    RecallVerbs,
    ComposedGraph,
    ReferenceVerbs,
    ExchangeVerbs,
    ExperimentVerbs,
    CheckpointVerbs,
    RevertVerbs,
    Guided,
):
    """One space of memory. Open it with ``SyncMemory.open`` and close it, or use ``with``.

    It is one seat on the space, for one caller; ``seat`` gives others theirs. Verbs may run on any
    number of threads at once; those that go by an order of calls (sessions, breadcrumbs) go by that
    of their own seat.

    Every writing verb takes ``command_id``: repeat a command with the same id, after a time-out
    say, and it is answered as it was the first time and written once.
    """

    @classmethod
    def open(  # one argument per part that a host may bring
        cls,
        path: str | Path | Store,
        *,
        space: str = "default",
        embedder: Embedder | None = None,
        analyst: Analyst | None = None,
        analyst_timeout_s: float = TIMEOUT_S,
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
        vectors: Whereabouts = "process",
    ) -> Self:
        """Open a space, and make it if it is not there.

        Args:
            path: A file, ``":memory:"``, or a store of the host's own.
            space: Which of the store's spaces.
            embedder: Turns texts into vectors; None: the model of ours that the space was built
                with, the bundled one for a new space. Loaded when needed. With several seats it
                may be asked on several threads at once, and so may an analyst.
            analyst: Reads new blocks at promotion; None: by the rules of ``analysts.rules``;
                ``NoAnalyst()``: nobody does.
            analyst_timeout_s: How long an analyst may take over one chunk, in seconds; what has
                not come by then is recorded as failed. Range: (0, 86400].
            policy: The numbers of a new space; an existing one keeps those it adopted.
            clock: Where the wall clock comes from; None: the system.
            entropy: Where random bytes come from; None: the system.
            tokens: How to count tokens; None: four characters to one.
            actor: Who acts, as the log should name it.
            synchronous: ``full``: an acknowledged command survives a power cut. ``normal``: it
                survives a killed process.
            read_only: Never write; a damaged log opens up to its first bad record.
            checkpoints: A folder for files that make opening a long log quick; None: beside the
                file, and none for other stores; False: none.
            retriever: How vectors near to a question are found. ``exact``: by looking at all.
                ``ann``: by graphs over them, made in the background, which may miss some; such a
                decision records what was found. ``auto``: by graphs where there are many vectors
                and it is the quicker way; ``Graphs(...)`` says when that is. What is asked of the
                past is always answered exactly.
            keys: The file of keys that lock all words in the store, made with the first of them;
                None: words stand open. Without that file nobody can read them any more, and no copy
                of the store gives back what was erased. A store is one or the other.
            vectors: Where they are held: in this ``process``, or on the ``server`` of a PostgreSQL
                store alone. Answers are the same to the last digit, and come more slowly; an open
                space takes 28 bytes for each vector then, and not four for each component.

        Raises:
            NotAStore, StoreTooNew, StoreFailed, LogCorrupt, EmbedderMismatch: See each.
            KeysMissing: The words are locked, and *keys* is not the file that opens them.
            NotEncrypted: They stand open, and *keys* is given.
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
            vectors=vectors,
        )
        try:
            return cls(
                opened,
                store=store,
                embedder=embedder,
                analyst=analyst,
                analyst_timeout_s=analyst_timeout_s,
                tokens=tokens,
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

    def start_session(self, *, command_id: str | None = None) -> SessionResult:
        """Begin a session: from here on time passes.

        Raises:
            SessionState: This memory has one open already.
            CommandIdReused: See the class; or another actor began a session under this id.
        """
        space = self._open()
        command = Command("start_session", {}, command_id)

        def decide(_view: View, _at: Moment) -> Written:
            space.check_no_session()  # another caller on this seat may have been first
            session = SessionId(space.entropy.token(8).hex())
            return Written((SessionStarted(session_id=session),), extra=session)

        def again(row: CommandRow) -> Outcome:
            # Whoever did not hear the answer goes on with the session of the first time.
            before = self._session_of(row)
            space.session = space.session or before.extra
            return before

        with space.guard:
            repeated = space.remembered(command)
            before = None if repeated is None else again(repeated)
            if before is None:
                space.check_no_session()
        outcome = before or space.execute(command, decide, again=again)
        if outcome.events:
            self._crumbs = Breadcrumbs()
        return self._session_result(outcome.extra, "started", outcome.last)

    def end_session(self, *, command_id: str | None = None) -> SessionResult:
        """End the session, after consolidating what is pending.

        Raises:
            SessionState: None is open, or another seat has ended it meanwhile.
            CommandIdReused: See the class; or another actor ended a session under this id.
            VectorRefused, EmbedderMismatch, Unavailable: The model did not play along. The session
                has ended all the same, and what was pending waits in the inbox.
        """
        space = self._open()
        command = Command("end_session", {}, command_id)
        before = space.remembered(command)
        if before is not None:
            ended = self._session_of(before)
            return self._session_result(ended.extra, "ended", ended.last)
        session = space.session
        if session is None:
            raise SessionState("no session is open", recovery="Start one first.")

        def decide(view: View, _at: Moment) -> Written:
            if session not in view.open_sessions():
                raise SessionState(f"session {session} has ended already", session_id=session)
            return Written((SessionEnded(session_id=session),), extra=session)

        failure: MnemicError | None = None
        try:
            self._auto_consolidate()
        except (Refused, Unavailable) as error:
            failure = error
        outcome = space.execute(command, decide, again=self._session_of)
        if failure is not None:
            raise failure
        return self._session_result(outcome.extra, "ended", outcome.last)

    @contextmanager
    def session(self) -> Generator[SessionId]:
        """Hold a session open for a ``with`` block."""
        started = self.start_session()
        try:
            yield started.session_id
        finally:
            self.end_session()

    def _session_of(self, row: CommandRow) -> Outcome:
        """Return which session a remembered command started or ended.

        Raises:
            CommandIdReused: For another actor: nobody comes to a session by guessing an id.
        """
        recorded = self._space.event_at(row.last)
        assert recorded is not None  # noqa: S101 - a command is remembered with its events
        assert recorded.session_id is not None  # noqa: S101 - both events are of their session
        if recorded.actor != self._space.actor:
            raise CommandIdReused(
                f"command id {row.id!r} was used by another actor at version {row.first}",
                command_id=row.id,
                version=row.first,
            )
        return Outcome(recorded.session_id, row.first, row.last, ())

    def _session_result(self, session: SessionId, action: str, version: int) -> SessionResult:
        with self._space.guard:
            active_us = int(self._space.state.timeline.active_us.values[version])
        return SessionResult(session_id=session, action=action, hour=active_us / MICROS_PER_HOUR)

    def curate(self, *, command_id: str | None = None) -> CurateResult:
        """Let go of what faded, admit what waited, and reinforce what matters."""

        def decide(view: View, at: Moment) -> Written:
            event = decide_curate(view, at)
            return Written(() if event is None else (event,), extra=event)

        outcome = self._open().prepared(Command("curate", {}, command_id), decide)
        event: Curated | None = outcome.extra
        if event is None:
            with self._space.guard:
                return CurateResult(total_edges_after=len(self._space.live().pairs()))
        return CurateResult(
            archived=len(event.archived),
            edges_pruned=len(event.pruned),
            edges_decayed=len(event.decayed),
            total_edges_after=event.edges_after,
            reinforced=len(event.reinforced),
            constitutional_reinforced=len(event.constitutional),
            pending_admitted=len(event.admitted),
        )

    # --- the space --------------------------------------------------------------------------

    def adopt_policy(self, policy: Policy, *, command_id: str | None = None) -> Policy:
        """Let *policy* be in force from here on; the one in force already changes nothing.

        Raises:
            PolicyRefused: It is not a policy.
        """
        if not isinstance(policy, Policy):
            raise PolicyRefused(f"not a policy: {policy!r}")

        def decide(view: View, _: Moment) -> Written:
            if view.policy.id == policy.id:
                return Written(())
            return Written((PolicyAdopted(policy_id=policy.id, body=policy.body),))

        self._open().execute(Command("adopt_policy", {"body": policy.body}, command_id), decide)
        return policy

    def status(self) -> Status:
        """Return counts, the clock, and what is in force."""
        status, graphs, damage = super().status(), self._space.graphs, self._space.damage
        if damage is not None:
            alert = f"this is what stands before version {damage.facts['version']}: {damage}"
            status = evolve(status, alerts=(*status.alerts, alert))
        if graphs is None:
            return status
        return evolve(status, search=graphs.search(), alerts=(*status.alerts, *graphs.alerts))

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        with self._space.guard:
            return self._view().policy

    # --- the past ---------------------------------------------------------------------------

    def as_of(
        self,
        *,
        hour: float | None = None,
        version: int | None = None,
        at: Date = None,
        decision: str | None = None,
        now: Date = None,
    ) -> SyncView:
        """Return the memory as it was: every query, nothing that writes.

        Args:
            hour: Active hours; everything up to and including it, decay evaluated at it.
            version: A version of the log.
            at: A wall-clock instant: the last version recorded by then.
            decision: What a recorded recall read.
            now: Evaluate ages at this instant instead of the point's own.

        Raises:
            PointOutOfRange, DecisionNotFound, FieldRefused: See each.
        """
        space = self._open()
        space.catch_up()
        view = view_at(space, hour=hour, version=version, at=at, decision=decision, now=now)
        return SyncView(space, self._models, view)

    def verify(self, progress: Progress | None = None) -> Verification:
        """Walk the whole log and check every digest, every event and every payload."""
        return history.verify(self._open(), progress)
