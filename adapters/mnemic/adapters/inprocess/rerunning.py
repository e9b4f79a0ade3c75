"""Past decisions answered again, many at a time, each from the state that it read.

The one engine behind ``replay_all``, ``what_if`` and ``backtest``. What comes out for a decision is
what ``asking.answer`` gives on its view, row for row; doing many together only saves time.

``rerun`` is how one is answered, and says all there is to it. ``reruns`` gives the same and reads
the vectors once for many questions; each view comes of the one before (``projections.standing``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import islice
from typing import Final

import numpy as np
from attrs import frozen

from mnemic.adapters.inprocess import records
from mnemic.adapters.inprocess.asking import inquiry, limits
from mnemic.adapters.inprocess.opening import Models
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.errors import FrameUnknown, RecipeRetired, StoreBusy
from mnemic.kernel.events import Answer, Event, RecallRecorded, Recorded
from mnemic.kernel.identity import DecisionId, decision_id
from mnemic.kernel.policy import Policy
from mnemic.kernel.vectors import Vector
from mnemic.projections import answering
from mnemic.projections.retrieval import rank
from mnemic.projections.views import Products, View

TOGETHER: Final = 64
"""Decisions whose questions are multiplied at once: 26 MB of products over 100,000 blocks."""
APART: Final = 32
"""Versions between two decisions up to which the log is read through from one to the next."""


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


# --- reading them back ----------------------------------------------------------------------


def versions(
    space: Space, kind: type[Event], *, after: int = -1, upto: int | None = None
) -> list[int]:
    """Return the versions in (after, upto] of the events of one kind."""
    timeline = space.state.timeline
    first = min(max(after, -1), timeline.version) + 1  # numpy knows no more than 64 bits
    last = timeline.version if upto is None else min(upto, timeline.version)
    wanted = timeline.kinds.known(kind.__name__)
    found = np.flatnonzero(timeline.kind.values[first : max(last + 1, first)] == wanted)
    of_kind: list[int] = (found + first).tolist()
    return of_kind


def decision_versions(space: Space, *, after: int = -1, upto: int | None = None) -> list[int]:
    """Return the versions in (after, upto] at which a recall was recorded."""
    return versions(space, RecallRecorded, after=after, upto=upto)


def decisions(space: Space, versions: Sequence[int]) -> Iterator[Decision]:
    """Yield the recorded recalls at *versions*, which rise; what lies between is not decoded.

    The log alone is read, so nobody has to hold the guard.

    Raises:
        LogCorrupt: At the first of them that cannot be read.
    """
    for stretch in _stretches(versions):
        wanted = set(stretch)
        for record, payloads in space.log.read(stretch[0] - 1, stretch[-1]):
            if record.version in wanted:
                recorded = space.codec.decode(record, payloads)
                if isinstance(recorded.event, RecallRecorded):
                    yield Decision(recorded=recorded, event=recorded.event)


def _stretches(versions: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield *versions* in groups whose members lie close together."""
    start = 0
    for place in range(1, len(versions) + 1):
        if place == len(versions) or versions[place] - versions[place - 1] > APART:
            yield versions[start:place]
            start = place


# --- answering them again -------------------------------------------------------------------


def reruns(
    space: Space, models: Models, asked: Iterable[Decision], policies: Sequence[Policy | None]
) -> Iterator[Rerun]:
    """Yield each decision answered again under each of *policies*; None is its own.

    The space has to be caught up. Its guard is held while one is worked on, and not in between.
    Decisions in the order of the log are the quickest.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="mnemic-products") as ahead:
        for together, products in _multiplied_ahead(space, asked, ahead):
            for decision in together:
                with space.guard:
                    try:
                        found = rerun(space, models, decision, policies, products=products.result())
                    except StoreBusy:
                        # Vectors that stand elsewhere were erased meanwhile. The log tells by whom.
                        if not space.catch_up():
                            raise
                        found = rerun(space, models, decision, policies)
                yield found


def _multiplied_ahead(
    space: Space, asked: Iterable[Decision], ahead: Executor
) -> Iterator[tuple[Sequence[Decision], Future[Products | None]]]:
    """Yield decisions in groups with what multiplies their questions.

    The next group's products are made while the last one's decisions are answered. They are exact
    and of vectors that no longer change, so it does not matter when.
    """
    source = iter(asked)

    def following() -> tuple[Sequence[Decision], Future[Products | None]]:
        together = list(islice(source, TOGETHER))
        with space.guard:
            return together, ahead.submit(_multiplication(space, together))

    upcoming = following()
    while upcoming[0]:
        current, upcoming = upcoming, following()
        yield current


def rerun(
    space: Space,
    models: Models,
    decision: Decision,
    policies: Sequence[Policy | None],
    *,
    products: Products | None = None,
) -> Rerun:
    """Return one decision answered again under each of *policies*; None is its own.

    Args:
        space: Where it was taken.
        models: With the host's token counter.
        decision: Which.
        policies: Under which.
        products: Of its question with the vectors, if they are at hand.
    """
    event = decision.event
    view = records.view_of(space, event)
    try:
        models = records.as_then(event, models)
    except RecipeRetired:
        return Rerun(decision=decision, view=view, answers=(), obstacle="recipe-retired")
    if records.is_sealed(view, event):
        return Rerun(decision=decision, view=view, answers=(), obstacle="sealed")
    quick = view if products is None else view.multiplied(products)
    answers = tuple(_answer(quick, models, decision, policy) for policy in policies)
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


def _multiplication(space: Space, together: Sequence[Decision]) -> Callable[[], Products | None]:
    """Return what multiplies the questions of *together* with the vectors that the latest one saw.

    Those that were asked of another embedder's vectors go without. It needs no guard.
    """
    if not together:
        return lambda: None
    latest = max(together, key=lambda decision: decision.event.read_version)
    view = records.view_of(space, latest.event)
    index, rows = view.index, view.vector_rows()
    fitting: dict[bytes, Vector] = {}
    for decision in together:
        vector = records.vector_of(decision.event)
        if vector is not None and vector.size == index.dimension:
            fitting[vector.tobytes()] = vector
    if not fitting or not rows:
        return lambda: None

    def multiply() -> Products | None:
        try:
            dots = index.products(list(fitting.values()), rows)
        except StoreBusy:
            return None  # vectors that stand elsewhere were erased meanwhile
        return Products(view.embedder, dict(zip(fitting, dots, strict=True)))

    return multiply
