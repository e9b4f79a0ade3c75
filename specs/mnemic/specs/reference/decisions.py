"""What decisions must come to, each told from the state before it.

``expected_chunk``    a committed chunk of a consolidation (DOMAIN 3 and 4)
``expected_relink``   new edges for blocks that have few (DOMAIN 4)
``expected_staging``  what a recorded recall does to pairs returned together, with who has to
                      make place (``expected_eviction``) (DOMAIN 6)
``expected_outcome``  evidence and what follows from it (DOMAIN 6)

A sweep has a module of its own, ``upkeep``.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable
from itertools import combinations

import attrs
from attrs import frozen

from mnemic.kernel.arithmetic import nano
from mnemic.kernel.events import (
    BlocksPromoted,
    Link,
    NearDuplicate,
    OutcomeRecorded,
    Penalty,
    Promotion,
    Recorded,
    RefusedBlock,
    Supersession,
)
from mnemic.kernel.identity import BlockId
from mnemic.kernel.texts import AnalysisText, Embedding
from mnemic.specs.reference import scoring
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import Pair, pair
from mnemic.specs.reference.room import PlainRoom

HANDED_OVER = ("agent", "outcome")
"""Origins of the edges that a successor takes over."""


# --- consolidation ----------------------------------------------------------------------------


def expected_chunk(state: PlainState, recorded: Recorded) -> BlocksPromoted:
    """Return the event that should have been recorded for the blocks of a recorded one.

    Which blocks were promoted, their vectors and their analyses are taken from the event; rates,
    supersessions, near-duplicates and links are worked out anew.

    Args:
        state: Before the event; left as it is.
        recorded: A `BlocksPromoted` with its envelope.
    """
    chunk = recorded.event
    assert isinstance(chunk, BlocksPromoted)
    after = state.copy()
    promotions: list[Promotion] = []
    near: list[NearDuplicate] = []
    for given in chunk.promotions:
        best, seen = _near(after, given)
        promotion = _promoted(after, given, best)
        near.extend(seen)
        promotions.append(promotion)
        _apply(after, recorded, BlocksPromoted(promotions=(promotion,)))
    fresh = [promotion.block_id for promotion in promotions]
    return BlocksPromoted(
        promotions=tuple(promotions),
        near=tuple(near),
        links=_links(after, fresh, recorded.active_us, moved={*after.edges} - {*state.edges}),
    )


def expected_relink(state: PlainState, now_us: int) -> tuple[Link, ...]:
    """Return the edges that ``consolidate(relink=True)`` should form, by rising number."""
    few = [
        block
        for block in state.with_status("active")
        if len(state.edges_of(block)) < state.policy.edge_candidates
    ]
    return _links(state, few, now_us, moved=())


def _apply(state: PlainState, recorded: Recorded, event: BlocksPromoted) -> None:
    state.apply(attrs.evolve(recorded, event=event))


def _promoted(state: PlainState, given: Promotion, best: tuple[BlockId, int] | None) -> Promotion:
    """Return *given* with its tier's rate, and what it takes over from its *best* match."""
    block = state.blocks[given.block_id]
    inferred = given.analysis.tags if isinstance(given.analysis, AnalysisText) else ()
    tags = {*block.tags, *inferred}
    rate = scoring.tier_rate(
        tags, block.category, state.policy, privileged=state.policy.privileges(block.zone)
    )
    supersession = None
    if best is not None:
        old, cosine = best
        supersession = expected_supersession(
            state,
            old,
            given.block_id,
            tags=tags,
            category=block.category,
            zone=block.zone,
            cosine=cosine,
        )
    return attrs.evolve(given, rate=rate, supersession=supersession)


def expected_supersession(
    state: PlainState,
    old: BlockId,
    new: BlockId,
    *,
    tags: Iterable[str],
    category: str,
    zone: str,
    cosine: int | None,
) -> Supersession:
    """Return what *new* should take over from *old*.

    Args:
        state: Before it happens.
        old: The block that will be archived.
        new: Its successor, which may be new to the state.
        tags: The successor's own.
        category: The successor's.
        zone: The successor's.
        cosine: Nano-units; None when a caller asked for it.
    """
    mine = {*tags}
    going = state.blocks[old]
    room = state.policy.degree_cap
    room -= sum(old not in ends for ends in state.edges_of(new))
    moved: list[BlockId] = []
    lost: list[BlockId] = []
    for ends in state.edges_of(old):
        other = ends[1] if ends[0] == old else ends[0]
        if state.edges[ends].origin not in HANDED_OVER or other == new:
            continue
        fits = pair(new, other) not in state.edges and len(moved) < room
        (moved if fits else lost).append(other)
    free = max(0, state.policy.tags_max - len(mine))
    taken = [tag for tag in sorted(going.tags) if tag not in mine][:free]
    granted = state.policy.privileges(zone)
    before = scoring.tier_rate(mine, category, state.policy, privileged=granted)
    after = scoring.tier_rate({*mine, *taken}, category, state.policy, privileged=granted)
    prior = nano(state.policy.outcome_prior)
    return Supersession(
        old=old,
        new=new,
        cosine=cosine,
        moved=tuple(moved),
        lost=tuple(lost),
        alpha=going.alpha - prior,
        beta=going.beta - prior,
        retrievals=going.retrievals,
        rate=None if after == before else after,
    )


