"""Re-evaluation of past decisions, many at a time, each from the state that it read.

The shared engine of ``replay_all``, ``what_if`` and ``backtest``. The answer to a decision is what
``recall_request.answer`` gives on its view, row for row; batching only saves time.

``rerun`` answers one decision and defines the semantics. ``reruns`` gives the same answers and
reads the vectors once for many questions; each view is derived from the previous one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import islice
from typing import Final, TypeAlias

import numpy as np
from attrs import evolve, frozen

from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.kernel.errors import FrameUnknown, RecipeRetired
from mnemic.kernel.events import SIGNALS, Answer, Event, RecallRecorded, Recorded
from mnemic.kernel.model.identity import DecisionId, decision_id
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.policy import Policy
from mnemic.kernel.values import Value
from mnemic.projections.descent.selection import Selection
from mnemic.projections.retrieval import packing, recorded_recalls
from mnemic.projections.retrieval.abstention import Judgment
from mnemic.projections.retrieval.lines import Line, lines
from mnemic.projections.retrieval.ranking import (
    Inquiry,
    Ranking,
    Rankings,
    rank,
    rankings,
    reweighted,
    weighing_all,
)
from mnemic.projections.retrieval.request import inquiry, limits
from mnemic.projections.view import Products, View

GROUP_SIZE: Final = 64
"""Decisions whose questions are multiplied at once: 26 MB of products over 100,000 blocks."""
GAP_MAX: Final = 32
"""Largest gap, in versions, between two decisions that are read in one pass over the log."""

_Shared: TypeAlias = tuple[Rankings, Line]
"""What policies share that differ in weights of signals and limits of answers only."""
Kept: TypeAlias = dict[int, dict[str, _Shared]]
"""What was shared by policies, by the version of a decision and their key; empty for decisions that
were answered once."""
KEPT_BLOCKS_MAX: Final = 500_000
"""Size of what is kept, as blocks of a space times what is shared: some 300 bytes each."""


@frozen(kw_only=True)
class Decision(Value):
    """A recorded recall, read back."""

    recorded: Recorded
    event: RecallRecorded
    silent: bool = False
    """Whether it is answered again without the random draw of exploration."""

    @property
    def id(self) -> DecisionId:
        """``d`` and its version."""
        return decision_id(self.recorded.version)


@frozen(kw_only=True, eq=False)
class Rerun:
    """A decision with its new answers."""

    decision: Decision
    view: View
    """The state it read, under its own policy; without the blocks that are left out, if any."""
    answers: tuple[Answer | None, ...]
    """One per requested policy; None where that policy has no frame of this name. A question in the
    default frame is asked in that of the policy instead."""
    judgments: tuple[Judgment | None, ...] = ()
    """For each answer, whether memory answers the question."""
    obstacle: str | None = None
    """Why it cannot be answered again: ``sealed`` or ``recipe-retired``."""


# --- reading --------------------------------------------------------------------------------


def versions(
    view: View, *kinds: type[Event], after: int = -1, upto: int | None = None
) -> list[int]:
    """Return the versions in (after, upto] of the events of some kinds that a view knows."""
    timeline, head = view.state.timeline, view.version
    first = min(max(after, -1), head) + 1  # numpy knows no more than 64 bits
    last = head if upto is None else min(upto, head)
    wanted = [timeline.kinds.known(kind.__name__) for kind in kinds]
    found = np.flatnonzero(np.isin(timeline.kind.values[first : max(last + 1, first)], wanted))
    of_kinds: list[int] = (found + first).tolist()
    return of_kinds


def decision_versions(view: View, *, after: int = -1, upto: int | None = None) -> list[int]:
    """Return the versions in (after, upto] at which a recall was recorded."""
    return versions(view, RecallRecorded, after=after, upto=upto)


def decisions(space: SessionHandle, versions: Sequence[int]) -> Iterator[Decision]:
    """Yield the recorded recalls at ascending *versions*. See ``events``."""
    for recorded in events(space, versions):
        if isinstance(recorded.event, RecallRecorded):
            yield Decision(recorded=recorded, event=recorded.event)


def events(space: SessionHandle, versions: Sequence[int]) -> Iterator[Recorded]:
    """Yield the events at ascending *versions*; events in between are not decoded.

    Raises:
        LogCorrupt: At the first of them that cannot be read.
    """
    for versions_read in _log_ranges(versions):
        wanted = set(versions_read)
        for record, payloads in space.log.read(versions_read[0] - 1, versions_read[-1]):
            if record.version in wanted:
                yield space.decoded(record, payloads)


def _log_ranges(versions: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield *versions* in groups without large gaps."""
    start = 0
    for place in range(1, len(versions) + 1):
        if place == len(versions) or versions[place] - versions[place - 1] > GAP_MAX:
            yield versions[start:place]
            start = place


