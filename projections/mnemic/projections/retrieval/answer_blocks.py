"""The blocks of an answer: what each is, how it was scored, and why, computed when it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, Self

from attrs import fields, frozen

from mnemic.kernel.events import SIGNALS, AnswerRow
from mnemic.kernel.numeric.arithmetic import NANO, product
from mnemic.kernel.policy import Frame, Policy
from mnemic.kernel.results import Contribution, ScoredBlock
from mnemic.kernel.values import Value
from mnemic.projections.retrieval.lines import Shown, shown
from mnemic.projections.retrieval.recipes import Recipe
from mnemic.projections.view import View

_DETAILS: Final = frozenset({"contributions", "relevance_parts"})
_FIELDS: Final = frozenset(each.name for each in fields(ScoredBlock)) - _DETAILS


@frozen(kw_only=True)
class Weighing(Value):
    """How the blocks of an answer were scored."""

    recipe: Recipe
    signals: Sequence[int]
    """Weight of each signal, nano-units."""
    parts: Sequence[int]
    """Weight of each part of relevance, nano-units."""

    @classmethod
    def of(cls, policy: Policy, recipe: Recipe, frame: Frame, *, asked: bool) -> Self:
        """Return the weights of a frame, with a question if *asked*, and of a policy."""
        return cls(recipe=recipe, signals=frame.weights(asked=asked), parts=recipe.weights(policy))


def answer_blocks(
    view: View,
    weighing: Weighing,
    chosen: Iterable[tuple[AnswerRow, str]],
    marks: Callable[[AnswerRow, str], Mapping[str, Any]],
) -> tuple[ScoredBlock, ...]:
    """Return the blocks of an answer.

    Args:
        view: The view that was asked. The blocks hold nothing of it, since it may move on.
        weighing: How they were scored.
        chosen: The blocks, best first, and the line of each.
        marks: From these to the fields that do not follow from the block and its row.
    """
    return tuple(
        [
            ScoredBlock.deferred(
                partial(_fields, weighing, shown(view, row.block), row),
                {
                    "id": view.id(row.block),
                    "was_expanded": row.via >= 0,
                    "expanded_via": view.id(row.via) if row.via >= 0 else None,
                    **marks(row, line),
                },
            )
            for row, line in chosen
        ]
    )


def _fields(weighing: Weighing, shown: Shown, row: AnswerRow, name: str) -> dict[str, Any]:
    """Return one field of a block and those that are computed with it."""
    if name in _DETAILS:
        return {
            "contributions": contributions(SIGNALS, weighing.signals, row.signals),
            "relevance_parts": relevance_parts(weighing.recipe, weighing.parts, row),
        }
    return _plain_fields(shown, row, weighing.recipe) if name in _FIELDS else {}


def _plain_fields(shown: Shown, row: AnswerRow, recipe: Recipe) -> dict[str, Any]:
    """Return the fields of a block of an answer that say what it is and how it was scored."""
    values = [value / NANO for value in row.signals]
    signal = dict(zip((*SIGNALS, *recipe.parts), values, strict=True))
    known = {name: value for name, value in signal.items() if value >= 0}
    return {
        "content": shown.content,
        "category": shown.category,
        "tags": shown.tags,
        "zone": shown.zone,
        "source": shown.source,
        "actor": shown.actor,
        "author": shown.author,
        "thread": shown.thread,
        "created_at": shown.created_at,
        "composite_score": row.score / NANO,
        "relevance_score": known.get("relevance", 0.0),
        "recency_score": signal["recency"],
        "usefulness_score": signal["usefulness"],
        "confidence_score": signal["confidence"],
        "frequency_score": signal["frequency"],
        "centrality_score": known.get("centrality"),
        "reinforcement_score": known.get("reinforcement"),
        "lexical_score": known.get("lexical", 0.0),
        "cosine_score": known.get("cosine", 0.0),
        "probability": known.get("probability"),
    }


def contributions(
    names: Sequence[str], weights: Sequence[int], values: Sequence[int]
) -> tuple[Contribution, ...]:
    """Return what each of *names* contributes: its value, its weight and their product.

    Args:
        names: Signals or parts.
        weights: Nano-units; entries with weight 0 are left out.
        values: Nano-units, at least as many as names.
    """
    return tuple(
        [
            _contribution(name, weight, value)
            for name, weight, value in zip(names, weights, values, strict=False)
            if weight
        ]
    )


@lru_cache(maxsize=4096)
def _contribution(name: str, weight: int, value: int) -> Contribution:
    """Return one contribution; most are of the same few values, such as 0 and 1."""
    return Contribution(
        signal=name,
        value=value / NANO,
        weight=weight / NANO,
        contribution=product(weight, value) / NANO,
    )


def relevance_parts(
    recipe: Recipe, weights: Sequence[int], row: AnswerRow
) -> tuple[Contribution, ...]:
    """Return the parts of a block's match strength; empty without a question.

    Args:
        recipe: The recipe of the answer.
        weights: Those of its parts under the policy.
        row: The block.
    """
    values = row.signals[len(SIGNALS) :]
    if not values or values[0] < 0:
        return ()
    return contributions(recipe.parts, weights, values)
