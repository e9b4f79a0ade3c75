"""Recipes: the computations of relevance, by the names that decisions record.

A recipe is frozen once released. A better one gets a new module and a new name, and the old one is
kept, so that an old decision replays under the one it was made with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from attrs import frozen

from mnemic.kernel.errors import RecipeRetired
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.policy import Policy
from mnemic.kernel.values import Value
from mnemic.projections.retrieval.approximate_search import Near
from mnemic.projections.retrieval.recipes import aged_context, context, plain
from mnemic.projections.retrieval.recipes.match import Ints, Match
from mnemic.projections.view import View

__all__ = ["CONTEXT", "CURRENT", "PLAIN", "RECIPES", "Match", "Recipe", "recipe"]


class Matching(Protocol):
    """Function from a view, a question and its vector to the match of each eligible block."""

    def __call__(
        self,
        view: View,
        query: str,
        vector: Vector | None,
        pool: Ints,
        *,
        near: Near | None = None,
        asked_by: str | None = None,
    ) -> Match:
        """Return how well each block of *pool* matches.

        Args:
            view: The view to search.
            query: The question.
            vector: Its vector, if it has one.
            pool: Numbers of the eligible blocks, ascending.
            near: The approximate search; with None, or if the recipe does not support it,
                the search is exact.
            asked_by: Name or role of the asker, if it is known and the recipe uses it.
        """
        ...


@frozen(kw_only=True)
class Recipe(Value):
    """One way to compute how well each block answers a question."""

    name: str
    parts: tuple[str, ...]
    """The parts of relevance, in the order in which a decision stores them."""
    searches: tuple[str, ...]
    """The orders in which candidates are selected."""
    weights: Callable[[Policy], tuple[int, ...]]
    """Weight of each part in the strength of a match, nano-units; may be negative."""
    match: Matching
    graded: bool = False
    """Whether its blocks have a probability. Then an answer also has a verdict and may have a floor
    of probability, equal scores are ordered by strength, and contradicted blocks are marked."""


PLAIN: Final = Recipe(
    name=plain.NAME,
    parts=plain.PARTS,
    searches=plain.SEARCHES,
    weights=plain.weights,
    match=plain.match,
)

CONTEXT: Final = Recipe(
    name=context.NAME,
    parts=context.PARTS,
    searches=context.SEARCHES,
    weights=context.weights,
    match=context.match,
)

CURRENT: Final = Recipe(
    name=aged_context.NAME,
    parts=aged_context.PARTS,
    searches=aged_context.SEARCHES,
    weights=aged_context.weights,
    match=aged_context.match,
    graded=True,
)
"""The recipe of new decisions."""

RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {each.name: each for each in (PLAIN, CONTEXT, CURRENT)}
)


def recipe(name: str) -> Recipe:
    """Return the recipe called *name*.

    Raises:
        RecipeRetired: This release has no such recipe.
    """
    try:
        return RECIPES[name]
    except KeyError:
        raise RecipeRetired(
            f"no recipe is called {name!r}; this release carries {', '.join(sorted(RECIPES))}",
            recipe=name,
        ) from None
