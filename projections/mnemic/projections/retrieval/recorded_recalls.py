"""Recorded recalls, read back: the request, the state it read, and the answer given again."""

from __future__ import annotations

import json
from typing import TypeVar

from attrs import evolve

from mnemic.kernel.errors import DecisionNotFound, DecisionSealed, RecipeRetired
from mnemic.kernel.events import RecallRecorded, Recorded
from mnemic.kernel.model.identity import decision_id
from mnemic.kernel.model.texts import Embedding, Erased, Lost, Question
from mnemic.kernel.model.tokens import EstimatedTokens
from mnemic.kernel.model.vectors import Vector, unpack
from mnemic.kernel.results import unit
from mnemic.projections.retrieval.approximate_search import Recorded as RecordedSearch
from mnemic.projections.retrieval.packing import Packed
from mnemic.projections.retrieval.recall_method import METHOD, RecallMethod
from mnemic.projections.retrieval.recipes import recipe
from mnemic.projections.retrieval.recipes.question import UNKNOWN_REFERENCE
from mnemic.projections.retrieval.request import Request, answer
from mnemic.projections.state.state import State
from mnemic.projections.view import View, as_of

M = TypeVar("M", bound=RecallMethod)


def view_of(state: State, event: RecallRecorded, now_us: int | None = None) -> View:
    """Return the state that a decision read; ages as of *now_us*, by default of its own instant."""
    instant_us = event.asked_us if now_us is None else now_us
    return as_of(state, event.read_version, active_us=event.read_us, instant_us=instant_us)


def replayed(state: State, recorded: Recorded, method: RecallMethod = METHOD) -> Packed:
    """Return the answer to a recorded request from the state that it read.

    Args:
        state: A state that has reached the record.
        recorded: The record of the recall.
        method: The token counter of the host.

    Raises:
        DecisionNotFound: The event is of another kind.
        DecisionSealed: Its question has been erased.
        RecipeRetired: This release lacks the recipe, or the host the token counter.
    """
    event = recorded.event
    if not isinstance(event, RecallRecorded):
        raise DecisionNotFound(f"the event at version {recorded.version} is no recall")
    if not isinstance(event.asked, Question) or isinstance(event.vector, Erased):
        raise DecisionSealed(f"the question of decision {decision_id(recorded.version)} is erased")
    request, then = request_of(recorded, event), as_then(event, method)
    return answer(view_of(state, event), request, vector_of(event), then)


def as_then(event: RecallRecorded, method: M) -> M:
    """Return the recipe and the token counter that a decision used.

    Args:
        event: The decision.
        method: The token counter of the host; its recipe is replaced.

    Raises:
        RecipeRetired: This release lacks the recipe, or the host the token counter.
    """
    name, _, counter = event.recipe.partition("+")
    method = evolve(method, recipe_name=recipe(name).name)
    if not counter:
        return evolve(method, tokens=EstimatedTokens())
    if counter != method.tokens.name:
        raise RecipeRetired(
            f"a decision counted tokens with {counter!r}",
            recovery=f"Open the space with the token counter {counter!r}.",
            recipe=event.recipe,
        )
    return method


def request_of(recorded: Recorded, event: RecallRecorded) -> Request:
    """Return the request of a decision; its question must not be erased."""
    asked = event.asked
    assert isinstance(asked, Question)  # noqa: S101 - callers check for sealed decisions first
    return Request(
        query=asked.query,
        frame=event.frame,
        top_k=event.top_k,
        token_budget=event.token_budget,
        where=None if asked.where is None else json.loads(asked.where),
        session=recorded.session_id,
        explored=event.explored,
        min_probability=None if event.min_probability < 0 else unit(event.min_probability),
        near=RecordedSearch(event.near) if event.retriever == "ann" else None,
        asked_by=asked.asked_by,
        statistics=event.statistics,
    )


def under_another(request: Request) -> Request:
    """Return the request of a decision to be answered under another policy.

    Its word statistics stay; the strength whose relevance is a half depends on the policy.
    """
    statistics = tuple((UNKNOWN_REFERENCE, *rest) for _, *rest in request.statistics)
    return evolve(request, statistics=statistics)


def vector_of(event: RecallRecorded) -> Vector | None:
    """Return the vector of a decision's question, if it has one."""
    return unpack(event.vector.packed) if isinstance(event.vector, Embedding) else None


def is_lost(event: RecallRecorded) -> bool:
    """Return whether the question of a decision, or its vector, is lost."""
    return isinstance(event.asked, Lost) or isinstance(event.vector, Lost)


def is_sealed(view: View, event: RecallRecorded) -> bool:
    """Return whether text that the decision depended on has been erased since."""
    if isinstance(event.asked, Erased) or isinstance(event.vector, Erased):
        return True
    return bool(missing(view, event))


def missing(view: View, event: RecallRecorded) -> list[int]:
    """Return the blocks erased since on whose text the decision depended, ascending.

    Those are the ones returned, and those whose texts were the context of one of them; with any
    other, the answer is computed again and compared. If that is not known, or the decision has no
    statistics of its own, it depended on every text: the frequency of words and the rarity of later
    texts were computed from all.
    """
    erased = erased_since(view)
    asks = isinstance(event.asked, Question) and event.asked.query is not None
    if asks and not event.statistics:
        return sorted(erased)
    context = view.state.timeline.erased_context
    rows = event.answer.rows
    concerned = {*(row.block for row in rows), *(row.via for row in rows)}
    found = []
    for number in erased:
        near = context.get(number)
        if near is None or not concerned.isdisjoint({number} | near):
            found.append(number)
    return sorted(found)


def erased_since(view: View) -> list[int]:
    """Return the blocks known to a view whose text was erased after it."""
    erased = view.state.timeline.erased_blocks
    return [
        number
        for number, version in list(erased.items())  # the writer may add to it
        if version > view.point.version and view.life.has(number)
    ]
