"""Decisions of consolidate and reembed.

Consolidate promotes inbox blocks, supersedes restated ones, and forms edges; reembed gives promoted
blocks vectors of another embedder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.degree_cap import DegreeCap, id_pairs
from mnemic.kernel.decisions.restatement import CONTRADICTS, Chunk, Predecessor
from mnemic.kernel.decisions.space import check_embedder, decide_adopt_embedder
from mnemic.kernel.decisions.supersession import Heir, inherited, succeed
from mnemic.kernel.events import (
    BlocksPromoted,
    BlocksRelinked,
    EmbedderIdentity,
    Link,
    NearDuplicate,
    Promotion,
    StagedVector,
    Supersession,
    VectorsStaged,
)
from mnemic.kernel.model.blocks import Fresh
from mnemic.kernel.model.texts import AnalysisText, Embedding
from mnemic.kernel.model.vectors import Vector, pack
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.ports import Analysis
from mnemic.kernel.reading import Reading
from mnemic.kernel.scoring.decay import tier_rate
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.values import Value


@frozen(kw_only=True, eq=False)
class Candidate:
    """One inbox block, embedded and analysed."""

    number: int
    vector: Vector
    analysis: Analysis | None = None
    analysed: str = "none"
    """``none``, ``done`` or ``failed``."""


def decide_promotion(
    reading: Reading, candidates: Sequence[Candidate], at: Instant, *, embedder: EmbedderIdentity
) -> Decision[BlocksPromoted]:
    """Decide one chunk: promotions in the order of learning, then links.

    The first chunk of a space adopts the embedder.

    The chunk ends early, before a block whose supersession would depend on another one of the same
    chunk, so that every supersession is decided on a state that has been applied. The first
    candidate is always taken.

    Args:
        reading: The state before the command.
        candidates: Inbox blocks in the order of learning.
        at: The current time; every promoted block gets its active time.
        embedder: The embedder of the candidates' vectors.
    Returns:
        As the result: the promotions; of no candidates, without an event.

    Raises:
        EmbedderMismatch: Another embedder is in force.

    Source: DOMAIN sections 3 and 4.
    """
    check_embedder(reading.embedder, embedder)
    if not candidates:
        return Decision((), BlocksPromoted(promotions=()))
    fresh = [_fresh(reading, candidate) for candidate in candidates]
    chunk = Chunk(reading, fresh)
    promotions: list[Promotion] = []
    noted: list[NearDuplicate] = []
    typicality = reading.typicality({each.number: each.vector for each in candidates})
    rarity = reading.rarities([each.number for each in candidates])
    for place, candidate in enumerate(candidates):
        old = chunk.predecessor(place)
        if old is not None and chunk.is_constitutional(old.number):
            old = None
        if old is not None and not chunk.supersede(place, old.number):
            break
        promotion = _promotion(reading, candidate, fresh[place], old)
        promotions.append(evolve(promotion, typicality=typicality[place], rarity=rarity[place]))
        if old is not None:
            tags = inherited(fresh[place].tags, reading.facts(old.number).tags, reading.policy)
            fresh[place] = evolve(fresh[place], tags=tags)
        noted.extend(
            NearDuplicate(
                block_id=reading.id(candidate.number),
                other=reading.id(other),
                cosine=cosine,
            )
            for other, cosine in chunk.noted(place)
        )
    event = BlocksPromoted(
        promotions=tuple(promotions),
        near=tuple(noted),
        links=_links(reading, chunk, promotions, at),
    )
    return Decision((*decide_adopt_embedder(reading, embedder).events, event), event)


def decide_relink(
    reading: Reading, fresh: Sequence[Fresh], at: Instant
) -> Decision[BlocksRelinked | None]:
    """Decide new edges of active blocks that have few.

    Returns:
        As the result: the event; None if there are no edges to form.
    """
    room = DegreeCap(reading, at.active_us)
    links = _form(reading, fresh, _similar(reading.link_candidates(fresh, (), at)), room)
    if not links:
        return Decision((), None)
    event = BlocksRelinked(links=links)
    return Decision((event,), event)


def decide_stage_vectors(
    reading: Reading, vectors: Mapping[int, Vector], *, embedder: EmbedderIdentity
) -> Decision[None]:
    """Record vectors of an embedder that is to be adopted later; no event without any vectors.

    Args:
        reading: The state before the command.
        vectors: By number of a promoted block: the vector of its text.
        embedder: Whose vectors they are.
    """
    if not vectors:
        return Decision((), None)
    typical = reading.typicality(vectors, embedder)
    staged = tuple(
        StagedVector(
            block_id=reading.id(number),
            vector=Embedding(of=(reading.id(number),), packed=pack(vector)),
            typicality=each,
        )
        for (number, vector), each in zip(vectors.items(), typical, strict=True)
    )
    return Decision((VectorsStaged(embedder=embedder, vectors=staged),), None)


def _fresh(reading: Reading, candidate: Candidate) -> Fresh:
    """Return the promoted block: its declared tags, and the analyst's as far as they fit."""
    number = candidate.number
    inferred = () if candidate.analysis is None else candidate.analysis.tags
    return Fresh(
        number=number,
        vector=candidate.vector,
        category=reading.category(number),
        tags=inherited(reading.tags(number), inferred, reading.policy),
    )


