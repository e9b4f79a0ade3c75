"""consolidate: blocks leave the inbox, meet their near-duplicates, and find their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain

import numpy as np
from attrs import evolve, frozen

from mnemic.kernel.arithmetic import nano
from mnemic.kernel.decay import tier_rate
from mnemic.kernel.decisions.room import Room, id_pairs
from mnemic.kernel.decisions.succession import Heir, inherited, succeed
from mnemic.kernel.events import (
    BlocksPromoted,
    BlocksRelinked,
    Link,
    NearDuplicate,
    Promotion,
    Supersession,
)
from mnemic.kernel.policy import CONSTITUTIONAL
from mnemic.kernel.ports import Analysis
from mnemic.kernel.reading import Fresh, Moment, Reading
from mnemic.kernel.texts import AnalysisText, Embedding
from mnemic.kernel.vectors import Vector, cosines_among, pack


@frozen(kw_only=True, eq=False)
class Candidate:
    """One inbox block, embedded and analysed."""

    number: int
    vector: Vector
    analysis: Analysis | None = None
    analysed: str = "none"
    """``none``, ``done`` or ``failed``."""


def decide_promotion(
    reading: Reading, candidates: Sequence[Candidate], at: Moment
) -> BlocksPromoted:
    """Decide one chunk: promotions first in first, then links.

    The chunk ends early before a block whose supersession would build on another one of this very
    chunk, so that every supersession is decided on a state that has been folded. The first
    candidate is always taken.

    Args:
        reading: The state before.
        candidates: Inbox blocks in the order of learning.
        at: The current moment; every promoted block has its hour.

    Source: DOMAIN sections 3 and 4.
    """
    fresh = [_fresh(reading, candidate) for candidate in candidates]
    near = _Neighbourhood(reading, fresh)
    promotions: list[Promotion] = []
    noted: list[NearDuplicate] = []
    for place, candidate in enumerate(candidates):
        superseded, seen = near.judge(place)
        if superseded is not None and near.builds_on_chunk(place, superseded[0]):
            break
        promotions.append(_promotion(reading, candidate, fresh[place], superseded=superseded))
        if superseded is not None:
            old = reading.facts(superseded[0]).tags
            fresh[place] = evolve(
                fresh[place], tags=inherited(fresh[place].tags, old, reading.policy)
            )
        noted.extend(
            NearDuplicate(
                block_id=reading.id(candidate.number),
                other=reading.id(other),
                cosine=cosine,
            )
            for other, cosine in seen
        )
    return BlocksPromoted(
        promotions=tuple(promotions),
        near=tuple(noted),
        links=_links(reading, fresh[: len(promotions)], promotions, at),
    )


def decide_relink(reading: Reading, fresh: Sequence[Fresh], at: Moment) -> BlocksRelinked | None:
    """Decide new edges of active blocks that have few; None when there are none to form."""
    room = Room(reading, at.active_us)
    links = _form(reading, fresh, reading.link_candidates(fresh, (), at), room)
    return BlocksRelinked(links=links) if links else None


def _fresh(reading: Reading, candidate: Candidate) -> Fresh:
    """Return the block as it will be: its declared tags and what fits of an analyst's."""
    facts = reading.facts(candidate.number)
    inferred = () if candidate.analysis is None else candidate.analysis.tags
    return Fresh(
        number=candidate.number,
        vector=candidate.vector,
        category=facts.category,
        tags=inherited(facts.tags, inferred, reading.policy),
    )


def _promotion(
    reading: Reading,
    candidate: Candidate,
    fresh: Fresh,
    *,
    superseded: tuple[int, int] | None,
) -> Promotion:
    block_id, zone = reading.id(candidate.number), reading.facts(candidate.number).zone
    analysis = candidate.analysis
    text = None
    if analysis is not None:
        added = tuple(tag for tag in analysis.tags if tag in fresh.tags)
        if added or analysis.summary is not None:
            text = AnalysisText(of=(block_id,), tags=added, summary=analysis.summary)
    supersession = None
    if superseded is not None:
        old, cosine = superseded
        heir = Heir(
            id=block_id,
            number=fresh.number,
            category=fresh.category,
            tags=fresh.tags,
            zone=zone,
        )
        supersession = succeed(reading, old, heir, cosine=cosine)
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


