"""How answers are computed: the recipe of relevance and the token counter.

Recipes are imported when one is needed: a process that only writes needs none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attrs import field, frozen

from mnemic.kernel.model.tokens import EstimatedTokens
from mnemic.kernel.ports import TokenCounter
from mnemic.kernel.values import Value

if TYPE_CHECKING:
    from mnemic.projections.retrieval.recipes import Recipe


@frozen(kw_only=True)
class RecallMethod(Value):
    """How an answer is computed. Its name is recorded, so that a replay uses the same."""

    recipe_name: str | None = None
    """The recipe of relevance; None: that of new decisions."""
    tokens: TokenCounter = field(factory=EstimatedTokens)
    """How the texts of an answer are counted against its budget."""

    @property
    def recipe(self) -> Recipe:
        """How relevance is computed.

        Raises:
            RecipeRetired: This release has no such recipe.
        """
        from mnemic.projections.retrieval import recipes

        return recipes.CURRENT if self.recipe_name is None else recipes.recipe(self.recipe_name)


METHOD: Final = RecallMethod()
