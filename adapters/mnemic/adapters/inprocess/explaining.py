"""explain and why_not: a past decision, block by block, and where others fell out of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemic.adapters.inprocess import asking, history, records
from mnemic.adapters.inprocess.asking import Request
from mnemic.adapters.inprocess.opening import Models
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.errors import BlockNotFound, FieldRefused
from mnemic.kernel.events import SIGNALS, AnswerRow, RecallRecorded, Recorded
from mnemic.kernel.identity import BlockId, DecisionId, decision_id, short
from mnemic.kernel.policy import Frame
from mnemic.kernel.reading import ACTIVE, INBOX
from mnemic.kernel.results import BlockExplanation, Contribution, Explanation, WhyNot, unit
from mnemic.kernel.texts import BlockText, Question
from mnemic.projections import answering
from mnemic.projections.blocks import edge_result
from mnemic.projections.catalogue import REASONS
from mnemic.projections.recipes.match import Ints, Match, nth_best
from mnemic.projections.retrieval import Inquiry, Ranking, rank
from mnemic.projections.views import View
from mnemic.projections.where import obstacle, unexpired

HISTORY_MAX = 100
"""Most events behind one block of an explanation."""


class Case:
    """A recorded decision with the state it read, and, unless sealed, its ranking again."""

    def __init__(self, space: Space, models: Models, identifier: str) -> None:
        self.space = space
        self.recorded: Recorded
        self.event: RecallRecorded
        self.recorded, self.event = records.decision(space, identifier)
        self.models = records.as_then(self.event, models)
        self.view: View = records.view_of(space, self.event)
        self.sealed = records.is_sealed(self.view, self.event)
        self.request: Request | None = None
        self.inquiry: Inquiry | None = None
        self.ranking: Ranking | None = None
        if not self.sealed:
            self.request = records.request_of(self.recorded, self.event)
            vector = records.vector_of(self.event)
            self.inquiry = asking.inquiry(self.view, self.request, vector, self.models.recipe)
            self.ranking = rank(self.view, self.inquiry)

    @property
    def id(self) -> DecisionId:
        """The decision's id."""
        return decision_id(self.recorded.version)

    @property
    def frame(self) -> Frame:
        """The frame it was asked in."""
        return self.view.policy.frame(self.event.frame)

    @property
    def query(self) -> str | None:
        """What was asked; None also where that is erased."""
        return self.event.asked.query if isinstance(self.event.asked, Question) else None

    def row(self, number: int) -> tuple[int, AnswerRow] | None:
        """Return the place in the answer, from 0, and the stored row of a returned block."""
        for place, row in enumerate(self.event.answer.rows):
            if row.block == number:
                return place, row
        return None


def explain(
    space: Space, models: Models, identifier: str, block_id: str | None = None
) -> Explanation:
    """Return why the blocks of a decision came up.

    Raises:
        DecisionNotFound: No recorded recall has this id.
        RecipeRetired: It was made by a recipe that this release no longer carries.
        FieldRefused: The block was not among those returned.
    """
    with space.guard:
        space.catch_up()
        case = Case(space, models, identifier)
        rows = list(enumerate(case.event.answer.rows))
        if block_id is not None:
            rows = [entry for entry in rows if case.view.id(entry[1].block) == block_id]
            if not rows:
                raise FieldRefused(
                    f"block {block_id!r} was not returned by {case.id}",
                    recovery="Ask why_not() where it fell out.",
                    field="block_id",
                )
        return Explanation(
            decision_id=case.id,
            query=case.query,
            frame=case.event.frame,
            policy_id=case.event.policy_id,
            recipe=case.event.recipe,
            version=case.event.read_version,
            hour=case.view.point.hour,
            candidates=None if case.ranking is None else len(case.ranking),
            retriever=case.event.retriever,
            near=len(case.event.near) if case.event.retriever == "ann" else None,
            sealed=case.sealed,
            blocks=tuple(_explained(case, place, row) for place, row in rows),
        )


def _explained(case: Case, place: int, row: AnswerRow) -> BlockExplanation:
    view = case.view
    text = view.text(row.block)
    among = None if case.ranking is None else case.ranking.place(row.block)
    edge = view.edge(row.block, row.via) if row.via >= 0 else None
    return BlockExplanation(
        block_id=view.id(row.block),
        content=text.content if isinstance(text, BlockText) else "[erased]",
        rank=place + 1,
        candidate_rank=None if among is None else among + 1,
        score=unit(row.score),
        contributions=_contributions(case, row),
        relevance_parts=answering.relevance_parts(view.policy, case.models.recipe, row),
        guaranteed=bool(view.promised(_one(row.block), case.frame.always_tags)[0]),
        edge=None if edge is None else edge_result(view, edge),
        history=history.behind(case.space, view, view.id(row.block), limit=HISTORY_MAX),
    )


def _contributions(case: Case, row: AnswerRow) -> tuple[Contribution, ...]:
    asked = row.signals[0] >= 0
    return answering.contributions(SIGNALS, case.frame.weights(asked=asked), row.signals)


