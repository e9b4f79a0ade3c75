"""The operations ``explain`` and ``why_not``: why a decision returned or dropped a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from attrs import evolve

from mnemic.adapters.inprocess import history
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.history import archival, archived_because
from mnemic.adapters.inprocess.recall import decision_records
from mnemic.kernel.errors import BlockNotFound, FieldRefused
from mnemic.kernel.events import SIGNALS, AnswerRow, RecallRecorded, Recorded
from mnemic.kernel.model.blocks import ACTIVE, INBOX, QUARANTINED
from mnemic.kernel.model.identity import (
    BlockId,
    DecisionId,
    decision_id,
    short,
)
from mnemic.kernel.model.texts import BlockText, Question, placeholder
from mnemic.kernel.policy import Frame
from mnemic.kernel.results import (
    BlockExplanation,
    Contribution,
    Explanation,
    LogEntry,
    NearMiss,
    ProbabilityTerm,
    WhyNot,
    unit,
)
from mnemic.kernel.scoring import probability
from mnemic.projections.blocks.catalogue import REASONS
from mnemic.projections.retrieval import answer_blocks, packing, recorded_recalls
from mnemic.projections.retrieval import request as recall_request
from mnemic.projections.retrieval.abstention import judged
from mnemic.projections.retrieval.filters import obstacle, unexpired
from mnemic.projections.retrieval.lines import Line, lines
from mnemic.projections.retrieval.ranking import Inquiry, Ranking, rank
from mnemic.projections.retrieval.recipes.match import Ints, Match, nth_best
from mnemic.projections.retrieval.request import Request
from mnemic.projections.view import View
from mnemic.projections.view.block_results import edge_result, origin

HISTORY_MAX = 100
"""Most events behind one block of an explanation."""
MISSED_MAX = 10
"""Most blocks of an explanation that were not returned."""


class Case:
    """A recorded decision with the state it read, and, unless sealed, its recomputed ranking."""

    def __init__(self, space: SessionHandle, models: Models, identifier: str) -> None:
        self.space = space
        self.now = space.view()
        self.recorded: Recorded
        self.event: RecallRecorded
        self.recorded, self.event = decision_records.decision(space, identifier)
        self.models = recorded_recalls.as_then(self.event, models)
        self.view: View = recorded_recalls.view_of(self.now.state, self.event)
        self.sealed = recorded_recalls.is_sealed(self.view, self.event)
        self.request: Request | None = None
        self.inquiry: Inquiry | None = None
        self.ranking: Ranking | None = None
        if not self.sealed:
            self.request = recorded_recalls.request_of(self.recorded, self.event)
            vector = recorded_recalls.vector_of(self.event)
            self.inquiry = recall_request.inquiry(
                self.view, self.request, vector, self.models.recipe
            )
            self.ranking = rank(self.view, self.inquiry)

    @property
    def id(self) -> DecisionId:
        """The decision's id."""
        return decision_id(self.recorded.version)

    @property
    def frame(self) -> Frame:
        """The frame of the decision."""
        return self.view.policy.frame(self.event.frame)

    @property
    def query(self) -> str | None:
        """The question; None if there was none or it is erased."""
        return self.event.asked.query if isinstance(self.event.asked, Question) else None

    def row(self, number: int) -> tuple[int, AnswerRow] | None:
        """Return the place in the answer, from 0, and the stored row of a returned block."""
        for place, row in enumerate(self.event.answer.rows):
            if row.block == number:
                return place, row
        return None


