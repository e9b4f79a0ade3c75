"""The blocks of an answer: what each is, how it was scored, and why, computed when it is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

from attrs import fields, frozen

from mnemic.kernel.events import SIGNALS, AnswerRow
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.numeric.arithmetic import NANO, product
from mnemic.kernel.ports import TokenCounter
from mnemic.kernel.results import Contribution, ScoredBlock
from mnemic.kernel.values import Value
from mnemic.projections.retrieval.lines import BestPassage, Shown, shown
from mnemic.projections.retrieval.recipes import Recipe
from mnemic.projections.view import View
from mnemic.projections.view.block_results import validity

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
    is_doubtful: bool
    """Whether nothing in memory answers the question."""
    explored: BlockId | None
    """The block that took its place by chance; None: none did."""
    instant_us: int
    """When they were asked for, by the wall clock."""
    counter: TokenCounter
    """How their lines are counted."""


class _Placed(NamedTuple):
    """A block of an answer, with all that its fields are computed from."""

    id: BlockId
    row: AnswerRow
    shown: Shown
    line: str
    """The line that cites it."""
    passage: int | None
    """The passage that is cited, from 1."""
    via: BlockId | None
    """The block whose edge brought it in."""


def answer_blocks(
    view: View,
    weighing: Weighing,
    chosen: Iterable[tuple[AnswerRow, str]],
    best: BestPassage,
) -> tuple[ScoredBlock, ...]:
    """Return the blocks of an answer.

    Args:
        view: The view that was asked. The blocks hold nothing of it, since it may move on.
        weighing: How they were scored.
        chosen: The blocks, best first, and the line of each.
        best: The best passage of each block.
    """
    ids, found = view.state.catalogue.ids, []
    for row, line in chosen:
        known, block = shown(view, row.block), ids[row.block]
        passage = best(row.block) if known.passages > 1 else None
        placed = _Placed(
            id=block,
            row=row,
            shown=known,
            line=line,
            passage=passage[0] + 1 if passage else None,
            via=ids[row.via] if row.via >= 0 else None,
        )
        found.append(ScoredBlock.deferred(partial(_fields, weighing, placed), {"id": block}))
    return tuple(found)


def _fields(weighing: Weighing, placed: _Placed, name: str) -> dict[str, Any]:
    """Return one field of a block and those that are computed with it."""
    if name in _DETAILS:
        row = placed.row
        return {
            "contributions": contributions(SIGNALS, weighing.signals, row.signals),
            "relevance_parts": relevance_parts(weighing.recipe, weighing.parts, row),
        }
    return _plain_fields(weighing, placed) if name in _FIELDS else {}


def _plain_fields(weighing: Weighing, placed: _Placed) -> dict[str, Any]:
    """Return the fields of a block of an answer that say what it is and how it was scored."""
    shown, row = placed.shown, placed.row
    values = [value / NANO for value in row.signals]
    signal = dict(zip((*SIGNALS, *weighing.recipe.parts), values, strict=True))
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
        **validity(shown.period, weighing.instant_us),
        "was_expanded": placed.via is not None,
        "expanded_via": placed.via,
        "was_explored": placed.id == weighing.explored,
        "doubtful": weighing.is_doubtful,
        "passage": placed.passage,
        "tokens": weighing.counter.count(placed.line),
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
