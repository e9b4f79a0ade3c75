"""``SyncMemory``: every verb of mnemic as a plain method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from attrs import asdict

from mnemic.adapters.inprocess import consolidation, history, recalling
from mnemic.adapters.inprocess.answers import (
    connect_result,
    displaced_results,
    learn_result,
    outcome_result,
)
from mnemic.adapters.inprocess.consolidation import Progress
from mnemic.adapters.inprocess.opening import models, open_space
from mnemic.adapters.inprocess.queries import Queries
from mnemic.adapters.inprocess.snapshot import SyncView, view_at
from mnemic.adapters.inprocess.space import Command, Space, Written
from mnemic.kernel.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.decisions.archiving import (
    decide_erase,
    decide_forget,
    decide_revise,
    decide_rezone,
)
from mnemic.kernel.decisions.connecting import Assertion, decide_connect, decide_disconnect
from mnemic.kernel.decisions.curating import decide_curate
from mnemic.kernel.decisions.feedback import Feedback, decide_outcome
from mnemic.kernel.decisions.learning import Learned, Lesson, decide_learn
from mnemic.kernel.errors import (
    Closed,
    FieldRefused,
    NothingToScore,
    PolicyRefused,
    Refused,
    SessionState,
)
from mnemic.kernel.events import (
    Curated,
    Event,
    PolicyAdopted,
    SessionEnded,
    SessionStarted,
    SpaceErased,
)
from mnemic.kernel.identity import BlockId, SessionId
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Analyst, Clock, Embedder, Entropy, Store, TokenCounter
from mnemic.kernel.reading import Moment
from mnemic.kernel.results import (
    ConnectResult,
    ConsolidateResult,
    CurateResult,
    DisconnectResult,
    ErasureReceipt,
    ForgetResult,
    LearnManyResult,
    LearnResult,
    OutcomeResult,
    RecallResult,
    Refusal,
    ReplayResult,
    ReviseResult,
    RezoneResult,
    SessionResult,
    Verification,
    unit,
)
from mnemic.projections.views import View

BATCH_MAX = 10_000
"""Lessons of one ``learn_many``."""
Date = str | datetime | None


class SyncMemory(Queries):
    """One space of memory. Open it with ``SyncMemory.open`` and close it, or use ``with``.

    Every writing verb takes ``command_id``: repeat a command with the same id, after a time-out
    say, and it is answered as it was the first time and written once.
    """

    def __init__(
        self,
        space: Space,
        *,
        store: Store | None = None,
        embedder: Embedder | None = None,
        analyst: Analyst | None = None,
        tokens: TokenCounter | None = None,
    ) -> None:
        self._space = space
        self._store = store
        self._models = models(embedder, analyst, tokens, space)
        self._closed = False

    @classmethod
    def open(  # one argument per part that a host may bring
        cls,
        path: str | Path | Store,
        *,
        space: str = "default",
        embedder: Embedder | None = None,
        analyst: Analyst | None = None,
        policy: Policy | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        tokens: TokenCounter | None = None,
        actor: str = "agent",
        synchronous: str = "full",
        read_only: bool = False,
    ) -> Self:
        """Open a space, and make it if it is not there.

        Args:
            path: A file, ``":memory:"``, or a store of the host's own.
            space: Which of the store's spaces.
            embedder: Turns texts into vectors; None: the bundled model, loaded when needed.
            analyst: Reads new blocks at promotion; None: nobody does.
            policy: The numbers of a new space; an existing one keeps those it adopted.
            clock: Where the wall clock comes from; None: the system.
            entropy: Where random bytes come from; None: the system.
            tokens: How to count tokens; None: four characters to one.
            actor: Who acts, as the log should name it.
            synchronous: ``full``: an acknowledged command survives a power cut. ``normal``: it
                survives a killed process.
            read_only: Never write; a damaged log opens up to its first bad record.

        Raises:
            NotAStore, StoreTooNew, StoreFailed, LogCorrupt, EmbedderMismatch: See each.
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
        )
        try:
            return cls(opened, store=store, embedder=embedder, analyst=analyst, tokens=tokens)
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

    def close(self) -> None:
        """Close the space; an open session stays open in the log and ends at its last event."""
        if not self._closed:
            self._closed = True
            self._space.close()
            if self._store is not None:
                self._store.close()

    def _open(self) -> Space:
        if self._closed:
            raise Closed("the memory is closed")
        return self._space

    def _view(self) -> View:
        space = self._open()
        space.catch_up()
        return space.live()

    # --- sessions ---------------------------------------------------------------------------

    def start_session(self, *, command_id: str | None = None) -> SessionResult:
        """Begin a session: from here on time passes.

        Raises:
            SessionState: This memory has one open already.
        """
        space = self._open()
        if space.session is not None:
            raise SessionState(f"session {space.session} is open", session_id=space.session)
        session = SessionId(space.entropy.token(8).hex())
        space.session = session
        try:
            outcome = space.execute(
                Command("start_session", {}, command_id),
                lambda _view, _at: Written((SessionStarted(session_id=session),)),
            )
        except BaseException:
            space.session = None
            raise
        return SessionResult(session_id=session, action="started", hour=self._hour(outcome.last))

    def end_session(self, *, command_id: str | None = None) -> SessionResult:
        """End the session, after consolidating what is pending.

        Raises:
            SessionState: None is open.
        """
        space = self._open()
        session = space.session
        if session is None:
            raise SessionState("no session is open", recovery="Start one first.")
        self._auto_consolidate()
        outcome = space.execute(
            Command("end_session", {"session": session}, command_id),
            lambda _view, _at: Written((SessionEnded(session_id=session),)),
        )
        space.session = None
        return SessionResult(session_id=session, action="ended", hour=self._hour(outcome.last))

    @contextmanager
    def session(self) -> Iterator[SessionId]:
        """Hold a session open for a ``with`` block."""
        started = self.start_session()
        try:
            yield started.session_id
        finally:
            self.end_session()

    def _hour(self, version: int) -> float:
        return int(self._space.state.timeline.active_us.data[version]) / MICROS_PER_HOUR

    # --- blocks -----------------------------------------------------------------------------

    def learn(
        self,
        content: str,
        *,
        tags: Iterable[str] = (),
        category: str = "knowledge",
        source: str = "api",
        author: str | None = None,
        thread: str | None = None,
        confidence: float = 0.8,
        created_at: Date = None,
        zone: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_at: Date = None,
        command_id: str | None = None,
    ) -> LearnResult:
        """Put a text into the inbox: durable when this returns, without any model.

        Args:
            content: What to remember.
            tags: Up to 64 labels; ``self/…`` tags also decide how fast it fades.
            category: What kind of thing it is.
            source: Where it came from; decides its trust zone.
            author: Who said it.
            thread: Which conversation or document it belongs to.
            confidence: How sure it is. Range: [0, 1].
            created_at: When it was true or said; ISO 8601 or a datetime, naive is UTC. None:
                now. ``"unknown"``: its age stays neutral.
            zone: Trust zone, if not the one of the source.
            metadata: A small JSON object.
            expires_at: From then on it is no longer recalled.
            command_id: See the class.

        Raises:
            ContentEmpty, ContentTooLong, TagsRefused, FieldRefused, IdCollision: See each.
        """
        lesson = Lesson(
            content=content,
            tags=tags if isinstance(tags, str) else tuple(tags),
            category=category,
            source=source,
            author=author,
            thread=thread,
            confidence=confidence,
            created_at=created_at,
            zone=zone,
            metadata=metadata,
            expires_at=expires_at,
        )

        def decide(view: View, _: Moment) -> Written:
            learned = decide_learn(view, lesson)
            return Written(() if learned.event is None else (learned.event,), extra=learned)

        arguments = asdict(lesson) if command_id is not None else {}
        outcome = self._open().execute(Command("learn", arguments, command_id), decide)
        return learn_result(outcome.extra, outcome.first, self._space.state)

    def learn_many(
        self,
        lessons: Iterable[Mapping[str, Any] | str],
        *,
        command_id: str | None = None,
    ) -> LearnManyResult:
        """Learn many texts in one transaction; what cannot be learned is refused by itself.

        Args:
            lessons: Texts, or mappings with the arguments of ``learn``; at most 10,000.
            command_id: See the class.

        Raises:
            FieldRefused: Too many at once.
        """
        given = list(lessons)
        if len(given) > BATCH_MAX:
            raise FieldRefused(
                f"{len(given)} lessons at once, the limit is {BATCH_MAX}",
                recovery="Learn them in several batches.",
            )

        def decide(view: View, _: Moment) -> Written:
            learned, refused, events = _decide_many(view, given)
            return Written(tuple(events), extra=(learned, refused))

        command = Command("learn_many", {"lessons": given}, command_id)
        outcome = self._open().execute(command, decide)
        learned, refused = outcome.extra
        version = outcome.first
        results = []
        for each in learned:
            results.append(learn_result(each, version, self._space.state))
            version += each.event is not None
        return LearnManyResult(results=tuple(results), refused=tuple(refused))

    def revise(
        self, block_id: str, content: str, reason: str | None = None, *, command_id: str | None = None
    ) -> ReviseResult:
        """Let new words take the place of a block; its tags, evidence and edges go on.

        Raises:
            BlockNotFound, BlockNotActive, FieldRefused, ContentEmpty, ContentTooLong: See each.
        """

        def decide(view: View, _: Moment) -> Written:
            events = decide_revise(view, block_id, content, reason)
            return Written(events, extra=events[1].supersession)

        arguments = {"block_id": block_id, "content": content, "reason": reason}
        outcome = self._open().execute(Command("revise", arguments, command_id), decide)
        change = outcome.extra
        return ReviseResult(
            block_id=change.new,
            superseded_id=change.old,
            edges_moved=len(change.moved),
            edges_lost=change.lost,
            version=outcome.first,
        )

    def forget(
        self, block_id: str, reason: str | None = None, *, command_id: str | None = None
    ) -> ForgetResult:
        """Archive a block: it is no longer recalled, and views of the past still show it.

        Raises:
            BlockNotFound: It was never learned.
        """

        def decide(view: View, _: Moment) -> Written:
            event = decide_forget(view, block_id, reason)
            return Written(() if event is None else (event,), extra=event is not None)

        arguments = {"block_id": block_id, "reason": reason}
        outcome = self._open().execute(Command("forget", arguments, command_id), decide)
        return ForgetResult(
            block_id=BlockId(block_id),
            action="archived" if outcome.extra else "already_archived",
        )

    def erase(self, block_id: str, *, command_id: str | None = None) -> ErasureReceipt:
        """Destroy a block's words and vectors for good, in the past too.

        The log, its chain and the id stay. Asking again returns the head of the log.

        Raises:
            BlockNotFound: It was never learned.
        """

        def decide(view: View, _: Moment) -> Written:
            event = decide_erase(view, block_id)
            return Written(() if event is None else (event,), erase=(block_id,))

        outcome = self._open().execute(Command("erase", {"block_id": block_id}, command_id), decide)
        return self._receipt(BlockId(block_id), outcome.last)

    def erase_space(self, *, command_id: str | None = None) -> ErasureReceipt:
        """Destroy every word and vector of the space for good; nothing can be learned after."""

        def decide(view: View, _: Moment) -> Written:
            gone = view.state.timeline.space_erased is not None
            return Written(() if gone else (SpaceErased(),), erase_all=not gone)

        outcome = self._open().execute(Command("erase_space", {}, command_id), decide)
        return self._receipt(None, outcome.last)

    def _receipt(self, block_id: BlockId | None, version: int) -> ErasureReceipt:
        return ErasureReceipt(
            block_id=block_id, version=version, chain=self._space.log.head().digest.hex()
        )

    def rezone(
        self, block_id: str, zone: str, reason: str | None = None, *, command_id: str | None = None
    ) -> RezoneResult:
        """Move a block to another trust zone.

        Raises:
            BlockNotFound, BlockNotActive, FieldRefused: See each.
        """

        def decide(view: View, _: Moment) -> Written:
            event = decide_rezone(view, block_id, zone, reason)
            return Written(() if event is None else (event,), extra=event is not None)

        arguments = {"block_id": block_id, "zone": zone, "reason": reason}
        outcome = self._open().execute(Command("rezone", arguments, command_id), decide)
        return RezoneResult(
            block_id=BlockId(block_id),
            zone=zone.strip(),
            action="rezoned" if outcome.extra else "unchanged",
        )

    def consolidate(
        self,
        limit: int | None = None,
        *,
        relink: bool = False,
        progress: Progress | None = None,
        command_id: str | None = None,
    ) -> ConsolidateResult:
        """Promote what waits in the inbox: embed it, find near-duplicates, form edges.

        Args:
            limit: Promote at most this many, first in first; None: all.
            relink: Also look for edges of active blocks that have few.
            progress: Called with blocks done and blocks to do.
            command_id: See the class.

        Raises:
            VectorRefused, EmbedderMismatch: The embedder cannot be used; nothing is lost.
            FieldRefused: The limit is negative.
        """
        if limit is not None and (isinstance(limit, bool) or limit < 0):
            raise FieldRefused(f"limit must be at least 0, got {limit!r}", field="limit")
        space = self._open()
        space.check_writable()
        return consolidation.consolidate(
            space,
            self._models,
            limit=limit,
            relink=relink,
            command_id=command_id,
            progress=progress,
        )

    dream = consolidate

    def _auto_consolidate(self) -> None:
        space = self._open()
        if not space.read_only:
            space.catch_up()
            if space.state.timeline.policy.auto_consolidate and space.state.catalogue.waiting:
                consolidation.consolidate(space, self._models)

    # --- edges ------------------------------------------------------------------------------

    def connect(
        self,
        source: str,
        target: str,
        relation: str | None = None,
        *,
        weight: float | None = None,
        note: str | None = None,
        if_exists: str = "reinforce",
        command_id: str | None = None,
    ) -> ConnectResult:
        """Assert an edge between two blocks.

        Args:
            source: Id of the block that supports, elaborates, contradicts.
            target: Id of the other block.
            relation: None: ``similar`` for a new edge, unchanged for an existing one.
            weight: None: the default of the relation. Range: [0, 1].
            note: Why, in at most 500 characters.
            if_exists: ``reinforce``, ``update``, ``skip`` or ``error``.
            command_id: See the class.

        Raises:
            SelfLoop, BlockNotFound, BlockNotActive, WeightOutOfRange, EdgeExists, NoteTooLong,
            UnknownIfExists: See each.
        """
        assertion = Assertion(
            source=source,
            target=target,
            relation=relation,
            weight=weight,
            note=note,
            if_exists=if_exists,
        )

        def decide(view: View, at: Moment) -> Written:
            connected = decide_connect(view, assertion, at)
            events = () if connected.event is None else (connected.event,)
            return Written(events, extra=(connected, displaced_results(view, connected.displaced)))

        outcome = self._open().execute(Command("connect", asdict(assertion), command_id), decide)
        return connect_result(assertion, *outcome.extra)

    def disconnect(
        self,
        source: str,
        target: str,
        *,
        guard_relation: str | None = None,
        reason: str | None = None,
        command_id: str | None = None,
    ) -> DisconnectResult:
        """Remove the edge between two blocks, and let no automatic one take its place.

        Raises:
            SelfLoop, BlockNotFound, NoteTooLong: See each.
        """

        def decide(view: View, _: Moment) -> Written:
            event, action = decide_disconnect(
                view, source, target, guard_relation=guard_relation, reason=reason
            )
            return Written(() if event is None else (event,), extra=(event, action))

        arguments = {"ends": (source, target), "guard": guard_relation, "reason": reason}
        outcome = self._open().execute(Command("disconnect", arguments, command_id), decide)
        event, action = outcome.extra
        return DisconnectResult(
            source_id=BlockId(source),
            target_id=BlockId(target),
            action=action,
            removed_relation=None if event is None else event.relation,
            removed_weight=None if event is None or event.weight is None else unit(event.weight),
        )

    # --- recall and feedback ----------------------------------------------------------------

    def recall(
        self,
        query: str | None = None,
        *,
        frame: str = "attention",
        top_k: int | None = None,
        token_budget: int | None = None,
        where: Mapping[str, Any] | None = None,
        record: bool = True,
        command_id: str | None = None,
    ) -> RecallResult:
        """Return what bears on a question, best first, with every signal of every block.

        Args:
            query: What is asked; None ranks without relevance.
            frame: Which signals count: ``attention``, ``self``, ``task``, ``short_term``,
                ``world``, or one of the policy's own.
            top_k: Most blocks; None: 5, or as many as the frame guarantees.
            token_budget: Most tokens of ``text``; None: the frame's.
            where: Filter by tags, category, author, thread, metadata, since, until.
            record: Whether the decision is recorded, and counts as a retrieval.
            command_id: See the class.

        Raises:
            FrameUnknown, FieldRefused, EmbedderMismatch, VectorRefused: See each.
        """
        space = self._open()
        request = recalling.Request(
            query=query, frame=frame, top_k=top_k, token_budget=token_budget, where=where
        ).checked()
        self._auto_consolidate()
        return recalling.recall(
            space,
            self._models,
            request,
            record=record and not space.read_only,
            command_id=command_id,
        )

    def outcome(
        self,
        block_ids: Sequence[str] | str | None = None,
        signal: float = 1.0,
        *,
        decision_id: str | None = None,
        weight: float = 1.0,
        source: str = "",
        command_id: str | None = None,
    ) -> OutcomeResult:
        """Say how well blocks served.

        Args:
            block_ids: The blocks; or give *decision_id* for all that a recall returned.
            signal: 0 useless to 1 decisive.
            decision_id: A recorded recall.
            weight: How much this counts, above 0.
            source: Who says so.
            command_id: See the class.

        Raises:
            NothingToScore: Neither blocks nor a decision, or both.
            SignalOutOfRange, FieldRefused, DecisionNotFound: See each.
        """
        space = self._open()
        ids = [block_ids] if isinstance(block_ids, str) else list(block_ids or ())
        if bool(ids) == (decision_id is not None):
            raise NothingToScore("name either block ids or a decision id")
        found = None
        if decision_id is not None:
            recorded, event = recalling.decision(space, decision_id)
            found = recalling.decision_name(recorded)
            ids = [space.state.catalogue.ids[row.block] for row in event.answer.rows]
        feedback = Feedback(
            block_ids=ids, signal=signal, weight=weight, source=source, decision_id=found
        )

        def decide(view: View, at: Moment) -> Written:
            scored = decide_outcome(view, feedback, at)
            events = () if scored.event is None else (scored.event,)
            return Written(events, extra=(scored, displaced_results(view, scored.displaced)))

        outcome = space.execute(Command("outcome", asdict(feedback), command_id), decide)
        return outcome_result(feedback, *outcome.extra)

    def curate(self, *, command_id: str | None = None) -> CurateResult:
        """Let go of what faded, admit what waited, and reinforce what matters."""

        def decide(view: View, at: Moment) -> Written:
            event = decide_curate(view, at)
            return Written(() if event is None else (event,), extra=event)

        outcome = self._open().prepared(Command("curate", {}, command_id), decide)
        event: Curated | None = outcome.extra
        if event is None:
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

    @property
    def policy(self) -> Policy:
        """The policy in force."""
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

    def replay(self, decision_id: str) -> ReplayResult:
        """Compute a past decision again from the state it read, and compare.

        Raises:
            DecisionNotFound, RecipeRetired: See each.
        """
        return recalling.replay(self._open(), self._models, decision_id)

    def verify(self, progress: Progress | None = None) -> Verification:
        """Walk the whole log and check every digest, every event and every payload."""
        return history.verify(self._open(), progress)


def _decide_many(
    view: View, lessons: Sequence[Mapping[str, Any] | str]
) -> tuple[list[Learned], list[Refusal], list[Event]]:
    """Decide lessons one after the other, each knowing of those before it."""
    learned: list[Learned] = []
    refused: list[Refusal] = []
    events: list[Event] = []
    known: set[str] = set()
    for position, given in enumerate(lessons):
        try:
            lesson = _lesson(given)
            each = decide_learn(view, lesson, known=known)
        except Refused as error:
            refused.append(
                Refusal(
                    position=position,
                    code=error.code,
                    detail=error.message,
                    recovery=error.recovery,
                )
            )
            continue
        learned.append(each)
        if each.event is not None:
            known.add(each.block_id)
            events.append(each.event)
    return learned, refused, events


def _lesson(given: Mapping[str, Any] | str) -> Lesson:
    if isinstance(given, str):
        return Lesson(content=given)
    try:
        return Lesson(**given)
    except TypeError as error:
        raise FieldRefused(f"not a lesson: {error}") from error
