"""The expected result of a sweep (DOMAIN section 7), in the order of its steps."""

from __future__ import annotations

import json
from collections import Counter

from mnemic.kernel.events import Admission, Archival, Curated
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.policy import RetentionRule
from mnemic.specs.reference import scoring
from mnemic.specs.reference.degree_cap import strength
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.recall import passes
from mnemic.specs.reference.records import Pair, PlainBlock, PlainEdge


def expected_curate(state: PlainState, now_us: int, wall_us: int) -> Curated | None:
    """Return the expected event of a sweep; None when nothing is required.

    Args:
        state: The state before the sweep; not modified.
        now_us: Active time, for decay.
        wall_us: Wall clock, for expiry.
    """
    after = state.copy()
    archived = _archived(after, now_us, wall_us)
    for archival in archived:
        after.archive(archival.block_id, archival.reason)
    pruned = _pruned(after)
    for ends in pruned:
        del after.edges[ends]
    decayed = _decayed(after, now_us)
    for ends in decayed:
        del after.edges[ends]
    admitted = _admitted(after, now_us)
    constitutional, reinforced = _reinforced(after, now_us)
    swept = Curated(
        archived=archived,
        pruned=pruned,
        decayed=decayed,
        admitted=admitted,
        constitutional=constitutional,
        reinforced=reinforced,
        edges_after=len(after.edges),
    )
    done = (archived, pruned, decayed, admitted, constitutional, reinforced)
    return swept if any(done) else None


def _archived(state: PlainState, now_us: int, wall_us: int) -> tuple[Archival, ...]:
    """Return the decayed blocks, by id, the expired ones, by id, and those of each rule, by id."""
    faded: list[BlockId] = []
    expired: list[BlockId] = []
    for block in sorted(state.with_status("active")):
        facts = state.blocks[block]
        recency = scoring.what_is_left(facts.rate, now_us - facts.reinforced_us)
        is_record = isinstance(json.loads(facts.metadata or "{}").get("key"), str)
        stays = is_record or state.is_constitutional(block)
        if recency < nano(state.policy.archive_below) and not stays:
            faded.append(block)
        elif facts.expires_at_us is not None and facts.expires_at_us <= wall_us:
            expired.append(block)
    archived = [Archival(block_id=block, reason="decayed") for block in faded]
    archived += [Archival(block_id=block, reason="expired") for block in expired]
    left = {*state.with_status("active"), *state.with_status("inbox")} - {*faded, *expired}
    left = {block for block in left if not state.is_constitutional(block)}
    for rule in state.policy.retention:
        gone = _past_retention(state, rule, left, (now_us, wall_us))
        archived += [
            Archival(block_id=block, reason="expired", rule=rule.name) for block in sorted(gone)
        ]
        left -= gone
    return tuple(archived)


def _past_retention(
    state: PlainState, rule: RetentionRule, blocks: set[BlockId], now: tuple[int, int]
) -> set[BlockId]:
    """Return which of *blocks* are too old for a rule, or older than the most that it keeps."""
    gone = set[BlockId]()
    now_us, wall_us = now
    counted = Counter[object]()
    for block in sorted(blocks, key=lambda each: -state.blocks[each].said_version):
        facts = state.blocks[block]
        said = state.log[facts.said_version]
        if not passes(facts, rule.where):
            continue
        is_old = rule.ttl_us is not None and wall_us - said.recorded_us >= rule.ttl_us
        is_old |= rule.ttl_active_us is not None and now_us - said.active_us >= rule.ttl_active_us
        if not is_old and rule.most is not None:
            key = _counted_for(facts, rule.per)
            counted[key] += 1
            is_old = counted[key] > rule.most
        if is_old:
            gone.add(block)
    return gone


def _counted_for(facts: PlainBlock, per: str) -> object:
    if per in {"user", "agent", "run"}:
        value = json.loads(facts.metadata or "{}").get(per)
        return value if isinstance(value, str) else None
    return None if per == "space" else getattr(facts, per)


