"""The frontier in its default mode: a queue of pairs that were never composed.

    total = anchor + 0.25·bridge + 0.5·novelty + trust + adjustment
    score = min(total / all that a pair can reach, lowest zone ceiling of the two)

* anchor       what ties the two and hardly any others: terms, tags, typed edges to one block, forms
               of relation, an edge between them, a near meaning; each by its rarity (see
               ``rarity``), and the sum scaled by the room: from the middle of the band of
               cosines on the two are ever more redundant, and from its end there is nothing to add
* bridge       tag distance, other category, boundary tags, any shared term, any shared tag
* novelty      mean of 1/(1 + compositions that used a block up)
* trust        the least of zone ceiling times retrievability
* adjustment   how compositions with either went: see ``history``

Pairs below the floor before the adjustment are dropped, so outcomes order the queue and never
remove from it. Every active block is considered, however old. Order: score, then total, then ids.

Source: DOMAIN section 8, reference composed-graph 2.1; specs/frontier.toml, rules "frontier-*".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import (
    NANO,
    nano,
    product_each,
    share_each,
    weighted_each,
)
from mnemic.kernel.policy import Policy
from mnemic.projections.frontier import candidates
from mnemic.projections.frontier.candidates import Pairs
from mnemic.projections.frontier.history import LedgerHistory, past
from mnemic.projections.frontier.members import Blocks, members
from mnemic.projections.frontier.rarity import mutual_ranks, surprises
from mnemic.projections.view import View

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

BRIDGE_WEIGHTS: Final = (300_000_000, 200_000_000, 250_000_000, 150_000_000, 100_000_000)
"""Of tag distance, other categories, boundary tags, a shared term, a shared tag."""
BOUNDARY_MAX: Final = 4
ROWS_AT_ONCE: Final = 2**14
"""Number of pairs whose tags are compared at a time: what a core's cache holds."""
UNKNOWN: Final = -2 * NANO
"""Placeholder for the cosine of two blocks that have none."""


@frozen(kw_only=True, eq=False)
class Scored:
    """Pairs of positions with every component, as columns of nano-units."""

    keys: Ints
    """Ascending; a pair is found by its key."""
    low: Ints
    high: Ints
    terms: Ints
    tags: Ints
    paths: Ints
    forms: Ints
    edges: Ints
    meaning: Ints
    room: Ints
    """How much two blocks differ enough to add to each other."""
    anchor: Ints
    """The six ties, capped at their maximum, scaled by ``room``."""
    cosine: Ints
    bridge: Ints
    novelty: Ints
    trust: Ints
    adjustment: Ints
    total: Ints
    strength: Ints
    """Total as a share of the maximum of a pair."""
    cap: Ints
    score: Ints
    used_up: Mask
    redundant: Mask
    """The two say the same."""
    tie: Mask
    """The two are tied: above the floor, not redundant, passing the filter."""
    candidate: Mask
    """The two are tied and were never composed."""

    def at(self, places: Ints) -> Scored:
        """Return some of the pairs, in the order of *places*."""
        return Scored(**{name: getattr(self, name)[places] for name in type(self).__annotations__})


@frozen(kw_only=True, eq=False)
class Field:
    """The input and the scored pairs of a frontier: blocks, pairs, and the ledger history."""

    policy: Policy
    blocks: Blocks
    past: LedgerHistory
    scored: Scored

    def place(self, first: int, second: int) -> int | None:
        """Return the index of the pair of two positions; None if it was not considered."""
        count = len(self.blocks.numbers)
        key = min(first, second) * count + max(first, second)
        found = int(np.searchsorted(self.scored.keys, key))
        if found == len(self.scored.keys) or int(self.scored.keys[found]) != key:
            return None
        return found


def field(view: View, *, tags: Sequence[str] = ()) -> Field:
    """Return every candidate pair of a view, scored.

    Args:
        view: The view to search.
        tags: One of the two must have one of these, or one in its namespace.
    """
    ledger = past(view)
    blocks = members(view, ledger, tags)
    found = candidates.pairs(view, blocks.numbers, blocks.table)
    return Field(
        policy=view.policy, blocks=blocks, past=ledger, scored=_scored(view, blocks, ledger, found)
    )


