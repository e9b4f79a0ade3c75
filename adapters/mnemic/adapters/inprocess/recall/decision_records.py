"""Recorded decisions, looked up by their ids."""

from __future__ import annotations

from mnemic.adapters.inprocess.engine.command_executor import CommandExecutor
from mnemic.kernel.errors import DecisionNotFound
from mnemic.kernel.events import RecallRecorded, Recorded
from mnemic.kernel.model.identity import DecisionId, decision_id, decision_version
from mnemic.kernel.model.texts import Embedding, Erased, Lost, Question
from mnemic.kernel.model.tokens import EstimatedTokens
from mnemic.kernel.model.vectors import Vector, unpack
from mnemic.kernel.results import unit
from mnemic.projections.retrieval import approximate_search, recipes
from mnemic.projections.retrieval.recipes.question import UNKNOWN_REFERENCE
from mnemic.projections.view import View, as_of


def decision(space: CommandExecutor, identifier: str) -> tuple[Recorded, RecallRecorded]:
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


def view_before(space: CommandExecutor, now: View, identifier: str) -> View:
    """Return the state that a decision read, if it was recorded by *now*.

    Raises:
        DecisionNotFound: No recall recorded by then has this id.
    """
    recorded, event = decision(space, identifier)
    if recorded.version > now.point.version:
        raise DecisionNotFound(f"no decision has the id {identifier!r}", decision_id=identifier)
    return view_of(space.state, event)


def decision_name(recorded: Recorded) -> DecisionId:
    """Return the id of a recorded decision."""
    return decision_id(recorded.version)


def recipe_name(models: Models) -> str:
    """Return the name of the recipe, with that of the token counter if it is the host's."""
    own = models.tokens.name != EstimatedTokens.name
    return f"{models.recipe.name}+{models.tokens.name}" if own else models.recipe.name


def as_then(event: RecallRecorded, models: Models) -> Models:
    """Return the models with the token counter and the recipe that a decision used.

    Raises:
        RecipeRetired: This release lacks the recipe, or the host the token counter.
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
        near=approximate_search.Recorded(event.near) if event.retriever == "ann" else None,
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
        for number, version in erased.items()
        if version > view.point.version and view.life.has(number)
    ]