# --- answering ------------------------------------------------------------------------------


def reruns(
    space: SessionHandle,
    models: Models,
    asked: Iterable[Decision],
    policies: Sequence[Policy | None],
    *,
    without: Selection | None = None,
    kept: Kept | None = None,
) -> Iterator[Rerun]:
    """Yield each decision answered again under each of *policies*; None is its own.

    With *without*, each is answered as though the blocks of those writes were not in memory.

    With *kept*, policies that differ in weights and limits only are answered from one ranking, and
    a ranking that is needed a second time is kept there for later calls. Then the rows of answers
    also hold signals whose weight is 0.

    The space has to be caught up. Decisions in the order of the log are the quickest.
    """
    shared = () if kept is None else policies
    keys = [None if policy is None else _ranking_key(policy) for policy in shared]
    with ThreadPoolExecutor(1, thread_name_prefix="mnemic-products") as ahead:
        for together, products in _multiplied_ahead(space, asked, ahead):
            for decision in together:
                found = rerun(
                    space,
                    models,
                    decision,
                    policies,
                    products=products.result(),
                    without=without,
                    keys=keys,
                    kept=kept if without is None else None,
                )
                yield found


def _multiplied_ahead(
    space: SessionHandle, asked: Iterable[Decision], ahead: Executor
) -> Iterator[tuple[Sequence[Decision], Future[Products | None]]]:
    """Yield decisions in groups, with the future products of their questions and the vectors.

    The next group's products are computed while the current one's decisions are answered. They are
    exact, and of vectors that never change, so the time of the computation does not matter.
    """
    source = iter(asked)

    def following() -> tuple[Sequence[Decision], Future[Products | None]]:
        together = list(islice(source, GROUP_SIZE))
        return together, ahead.submit(_multiplication(space, together))

    upcoming = following()
    while upcoming[0]:
        current, upcoming = upcoming, following()
        yield current


def rerun(
    space: SessionHandle,
    models: Models,
    decision: Decision,
    policies: Sequence[Policy | None],
    *,
    products: Products | None = None,
    without: Selection | None = None,
    keys: Sequence[str | None] = (),
    kept: Kept | None = None,
) -> Rerun:
    """Return one decision answered again under each of *policies*; None is its own.

    Args:
        space: The space of the decision.
        models: The models, with the host's token counter.
        decision: The decision.
        policies: The policies.
        products: Products of its question with the vectors, if already computed.
        without: Writes whose blocks are left out.
        keys: For each policy, a key that it shares with those that differ from it in weights of
            signals and limits of answers only; they are answered from one ranking. None: it shares
            none.
        kept: See ``reruns``.
    """
    event = decision.event
    view = recorded_recalls.view_of(space.state, event)
    try:
        models = recorded_recalls.as_then(event, models)
    except RecipeRetired:
        return Rerun(decision=decision, view=view, answers=(), obstacle="recipe-retired")
    gone = "sealed" if space.log_state.missing is None else "lost"
    if recorded_recalls.is_sealed(view, event):
        obstacle = "lost" if recorded_recalls.is_lost(event) else "sealed"
        return Rerun(decision=decision, view=view, answers=(), obstacle=obstacle)
    quick = view if products is None else view.multiplied(products)
    if gone == "lost" or recorded_recalls.erased_since(view):
        own = _answer(quick, models, evolve(decision, silent=False), None, known={})
        if own is None or own[0].rows != event.answer.rows:
            return Rerun(decision=decision, view=view, answers=(), obstacle=gone)
    rest = quick if without is None else without.without(quick)
    counted = rest is quick
    version = decision.recorded.version
    known: dict[str, _Shared] = {} if kept is None else {**kept.get(version, {})}
    keys = keys or (None,) * len(policies)
    found = [
        _answer(rest, models, decision, policy, counted=counted, known=known, key=key)
        for policy, key in zip(policies, keys, strict=True)
    ]
    blocks = len(space.state.catalogue.ids)
    if kept is not None and sum(map(len, kept.values())) * blocks < KEPT_BLOCKS_MAX:
        kept[version] = known if version in kept else {}
    return Rerun(
        decision=decision,
        view=view if counted else rest,
        answers=tuple(None if each is None else each[0] for each in found),
        judgments=tuple(None if each is None else each[1] for each in found),
    )


