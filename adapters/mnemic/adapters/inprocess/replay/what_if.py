"""The operation ``what_if``: answers a past decision again with one or more inputs changed.

Rules of this module:

1. The state is the one the decision read, and the random draw is repeated: only the changed inputs
   differ. Nothing is written.
2. The recorded side is computed again too, so that both sides can be compared block by block, with
   a warning when it differs from the record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, frozen

from mnemic.adapters.inprocess.engine.embedding import question_vector
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.recall import decision_records
from mnemic.adapters.inprocess.replay.reevaluation import Decision
from mnemic.kernel.errors import DecisionSealed, EmbedderMismatch, FieldRefused, PolicyRefused
from mnemic.kernel.events import SIGNALS, AnswerRow
from mnemic.kernel.model.identity import BlockId, DecisionId
from mnemic.kernel.model.texts import BlockText, placeholder
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import Contribution, Move, RecallResult, Shift, WhatIf, unit
from mnemic.kernel.values import Value
from mnemic.projections.descent.selection import Selection
from mnemic.projections.retrieval import answer_blocks, packing, recorded_recalls
from mnemic.projections.retrieval import request as recall_request
from mnemic.projections.retrieval.ranking import Inquiry, Ranking, rank
from mnemic.projections.retrieval.request import Request
from mnemic.projections.view import View
from mnemic.projections.view.block_results import origin_of

DIGITS = 9
"""Decimal digits of a difference of two numbers of whole nano-units."""


@frozen(kw_only=True)
class Supposition(Value):
    """The changed inputs of a decision; None: unchanged."""

    policy: Policy | None = None
    query: str | None = None
    """Empty: no question, and blocks rank without relevance."""
    frame: str | None = None
    top_k: int | None = None
    without: Selection | None = None
    """Writes whose blocks are left out."""

    def checked(self, decision: DecisionId) -> Supposition:
        """Return it, if it is valid.

        Args:
            decision: The decision that it is about.

        Raises:
            FieldRefused: No input is changed.
            PolicyRefused: The policy is not a policy.
        """
        if not self.names:
            raise FieldRefused(
                f"what_if({decision!r}) changes nothing: give at least one input",
                recovery=f"Give policy, query, frame, top_k or without: what_if({decision!r}, "
                f"top_k=10). For the answer as it was, use replay({decision!r}).",
            )
        if self.policy is not None and not isinstance(self.policy, Policy):
            raise PolicyRefused(f"not a policy: {self.policy!r:.100}")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the changed inputs."""
        given = {
            "policy": self.policy,
            "query": self.query,
            "frame": self.frame,
            "top_k": self.top_k,
            "without": self.without,
        }
        return tuple(name for name, value in given.items() if value is not None)

    def of(self, request: Request) -> Request:
        """Return *request* with the changed inputs.

        Raises:
            FieldRefused: A field is invalid; the error names it.
        """
        changes = {"query": self.query, "frame": self.frame, "top_k": self.top_k}
        given = {name: value for name, value in changes.items() if value is not None}
        return evolve(request, **given).checked()  # type: ignore[arg-type]


@frozen(kw_only=True, eq=False)
class Side:
    """One of the two answers, with its ranking."""

    view: View
    inquiry: Inquiry
    ranking: Ranking
    result: RecallResult

    def row(self, number: int) -> AnswerRow | None:
        """Return how a block was scored here, if it was."""
        place = self.ranking.place(number)
        return None if place is None else self.ranking.row(place)

    def rank_of(self, block: BlockId) -> int | None:
        """Return the place of a block in the answer, from 1."""
        ids = self.result.block_ids
        return ids.index(block) + 1 if block in ids else None

    def contributions(self, row: AnswerRow) -> tuple[Contribution, ...]:
        """Return what each signal adds to a score here."""
        weights = self.inquiry.frame.weights(asked=self.inquiry.query is not None)
        return answer_blocks.contributions(SIGNALS, weights, row.signals)

    def parts(self, row: AnswerRow) -> tuple[Contribution, ...]:
        """Return what each part adds to the strength of a match here."""
        recipe = self.inquiry.recipe
        return answer_blocks.relevance_parts(recipe, recipe.weights(self.view.policy), row)


Weighed = Callable[[Side, AnswerRow], tuple[Contribution, ...]]
"""Returns the parts of a score or a match on one side."""


def what_if(space: SessionHandle, models: Models, identifier: str, supposed: Supposition) -> WhatIf:
    """Return a past decision and what it would have been with the changed inputs.

    Raises:
        DecisionNotFound, RecipeRetired, DecisionSealed: It cannot be answered again.
        FieldRefused, PolicyRefused, FrameUnknown: A changed input is invalid.
        BlockNotFound: A block to leave out was never learned.
        EmbedderMismatch, VectorRefused: The embedder of that time is not available for a new
            question.
    """
    now = space.view()
    recorded, event = decision_records.decision(space, identifier)
    supposed = supposed.checked(decision_records.decision_name(recorded))
    models = recorded_recalls.as_then(event, models)
    view = recorded_recalls.view_of(now.state, event)
    if recorded_recalls.is_sealed(view, event):
        gone = "lost" if recorded_recalls.is_lost(event) else "erased since"
        raise DecisionSealed(
            f"{identifier} read text that is {gone}, and cannot be answered again",
            decision_id=identifier,
        )
    request = recorded_recalls.request_of(recorded, event)
    vector = recorded_vector = recorded_recalls.vector_of(event)
    asked = supposed.of(request)
    if asked.query != request.query:
        vector = _embedded(view, asked, models, identifier)
        asked = evolve(asked, statistics=())
    else:
        asked = recorded_recalls.under_another(asked)
    under = view if supposed.policy is None else view.under(supposed.policy)
    if supposed.without is not None:
        supposed.without.blocks(now)  # refuses unknown blocks
        rest = supposed.without.without(under)
        if rest is not under:
            under, asked = rest, evolve(asked, statistics=())
    before = _side(view, request, recorded_vector, models)
    after = _side(under, asked, vector, models)
    return _compared(before, after, supposed, Decision(recorded=recorded, event=event))


