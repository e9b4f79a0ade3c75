"""Verbs around decisions: recall, outcome, explain, why_not, replay, replay_all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import asdict

from mnemic.adapters.inprocess import explaining, recalling, records, replaying
from mnemic.adapters.inprocess.answers import displaced_results, outcome_result
from mnemic.adapters.inprocess.asking import TOP_K_MAX, Request
from mnemic.adapters.inprocess.commands import Command, Written
from mnemic.adapters.inprocess.host import Host
from mnemic.kernel.decisions.feedback import Feedback, decide_outcome
from mnemic.kernel.errors import FieldRefused, NothingToScore
from mnemic.kernel.reading import Moment
from mnemic.kernel.results import (
    Explanation,
    OutcomeResult,
    RecallResult,
    ReplayResult,
    ReplaySummary,
    WhyNot,
)
from mnemic.projections import compositions
from mnemic.projections.views import View

IDS_MAX = TOP_K_MAX
"""Blocks of one outcome: every pair of them is tied."""


class RecallVerbs(Host):
    """What a host asks, and how it went."""

    def recall(
        self,
        query: str | None = None,
        *,
        frame: str = "attention",
        top_k: int | None = None,
        token_budget: int | None = None,
        where: Mapping[str, Any] | None = None,
        suggest: bool = False,
        record: bool = True,
        explore: float = 0.0,
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
            suggest: Whether to look for pairs that are worth connecting; they stand in
                ``suggested_connections``, at most 3, the surest first.
            record: Whether the decision is recorded, and counts as a retrieval.
            explore: How probable it is that the last place goes to one of the pool: to whose turn
                it is, or to one of those next in line, all alike. The record says how probable
                its answer was, so that ``backtest`` can correct for what was never shown. Range:
                [0, 1]; above 0 only where recorded.
            command_id: See the class.

        Raises:
            FrameUnknown, FieldRefused, EmbedderMismatch, VectorRefused: See each.
        """
        space = self._open()
        request = Request(
            query=query,
            frame=frame,
            top_k=top_k,
            token_budget=token_budget,
            where=where,
            session=space.session,
            suggest=suggest,
            explore=explore,
        ).checked()
        if request.explore and (space.read_only or not record):
            raise FieldRefused(
                f"explore={explore!r} of a recall that is not recorded",
                recovery="Leave out explore, or record: unrecorded chance teaches nobody.",
                field="explore",
            )
        before = recalling.answered(space, self._models, request, command_id)
        if before is not None:
            self._crumbs.recall(before.block_ids)
            return before
        self._auto_consolidate()
        answer = self._asking(
            lambda models: recalling.recall(
                space,
                models,
                request,
                record=record and not space.read_only,
                command_id=command_id,
            )
        )
        self._crumbs.recall(answer.block_ids)
        return answer

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
        """Say how well blocks served.

        Args:
            block_ids: The blocks; or give *decision_id* for all that a recall returned.
            signal: 0 useless to 1 decisive.
            decision_id: A recorded recall.
            composition_id: A composition: its members are scored, each once.
            weight: How much this counts, above 0.
            source: Who says so.
            command_id: See the class.

        Raises:
            NothingToScore: None of blocks, decision and composition, or several.
            SignalOutOfRange, FieldRefused, DecisionNotFound, CompositionNotFound: See each.
        """
        space = self._open()
        ids = _named(block_ids)
        if bool(ids) + (decision_id is not None) + (composition_id is not None) != 1:
            raise NothingToScore("name one of block ids, a decision id and a composition id")
        decided = composed = None
        if decision_id is not None:
            with space.guard:
                space.catch_up()
                recorded, event = records.decision(space, decision_id)
                decided = records.decision_name(recorded)
                ids = [space.state.catalogue.ids[row.block] for row in event.answer.rows]
        elif composition_id is not None:
            with space.guard:
                composition = compositions.composition(self._view(), composition_id)
            composed = composition.id
            ids = [member.block_id for member in composition.members]
        feedback = Feedback(
            block_ids=ids,
            signal=signal,
            weight=weight,
            source=source,
            decision_id=decided,
            composition_id=composed,
        )
        arguments = asdict(feedback)
        if composed is None:
            del arguments["composition_id"]  # ids of commands from before there was a ledger

        def decide(view: View, at: Moment) -> Written:
            scored = decide_outcome(view, feedback, at)
            events = () if scored.event is None else (scored.event,)
            return Written(events, extra=(scored, displaced_results(view, scored.displaced)))

        outcome = space.execute(Command("outcome", arguments, command_id), decide)
        result = outcome_result(feedback, *outcome.extra)
        self._crumbs.touch(result.updated)
        return result

    def explain(self, decision_id: str, block_id: str | None = None) -> Explanation:
        """Say why the blocks of a past decision came up.

        Each shows every signal with its weight and what it added, what relevance was made of, the
        edge it came through, its rank among everything that was scored, and the events behind it.

        Args:
            decision_id: A recorded recall.
            block_id: Only this block of its answer.

        Raises:
            DecisionNotFound, RecipeRetired: See each.
            FieldRefused: The block was not among those returned.
        """
        return explaining.explain(self._open(), self._models, decision_id, block_id)

    def why_not(self, decision_id: str, block_id: str) -> WhyNot:
        """Say at which stage a block fell out of a past decision, and by how much.

        Raises:
            DecisionNotFound, RecipeRetired: See each.
            BlockNotFound: No such block was ever learned.
        """
        return explaining.why_not(self._open(), self._models, decision_id, block_id)

    def replay(self, decision_id: str) -> ReplayResult:
        """Compute a past decision again from the state it read, and compare.

        Raises:
            DecisionNotFound, RecipeRetired: See each.
        """
        return replaying.replay(self._open(), self._models, decision_id)

    def replay_all(
        self,
        *,
        after: int | None = None,
        upto: int | None = None,
        progress: replaying.Progress | None = None,
    ) -> ReplaySummary:
        """Compute every past decision again from the state it read, and count what came of it.

        No model is asked and nothing is written.

        Args:
            after: Only decisions behind this version.
            upto: Only decisions up to this version.
            progress: Called with decisions done and decisions to do.

        Raises:
            FieldRefused: A version is no whole number.
            LogCorrupt: At the first decision that cannot be read.
        """
        return replaying.replay_all(
            self._open(), self._models, after=after, upto=upto, progress=progress
        )


def _named(block_ids: object) -> list[str]:
    """Return the blocks that a caller named: one, several, or none.

    Raises:
        FieldRefused: It is no list, or too long for every pair of it to be tied.
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
