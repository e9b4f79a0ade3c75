"""The degree cap: whether a new edge fits, and which edge it displaces.

Rules of this module (DOMAIN section 5):

1. No block has more edges than the cap, including those formed by the current command.
2. Over the cap a new edge may displace, at each full end, the weakest edge of the lowest class
   there, if that class is below its own. The classes are ``similar`` < ``co_occurs`` < all others.
   Edges are displaced one for one: if a lowered cap left a block above it, nothing is displaced.
3. An edge that an agent asserted is never displaced. Nor is any edge formed in this command.
4. Weakest means lowest current effective weight; ties go by the pair of ids.
5. If the policy keeps zones apart, trust precedes these rules: the trust of an edge is that of the
   less trusted of its ends. It displaces no edge of higher trust, and any edge of lower trust,
   regardless of its class and of who asserted it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mnemic.kernel.events import Pair
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.identity import pair as pair_of_ids
from mnemic.kernel.reading import EdgeReading
from mnemic.kernel.scoring.decay import edge_rate, effective_weight

_LOWEST, _HIGHEST = 0, 2
_CLASSES = {"similar": _LOWEST, "co_occurs": 1}

Ends = tuple[int, int]


def class_of(relation: str) -> int:
    """Return the class of a relation, lowest first."""
    return _CLASSES.get(relation, _HIGHEST)


def ends(a: int, b: int) -> Ends:
    """Return a pair of numbers in canonical order."""
    return (a, b) if a < b else (b, a)


class DegreeCap:
    """The degrees of a reading, including the changes made by one command.

    Many blocks of a chunk have the same neighbours, so what the reading says of a block is kept.
    """

    def __init__(self, reading: EdgeReading, now_us: int) -> None:
        self._reading = reading
        self._now_us = now_us
        self._gone: set[Ends] = set()
        self._added: set[Ends] = set()
        self._change: Counter[int] = Counter()
        self._ceilings: dict[int, int] = {}
        self._degrees: dict[int, int] = {}
        self._edges: dict[int, list[tuple[int, EdgeFacts]]] = {}
        """By block: its edges in the reading, each with its trust."""

    def stands(self, a: int, b: int) -> bool:
        """Whether the two blocks have an edge, including the changes made so far."""
        pair = ends(a, b)
        if pair in self._added:
            return True
        return pair not in self._gone and self._reading.edge(a, b) is not None

    def degree(self, number: int) -> int:
        """Return how many edges a block has, including the changes made so far."""
        known = self._degrees.get(number)
        if known is None:
            known = self._degrees[number] = self._reading.degree(number)
        return known + self._change[number]

    def remove(self, a: int, b: int) -> None:
        """Remove an existing edge."""
        if ends(a, b) not in self._gone:
            self._gone.add(ends(a, b))
            self._change.subtract((a, b))

    def move_in(self, a: int, b: int) -> None:
        """Count an edge that was moved to this pair, without checking the cap."""
        self._added.add(ends(a, b))
        self._change.update((a, b))

    def admit(self, a: int, b: int, relation: str) -> tuple[EdgeFacts, ...] | None:
        """Form an edge if it fits, and return the edges it displaced; None if it does not fit."""
        displaced = []
        for end in (a, b):
            over = self.degree(end) - self._reading.policy.degree_cap
            if over >= 0:
                weakest = self._weakest(end, below=class_of(relation), trust=self._trust(a, b))
                if weakest is None or over > 0:
                    return None
                displaced.append(weakest)
        for edge in displaced:
            self.remove(edge.source, edge.target)
        self.move_in(a, b)
        return tuple(displaced)

    def _weakest(self, number: int, *, below: int, trust: int) -> EdgeFacts | None:
        if below == _LOWEST and not self._reading.policy.zones_apart:
            return None
        edges = self._edges.get(number)
        if edges is None:
            edges = self._edges[number] = [
                (self._trust(edge.source, edge.target), edge)
                for edge in self._reading.edges_of(number)
            ]
        candidates = []
        for own, edge in edges:
            lower = edge.origin != "agent" and class_of(edge.relation) < below
            if (own < trust or (own == trust and lower)) and (
                ends(edge.source, edge.target) not in self._gone
            ):
                candidates.append(edge)
        return min(candidates, key=self._strength, default=None)

    def _strength(self, edge: EdgeFacts) -> tuple[int, int, int, Pair]:
        reading = self._reading
        return (
            self._trust(edge.source, edge.target),
            class_of(edge.relation),
            effective_now(reading, edge, self._now_us),
            pair_of_ids(reading.id(edge.source), reading.id(edge.target)),
        )

    def _trust(self, a: int, b: int) -> int:
        """Return the trust of the less trusted of two blocks; 0 if zones are not kept apart."""
        return min(map(self._ceiling, (a, b))) if self._reading.policy.zones_apart else 0

    def _ceiling(self, number: int) -> int:
        if number not in self._ceilings:
            self._ceilings[number] = self._reading.policy.ceiling(self._reading.zone(number))
        return self._ceilings[number]


def effective_now(reading: EdgeReading, edge: EdgeFacts, now_us: int) -> int:
    """Return the effective weight of an edge at *now_us*.

    Agent edges and edges without an anchor do not decay.
    """
    if edge.origin == "agent" or edge.anchor_us is None:
        return edge.weight
    tiers = reading.facts(edge.source).tier_rate, reading.facts(edge.target).tier_rate
    rate = edge_rate(*tiers, edge.count, reading.policy)
    return effective_weight(edge.weight, rate, now_us - edge.anchor_us)


def id_pairs(reading: EdgeReading, edges: Iterable[EdgeFacts]) -> tuple[Pair, ...]:
    """Return edges as pairs of ids in canonical order, for an event."""
    return tuple(pair_of_ids(reading.id(edge.source), reading.id(edge.target)) for edge in edges)