def best(field: Field, among: Mask, limit: int) -> Ints:
    """Return the places of the best pairs *among* all, best first: by score, total and ids."""
    scored, rank = field.scored, field.blocks.id_rank
    places = np.flatnonzero(among)
    if limit < len(places):
        last = len(places) - limit
        places = places[scored.score[places] >= np.partition(scored.score[places], last)[last]]
    ends = rank[scored.low[places]], rank[scored.high[places]]
    order = np.lexsort(
        (np.maximum(*ends), np.minimum(*ends), -scored.total[places], -scored.score[places])
    )
    found: Ints = places[order[:limit]]
    return found


def reach(policy: Policy) -> int:
    """Return the maximum total of a pair, nano-units."""
    weights = (
        policy.frontier_anchor_max,
        policy.frontier_bridge,
        policy.frontier_novelty,
        policy.frontier_trust,
        policy.frontier_gain,
    )
    return max(1, sum(map(nano, weights)))


def tilts(good: Ints, bad: Ints, policy: Policy) -> Ints:
    """Return ``history.tilt`` of many."""
    leaning = share_each(np.abs(good - bad), good + bad + 2 * nano(policy.frontier_prior))
    return np.where(good >= bad, leaning, -leaning)


def adjustments(leaning: Ints, policy: Policy) -> Ints:
    """Return ``history.adjustment`` of many."""
    gain = product_each(np.maximum(leaning, 0), nano(policy.frontier_gain))
    return gain - product_each(np.maximum(-leaning, 0), nano(policy.frontier_loss))


# --- pairs ----------------------------------------------------------------------------------


def _scored(view: View, blocks: Blocks, ledger: LedgerHistory, found: Pairs) -> Scored:
    policy, low, high = view.policy, found.low, found.high
    cosine = _cosines(view, blocks.numbers, low, high)
    ties = _ties(found, cosine, len(blocks.numbers), policy)
    room = _room(cosine, policy)
    summed = np.minimum(sum(ties.values()), nano(policy.frontier_anchor_max))
    anchor = product_each(summed, room)
    bridge = _bridge(blocks, found)
    novelty = _novelty(blocks.degree[low], blocks.degree[high])
    trust = np.minimum(blocks.trust.held[low], blocks.trust.held[high])
    weights = (policy.frontier_bridge, policy.frontier_novelty, policy.frontier_trust)
    parts = weighted_each([nano(each) for each in weights], (bridge, novelty, trust))
    before = anchor + parts
    leaning = tilts(
        blocks.good[low] + blocks.good[high], blocks.bad[low] + blocks.bad[high], policy
    )
    adjustment = adjustments(leaning, policy)
    total = before + adjustment
    whole = np.full_like(total, reach(policy))
    strength = np.minimum(share_each(np.maximum(total, 0), whole), NANO)
    cap = np.minimum(blocks.trust.ceiling[low], blocks.trust.ceiling[high])
    used_up = np.isin(found.keys, _used_keys(blocks.numbers, ledger))
    redundant = cosine >= nano(policy.frontier_band_to)
    tie = (before >= nano(policy.frontier_floor)) & ~redundant
    tie &= blocks.wanted[low] | blocks.wanted[high]
    return Scored(
        keys=found.keys,
        low=low,
        high=high,
        **ties,
        room=room,
        anchor=anchor,
        cosine=cosine,
        bridge=bridge,
        novelty=novelty,
        trust=trust,
        adjustment=adjustment,
        total=total,
        strength=strength,
        cap=cap,
        score=np.minimum(strength, cap),
        used_up=used_up,
        redundant=redundant,
        tie=tie,
        candidate=tie & ~used_up,
    )


