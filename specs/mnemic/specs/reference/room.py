"""Room under the degree cap, and who makes way (DOMAIN section 5)."""

from __future__ import annotations

from mnemic.kernel.identity import BlockId
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import Pair, PlainEdge, pair
from mnemic.specs.reference.scoring import edge_rate, effective_weight


def rank(relation: str) -> int:
    """Return the class of a relation: similar, then co_occurs, then all others."""
    if relation == "similar":
        return 0
    return 1 if relation == "co_occurs" else 2


def strength(state: PlainState, edge: PlainEdge, now_us: int) -> int:
    """Return the effective weight; agent edges and those without an anchor keep theirs."""
    if edge.origin == "agent" or edge.anchor_us is None:
        return edge.weight
    source, target = state.blocks[edge.source], state.blocks[edge.target]
    rate = edge_rate(source.tier_rate, target.tier_rate, edge.count, state.policy)
    return effective_weight(edge.weight, rate, now_us - edge.anchor_us)


def trust(state: PlainState, ends: Pair) -> int:
    """Return the ceiling of the less trusted of two blocks; 0 where zones are not apart."""
    if not state.policy.zones_apart:
        return 0
    return min(state.policy.ceiling(state.blocks[end].zone) for end in ends)


class PlainRoom:
    """A state's edges, with those that one command forms and removes."""

    def __init__(self, state: PlainState, now_us: int) -> None:
        self.state = state
        self.now_us = now_us
        self.gone: set[Pair] = set()
        self.formed: set[Pair] = set()
        """By this command; some may be in the state already."""

    def stands(self, ends: Pair) -> bool:
        """Return whether the pair has an edge by now."""
        return ends in self.formed or (ends in self.state.edges and ends not in self.gone)

    def degree(self, block: BlockId) -> int:
        """Return how many edges the block has by now."""
        standing = [ends for ends in self.state.edges if ends not in self.gone]
        formed = [ends for ends in self.formed if ends not in standing]
        return sum(block in ends for ends in (*standing, *formed))

    def has_place(self, *ends: BlockId) -> bool:
        """Return whether every one of these blocks could take one more edge."""
        return all(self.degree(end) < self.state.policy.degree_cap for end in ends)

    def admit(self, a: BlockId, b: BlockId, relation: str) -> list[Pair] | None:
        """Form an edge and return what it displaces at its full ends; None where it finds no room.

        At a full end the weakest edge of the lowest class below the new one makes way, ties by
        id; an agent's edge never does. One edge would not be enough where a lowered cap left more
        than it allows, and there nothing makes way. Where zones are apart, whatever is trusted
        less than the new edge makes way first, and nothing that is trusted more.
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
