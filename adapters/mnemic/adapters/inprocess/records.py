"""Recorded decisions, read back: what was asked, on what, and by which means."""

from __future__ import annotations

import json

from attrs import evolve

from mnemic.adapters.inprocess.asking import Request
from mnemic.adapters.inprocess.opening import Models
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.errors import DecisionNotFound, RecipeRetired
from mnemic.kernel.events import RecallRecorded, Recorded
from mnemic.kernel.identity import DecisionId, decision_id, decision_version
from mnemic.kernel.reading import ACTIVE
from mnemic.kernel.texts import Embedding, Erased, Question
from mnemic.kernel.tokens import EstimatedTokens
from mnemic.kernel.vectors import Vector, unpack
from mnemic.projections import proximity, recipes, views
from mnemic.projections.views import View


def decision(space: Space, identifier: str) -> tuple[Recorded, RecallRecorded]:
    """Return the record of a decision.

    Raises:
        DecisionNotFound: No recorded recall has this id.
    """
    version = decision_version(identifier)
    recorded = None
    if version is not None and version <= space.state.version:
        recorded = space.event_at(version)
    if recorded is None or not isinstance(recorded.event, RecallRecorded):
        raise DecisionNotFound(f"no decision has the id {identifier!r}", decision_id=identifier)
    return recorded, recorded.event


def view_of(space: Space, event: RecallRecorded, now_us: int | None = None) -> View:
    """Return the state that a decision read; ages as of *now_us*, if not of when it was asked."""
    instant_us = event.asked_us if now_us is None else now_us
    return views.as_of(
        space.state, event.read_version, active_us=event.read_us, instant_us=instant_us
    )


def view_before(space: Space, now: View, identifier: str) -> View:
    """Return the state that a decision read, if it was taken by *now*.

    Raises:
        DecisionNotFound: No recall recorded by then has this id.
    """
    recorded, event = decision(space, identifier)
    if recorded.version > now.point.version:
        raise DecisionNotFound(f"no decision has the id {identifier!r}", decision_id=identifier)
    return view_of(space, event)


def decision_name(recorded: Recorded) -> DecisionId:
    """Return the id of a recorded decision."""
    return decision_id(recorded.version)


def recipe_name(models: Models) -> str:
    """Return the name of how an answer comes about, with the token counter if it is a host's."""
    own = models.tokens.name != EstimatedTokens.name
    return f"{models.recipe.name}+{models.tokens.name}" if own else models.recipe.name


def as_then(event: RecallRecorded, models: Models) -> Models:
    """Return the models with the token counter and the recipe that a decision used.

    Raises:
        RecipeRetired: This release has not got the recipe, or the host the counter.
    """
    name, _, counter = event.recipe.partition("+")
    models = evolve(models, recipe=recipes.recipe(name))
    if not counter:
        return evolve(models, tokens=EstimatedTokens())
    if counter != models.tokens.name:
        raise RecipeRetired(
            f"a decision counted tokens with {counter!r}",
            recovery=f"Open the space with the token counter {counter!r}.",
            recipe=event.recipe,
        )
    return models


def request_of(recorded: Recorded, event: RecallRecorded) -> Request:
    """Return what a decision was asked; its question must not be erased."""
    asked = event.asked
    assert isinstance(asked, Question)  # noqa: S101 - an erased question is sealed before
    return Request(
        query=asked.query,
        frame=event.frame,
        top_k=event.top_k,
        token_budget=event.token_budget,
        where=None if asked.where is None else json.loads(asked.where),
        session=recorded.session_id,
        explored=event.explored,
        near=proximity.Recorded(event.near) if event.retriever == "ann" else None,
    )


def vector_of(event: RecallRecorded) -> Vector | None:
    """Return the vector of what a decision was asked, if it has one."""
    return unpack(event.vector.packed) if isinstance(event.vector, Embedding) else None


def is_sealed(view: View, event: RecallRecorded) -> bool:
    """Whether words that the decision could see are erased since."""
    if isinstance(event.asked, Erased) or isinstance(event.vector, Erased):
        return True
    return any(view.status(number) == ACTIVE for number in erased_since(view))


def erased_since(view: View) -> list[int]:
    """Return the blocks known to a view whose words were erased after it."""
    erased = view.state.timeline.erased_blocks
    return [
        number
        for number, version in erased.items()
        if version > view.point.version and view.life.stands(number)
    ]