def _cosines(view: View, numbers: Ints, low: Ints, high: Ints) -> Ints:
    rows = view.life.column("vector", numbers)
    found = np.full(len(low), UNKNOWN, dtype=np.int64)
    both = (rows[low] >= 0) & (rows[high] >= 0)
    found[both] = view.index.cosines_between(rows[low[both]], rows[high[both]])
    return found


def _ties(found: Pairs, cosine: Ints, count: int, policy: Policy) -> dict[str, Ints]:
    """Return the value of each kind of tie: its weight times the rarity of such a tie."""
    possible = count * (count - 1) // 2
    kinds = {
        "terms": (found.terms, policy.frontier_term),
        "tags": (found.tags, policy.frontier_tag),
        "paths": (found.paths, policy.frontier_path),
        "forms": (found.forms, policy.frontier_form),
        "edges": (found.edges, policy.frontier_edge),
        "meaning": (_nearness(found, cosine, policy), policy.frontier_meaning),
    }
    return {
        name: product_each(surprises(strength, possible), nano(weight))
        for name, (strength, weight) in kinds.items()
    }


def _nearness(found: Pairs, cosine: Ints, policy: Policy) -> Ints:
    """Return how similar each pair is in meaning, less for one that is similar to many."""
    inside = np.flatnonzero(
        (cosine >= nano(policy.frontier_band_from)) & (cosine < nano(policy.frontier_band_to))
    )
    nearness = np.zeros(len(cosine), dtype=np.int64)
    ranks = mutual_ranks(found.low[inside], found.high[inside], cosine[inside])
    nearness[inside] = product_each(cosine[inside], _room(cosine[inside], policy)) // ranks
    return nearness


def _room(cosine: Ints, policy: Policy) -> Ints:
    """Return the room of two blocks, that is, how much they can add to each other.

    Full up to the middle of the band, 0 from its end.
    """
    first, end = nano(policy.frontier_band_from), nano(policy.frontier_band_to)
    half = max(1, (end - first) // 2)
    room: Ints = np.clip(((end - cosine) * NANO) // half, 0, NANO)
    return room


def _bridge(blocks: Blocks, found: Pairs) -> Ints:
    low, high = found.low, found.high
    shared, either = _overlap(blocks.table, low, high)
    # Two blocks without any tag have distance 0.
    apart = np.where(either > 0, NANO - share_each(shared, np.maximum(either, 1)), 0)
    _, boundaries = _overlap(blocks.boundaries, low, high)
    return weighted_each(
        BRIDGE_WEIGHTS,
        (
            apart,
            NANO * (blocks.category[low] != blocks.category[high]).astype(np.int64),
            np.minimum(boundaries, BOUNDARY_MAX) * (NANO // BOUNDARY_MAX),
            NANO * (found.terms > 0).astype(np.int64),
            NANO * (shared > 0).astype(np.int64),
        ),
    )


def _overlap(table: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return how many tags both ends have, and how many either has."""
    counts = (table >= 0).sum(axis=1, dtype=np.int64)
    both = np.zeros(len(low), dtype=np.int64)
    for start in range(0, len(low), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        theirs = table[high[part]]
        for column in range(table.shape[1]):
            mine = table[low[part], column, None]
            both[part] += ((mine == theirs) & (mine >= 0)).any(axis=1)
    return both, counts[low] + counts[high] - both


def _novelty(degree: Ints, other: Ints) -> Ints:
    """Return the mean of 1/(1 + degree) of both ends."""
    return share_each(2 + degree + other, 2 * (1 + degree) * (1 + other))


def _used_keys(numbers: Ints, ledger: LedgerHistory) -> Ints:
    """Return the keys of all pairs that were composed."""
    pairs = np.array(list(ledger.pairs) or np.empty((0, 2)), dtype=np.int64).reshape(-1, 2)
    pairs = pairs[np.isin(pairs, numbers).all(axis=1)]
    places = np.searchsorted(numbers, pairs)
    keys: Ints = places[:, 0] * len(numbers) + places[:, 1]
    return keys
