"""The window of mode ``classic``: which blocks it considers, and their columns.

Source: reference composed-graph section 2; specs/ledger.toml, rule "never-composed".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.model.compositions import LABELS
from mnemic.projections.frontier.terms import passes
from mnemic.projections.retrieval.filters import unexpired
from mnemic.projections.retrieval.retention import retrievability
from mnemic.projections.view import View

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

NEWEST_MAX: Final = 750
"""Maximum number of newest blocks in the window."""
TAGGED_MAX: Final = 1500
"""Maximum number of blocks that a tag filter adds, the best remembered."""


@frozen(kw_only=True, eq=False)
class Window:
    """The blocks of the window as columns, the newest first."""

    numbers: Ints
    tags: list[tuple[str, ...]]
    terms: list[frozenset[str]]
    category: Ints
    retention: Ints
    wanted: Mask
    """Which of them pass the filter."""
    id_rank: Ints
    """Rank in the order of ids, for ties."""
    degree: Ints
    """Number of compositions of each block."""
    outcomes: Ints
    """Labels on these, as bits in the order of ``LABELS``."""
    composed: Mask
    """By pair: whether one composition holds both."""


def window(view: View, wanted: Sequence[str]) -> Window:
    """Return the active, unexpired blocks that mode ``classic`` considers.

    Args:
        view: The view to read.
        wanted: A tag filter; empty: the newest blocks alone.
    """
    numbers = _newest_first(view, unexpired(view, view.with_status(ACTIVE)))
    if wanted:
        tagged = numbers[_wanted(view, numbers, wanted)]
        order = np.argsort(-retrievability(view, tagged), kind="stable")
        numbers = view.union(numbers[:NEWEST_MAX], tagged[order[:TAGGED_MAX]])
        numbers = _newest_first(view, numbers)
    else:
        numbers = numbers[:NEWEST_MAX]
    degree, outcomes, composed = _composed(view, numbers)
    each = numbers.tolist()
    ids = np.array([view.id(number) for number in each])
    rank = np.empty(len(each), dtype=np.int64)
    rank[np.argsort(ids)] = np.arange(len(each))
    document = view.life.column("text", numbers).tolist()
    return Window(
        numbers=numbers,
        tags=[view.tags(number) for number in each],
        terms=[
            view.state.terms.of(place, view.text(number))
            for place, number in zip(document, each, strict=True)
        ],
        category=view.life.column("category", numbers),
        retention=retrievability(view, numbers),
        wanted=_wanted(view, numbers, wanted),
        id_rank=rank,
        degree=degree,
        outcomes=outcomes,
        composed=composed,
    )


def _newest_first(view: View, numbers: Ints) -> Ints:
    """Return *numbers* by date, newest first, undated ones last; ties by learning, last first."""
    learned, created = (view.life.column(name, numbers) for name in ("learned", "created_us"))
    ordered: Ints = numbers[np.lexsort((learned, created))[::-1]]
    return ordered


def _wanted(view: View, numbers: Ints, wanted: Sequence[str]) -> Mask:
    sets, place = np.unique(view.life.column("tags", numbers), return_inverse=True)
    tag_sets = view.state.catalogue.tag_sets
    passing = [passes(tag_sets[number], wanted) for number in sets.tolist()]
    return np.array(passing, dtype=np.bool_)[place]


def _composed(view: View, numbers: Ints) -> tuple[Ints, Ints, Mask]:
    """Return degree and labels of every block, and which pairs were composed."""
    place_of = {number: place for place, number in enumerate(numbers.tolist())}
    degree, outcomes = np.zeros((2, len(numbers)), dtype=np.int64)
    composed = np.zeros((len(numbers), len(numbers)), dtype=np.bool_)
    for each in view.compositions():
        places = [place_of[one] for one in dict.fromkeys(each.members) if one in place_of]
        if places:
            said = {label.event.label for label in view.labels_of(each)}
            degree[places] += 1
            outcomes[places] |= sum(1 << LABELS.index(label) for label in said)
            composed[np.ix_(places, places)] = True
    return degree, outcomes, composed


def labels_in(bits: int) -> list[str]:
    """Return the labels for the bits of ``Window.outcomes``."""
    return [label for place, label in enumerate(LABELS) if bits >> place & 1]