def _ranking_key(policy: Policy) -> str:
    """Return what of a policy decides which blocks are ranked, and all values but their scores."""
    body = json.loads(policy.body)
    for name in ("name", "top_k", "top_k_aggregate"):
        body.pop(name, None)
    for frame in body["frames"]:
        for signal in SIGNALS:
            frame.pop(signal, None)
    return json.dumps(body, sort_keys=True)


def _answer(
    view: View,
    models: Models,
    decision: Decision,
    policy: Policy | None,
    *,
    counted: bool = True,
    known: dict[str, _Shared],
    key: str | None = None,
) -> tuple[Answer, Judgment] | None:
    """Return an answer; if not *counted*, words are counted in the view and not as recorded.

    What several policies share is looked up in *known*, and added to it.
    """
    event = decision.event
    under = view if policy is None else view.under(policy)
    request = recorded_recalls.request_of(decision.recorded, event)
    if decision.silent:
        request = evolve(request, explored=None)
    if policy is not None:
        request = recorded_recalls.under_another(request)
    if not counted:
        request = evolve(request, statistics=())
    if event.frame == view.policy.default_frame and not under.policy.has_frame(event.frame):
        request = evolve(request, frame=None)  # the default frame of either
    try:
        asked = inquiry(under, request, recorded_recalls.vector_of(event), models.recipe)
    except FrameUnknown:
        return None
    room = limits(request, asked.frame, models)
    ranking, line = _ranked(under, asked, known, key)
    return packing.select(under, asked, ranking, room, line=line)


def _ranked(
    view: View, asked: Inquiry, known: dict[str, _Shared], key: str | None
) -> tuple[Ranking, Line | None]:
    if key is None:
        return rank(view, asked), None
    shared = known.get(key)
    if shared is None:
        found = rankings(view, weighing_all(asked))
        shared = known[key] = found, lines(view, asked.recipe, found[0].passage)[1]
    return reweighted(view, asked, shared[0]), shared[1]


def _multiplication(
    space: SessionHandle, together: Sequence[Decision]
) -> Callable[[], Products | None]:
    """Return a function that multiplies the questions of *together* with the vectors.

    The vectors are those of the latest decision's state; questions of another embedder are left
    out.
    """
    if not together:
        return lambda: None
    latest = max(together, key=lambda decision: decision.event.read_version)
    view = recorded_recalls.view_of(space.state, latest.event)
    index, rows = view.index, view.vector_rows()
    fitting: dict[bytes, Vector] = {}
    for decision in together:
        vector = recorded_recalls.vector_of(decision.event)
        if vector is not None and vector.size == index.dimension:
            fitting[vector.tobytes()] = vector
    if not fitting or not rows:
        return lambda: None

    def multiply() -> Products | None:
        dots = index.products(list(fitting.values()), rows)
        return Products(view.embedder, dict(zip(fitting, dots, strict=True)))

    return multiply