def explain(
    space: SessionHandle,
    models: Models,
    identifier: str,
    block_id: str | None = None,
    *,
    events: int = HISTORY_MAX,
) -> Explanation:
    """Return why the blocks of a decision were returned.

    Raises:
        DecisionNotFound: No recorded recall has this id.
        RecipeRetired: It was made by a recipe that this release no longer carries.
        FieldRefused: The block was not among those returned.
    """
    if type(events) is not int or not 0 <= events <= HISTORY_MAX:
        raise FieldRefused(
            f"events must be from 0 to {HISTORY_MAX}, got {events!r}", field="events"
        )
    case = Case(space, models, identifier)
    rows = list(enumerate(case.event.answer.rows))
    if block_id is not None:
        rows = [entry for entry in rows if case.view.id(entry[1].block) == block_id]
        if not rows:
            raise FieldRefused(
                f"block {block_id!r} was not returned by {case.id}",
                recovery="Call why_not() for the stage at which it was dropped.",
                field="block_id",
            )
    return Explanation(
        decision_id=case.id,
        query=case.query,
        frame=case.event.frame,
        top_k=case.event.top_k,
        where=None if case.request is None else case.request.where,
        asked_by=None if case.request is None else case.request.asked_by,
        policy_id=case.event.policy_id,
        recipe=case.event.recipe,
        version=case.event.read_version,
        hour=case.view.point.hour,
        candidates=None if case.ranking is None else len(case.ranking),
        retriever=case.event.retriever,
        answerable=None if case.event.answerable < 0 else unit(case.event.answerable),
        verdict=case.event.verdict,
        near=len(case.event.near) if case.event.retriever == "ann" else None,
        sealed=case.sealed,
        blocks=tuple(_explained(case, place, row, events) for place, row in rows),
        missed=() if block_id is not None else _near_misses(case),
    )


def _near_misses(case: Case) -> tuple[NearMiss, ...]:
    """Return the best blocks that were scored and not returned, best first."""
    least = min((row.score for row in case.event.answer.rows), default=None)
    return tuple(
        NearMiss(
            block_id=case.view.id(number),
            content=_content(case.view, number),
            **_writer(case.view, number),
            rank=rank,
            score=unit(score),
            margin=None if least is None else unit(least - score),
            reason=reason,
            contributions=contributions,
        )
        for rank, number, score, reason, contributions in islice(_excluded(case), MISSED_MAX)
    )


def _excluded(case: Case) -> Iterator[tuple[int, int, int, str, tuple[Contribution, ...]]]:
    """Yield rank, number, score, reason and contributions of what was not returned, best first.

    Of a sealed decision the record has the scores alone.
    """
    if case.ranking is None:
        first = len(case.event.answer.rows) + 1
        for rank, runner_up in enumerate(case.event.answer.runners_up, first):
            yield rank, runner_up.block, runner_up.score, "sealed", ()
        return
    for place, reason in _choices(case)[0]:
        if reason is not None:
            row = case.ranking.row(place)
            yield place + 1, row.block, row.score, reason, _contributions(case, row)


def _content(view: View, number: int) -> str:
    text = view.text(number)
    return text.content if isinstance(text, BlockText) else placeholder(text)


def _writer(view: View, number: int) -> dict[str, Any]:
    """Return ``zone``, ``actor`` and ``author`` of a block."""
    written = origin(view, number)
    return {name: written[name] for name in ("zone", "actor", "author")}


def _explained(case: Case, place: int, row: AnswerRow, events: int) -> BlockExplanation:
    view = case.view
    among = None if case.ranking is None else case.ranking.place(row.block)
    edge = view.edge(row.block, row.via) if row.via >= 0 else None
    return BlockExplanation(
        block_id=view.id(row.block),
        content=_content(view, row.block),
        **origin(view, row.block),
        rank=place + 1,
        candidate_rank=None if among is None else among + 1,
        score=unit(row.score),
        contributions=_contributions(case, row),
        relevance_parts=answer_blocks.relevance_parts(
            case.models.recipe, case.models.recipe.weights(view.policy), row
        ),
        probability=_probability(case, row),
        probability_terms=_probability_terms(case, row),
        guaranteed=bool(view.promised(_one(row.block), case.frame.always_tags)[0]),
        edge=None if edge is None else edge_result(view, edge),
        history=_history(case, row.block, events),
    )


def _history(case: Case, number: int, events: int) -> tuple[LogEntry, ...]:
    if not events:
        return ()
    return history.behind(case.space, case.view, case.view.id(number), limit=events)


def _parts(case: Case, row: AnswerRow) -> dict[str, int]:
    """Return the recorded parts of the match of a block, nano-units; -1 where not computed."""
    return dict(zip(case.models.recipe.parts, row.signals[len(SIGNALS) :], strict=False))


def _probability(case: Case, row: AnswerRow) -> float | None:
    value = _parts(case, row).get("probability", -1)
    return None if value < 0 else unit(value)