def _embedded(view: View, asked: Request, models: Models, identifier: str) -> Vector | None:
    """Return the vector of another question, by the model in force then.

    Raises:
        EmbedderMismatch: Another model is in force now.
    """
    try:
        return question_vector(view.embedder, asked, models)
    except EmbedderMismatch as error:
        raise EmbedderMismatch(
            f"another question to {identifier} needs the embedder of that time: {error.message}",
            recovery="Give that embedder to open(embedders=[...]), or leave out query: the "
            "recorded question has its vector in the record.",
            **error.facts,
        ) from error


def _side(view: View, request: Request, vector: Vector | None, models: Models) -> Side:
    inquiry = recall_request.inquiry(view, request, vector, models.recipe)
    ranking = rank(view, inquiry)
    packed = packing.pack(
        view, inquiry, ranking, recall_request.limits(request, inquiry.frame, models)
    )
    return Side(view=view, inquiry=inquiry, ranking=ranking, result=packed.result)


def _compared(before: Side, after: Side, supposed: Supposition, decision: Decision) -> WhatIf:
    identifier, event = decision.id, decision.event
    warnings: tuple[str, ...] = ()
    if before.result.digest != event.digest:
        warnings = (f"The recorded answer does not come out again: see replay({identifier!r}).",)
    numbers = before.view.state.catalogue.numbers
    found = dict.fromkeys((*after.result.block_ids, *before.result.block_ids))
    pairs = [_Pair(before, after, block, numbers[block]) for block in found]
    signals = _shifts([pair.differences(Side.contributions) for pair in pairs])
    parts = _shifts([pair.differences(Side.parts) for pair in pairs])
    return WhatIf(
        decision_id=identifier,
        version=event.read_version,
        hour=before.view.point.hour,
        supposed=supposed.names,
        recorded=packing.decided(before.result, identifier),
        answer=after.result,
        moves=tuple(
            pair.move(of_score, of_match)
            for pair, of_score, of_match in zip(pairs, signals, parts, strict=True)
        ),
        warnings=warnings,
    )


class _Pair:
    """One block on the two sides."""

    def __init__(self, before: Side, after: Side, block: BlockId, number: int) -> None:
        self._sides = (before, after)
        self._block = block
        self._number = number
        self._was, self._now = before.row(number), after.row(number)

    def differences(self, of: Weighed) -> dict[str, tuple[float, float]]:
        """Return each part before and after; nothing for a block scored on one side only."""
        if self._was is None or self._now is None:
            return {}
        before, after = self._sides
        was = {each.signal: each.contribution for each in of(before, self._was)}
        now = {each.signal: each.contribution for each in of(after, self._now)}
        return {name: (was.get(name, 0.0), now.get(name, 0.0)) for name in {**was, **now}}

    def move(self, shifts: tuple[Shift, ...], parts: tuple[Shift, ...]) -> Move:
        """Return how the block moved."""
        before, after = self._sides
        text = before.view.text(self._number)
        rank_before, rank_after = before.rank_of(self._block), after.rank_of(self._block)
        return Move(
            block_id=self._block,
            content=text.content if isinstance(text, BlockText) else placeholder(text),
            origin=origin_of(before.view, self._number),
            change=_change(rank_before, rank_after),
            rank_before=rank_before,
            rank_after=rank_after,
            score_before=None if self._was is None else unit(self._was.score),
            score_after=None if self._now is None else unit(self._now.score),
            shifts=shifts,
            parts=parts,
            cause=self._cause(shifts, rank_before, rank_after),
        )

    def _cause(self, shifts: Sequence[Shift], before: int | None, after: int | None) -> str:
        """Return the cause of a move in a short phrase: the signal with the largest shift."""
        if self._was is None:
            return "it was not a candidate before"
        if self._now is None:
            return "it is no longer a candidate"
        score = f"score {unit(self._was.score):.3f} to {unit(self._now.score):.3f}"
        if before == after:
            return score
        way = 1 if before is None or (after is not None and after < before) else -1
        largest = max(shifts, key=lambda shift: way * shift.apart, default=None)
        if largest is None or way * largest.apart <= 0.0:
            return f"{score}, by changes of other blocks and of the limits"
        return f"{score}, set apart most by {largest.name} ({largest.apart:+.3f})"


def _shifts(differences: Sequence[Mapping[str, tuple[float, float]]]) -> list[tuple[Shift, ...]]:
    """Return the shifts of each block, the ones that differ most from other blocks' first."""
    deltas: dict[str, list[float]] = {}
    for each in differences:
        for name, (was, now) in each.items():
            deltas.setdefault(name, []).append(now - was)
    means = {name: sum(found) / len(found) for name, found in deltas.items()}
    return [
        tuple(
            sorted(
                (_shift(name, was, now, means[name]) for name, (was, now) in each.items()),
                key=lambda shift: (-abs(shift.apart), -abs(shift.delta)),
            )
        )
        for each in differences
    ]


def _shift(name: str, was: float, now: float, mean: float) -> Shift:
    delta = now - was
    return Shift(
        name=name,
        before=was,
        after=now,
        delta=round(delta, DIGITS),
        apart=round(delta - mean, DIGITS),
    )


def _change(before: int | None, after: int | None) -> str:
    if before == after:
        return "stayed"
    if before is None:
        return "entered"
    return "left" if after is None else "moved"