def _pruned(state: PlainState) -> tuple[Pair, ...]:
    """Return the edges that are weak and were never reinforced, of any origin."""
    weak = nano(state.policy.edge_prune_below)
    return tuple(
        ends for ends, edge in sorted(state.edges.items()) if edge.weight < weak and edge.count == 0
    )


def _decayed(state: PlainState, now_us: int) -> tuple[Pair, ...]:
    """Return the edges below the threshold; agent edges and those without an anchor stay."""
    weak = nano(state.policy.edge_prune_below)
    return tuple(
        ends
        for ends, edge in sorted(state.edges.items())
        if edge.origin != "agent"
        and edge.anchor_us is not None
        and strength(state, edge, now_us) < weak
    )


def _admitted(state: PlainState, now_us: int) -> tuple[Admission, ...]:
    """Return the pending connections to admit, in order, while both ends are below the cap.

    They displace nothing, but replace an automatic edge that formed between the same two blocks in
    the meantime. Those that the next sweep would prune again are not admitted, since otherwise two
    sweeps at one hour would differ from a single sweep.
    """
    admitted = []
    for ends, waiting in list(state.pending.items()):
        full = any(len(state.edges_of(end)) >= state.policy.degree_cap for end in ends)
        if full and ends not in state.edges:
            continue
        if waiting.weight < nano(state.policy.edge_prune_below):
            continue
        del state.pending[ends]
        state.put_edge(
            PlainEdge(
                source=waiting.source,
                target=waiting.target,
                relation=waiting.relation,
                weight=waiting.weight,
                origin="agent",
                anchor_us=now_us,
            )
        )
        admitted.append(Admission(source=waiting.source, target=waiting.target))
    return tuple(admitted)


def _reinforced(state: PlainState, now_us: int) -> tuple[tuple[BlockId, ...], tuple[BlockId, ...]]:
    """Return the constitutional blocks and the best others, without those of the current hour.

    A second sweep at one hour selects no others, since the first has changed their scores.
    """
    active = state.with_status("active")
    due = [block for block in active if state.blocks[block].reinforced_us != now_us]
    constitution = [block for block in active if state.is_constitutional(block)]
    scores = self_scores(state, now_us)
    others = {block: scores[block] for block in active if block not in constitution}
    best = scoring.ranked(others)[: state.policy.curate_reinforced]
    if state.curated_us == now_us:
        best = []
    return (
        tuple(block for block in sorted(constitution) if block in due),
        tuple(block for block in best if block in due),
    )


def self_scores(state: PlainState, now_us: int) -> dict[BlockId, int]:
    """Return the ``self`` composite of every active block, without a question."""
    active = state.with_status("active")
    weights = scoring.frame_weights(state.policy.frame("self"), asked=False)
    degrees = {block: _degree(state, block) for block in active}
    greatest_degree = max(degrees.values(), default=0)
    greatest_count = max((state.blocks[block].reinforcements for block in active), default=0)
    scores: dict[BlockId, int] = {}
    for block in active:
        facts = state.blocks[block]
        signals = {
            "recency": scoring.what_is_left(facts.rate, now_us - facts.reinforced_us),
            "usefulness": scoring.usefulness(facts.alpha, facts.beta),
            "centrality": scoring.fraction(degrees[block], greatest_degree),
            "reinforcement": scoring.reinforcement(facts.reinforcements, greatest_count),
        }
        for name in {*signals} & {*state.policy.zone_discounted}:
            signals[name] = scoring.times(signals[name], state.policy.ceiling(facts.zone))
        scores[block] = scoring.composite(weights, signals)
    return scores


def _degree(state: PlainState, block: BlockId) -> int:
    """Return the sum of the contributions of a block's edges to active blocks."""
    total = 0
    for ends in state.edges_of(block):
        if all(state.blocks[end].status == "active" for end in ends):
            edge = state.edges[ends]
            total += scoring.pull(edge.weight, edge.count, state.policy)
    return total
