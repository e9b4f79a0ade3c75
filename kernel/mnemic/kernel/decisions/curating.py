"""curate: one sweep that lets go of what faded and holds on to what matters.

The order is fixed (DOMAIN section 7): archive, prune, drop what decayed, admit pending
connections, reinforce. Each step sees what the steps before it left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import decayed_each, nano
from mnemic.kernel.decay import edge_rates, effective_weights
from mnemic.kernel.decisions.room import Room
from mnemic.kernel.events import SIGNALS, Admission, Archival, Curated, Pair
from mnemic.kernel.identity import BlockId
from mnemic.kernel.identity import pair as pair_of_ids
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import ACTIVE, BlockColumns, EdgeColumns, Moment, Reading
from mnemic.kernel.scoring import (
    UNKNOWN,
    centrality,
    composites,
    edge_pull,
    frequency,
    reinforcement,
    usefulness,
)

Bools = NDArray[np.bool_]
NO_ANCHOR = np.iinfo(np.int64).min


def decide_curate(reading: Reading, at: Moment) -> Curated | None:
    """Decide one sweep; None when nothing is required.

    Source: DOMAIN section 7.
    """
    blocks, edges = reading.active(), reading.standing()
    faded, expired = _faded(blocks, at, reading.policy)
    stays = ~np.isin(edges.low, blocks.numbers[faded | expired])
    stays &= ~np.isin(edges.high, blocks.numbers[faded | expired])
    pruned = stays & (edges.weight < nano(reading.policy.edge_prune_below)) & (edges.count == 0)
    decayed = stays & ~pruned & _decayed(edges, at, reading.policy)
    left = stays & ~pruned & ~decayed
    admitted = _admitted(reading, at, blocks.numbers[faded | expired], edges, left)
    constitutional, reinforced = _reinforced(
        blocks, ~(faded | expired), edges, left, admitted, reading, at
    )
    event = Curated(
        archived=_archivals(reading, blocks, faded, expired),
        pruned=_pairs(reading, edges, pruned),
        decayed=_pairs(reading, edges, decayed),
        admitted=tuple(
            Admission(source=reading.facts(a).id, target=reading.facts(b).id)
            for a, b, _ in admitted
        ),
        constitutional=constitutional,
        reinforced=reinforced,
        edges_after=int(left.sum()) + len(admitted),
    )
    required = (
        event.archived,
        event.pruned,
        event.decayed,
        event.admitted,
        event.constitutional,
        event.reinforced,
    )
    return event if any(required) else None


def _faded(blocks: BlockColumns, at: Moment, policy: Policy) -> tuple[Bools, Bools]:
    """Return which blocks have faded, and which have expired without having faded."""
    recency = decayed_each(blocks.rate, at.active_us - blocks.reinforced_us)
    faded = (recency < nano(policy.archive_below)) & ~blocks.constitutional
    expired = (blocks.expires_us != UNKNOWN) & (blocks.expires_us <= at.recorded_us)
    return faded, expired & ~faded


def _decayed(edges: EdgeColumns, at: Moment, policy: Policy) -> Bools:
    rates = edge_rates(edges.tier_low, edges.tier_high, edges.count, policy)
    anchored = edges.anchor_us != NO_ANCHOR
    idle_us = at.active_us - np.where(anchored, edges.anchor_us, at.active_us)
    effective = effective_weights(edges.weight, rates, idle_us)
    return anchored & ~edges.agent & (effective < nano(policy.edge_prune_below))


def _admitted(
    reading: Reading, at: Moment, archived: NDArray[np.int64], edges: EdgeColumns, left: Bools
) -> list[tuple[int, int, int]]:
    """Return source, target and weight of the pending connections that find room, in order."""
    pending = reading.pending()
    if not pending:
        return []
    room = Room(reading, at.active_us)
    for low, high in zip(edges.low[~left].tolist(), edges.high[~left].tolist(), strict=True):
        room.remove(low, high)
    gone = set(archived.tolist())
    cap = reading.policy.degree_cap
    admitted = []
    for waiting in pending:
        ends = (waiting.source, waiting.target)
        ready = all(end not in gone and reading.facts(end).status == ACTIVE for end in ends)
        # Room, not force: a connection that waited does not displace anything now.
        if ready and all(room.degree(end) < cap for end in ends):
            room.move_in(*ends)
            admitted.append((*ends, waiting.weight))
    return admitted


def _reinforced(
    blocks: BlockColumns,
    alive: Bools,
    edges: EdgeColumns,
    left: Bools,
    admitted: list[tuple[int, int, int]],
    reading: Reading,
    at: Moment,
) -> tuple[tuple[BlockId, ...], tuple[BlockId, ...]]:
    """Return the constitutional blocks and the best others that get reinforced at this hour."""
    due = alive & (blocks.reinforced_us != at.active_us)
    ids = [reading.facts(number).id for number in blocks.numbers[due & blocks.constitutional]]
    others = alive & ~blocks.constitutional
    scores = _self_scores(blocks, alive, _degrees(edges, left, admitted, reading), reading.policy, at)
    places = np.flatnonzero(others)
    best = _best(scores, places, reading, blocks)
    return tuple(sorted(ids)), tuple(
        reading.facts(int(blocks.numbers[place])).id for place in best if due[place]
    )


def _best(
    scores: NDArray[np.int64], places: NDArray[np.intp], reading: Reading, blocks: BlockColumns
) -> list[int]:
    """Return the places of the best blocks by score, ties by id."""
    count = reading.policy.curate_reinforced
    if not len(places) or not count:
        return []
    of = scores[places]
    if count < len(of):
        kth = len(of) - count
        places = places[of >= np.partition(of, kth)[kth]]
    ranked = sorted(
        places.tolist(),
        key=lambda place: (-int(scores[place]), reading.facts(int(blocks.numbers[place])).id),
    )
    return ranked[:count]


def _degrees(
    edges: EdgeColumns, left: Bools, admitted: list[tuple[int, int, int]], reading: Reading
) -> dict[str, NDArray[np.int64]]:
    """Return the ends and pulls of every edge that is left, admitted ones included."""
    pull = edge_pull(edges.weight[left], edges.count[left], reading.policy)
    low = np.concatenate([edges.low[left], np.array([a for a, _, _ in admitted], dtype=np.int64)])
    high = np.concatenate([edges.high[left], np.array([b for _, b, _ in admitted], dtype=np.int64)])
    weight = np.array([weight for _, _, weight in admitted], dtype=np.int64)
    return {"low": low, "high": high, "pull": np.concatenate([pull, weight])}


def _self_scores(
    blocks: BlockColumns,
    alive: Bools,
    degrees: dict[str, NDArray[np.int64]],
    policy: Policy,
    at: Moment,
) -> NDArray[np.int64]:
    """Return the composite of the ``self`` frame without a question, per active block."""
    size = int(blocks.numbers[-1]) + 1 if len(blocks.numbers) else 0
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, degrees["low"], degrees["pull"])
    np.add.at(total, degrees["high"], degrees["pull"])
    degree = np.where(alive, total[blocks.numbers], 0)
    signals = {
        "relevance": np.zeros_like(blocks.rate),
        "recency": decayed_each(blocks.rate, at.active_us - blocks.reinforced_us),
        "usefulness": usefulness(blocks.alpha, blocks.beta),
        "confidence": blocks.confidence,
        "frequency": frequency(blocks.retrievals, policy),
        "centrality": centrality(degree),
        "reinforcement": reinforcement(np.where(alive, blocks.reinforcements, 0)),
    }
    weights = policy.frame("self").weights(asked=False)
    return composites(weights, [signals[name] for name in SIGNALS])


def _archivals(
    reading: Reading, blocks: BlockColumns, faded: Bools, expired: Bools
) -> tuple[Archival, ...]:
    """Return what is archived, by id within each reason."""
    return tuple(
        Archival(block_id=block, reason=reason)
        for reason, which in (("decayed", faded), ("expired", expired))
        for block in sorted(reading.facts(number).id for number in blocks.numbers[which].tolist())
    )


def _pairs(reading: Reading, edges: EdgeColumns, which: Bools) -> tuple[Pair, ...]:
    """Return edges as pairs of ids, sorted."""
    ends = zip(edges.low[which].tolist(), edges.high[which].tolist(), strict=True)
    return tuple(sorted(pair_of_ids(reading.facts(a).id, reading.facts(b).id) for a, b in ends))