def _promotion(
    reading: Reading, candidate: Candidate, fresh: Fresh, predecessor: Predecessor | None
) -> Promotion:
    block_id, zone = reading.id(candidate.number), reading.zone(candidate.number)
    analysis = candidate.analysis
    text = None
    if analysis is not None:
        added = tuple(tag for tag in analysis.tags if tag in fresh.tags)
        if added or analysis.summary is not None:
            text = AnalysisText(of=(block_id,), tags=added, summary=analysis.summary)
    supersession = None
    if predecessor is not None:
        heir = Heir(
            id=block_id,
            number=fresh.number,
            category=fresh.category,
            tags=fresh.tags,
            zone=zone,
        )
        supersession = succeed(reading, predecessor.number, heir, relation=predecessor.relation)
    alignment = None if analysis is None else analysis.alignment
    return Promotion(
        block_id=block_id,
        vector=Embedding(of=(block_id,), packed=pack(candidate.vector)),
        rate=tier_rate(
            fresh.tags,
            fresh.category,
            reading.policy,
            privileged=reading.policy.privileges(zone),
        ),
        analysis=text,
        analysed=candidate.analysed,
        alignment=None if alignment is None else nano(alignment),
        supersession=supersession,
    )


@frozen(kw_only=True)
class _Proposal(Value):
    """An edge that a fresh block should get, if there is room."""

    other: int
    weight: int
    """Nano-units."""
    relation: str | None = None
    """None: ``similar``."""


def _links(
    reading: Reading, chunk: Chunk, promotions: Sequence[Promotion], at: Instant
) -> tuple[Link, ...]:
    """Return the links of the chunk, based on the degrees after its supersessions."""
    fresh = chunk.fresh[: len(promotions)]
    room = DegreeCap(reading, at.active_us)
    gone = [_resettle(reading, each.supersession, room) for each in promotions if each.supersession]
    weight = reading.policy.relation_weight(CONTRADICTS)
    contradictions = [
        [
            _Proposal(other=other, weight=weight, relation=CONTRADICTS)
            for other in chunk.contradictions(place)
        ]
        for place in range(len(fresh))
    ]
    # A pair has one edge, and what contradicts must not be called similar.
    first = _form(reading, fresh, contradictions, room)
    similar = _similar(reading.link_candidates(fresh, gone, at))
    return (*first, *_form(reading, fresh, similar, room))


def _similar(candidates: Sequence[Sequence[tuple[int, int]]]) -> list[list[_Proposal]]:
    return [
        [_Proposal(other=other, weight=score) for other, score in found] for found in candidates
    ]


def _resettle(reading: Reading, supersession: Supersession, room: DegreeCap) -> int:
    """Move edges of the old block as the projections will, and return the block's number."""
    numbers = {block: reading.number(block) for block in supersession.moved}
    old, new = reading.number(supersession.old), reading.number(supersession.new)
    assert old is not None  # noqa: S101 - the supersession was decided on this reading
    assert new is not None  # noqa: S101
    for edge in reading.edges_of(old):
        room.remove(edge.source, edge.target)
    for end in numbers.values():
        assert end is not None  # noqa: S101
        room.move_in(new, end)
    return old


def _form(
    reading: Reading,
    fresh: Sequence[Fresh],
    proposals: Sequence[Sequence[_Proposal]],
    room: DegreeCap,
) -> tuple[Link, ...]:
    """Form the edges that fit, block by block, best candidate first.

    A pair that is linked already counts as one of the candidates; one that does not fit is not
    replaced by another candidate.
    """
    links = []
    for block, found in zip(fresh, proposals, strict=True):
        for each in found:
            if room.stands(block.number, each.other) or reading.is_barred(block.number, each.other):
                continue
            displaced = room.admit(block.number, each.other, each.relation or "similar")
            if displaced is not None:
                links.append(
                    Link(
                        source=reading.id(block.number),
                        target=reading.id(each.other),
                        weight=each.weight,
                        displaced=id_pairs(reading, displaced),
                        relation=each.relation,
                    )
                )
    return tuple(links)
