"""Operations around decisions: recall, outcome, explain, why_not, replay, replay_all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import asdict

from mnemic.adapters.inprocess.engine.commands import Command, Progress, RunnerChoice
from mnemic.adapters.inprocess.operations.host import Host
from mnemic.adapters.inprocess.recall import decision_records
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.decision import Decision, first_of
from mnemic.kernel.errors import FieldRefused, NothingToScore
from mnemic.kernel.events import OutcomeRecorded
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.kernel.results import (
        Detail,
        Explanation,
        OutcomeResult,
        RecallResult,
        ReplayResult,
        ReplaySummary,
        WhyNot,
    )

IDS_MAX = 1000
"""Blocks of one outcome, as many as a recall returns: every pair of them gets an edge."""


class RecallOperations(Host):
    """Operations on recalls and their outcomes."""

    @operation("POST ./recall", "Recall", "write", remote_defaults={"detail": "core"})
    def recall(
        self,
        query: str | None = None,
        *,
        frame: str | None = None,
        top_k: int | None = None,
        token_budget: int | None = None,
        where: Mapping[str, Any] | None = None,
        scope: Mapping[str, str] | None = None,
        asked_by: str | None = None,
        min_probability: float | None = None,
        suggest: bool = False,
        record: bool = True,
        explore: float = 0.0,
        detail: Detail | None = None,
        command_id: str | None = None,
    ) -> RecallResult:
        """Return the blocks relevant to a question, best first, with every signal of every block.

        Args:
            query: The question; None ranks without relevance.
            frame: Which signals count: ``answer``, ``attention``, ``self``, ``task``,
                ``short_term``, ``world``, or one of the policy's own; None: its ``default_frame``.
            top_k: Most blocks; None: 5, or as many as the frame guarantees.
            token_budget: Maximum number of tokens of ``text``; None: the frame's.
            where: Conditions on blocks. By tags, category, author, thread, key, zone, metadata,
                user, agent, run, since, until and range, and by filters within it: any, all, not.
            scope: Only blocks of this ``user``, ``agent`` or ``run``; None: that of this handle.
            asked_by: The asker: an author's name, or a role. A question in the first person ("where
                do I live?") refers to what the asker said. None: the ``user`` of the scope, else
                the role ``user``.
            min_probability: Least probability of a returned block to bear on the question; it binds
                even if nothing is left. None: the frame's floor, which always leaves the most
                probable block.
            suggest: Whether to look for pairs that are worth connecting; they are returned in
                ``suggested_connections``, at most 3, the surest first.
            record: Whether the decision is recorded, and counts as a retrieval. Without a record,
                too, the recall first promotes what waits in the inbox, which writes events, unless
                the policy's ``auto_consolidate`` is off or the space is open read-only.
            explore: Probability that the last place is drawn, with equal chances, among the block
                ranked for it and the next ones. The record holds the probability of its
                answer, so that ``backtest`` can correct for what was never shown. Range: [0, 1];
                above 0 only where recorded.
            detail: ``core``: the blocks, the text, and whether they answer the question; ``full``:
                also every signal of every block, and what was left out. Reading a field that was
                left out raises ``DetailLeftOut``. None: ``full``.
            command_id: See the class.

        Raises:
            FrameUnknown, FieldRefused, EmbedderMismatch, VectorRefused: See each.
        """
        from mnemic.adapters.inprocess.recall import recalling
        from mnemic.kernel.results import checked_detail
        from mnemic.projections.retrieval.request import Request, asker, within_scope

        space, detail = self._open(), checked_detail(detail)
        scope = self._scoped(scope)
        request = Request(
            query=query,
            frame=frame,
            top_k=top_k,
            token_budget=token_budget,
            where=within_scope(where, scope),
            session=space.session,
            asked_by=asker(asked_by, scope),
            min_probability=min_probability,
            suggest=suggest,
            explore=explore,
        ).checked()
        if request.explore and (space.read_only or not record):
            raise FieldRefused(
                f"explore={explore!r} of a recall that is not recorded",
                recovery="Leave out explore, or record the recall: a backtest reads only records.",
                field="explore",
            )
        snapshot = space.snapshot()
        before = recalling.answered(space, self._models, request, snapshot, command_id=command_id)
        if before is not None:
            self._recent.recall(before.block_ids)
            return recalling.in_detail(before, detail)
        answer = self._at(
            self._auto_consolidate(snapshot),
            lambda models, latest: recalling.recall(
                space,
                models,
                request,
                latest,
                record=record and not space.read_only,
                command_id=command_id,
            ),
        )
        self._recent.recall(answer.block_ids)
        return recalling.in_detail(answer, detail)

    @operation("GET ./decisions/{decision_id}/ask-again", "Decisions")
    def ask_again(self, decision_id: str) -> RecallResult:
        """Answer the question of a past decision anew; nothing is recorded.

        Question, frame, filters and limits are those of the decision, and its vector is used as
        recorded, so no model runs while the embedder is the same. Memory and policy are those of
        the requested point: as of the version that the decision read, the answer is the recorded
        one, unless exploration had a part in it.

        Args:
            decision_id: A recorded recall, at any point.

        Raises:
            DecisionNotFound, DecisionSealed, FrameUnknown: See each.
            EmbedderMismatch, VectorRefused: Another embedder is in force, which the host does not
                have.
        """
        from mnemic.adapters.inprocess.recall.asking_again import ask_again

        return ask_again(self._open(), self._models, self._view(), decision_id)

    @operation("POST ./outcomes", "Recall", "write")
    def outcome(
        self,
        block_ids: Sequence[str] | str | None = None,
        signal: float = 1.0,
        *,
        decision_id: str | None = None,
        composition_id: str | None = None,
        weight: float = 1.0,
        source: str = "",
        command_id: str | None = None,
    ) -> OutcomeResult:
        """Record how useful blocks were.

        Args:
            block_ids: The blocks, one or several; or give ``decision_id`` for all that a recall
                returned, or ``composition_id`` for its members.
            signal: How well they served, 0 useless to 1 decisive. Above 0.5 they are reinforced and
                connected to each other, below 0.2 they decay faster.
            decision_id: A recorded recall.
            composition_id: A composition: its members are scored, each once.
            weight: Weight of this outcome, above 0.
            source: Who reports it.
            command_id: See the class.

        Raises:
            BatchRefused: None of *block_ids* can be scored; the message has the first reasons.
            NothingToScore: None of blocks, decision and composition, or several.
            SignalOutOfRange, FieldRefused, DecisionNotFound, CompositionNotFound: See each.
        """
        from mnemic.adapters.inprocess import results
        from mnemic.kernel.decisions import feedback as deciding

        space = self._open()
        ids = _named(block_ids)
        if bool(ids) + (decision_id is not None) + (composition_id is not None) != 1:
            raise NothingToScore("name one of block ids, a decision id and a composition id")
        decided = composed = None
        if decision_id is not None:
            recorded, event = decision_records.decision(space, decision_id)
            decided = decision_records.decision_name(recorded)
            ids = [space.state.catalogue.ids[row.block] for row in event.answer.rows]
        elif composition_id is not None:
            from mnemic.projections.listing import compositions

            composition = compositions.composition(self._view(), composition_id)
            composed = composition.id
            ids = [member.block_id for member in composition.members]
        feedback = deciding.Feedback(
            block_ids=ids,
            signal=signal,
            weight=weight,
            source=source,
            decision_id=decided,
            composition_id=composed,
        )
        arguments = {} if command_id is None else asdict(feedback)
        if composed is None:
            arguments.pop("composition_id", None)  # keeps command ids from before the ledger valid

        def decide(view: View, at: Instant) -> Decision[OutcomeResult]:
            decided = deciding.decide_outcome(view, feedback, at)
            event = first_of(decided.events, OutcomeRecorded)
            displaced = results.displaced_results(view, decided.result.displaced)
            result = results.outcome_result(feedback, event, decided.result.refused, displaced)
            return Decision(decided.events, result)

        command = Command("outcome", arguments, command_id)
        result: OutcomeResult = space.execute(command, decide).result
        self._recent.touch(result.updated)
        return result

    @operation("GET ./decisions/{decision_id}/explain", "Decisions")
    def explain(
        self, decision_id: str, block_id: str | None = None, *, events: int = 100
    ) -> Explanation:
        """Explain why the blocks of a past decision were returned.

        Each explanation has every signal with its weight and contribution, the parts of relevance,
        the edge it was reached by, its rank among all scored blocks, and the events behind it. The
        ten best of the blocks that were not returned are in ``missed``, with their margins.

        Args:
            decision_id: A recorded recall.
            block_id: Only this block of its answer.
            events: Most events of each block; the last ones. Range: 0 to 100.

        Raises:
            DecisionNotFound, RecipeRetired: See each.
            FieldRefused: The block was not among those returned.
        """
        from mnemic.adapters.inprocess.recall import explanations

        return explanations.explain(
            self._open(), self._models, decision_id, block_id, events=events
        )

    @operation("GET ./decisions/{decision_id}/why-not/{block_id}", "Decisions")
    def why_not(self, decision_id: str, block_id: str) -> WhyNot:
        """Return the stage at which a block was dropped from a past decision, and by how much.

        Raises:
            DecisionNotFound, RecipeRetired: See each.
            BlockNotFound: No such block was ever learned.
        """
        from mnemic.adapters.inprocess.recall import explanations

        return explanations.why_not(self._open(), self._models, decision_id, block_id)

    @operation("GET ./decisions/{decision_id}/replay", "Decisions")
    def replay(self, decision_id: str) -> ReplayResult:
        """Compute a past decision again from the state it read, and compare.

        Raises:
            DecisionNotFound, RecipeRetired: See each.
        """
        from mnemic.adapters.inprocess.replay import replaying

        return replaying.replay(self._open(), self._models, decision_id)

    @operation("POST ./decisions/replay", "Decisions", local={"runner"})
    def replay_all(
        self,
        *,
        after: int | None = None,
        upto: int | None = None,
        without: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        runner: RunnerChoice = None,
    ) -> ReplaySummary:
        """Compute every past decision again from the state it read, and count the outcomes.

        No model is called and nothing is written.

        Args:
            after: Only decisions after this version; None: from the first. Any whole number.
            upto: Only decisions up to this version; None: to the last. Any whole number.
            without: Leave out the blocks of these writes. A selector as for ``quarantine``: see
                ``what_if``. Decisions that come out otherwise, with other blocks or in another
                order, count as differing.
            progress: Called with the number of decisions done and the total.
            runner: Where they are computed, see ``backtest``.

        Raises:
            FieldRefused: A version is not a whole number, or the selector cannot be read.
            BlockNotFound: A block to leave out was never learned.
            LogCorrupt: At the first decision that cannot be read.
        """
        from mnemic.adapters.inprocess.replay import replaying_all
        from mnemic.projections.descent.selection import Selection

        return replaying_all.replay_all(
            self._open(),
            self._models,
            after=after,
            upto=upto,
            without=None if without is None else Selection.parse(without),
            progress=progress,
            runner=runner,
        )


def _named(block_ids: object) -> list[str]:
    """Return the blocks that a caller named: one, several, or none.

    Raises:
        FieldRefused: It is not a list, or too long to connect every pair of it.
    """
    if block_ids is None or isinstance(block_ids, str):
        return [] if block_ids is None else [block_ids]
    ids = list(block_ids) if isinstance(block_ids, Iterable) else None
    if ids is None or len(ids) > IDS_MAX:
        raise FieldRefused(
            f"block_ids must be a list of at most {IDS_MAX} ids, got {block_ids!r:.100}",
            field="block_ids",
        )
    return ids
