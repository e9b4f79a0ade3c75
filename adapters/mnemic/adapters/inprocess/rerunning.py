"""Past decisions answered again, many at a time, each from the state that it read.

The one engine behind ``replay_all``, ``what_if`` and ``backtest``. What comes out for a decision is
what ``asking.answer`` gives on its view, row for row; doing many together only saves time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from mnemic.adapters.inprocess import records
from mnemic.adapters.inprocess.asking import inquiry, limits
from mnemic.adapters.inprocess.opening import Models
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.errors import FrameUnknown, RecipeRetired
from mnemic.kernel.events import Answer, RecallRecorded, Recorded
from mnemic.kernel.identity import DecisionId, decision_id
from mnemic.kernel.policy import Policy
from mnemic.projections import answering
from mnemic.projections.retrieval import rank
from mnemic.projections.views import View


@frozen(kw_only=True)
class Decision:
    """A recorded recall, read back."""

    recorded: Recorded
    event: RecallRecorded

    @property
    def id(self) -> DecisionId:
        """``d`` and its version."""
        return decision_id(self.recorded.version)


@frozen(kw_only=True, eq=False)
class Rerun:
    """What one decision comes out as, answered again."""

    decision: Decision
    view: View
    """What it read, under its own policy."""
    answers: tuple[Answer | None, ...]
    """One per policy that was asked for; None where that policy has no frame of this name."""
    obstacle: str | None = None
    """Why it cannot be answered again, and is not: ``sealed`` or ``recipe-retired``."""


def decisions(space: Space, *, after: int = -1, upto: int | None = None) -> Iterator[Decision]:
    """Yield the recorded recalls with version in (after, upto], in order."""
    for recorded in space.recorded(after, upto):
        if isinstance(recorded.event, RecallRecorded):
            yield Decision(recorded=recorded, event=recorded.event)


def reruns(
    space: Space, models: Models, asked: Iterable[Decision], policies: Sequence[Policy | None]
) -> Iterator[Rerun]:
    """Yield each decision answered again under each of *policies*; None is its own.

    The space has to be caught up, and its guard is held while one is worked on.
    """
    for decision in asked:
        with space.guard:
            yield rerun(space, models, decision, policies)


def rerun(
    space: Space, models: Models, decision: Decision, policies: Sequence[Policy | None]
) -> Rerun:
    """Return one decision answered again under each of *policies*; None is its own."""
    event = decision.event
    view = records.view_of(space, event)
    try:
        models = records.as_then(event, models)
    except RecipeRetired:
        return Rerun(decision=decision, view=view, answers=(), obstacle="recipe-retired")
    if records.is_sealed(view, event):
        return Rerun(decision=decision, view=view, answers=(), obstacle="sealed")
    answers = tuple(_answer(view, models, decision, policy) for policy in policies)
    return Rerun(decision=decision, view=view, answers=answers)


def _answer(view: View, models: Models, decision: Decision, policy: Policy | None) -> Answer | None:
    event = decision.event
    under = view if policy is None else view.under(policy)
    request = records.request_of(decision.recorded, event)
    try:
        asked = inquiry(under, request, records.vector_of(event), models.recipe)
    except FrameUnknown:
        return None
    return answering.select(under, rank(under, asked), limits(request, asked.frame, models))