def _probability_terms(case: Case, row: AnswerRow) -> tuple[ProbabilityTerm, ...]:
    """Return the terms of a block's log-odds, largest first; empty without a probability."""
    if _probability(case, row) is None:
        return ()
    policy, parts = case.view.policy, _parts(case, row)
    weights = zip(probability.PARTS, policy.probability_weights, strict=True)
    given = [(name, unit(parts[name]), weight / probability.MICRO) for name, weight in weights]
    terms = [
        ProbabilityTerm(part=name, value=value, weight=weight, log_odds=round(value * weight, 9))
        for name, value, weight in (*given, ("bias", 1.0, policy.probability_bias))
    ]
    return tuple(sorted(terms, key=lambda term: -abs(term.log_odds)))


def _contributions(case: Case, row: AnswerRow) -> tuple[Contribution, ...]:
    asked = row.signals[0] >= 0
    return answer_blocks.contributions(SIGNALS, case.frame.weights(asked=asked), row.signals)


def why_not(space: SessionHandle, models: Models, identifier: str, block_id: str) -> WhyNot:
    """Return the stage at which a block was dropped from a decision, and by how much.

    Raises:
        DecisionNotFound, RecipeRetired: As for ``explain``.
        BlockNotFound: No such block was ever learned.
    """
    case = Case(space, models, identifier)
    block = BlockId(block_id)
    if case.view.number(block) is None:
        return _not_learned(case, block)
    number = case.view.state.catalogue.numbers[block]
    returned = case.row(number)
    if returned is not None:
        place, row = returned
        return WhyNot(
            decision_id=case.id,
            block_id=block,
            stage="returned",
            detail=f"It came back at rank {place + 1} with score {unit(row.score):.3f}.",
            rank=place + 1,
            score=unit(row.score),
            contributions=_contributions(case, row),
        )
    return _by_status(case, number) or _by_search(case, number)


def _not_learned(case: Case, block: BlockId) -> WhyNot:
    number = case.now.number(block)
    if number is None:
        raise BlockNotFound(f"no block has the id {block!r}", block_id=block)
    learned = int(case.now.life.get("learned", number))
    return WhyNot(
        decision_id=case.id,
        block_id=block,
        stage="not-learned",
        detail=f"It was learned at version {learned}; the decision read version "
        f"{case.event.read_version}.",
    )


def _by_status(case: Case, number: int) -> WhyNot | None:
    """Return why a block was not eligible for the search; None if it was."""
    view, block = case.view, case.view.id(number)
    status = view.status(number)
    stage, detail, successor = "", "", None
    if status == INBOX:
        stage, detail = "inbox", "It waited in the inbox: consolidate() had not promoted it yet."
    elif status == QUARANTINED:
        stage, detail = "quarantined", "It was in quarantine."
    elif status != ACTIVE:
        reason = _archived_because(case, number)
        after = view.life.get("successor", number)
        stage, detail = "archived", f"It was archived: {reason}."
        if reason == "superseded" and after >= 0:
            successor = view.id(after)
            stage, detail = "superseded", f"It was superseded by {short(successor)}."
    elif not len(unexpired(view, _one(number))):
        stage, detail = "expired", "Its expires_at had passed."
    elif case.sealed or case.inquiry is None:
        stage = "sealed"
        detail = "Text that the decision read has been erased since; it cannot be searched again."
    else:
        condition = obstacle(view, case.inquiry.eligibility, number)
        if condition is None:
            return None
        stage, detail = "filter", f"It did not pass the condition {condition!r}."
    return WhyNot(
        decision_id=case.id, block_id=block, stage=stage, detail=detail, successor_id=successor
    )


def _archived_because(case: Case, number: int) -> str:
    """Return why a block was archived, with the rule of retention if it was one."""
    reason = REASONS[case.view.life.get("reason", number)]
    if reason != "expired":
        return reason
    touched = case.view.state.catalogue.life.touched(number)
    version = int(touched[touched <= case.view.point.version][-1])
    recorded = case.space.event_at(version)
    archived = None if recorded is None else archival(recorded.event, case.view.id(number))
    return reason if archived is None else archived_because(archived)


