"""The expected decisions, each computed from the state before it.

``expected_chunk``    a committed chunk of a consolidation (DOMAIN 3 and 4)
``expected_relink``   new edges for blocks that have few (DOMAIN 4)
``expected_staging``  effects of a recorded recall on pairs returned together, with evictions
                      (``expected_eviction``) (DOMAIN 6)
``expected_outcome``  evidence and its effects (DOMAIN 6)

A sweep has its own module, ``upkeep``.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable
from itertools import combinations

import attrs
from attrs import frozen

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
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import AnalysisText, Embedding
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.specs.reference import scoring, statements
from mnemic.specs.reference.degree_cap import PlainRoom
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import Pair, PlainBlock, pair

HANDED_OVER = ("agent", "outcome")
"""Origins of the edges that a successor takes over."""


# --- consolidation ----------------------------------------------------------------------------


def expected_chunk(state: PlainState, recorded: Recorded) -> BlocksPromoted:
    """Return the event that should have been recorded for the blocks of a recorded one.

    The promoted blocks, their vectors and their analyses are taken from the event; rates,
    supersessions, near-duplicates and links are computed again.

    Args:
        state: The state before the event; not modified.
        recorded: A `BlocksPromoted` with its envelope.
    """
    chunk = recorded.event
    assert isinstance(chunk, BlocksPromoted)
    after = state.copy()
    promotions: list[Promotion] = []
    near: list[NearDuplicate] = []
    for given in chunk.promotions:
        best = _predecessor(after, given.block_id)
        promotion = _promoted(after, given, best)
        near.extend(_near(after, given, best))
        promotions.append(promotion)
        _apply(after, recorded, BlocksPromoted(promotions=(promotion,)))
    fresh = [promotion.block_id for promotion in promotions]
    return BlocksPromoted(
        promotions=tuple(promotions),
        near=tuple(near),
        links=_links(
            after,
            fresh,
            recorded.active_us,
            moved={*after.edges} - {*state.edges},
            contradictions=True,
        ),
    )


def expected_relink(state: PlainState, now_us: int) -> tuple[Link, ...]:
    """Return the edges that ``consolidate(relink=True)`` should form, by ascending number."""
    few = [
        block
        for block in state.with_status("active")
        if len(state.edges_of(block)) < state.policy.edge_candidates
    ]
    return _links(state, few, now_us, moved=(), contradictions=False)


def _apply(state: PlainState, recorded: Recorded, event: BlocksPromoted) -> None:
    state.apply(attrs.evolve(recorded, event=event))


def _promoted(state: PlainState, given: Promotion, best: tuple[BlockId, str] | None) -> Promotion:
    """Return *given* with its tier's rate, and the supersession of what it restates, if any."""
    block = state.blocks[given.block_id]
    inferred = given.analysis.tags if isinstance(given.analysis, AnalysisText) else ()
    tags = {*block.tags, *inferred}
    rate = scoring.tier_rate(
        tags, block.category, state.policy, privileged=state.policy.privileges(block.zone)
    )
    supersession = None
    if best is not None:
        old, relation = best
        supersession = expected_supersession(
            state,
            old,
            given.block_id,
            tags=tags,
            category=block.category,
            zone=block.zone,
            relation=relation,
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
    relation: str = "",
) -> Supersession:
    """Return what *new* should take over from *old*.

    Args:
        state: The state before the supersession.
        old: The block that will be archived.
        new: Its successor, which may be new to the state.
        tags: The successor's own tags.
        category: The successor's category.
        zone: The successor's zone.
        relation: ``same`` or ``extends``; "" when a caller requested it.
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
        relation=relation,
        moved=tuple(moved),
        lost=tuple(lost),
        alpha=going.alpha - prior,
        beta=going.beta - prior,
        retrievals=going.retrievals,
        rate=None if after == before else after,
    )


def _predecessor(state: PlainState, new: BlockId) -> tuple[BlockId, str] | None:
    """Return the active block that *new* supersedes, and why; None if there is none.

    Of several it is one with the same statement rather than one that *new* extends, then the one
    that was learned first. A constitutional one is left alone.
    """
    text = state.blocks[new].content
    found: list[tuple[str, int, BlockId]] = []
    for other in state.with_status("active"):
        old = state.blocks[other].content
        if old is None or text is None or not _same_scope(state, new, other, category=True):
            continue
        if _period(state, other) not in {(None, None), _period(state, new)}:
            continue
        relation = statements.relation(old, text)
        if relation in {"same", "extends"}:
            found.append((relation, state.blocks[other].number, other))
    if not found:
        return None
    reason, _, old_block = min(found, key=lambda each: (each[0] != "same", each[1]))
    return None if state.is_constitutional(old_block) else (old_block, reason)


def _same_scope(state: PlainState, a: BlockId, b: BlockId, *, category: bool) -> bool:
    """Return whether two blocks have one author, metadata and zone, and one category if asked."""
    one, two = state.blocks[a], state.blocks[b]
    if {one.category, two.category} & {*state.policy.near_duplicate_exempt}:
        return False
    if category and one.category != two.category:
        return False
    return (one.author, one.metadata, one.zone) == (two.author, two.metadata, two.zone)


def _period(state: PlainState, block: BlockId) -> tuple[int | None, int | None]:
    facts = state.blocks[block]
    return facts.valid_from_us, facts.valid_until_us


def _may_hold_together(one: PlainBlock, two: PlainBlock) -> bool:
    """Whether there is a moment at which the facts of both blocks hold."""
    begins = [each.valid_from_us for each in (one, two) if each.valid_from_us is not None]
    ends = [each.valid_until_us for each in (one, two) if each.valid_until_us is not None]
    return not begins or not ends or max(begins) < min(ends)


def _near(
    state: PlainState, given: Promotion, best: tuple[BlockId, str] | None
) -> list[NearDuplicate]:
    """Return the near-duplicates of *given* to note, as many as it may have candidate edges."""
    new = state.blocks[given.block_id]
    seen: dict[BlockId, int] = {}
    for other in state.with_status("active"):
        cosine = scoring.cosine(_vector(given.vector), _components(state, other))
        verdict = scoring.near_verdict(
            cosine, categories=(new.category, state.blocks[other].category), policy=state.policy
        )
        if verdict == "noted" and (best is None or other != best[0]):
            seen[other] = cosine
    return [
        NearDuplicate(block_id=given.block_id, other=other, cosine=seen[other])
        for other in scoring.ranked(seen)[: state.policy.edge_candidates]
    ]


def _contradictions(state: PlainState, fresh: list[BlockId], block: BlockId) -> list[BlockId]:
    """Return what *block* contradicts among the nearest active blocks, best first.

    Of other fresh blocks only the earlier ones are compared.
    """
    policy, me = state.policy, state.blocks[block]
    later = fresh[fresh.index(block) :]
    if me.status != "active" or me.category in policy.near_duplicate_exempt:
        return []
    cosines: dict[BlockId, int] = {}
    for other in state.with_status("active"):
        if other not in later and state.blocks[other].category not in policy.near_duplicate_exempt:
            cosine = scoring.cosine(_components(state, block), _components(state, other))
            if cosine >= nano(policy.contradiction_cosine):
                cosines[other] = cosine
    found = []
    for other in scoring.ranked(cosines)[: policy.contradiction_candidates]:
        them = state.blocks[other]
        if not _same_scope(state, block, other, category=False):
            continue
        if them.content is None or me.content is None or not _may_hold_together(me, them):
            continue
        ours, theirs = _words(me.content), _words(them.content)
        if len(ours & theirs) < max(len(ours), len(theirs)) / 2:
            continue
        if statements.relation(them.content, me.content) == "contradicts":
            found.append(other)
    return found


def _words(text: str) -> set[str]:
    """Return the words of a text; each Chinese or Japanese character is one."""
    spaced = re.sub("([\u3040-\u30ff\u3400-\u9fff])", r" \1 ", text.lower())
    return {word for word in re.split(r"\W+", spaced) if word}


def _links(
    state: PlainState,
    fresh: list[BlockId],
    now_us: int,
    *,
    moved: Collection[Pair],
    contradictions: bool,
) -> tuple[Link, ...]:
    """Return the edges that *fresh* blocks get, one block after the other, best candidate first.

    All that contradict come before all that are similar.

    A pair that has an edge already counts as a candidate, and so does a disconnected one; a
    candidate that does not fit is not replaced. Edges *moved* in this command displace nothing.
    """
    room = PlainRoom(state, now_us)
    room.formed.update(moved)
    links: list[Link] = []
    proposed: list[tuple[BlockId, BlockId, str, int]] = []
    if contradictions:
        weight = state.policy.relation_weight("contradicts")
        for block in fresh:
            opposed = _contradictions(state, fresh, block)
            proposed += [(block, other, "contradicts", weight) for other in opposed]
    for block in fresh:
        scores = _candidates(state, block)
        best = scoring.ranked(scores)[: state.policy.edge_candidates]
        proposed += [(block, other, "similar", scores[other]) for other in best]
    for block, other, relation, weight in proposed:
        ends = pair(block, other)
        if room.stands(ends) or ends in state.barred:
            continue
        displaced = room.admit(block, other, relation)
        if displaced is not None:
            links.append(
                Link(
                    source=block,
                    target=other,
                    weight=weight,
                    displaced=tuple(displaced),
                    relation=None if relation == "similar" else relation,
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
    assert isinstance(vector, Embedding), "erased blocks are not promoted"
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
    """Pairs of block numbers, as listed in the event of a recall."""

    staged: tuple[tuple[int, int], ...] = ()
    linked: tuple[tuple[int, int], ...] = ()
    refreshed: tuple[tuple[int, int], ...] = ()
    evicted: tuple[tuple[int, int], ...] = ()


def expected_staging(
    state: PlainState, returned: Iterable[BlockId], session: str | None, now_us: int
) -> Staging:
    """Return the effects on every pair of *returned* blocks, by ascending number.

    A pair with an edge is refreshed once per session. One without is staged once per session, and
    with enough distinct sessions becomes an edge, if both ends are below the cap: it displaces
    nothing. A pair with enough sessions that does not fit is not staged again. A block that is no
    longer active is ignored.
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
    """Return which of *staged* stay, and which earlier pairs are evicted.

    After staging and linking, pairs beyond the limit are evicted: fewest sessions, then oldest,
    then by id. A new pair that would be evicted at once is not staged at all.
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
    """Return the expected event of an outcome; None when no block can be scored.

    Args:
        state: The state before the outcome.
        ids: Ids as given by the caller; repeated ids count once.
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
        elif state.blocks[block].status in {"archived", "quarantined"}:
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
    """Return the effect of a good outcome on every pair, in id order: link, confirm, or unlinked.

    An edge of the scored blocks that was displaced by another is not confirmed and does not come
    back: its pair is listed as unlinked, after those that did not fit.
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