class _Neighbourhood:
    """Which active blocks say almost the same as the blocks of a chunk, seen in order."""

    def __init__(self, reading: Reading, fresh: Sequence[Fresh]) -> None:
        self._reading = reading
        self._fresh = fresh
        self._floor = nano(reading.policy.near_duplicate_noted)
        self._limit = nano(reading.policy.near_duplicate)
        self._exempt = frozenset(reading.policy.near_duplicate_exempt)
        self._standing = reading.near(
            [block.vector for block in fresh], [block.category for block in fresh], self._floor
        )
        self._cosines = cosines_among([block.vector for block in fresh])
        self._gone: set[int] = set()
        self._touched: set[int] = set()

    def judge(self, place: int) -> tuple[tuple[int, int] | None, list[tuple[int, int]]]:
        """Return what the block at *place* supersedes, and the pairs to record."""
        if self._fresh[place].category in self._exempt:
            return None, []
        matches = sorted(
            chain(self._standing[place], self._batch(place)),
            key=lambda match: (-match[1], self._reading.id(match[0])),
        )
        matches = [match for match in matches if match[0] not in self._gone]
        if not matches:
            return None, []
        most = self._reading.policy.edge_candidates
        best, cosine = next(filter(partial(self._is_peer, place), matches), (-1, -1))
        if cosine < self._limit or self._constitutional(best):
            return None, matches[:most]
        return (best, cosine), [match for match in matches[:most] if match[0] != best]

    def _is_peer(self, place: int, match: tuple[int, int]) -> bool:
        """Whether a block may be superseded by that at *place*, as far as zones go."""
        reading, policy = self._reading, self._reading.policy
        if not policy.zones_apart:
            return True
        own = reading.facts(self._fresh[place].number).zone
        return policy.ceiling(own) == policy.ceiling(reading.facts(match[0]).zone)

    def builds_on_chunk(self, place: int, old: int) -> bool:
        """Whether superseding *old* depends on what this chunk did; if not, take note of it."""
        around = {old, *(edge.other(old) for edge in self._reading.edges_of(old))}
        if old in {block.number for block in self._fresh} or not around.isdisjoint(self._touched):
            return True
        self._gone.add(old)
        self._touched |= around | {self._fresh[place].number}
        return False

    def _batch(self, place: int) -> list[tuple[int, int]]:
        """Return the earlier blocks of the chunk that are near."""
        cosines = self._cosines[place, :place]
        before = [(self._fresh[at], at) for at in np.flatnonzero(cosines >= self._floor).tolist()]
        return [
            (other.number, int(cosines[at]))
            for other, at in before
            if other.category not in self._exempt
        ]

    def _constitutional(self, number: int) -> bool:
        if not self._reading.policy.privileges(self._reading.facts(number).zone):
            return False
        for block in self._fresh:
            if block.number == number:
                return CONSTITUTIONAL in block.tags
        return CONSTITUTIONAL in self._reading.facts(number).tags


def _links(
    reading: Reading, fresh: Sequence[Fresh], promotions: Sequence[Promotion], at: Moment
) -> tuple[Link, ...]:
    """Link the chunk, on degrees as they are after its supersessions."""
    room = Room(reading, at.active_us)
    gone = [_resettle(reading, each.supersession, room) for each in promotions if each.supersession]
    return _form(reading, fresh, reading.link_candidates(fresh, gone, at), room)


def _resettle(reading: Reading, supersession: Supersession, room: Room) -> int:
    """Move edges of the old block within the room as the fold will, and return its number."""
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
    candidates: Sequence[Sequence[tuple[int, int]]],
    room: Room,
) -> tuple[Link, ...]:
    """Form what fits, block by block, best candidate first.

    A pair that is linked already uses a place; one without room is not replaced.
    """
    links = []
    for block, found in zip(fresh, candidates, strict=True):
        for other, score in found:
            if room.stands(block.number, other) or reading.is_barred(block.number, other):
                continue
            displaced = room.admit(block.number, other, "similar")
            if displaced is not None:
                links.append(
                    Link(
                        source=reading.id(block.number),
                        target=reading.id(other),
                        weight=score,
                        displaced=id_pairs(reading, displaced),
                    )
                )
    return tuple(links)