def why_not(space: Space, models: Models, identifier: str, block_id: str) -> WhyNot:
    """Return the stage at which a block fell out of a decision, and by how much.

    Raises:
        DecisionNotFound, RecipeRetired: As for ``explain``.
        BlockNotFound: No such block was ever learned.
    """
    with space.guard:
        space.catch_up()
        case = Case(space, models, identifier)
        block = BlockId(block_id)
        if case.view.number(block) is None:
            return _not_learned(case, block)
        number = case.space.state.catalogue.numbers[block]
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
    known = case.space.state.catalogue.numbers
    number = known.get(block) if isinstance(block, str) else None
    if number is None:
        raise BlockNotFound(f"no block has the id {block!r}", block_id=block)
    learned = int(case.space.live().life.get("learned", number))
    return WhyNot(
        decision_id=case.id,
        block_id=block,
        stage="not-learned",
        detail=f"It was learned at version {learned}; the decision read version "
        f"{case.event.read_version}.",
    )


def _by_status(case: Case, number: int) -> WhyNot | None:
    """Return what kept a block from being looked at at all; None when nothing did."""
    view, block = case.view, case.view.id(number)
    status = view.status(number)
    stage, detail, successor = "", "", None
    if status == INBOX:
        stage, detail = "inbox", "It waited in the inbox: consolidate() had not promoted it yet."
    elif status != ACTIVE:
        reason = REASONS[view.life.get("reason", number)]
        after = view.life.get("successor", number)
        stage, detail = "archived", f"It was archived: {reason}."
        if reason == "superseded" and after >= 0:
            successor = view.id(after)
            stage, detail = "superseded", f"{short(successor)} had taken its place."
    elif not len(unexpired(view, _one(number))):
        stage, detail = "expired", "Its expires_at had passed."
    elif case.sealed or case.inquiry is None:
        stage = "sealed"
        detail = "Words that the decision could see are erased since; it cannot be searched again."
    else:
        condition = obstacle(view, case.inquiry.gate, number)
        if condition is None:
            return None
        stage, detail = "filter", f"It did not pass the condition {condition!r}."
    return WhyNot(
        decision_id=case.id, block_id=block, stage=stage, detail=detail, successor_id=successor
    )


def _by_search(case: Case, number: int) -> WhyNot:
    """Return how far a block came that the search did look at."""
    view, ranking, block = case.view, case.ranking, case.view.id(number)
    assert ranking is not None  # noqa: S101 - a sealed case ended before
    assert case.request is not None  # noqa: S101 - likewise
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
    limits = asking.limits(case.request, case.frame, case.models)
    choices = answering.choices(view.policy, ranking, limits, answering.lines(view))
    reason = next(reason for each, reason in choices if each == place)
    row = ranking.row(place)
    detail, needed = _outranked(case, row, reason, limits)
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


def _missed(view: View, match: Match, searches: Sequence[str], number: int) -> str:
    """Say how far a block stayed behind the last candidate of each search."""
    match = match.over(_one(number))
    place = int(match.places(_one(number))[0])
    found = []
    for name, values in zip(searches, match.searches, strict=True):
        last = nth_best(values, view.policy.candidates, 1)
        found.append(f"{name} {unit(int(values[place])):.3f}, candidates from {unit(last):.3f}")
    return f"It was no candidate and no neighbour of one: {'; '.join(found)}."


def _overlooked(case: Case, number: int) -> str:
    """Say so where an approximate search did not come upon a block."""
    if case.event.retriever == "exact" or number in case.event.near:
        return ""
    return " The search for near vectors was approximate and did not come upon it."


def _outranked(
    case: Case, row: AnswerRow, reason: str | None, limits: answering.Limits
) -> tuple[str, int | None]:
    """Say what kept a scored block out, and the score that it would have needed."""
    if reason == "explored":
        return (
            "It was its turn, and chance gave the last place to another to see how it does.",
            None,
        )
    if reason == "zone_full":
        return _crowded(case, row.block), None
    if reason == "token_budget":
        tokens = limits.counter.count(answering.lines(case.view)(row.block))
        return f"Its {tokens} tokens did not fit what was left of {limits.token_budget}.", None
    least = min((each.score for each in case.event.answer.rows), default=0)
    missing = unit(least - row.score)
    if missing < 0.0:
        return "Blocks that the frame guarantees took the places.", None
    return f"Its score {unit(row.score):.3f} was {missing:.3f} short of the last returned.", least


def _crowded(case: Case, number: int) -> str:
    """Say why there was no place left for a block of its zone."""
    zone = case.view.zone(number)
    share = unit(case.view.policy.places(zone))
    if not share:
        return f"What is of the zone {zone!r} is kept out of answers."
    return (
        f"Blocks of the zone {zone!r} and those below it had taken their share of the answer, "
        f"{share:.0%} where others can fill the rest."
    )


def _one(number: int) -> Ints:
    return np.array([number], dtype=np.int64)