def _near(
    state: PlainState, given: Promotion
) -> tuple[tuple[BlockId, int] | None, list[NearDuplicate]]:
    """Return the block that *given* supersedes, if any, and the pairs to note.

    Only the best match is superseded, of those as far trusted as the new block where zones are
    apart. Every other near one is noted, as many as a new block may have candidates for an edge.
    """
    new = state.blocks[given.block_id]
    seen: dict[BlockId, int] = {}
    for other in state.with_status("active"):
        cosine = scoring.cosine(_vector(given.vector), _components(state, other))
        verdict = scoring.near_verdict(
            cosine,
            categories=(new.category, state.blocks[other].category),
            constitutional=False,
            policy=state.policy,
        )
        if verdict != "apart":
            seen[other] = cosine
    order = scoring.ranked(seen)
    peers = [other for other in order if _peers(state, given.block_id, other)]
    best = None
    if peers:
        verdict = scoring.near_verdict(
            seen[peers[0]],
            categories=(),
            constitutional=state.is_constitutional(peers[0]),
            policy=state.policy,
        )
        best = (peers[0], seen[peers[0]]) if verdict == "supersedes" else None
    return best, [
        NearDuplicate(block_id=given.block_id, other=other, cosine=seen[other])
        for other in order[: state.policy.edge_candidates]
        if best is None or other != best[0]
    ]


def _peers(state: PlainState, new: BlockId, old: BlockId) -> bool:
    """Return whether the zones of two blocks let the one supersede the other."""
    ceiling, zones = state.policy.ceiling, [state.blocks[each].zone for each in (new, old)]
    return not state.policy.zones_apart or ceiling(zones[0]) == ceiling(zones[1])


def _links(
    state: PlainState, fresh: list[BlockId], now_us: int, *, moved: Collection[Pair]
) -> tuple[Link, ...]:
    """Return the edges that *fresh* blocks get, one block after the other, best candidate first.

    A pair that has an edge already uses a place, and so does one that somebody disconnected; a
    candidate without room is not replaced. What *moved* in this very command displaces nothing.
    """
    room = PlainRoom(state, now_us)
    room.formed.update(moved)
    links: list[Link] = []
    for block in fresh:
        scores = _candidates(state, block)
        for other in scoring.ranked(scores)[: state.policy.edge_candidates]:
            ends = pair(block, other)
            if room.stands(ends) or ends in state.barred:
                continue
            displaced = room.admit(block, other, "similar")
            if displaced is not None:
                links.append(
                    Link(
                        source=block,
                        target=other,
                        weight=scores[other],
                        displaced=tuple(displaced),
                    )
                )
    return tuple(links)


def _candidates(state: PlainState, block: BlockId) -> dict[BlockId, int]:
    """Return the score of every active block that could share an edge with *block*."""
    me = state.blocks[block]
    if me.status != "active":  # superseded within its own chunk
        return {}
    scores: dict[BlockId, int] = {}
    for other in state.with_status("active"):
        them = state.blocks[other]
        cosine = scoring.cosine(_components(state, block), _components(state, other))
        if other == block or cosine < nano(state.policy.cosine_guard):
            continue
        score = scoring.edge_score(
            cosine,
            me.tags,
            them.tags,
            same_category=me.category == them.category,
            delta_us=me.reinforced_us - them.reinforced_us,
            policy=state.policy,
        )
        if score >= nano(state.policy.edge_threshold):
            scores[other] = score
    return scores


def _vector(vector: object) -> tuple[int, ...]:
    assert isinstance(vector, Embedding), "words that are erased are not promoted"
    return _unpacked(vector.packed)


def _components(state: PlainState, block: BlockId) -> tuple[int, ...]:
    packed = state.blocks[block].vector
    assert packed is not None, "an active block has a vector"
    return _unpacked(packed)


