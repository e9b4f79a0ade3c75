"""Structural fit: similarity of the relations around two blocks, regardless of their texts.

The structure of a block is a bag of facts, derived only from the typed edges around it:

* each of its own edges, as relation and direction: ``supports>``
* each path of two edges from it, by both steps: ``supports> contradicts<``

Fit is the overlap of two bags relative to their sizes, 1 for the same structure and 0 for none:

    fit(a, b) = shared(a, b) / sqrt(shared(a, a) · shared(b, b))

where ``shared`` adds up the smaller count of every fact, paths twice: two connected relations are
more informative than two separate ones. Words, tags and vectors have no part in it; they make
surface similarity, which is reported separately. A block without a typed edge has no structure: no
fit, rather than a fit of 0. ``similar`` and ``co_occurs`` are no types, they say how blocks look or
how often they are returned together.

Source: Gentner's structure mapping and MAC/FAC (reference composed-graph 9.2), cut down to paths of
two; systematicity is the double weight. specs/frontier.toml, rules "structure" and "quadrant".
"""

from __future__ import annotations

from collections import Counter
from math import isqrt
from typing import Final, TypeAlias

import numpy as np
from attrs import frozen

from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.numeric.arithmetic import NANO, product
from mnemic.kernel.scoring.signals import jaccard
from mnemic.kernel.values import Value
from mnemic.projections.lexical import analysis
from mnemic.projections.view import View

UNTYPED: Final = frozenset({"similar", "co_occurs"})
MUTUAL: Final = frozenset({"outcome"})
"""Typed relations without a direction."""
FACTS_MAX: Final = 64
"""Maximum number of different facts of one block; more rare paths add no information."""
PATH_WEIGHT: Final = 2
FIT_HIGH: Final = NANO // 2
SURFACE_HIGH: Final = 450_000_000

Bag: TypeAlias = Counter[str]


@frozen(kw_only=True)
class Likeness(Value):
    """Comparison of two blocks, nano-units."""

    fit: int | None
    """None if one of them has no structure."""
    surface: int
    shared: tuple[str, ...] = ()
    """The facts that both have, sorted."""

    @property
    def quadrant(self) -> str:
        """One of four kinds, by where the two are alike.

        ``literal`` in both, ``analogy`` in structure alone, ``appearance`` in words alone,
        ``anomaly`` in neither.
        """
        alike = self.fit is not None and self.fit >= FIT_HIGH
        if self.surface >= SURFACE_HIGH:
            return "literal" if alike else "appearance"
        return "analogy" if alike else "anomaly"

    @property
    def score(self) -> int:
        """How good an analogy it is: fit · (1 - surface)."""
        return product(self.fit or 0, NANO - self.surface)


def facts(view: View, number: int) -> Bag:
    """Return the facts of a block; empty when it has no typed edge."""
    bag: Bag = Counter()
    for edge in _typed(view, number):
        first, neighbour = _step(edge, number), edge.other(number)
        bag[first] += 1
        for further in _typed(view, neighbour):
            if further.other(neighbour) != number:
                bag[f"{first} {_step(further, neighbour)}"] += 1
    if len(bag) <= FACTS_MAX:
        return bag
    kept = sorted(bag, key=lambda fact: (-bag[fact], fact))[:FACTS_MAX]
    return Counter({fact: bag[fact] for fact in kept})


def fit(a: Bag, b: Bag) -> int | None:
    """Return how alike two bags of facts are, nano-units; None when one is empty."""
    if not a or not b:
        return None
    common = shared(a, b)
    return min(NANO, isqrt(common * common * NANO * NANO // (shared(a, a) * shared(b, b))))


def shared(a: Bag, b: Bag) -> int:
    """Return the weight of what two bags have in common."""
    return sum((PATH_WEIGHT if " " in fact else 1) * count for fact, count in (a & b).items())


@frozen(kw_only=True)
class Looks(Value):
    """The surface features of a block, as opposed to its structure."""

    terms: frozenset[str]
    row: int
    """Row of its vector in the index, -1 without one."""


def looks(view: View, number: int) -> Looks:
    """Return the surface features of a block."""
    text = view.text(number)
    terms = analysis.terms(text.content) if isinstance(text, BlockText) else ()
    return Looks(terms=frozenset(terms), row=view.life.get("vector", number))


def surface(view: View, a: Looks, b: Looks) -> int:
    """Return the surface similarity of two blocks: the greater of cosine and overlap of terms."""
    overlap = jaccard(a.terms, b.terms)
    if min(a.row, b.row) < 0:
        return overlap
    rows = np.array([[a.row], [b.row]], dtype=np.int64)
    return max(0, overlap, int(view.index.cosines_between(*rows)[0]))


def compare(view: View, a: int, b: int) -> Likeness:
    """Return how two blocks compare."""
    mine, theirs = facts(view, a), facts(view, b)
    return Likeness(
        fit=fit(mine, theirs),
        surface=surface(view, looks(view, a), looks(view, b)),
        shared=tuple(sorted(mine & theirs)),
    )


def analogies(view: View, number: int, *, limit: int) -> list[tuple[int, Likeness]]:
    """Return the active blocks with a structure like that of *number* and another surface.

    Best first, ranked by fit · (1 - surface), ties by id.
    """
    mine, face = facts(view, number), looks(view, number)
    found: list[tuple[int, Likeness]] = []
    for other in _structured(view):
        theirs = facts(view, other)
        alike = fit(mine, theirs) if other != number else None
        if alike:
            likeness = Likeness(
                fit=alike,
                surface=surface(view, face, looks(view, other)),
                shared=tuple(sorted(mine & theirs)),
            )
            found.append((other, likeness))
    found.sort(key=lambda each: (-each[1].score, view.id(each[0])))
    return found[:limit]


def _structured(view: View) -> list[int]:
    """Return the active blocks with a typed edge, ascending."""
    graph, pairs = view.state.graph, view.pairs()
    untyped = [graph.relations.known(name) for name in UNTYPED]
    pairs = pairs[~np.isin(view.edge_rows.column("relation", pairs), untyped)]
    ends = np.union1d(graph.low[pairs], graph.high[pairs]).astype(np.int64)
    numbers: list[int] = np.intersect1d(ends, view.with_status(ACTIVE)).tolist()
    return numbers


def _typed(view: View, number: int) -> list[EdgeFacts]:
    return [
        edge
        for edge in view.edges_of(number)
        if edge.relation not in UNTYPED and view.status(edge.other(number)) == ACTIVE
    ]


def _step(edge: EdgeFacts, number: int) -> str:
    """Return an edge as seen from *number*: its relation and direction."""
    if edge.relation in MUTUAL:
        return edge.relation
    return f"{edge.relation}{'>' if edge.source == number else '<'}"
