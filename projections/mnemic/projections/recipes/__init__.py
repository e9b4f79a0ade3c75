"""Recipes: how relevance comes about, by the name that every decision records.

A recipe is frozen once released. A better one is a new module and a new name beside the old, so
that an old decision replays under the one it was made with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from attrs import frozen

from mnemic.kernel.errors import RecipeRetired
from mnemic.kernel.policy import Policy
from mnemic.kernel.vectors import Vector
from mnemic.projections.proximity import Near
from mnemic.projections.recipes import context, plain
from mnemic.projections.recipes.match import Ints, Match
from mnemic.projections.views import View

__all__ = ["CURRENT", "RECIPES", "Match", "Recipe", "recipe"]


class Matching(Protocol):
    """From a view, a question and its vector to how well each eligible block matches."""

    def __call__(
        self, view: View, query: str, vector: Vector | None, pool: Ints, *, near: Near | None = None
    ) -> Match:
        """Return how well each block of *pool* matches.

        Args:
            view: Where to look.
            query: The question.
            vector: Its vector, if it has one.
            pool: Numbers of the eligible blocks, rising.
            near: Who says which vectors are near; None, or where the recipe knows no other way:
                all are looked at.
        """
        ...


@frozen(kw_only=True)
class Recipe:
    """One way to say how well each block answers a question."""

    name: str
    parts: tuple[str, ...]
    """What relevance is made of, in the order in which a decision stores it."""
    searches: tuple[str, ...]
    """In which orders candidates are sought."""
    weights: Callable[[Policy], tuple[int, ...]]
    """What each part counts in the strength of a match, nano-units; negative takes off."""
    match: Matching


PLAIN: Final = Recipe(
    name=plain.NAME,
    parts=plain.PARTS,
    searches=plain.SEARCHES,
    weights=plain.weights,
    match=plain.match,
)

CURRENT: Final = Recipe(
    name=context.NAME,
    parts=context.PARTS,
    searches=context.SEARCHES,
    weights=context.weights,
    match=context.match,
)
"""What new decisions use."""

RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {each.name: each for each in (PLAIN, CURRENT)}
)


def recipe(name: str) -> Recipe:
    """Return the recipe called *name*.

    Raises:
        RecipeRetired: This release carries no such recipe.
    """
    try:
        return RECIPES[name]
    except KeyError:
        raise RecipeRetired(
            f"no recipe is called {name!r}; this release carries {', '.join(sorted(RECIPES))}",
            recipe=name,
        ) from None
