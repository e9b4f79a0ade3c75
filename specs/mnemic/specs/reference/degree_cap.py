"""The degree cap, and which edges are displaced (DOMAIN section 5)."""

from __future__ import annotations

from mnemic.kernel.model.identity import BlockId
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import Pair, PlainEdge, pair
from mnemic.specs.reference.scoring import edge_rate, effective_weight


def rank(relation: str) -> int:
    """Return the class of a relation: similar, then co_occurs, then all others."""
    if relation == "similar":
        return 0
    return 1 if relation == "co_occurs" else 2


def strength(state: PlainState, edge: PlainEdge, now_us: int) -> int:
    """Return the effective weight; agent edges and those without an anchor do not decay."""
    if edge.origin == "agent" or edge.anchor_us is None:
        return edge.weight
    source, target = state.blocks[edge.source], state.blocks[edge.target]
    rate = edge_rate(source.tier_rate, target.tier_rate, edge.count, state.policy)
    return effective_weight(edge.weight, rate, now_us - edge.anchor_us)


def trust(state: PlainState, ends: Pair) -> int:
    """Return the ceiling of the less trusted of two blocks; 0 if zones are not kept apart."""
    if not state.policy.zones_apart:
        return 0
    return min(state.policy.ceiling(state.blocks[end].zone) for end in ends)


class PlainRoom:
    """The edges of a state, with those that one command forms and removes."""

    def __init__(self, state: PlainState, now_us: int) -> None:
        self.state = state
        self.now_us = now_us
        self.gone: set[Pair] = set()
        self.formed: set[Pair] = set()
        """Edges formed by this command; some may be in the state already."""

    def stands(self, ends: Pair) -> bool:
        """Return whether the pair has an edge, including the changes so far."""
        return ends in self.formed or (ends in self.state.edges and ends not in self.gone)

    def degree(self, block: BlockId) -> int:
        """Return the number of edges of the block, including the changes so far."""
        existing = [ends for ends in self.state.edges if ends not in self.gone]
        formed = [ends for ends in self.formed if ends not in existing]
        return sum(block in ends for ends in (*existing, *formed))

    def has_place(self, *ends: BlockId) -> bool:
        """Return whether every one of these blocks is below the cap."""
        return all(self.degree(end) < self.state.policy.degree_cap for end in ends)

    def admit(self, a: BlockId, b: BlockId, relation: str) -> list[Pair] | None:
        """Form an edge and return what it displaces at its full ends; None if it does not fit.

        At a full end the weakest edge of the lowest class below the new one is displaced, ties by
        id; an agent's edge never is. If a lowered cap left a block above it, one edge would not be
        enough, and nothing is displaced. If zones are apart, edges of lower trust than the new one
        are displaced first, and none of higher trust.
        """
        displaced: list[Pair] = []
        for end in (a, b):
            if self.degree(end) < self.state.policy.degree_cap:
                continue
            weakest = self._displaceable(end, relation, trust(self.state, pair(a, b)))
            if weakest is None or self.degree(end) > self.state.policy.degree_cap:
                return None
            displaced.append(weakest)
        self.gone.update(displaced)
        self.formed.add(pair(a, b))
        return displaced

    def _displaceable(self, block: BlockId, relation: str, above: int) -> Pair | None:
        candidates = []
        for ends in self.state.edges_of(block):
            edge, trusted = self.state.edges[ends], trust(self.state, ends)
            if ends in self.gone or ends in self.formed or trusted > above:
                continue
            lower = rank(edge.relation) < rank(relation)
            if trusted == above and (edge.origin == "agent" or not lower):
                continue
            power = strength(self.state, edge, self.now_us)
            candidates.append((trusted, rank(edge.relation), power, ends))
        return min(candidates)[-1] if candidates else None