def _by_search(case: Case, number: int) -> WhyNot:
    """Return how far an eligible block came in the search."""
    view, ranking, block = case.view, case.ranking, case.view.id(number)
    assert ranking is not None  # noqa: S101 - a sealed case ended before
    place = ranking.place(number)
    if place is None:
        match = ranking.matched(view, number)
        assert match is not None  # noqa: S101 - without a question all are scored
        return WhyNot(
            decision_id=case.id,
            block_id=block,
            stage="candidates",
            detail=_missed(view, match, case.models.recipe.searches, number)
            + _overlooked(case, number),
        )
    choices, limits, line = _choices(case)
    reason = next(reason for each, reason in choices if each == place)
    row = ranking.row(place)
    detail, needed = _outranked(case, row, reason, limits, line=line)
    return WhyNot(
        decision_id=case.id,
        block_id=block,
        stage=reason or "top_k",
        detail=detail,
        rank=place + 1,
        score=unit(row.score),
        score_needed=None if needed is None else unit(needed),
        contributions=_contributions(case, row),
    )


def _choices(case: Case) -> tuple[Iterator[tuple[int, str | None]], packing.Limits, Line]:
    """Return every scored place with what excluded it, as ``packing.choices`` yields them."""
    assert case.ranking is not None  # noqa: S101 - a sealed case has nothing to choose from
    assert case.request is not None  # noqa: S101 - likewise
    view, ranking, recipe = case.view, case.ranking, case.models.recipe
    limits = evolve(
        recall_request.limits(case.request, case.frame, case.models),
        heading=judged(view.policy, recipe, ranking).heading,
    )
    _, line = lines(view, recipe, ranking.passage)
    return packing.choices(view.policy, ranking, limits, line), limits, line


def _missed(view: View, match: Match, searches: Sequence[str], number: int) -> str:
    """Describe how far a block was behind the last candidate of each search."""
    at = match.columns.of_numbers(_one(number))
    match = match.over(at)
    place = int(match.index(at)[0])
    found = []
    for name, values in zip(searches, match.searches, strict=True):
        last = nth_best(values, view.policy.candidates, 1)
        found.append(f"{name} {unit(int(values[place])):.3f}, candidates from {unit(last):.3f}")
    return f"It was no candidate and no neighbour of one: {'; '.join(found)}."


def _overlooked(case: Case, number: int) -> str:
    """Return a note if an approximate search missed a block."""
    if case.event.retriever == "exact" or number in case.event.near:
        return ""
    return " The search for near vectors was approximate and missed it."


def _outranked(
    case: Case, row: AnswerRow, reason: str | None, limits: packing.Limits, *, line: Line
) -> tuple[str, int | None]:
    """Describe why a scored block was left out, and the score that it would have needed."""
    if reason == "explored":
        return (
            "It was next, and exploration gave the last place to another block at random.",
            None,
        )
    if reason == "zone_full":
        return _crowded(case, row.block), None
    if reason == "min_probability":
        return _improbable(case, row, limits), None
    if reason == "token_budget":
        tokens = limits.counter.count(line(row.block))
        return f"Its {tokens} tokens did not fit what was left of {limits.token_budget}.", None
    least = min((each.score for each in case.event.answer.rows), default=0)
    missing = unit(least - row.score)
    if missing < 0.0:
        return "Blocks that the frame guarantees took the places.", None
    return f"Its score {unit(row.score):.3f} was {missing:.3f} short of the last returned.", least


def _improbable(case: Case, row: AnswerRow, limits: packing.Limits) -> str:
    """Describe how far a block was below the floor of probability."""
    own, least = limits.min_probability, limits.floor
    floor = f"the caller's floor {unit(own):.3f}" if own is not None else f"{unit(least):.3f}"
    whose = "" if own is not None else f", the floor of frame {case.frame.name!r}"
    value = _probability(case, row)
    return f"Its probability to bear on the question, {value:.3f}, was below {floor}{whose}."


def _crowded(case: Case, number: int) -> str:
    """Describe why there was no place left for a block of its zone."""
    zone = case.view.zone(number)
    share = unit(case.view.policy.places(zone))
    if not share:
        return f"Blocks of the zone {zone!r} are kept out of answers."
    return (
        f"Blocks of the zone {zone!r} and those below it had filled their share of the answer, "
        f"{share:.0%} if others can fill the rest."
    )


def _one(number: int) -> Ints:
    return np.array([number], dtype=np.int64)