def _unpacked(packed: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(packed) // 2}h", packed)


# --- co-retrieval -----------------------------------------------------------------------------


@frozen(kw_only=True)
class Staging:
    """Pairs of block numbers, as a recall's event lists them."""

    staged: tuple[tuple[int, int], ...] = ()
    linked: tuple[tuple[int, int], ...] = ()
    refreshed: tuple[tuple[int, int], ...] = ()
    evicted: tuple[tuple[int, int], ...] = ()


def expected_staging(
    state: PlainState, returned: Iterable[BlockId], session: str | None, now_us: int
) -> Staging:
    """Return what becomes of every pair of *returned* blocks, by rising number.

    A pair with an edge is refreshed once per session. One without is staged once per session, and
    with enough distinct sessions becomes an edge, if both ends have room: it displaces nothing. A
    pair that has them all and found no room is not staged again. A block that is not active any
    more takes no part.
    """
    if session is None:
        return Staging()
    room = PlainRoom(state, now_us)
    standing = [state.blocks[block] for block in returned]
    numbers = sorted(block.number for block in standing if block.status == "active")
    staged: list[tuple[int, int]] = []
    linked: list[tuple[int, int]] = []
    refreshed: list[tuple[int, int]] = []
    for a, b in combinations(numbers, 2):
        ends = pair(state.order[a], state.order[b])
        sessions = state.staged.get(ends, [])
        if ends in state.edges:
            if session not in state.used.get(ends, ()):
                refreshed.append((a, b))
        elif session not in sessions and ends not in state.barred:
            enough = len(sessions) + 1 >= state.policy.co_retrieval_sessions
            if enough and room.has_place(*ends):
                room.formed.add(ends)
                linked.append((a, b))
            elif len(sessions) < max(1, state.policy.co_retrieval_sessions):
                staged.append((a, b))
    stays, evicted = expected_eviction(state, staged, linked, session)
    return Staging(staged=stays, linked=tuple(linked), refreshed=tuple(refreshed), evicted=evicted)


def expected_eviction(
    state: PlainState,
    staged: list[tuple[int, int]],
    linked: list[tuple[int, int]],
    session: str,
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Return which of *staged* stay, and which pairs go that were staged before.

    With everything staged and linked, pairs beyond the limit go: fewest sessions, then oldest,
    then by id. One that would go at once is not staged at all.
    """
    after = state.copy()
    for a, b in linked:
        after.staged.pop(pair(state.order[a], state.order[b]), None)
    for a, b in staged:
        ends = pair(state.order[a], state.order[b])
        after.staged[ends] = [*after.staged.get(ends, []), session]
        after.staged_version[ends] = state.version + 1
    surplus = max(0, len(after.staged) - state.policy.staging_pairs_max)
    going = after.staging_order()[:surplus]
    numbers = [sorted(state.blocks[end].number for end in ends) for ends in going]
    gone = [(low, high) for low, high in numbers]
    return (
        tuple(ends for ends in staged if ends not in gone),
        tuple(two for two, ends in zip(gone, going, strict=True) if ends in state.staged),
    )


# --- outcome ----------------------------------------------------------------------------------


def expected_outcome(
    state: PlainState, ids: Iterable[str], *, signal: int, weight: int, now_us: int
) -> OutcomeRecorded | None:
    """Return the event that an outcome should come to; None when no block can be scored.

    Args:
        state: Before it.
        ids: As the caller named them; repeated ids count once.
        signal: Nano-units, [0, 1].
        weight: Nano-units, above 0.
        now_us: Active time.
    """
    policy = state.policy
    scored: list[BlockId] = []
    refused: list[RefusedBlock] = []
    for one in sorted({*ids}):
        block = BlockId(one)
        if block not in state.blocks:
            refused.append(RefusedBlock(block_id=one, code="block-not-found"))
        elif state.blocks[block].status == "inbox":
            refused.append(RefusedBlock(block_id=one, code="block-in-inbox"))
        elif state.blocks[block].status == "archived":
            refused.append(RefusedBlock(block_id=one, code="block-not-active"))
        else:
            scored.append(block)
    if not scored:
        return None
    good = signal > nano(policy.outcome_reinforces_above)
    bad = signal < nano(policy.outcome_penalises_below)
    links, confirmed, unlinked = _ties(state, scored, signal, now_us) if good else ([], [], [])
    return OutcomeRecorded(
        block_ids=tuple(scored),
        signal=signal,
        weight=weight,
        refused=tuple(refused),
        reinforced=good,
        links=tuple(links),
        confirmed=tuple(confirmed),
        unlinked=tuple(unlinked),
        penalties=tuple(_penalties(state, scored)) if bad else (),
    )


def _ties(
    state: PlainState, scored: list[BlockId], signal: int, now_us: int
) -> tuple[list[Link], list[Pair], list[Pair]]:
    """Return what a good outcome does to every pair, in id order: link, confirm, or no room.

    An edge of the scored blocks that had to make way for another is not confirmed and does not
    come back: its pair is named as without room, after those that found none.
    """
    room = PlainRoom(state, now_us)
    weight = scoring.times(nano(state.policy.outcome_edge_weight), signal)
    links: list[Link] = []
    standing: list[Pair] = []
    unlinked: list[Pair] = []
    for a, b in combinations(scored, 2):
        ends = pair(a, b)
        if ends in state.edges:
            standing.append(ends)
            continue
        displaced = None if ends in state.barred else room.admit(a, b, "outcome")
        if displaced is None:
            unlinked.append(ends)
        else:
            links.append(Link(source=a, target=b, weight=weight, displaced=tuple(displaced)))
    confirmed = [ends for ends in standing if ends not in room.gone]
    return links, confirmed, [*unlinked, *(ends for ends in standing if ends in room.gone)]


def _penalties(state: PlainState, scored: list[BlockId]) -> list[Penalty]:
    penalties = []
    for block in scored:
        before = state.blocks[block]
        rate = scoring.penalised(before.rate, before.tier_rate, state.policy)
        if rate != before.rate:
            penalties.append(Penalty(block_id=block, rate=rate))
    return penalties
