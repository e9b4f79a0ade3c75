"""Blocks and edges as a reader sees them, and the listings of a view."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import numpy as np

from mnemic.kernel.arithmetic import MICROS_PER_HOUR, NANO, decayed, share
from mnemic.kernel.decisions.room import effective_now
from mnemic.kernel.errors import BlockNotFound, FieldRefused
from mnemic.kernel.identity import BlockId
from mnemic.kernel.reading import STATUSES, EdgeFacts
from mnemic.kernel.results import Block, Edge, Page, Status, unit
from mnemic.kernel.scoring import UNKNOWN
from mnemic.kernel.texts import BlockText, Remark
from mnemic.projections.catalogue import REASONS
from mnemic.projections.views import View

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_US = -62_135_596_800_000_000
_LAST_US = 253_402_300_799_999_999
PAGE_LIMIT = 1000
"""Most blocks of one page."""
PENDING_ALERT = 50
"""Deferred connections from which the status speaks up. Source: DOMAIN section 5."""


def iso(us: int) -> str:
    """Return microseconds since the epoch as ISO 8601, UTC; clamped to the years 1 to 9999."""
    return (_EPOCH + timedelta(microseconds=min(max(us, _FIRST_US), _LAST_US))).isoformat()


def block_result(view: View, number: int) -> Block:
    """Return one block of a view."""
    facts, life = view.facts(number), view.life
    text = view.text(number)
    words = text if isinstance(text, BlockText) else None
    successor = life.get("successor", number)
    created, expires = life.get("created_us", number), life.get("expires_us", number)
    idle_us = view.point.active_us - facts.reinforced_us
    prior = view.policy.prior
    return Block(
        id=facts.id,
        content=words.content if words else None,
        status=STATUSES[facts.status],
        archive_reason=REASONS[life.get("reason", number)] or None,
        superseded_by=view.id(successor) if successor >= 0 else None,
        category=facts.category,
        tags=facts.tags,
        author=words.author if words else None,
        thread=words.thread if words else None,
        metadata=json.loads(words.metadata) if words and words.metadata else None,
        summary_text=_summary(view, number),
        source=view.state.catalogue.sources.words[life.get("source", number)],
        zone=facts.zone,
        confidence=unit(facts.confidence),
        created_at=None if created == UNKNOWN else iso(created),
        expires_at=None if expires == UNKNOWN else iso(expires),
        learned_version=life.get("learned", number),
        last_reinforced_hour=facts.reinforced_us / MICROS_PER_HOUR,
        reinforcements=view.strength.get("reinforcements", number),
        retrievals=facts.retrievals,
        decay_rate=unit(facts.rate),
        recency=unit(decayed(facts.rate, idle_us)) if facts.rate else 1.0,
        usefulness=unit(share(facts.alpha, facts.alpha + facts.beta)),
        evidence=(facts.alpha + facts.beta - 2 * prior) / NANO,
        degree=view.degree(number),
    )


def _summary(view: View, number: int) -> str | None:
    return view.state.catalogue.summary(view.life.get("text", number), view.point.version)


def find(view: View, block_id: str) -> int:
    """Return the number of a block.

    Raises:
        BlockNotFound: It was not learned by now.
    """
    number = view.number(block_id)
    if number is None:
        raise BlockNotFound(f"no block has the id {block_id!r}", block_id=block_id)
    return number


def edge_result(view: View, edge: EdgeFacts) -> Edge:
    """Return one edge of a view."""
    return Edge(
        source_id=view.id(edge.source),
        target_id=view.id(edge.target),
        relation=edge.relation,
        weight=unit(edge.weight),
        effective_weight=unit(effective_now(view, edge, view.point.active_us)),
        origin=edge.origin,
        anchor_hour=None if edge.anchor_us is None else edge.anchor_us / MICROS_PER_HOUR,
        reinforcement_count=edge.count,
        note=view.note(edge.source, edge.target),
    )


def edges(view: View, block_id: str) -> tuple[Edge, ...]:
    """Return the edges of a block, strongest now first, ties by the other end.

    Raises:
        BlockNotFound: It was not learned by now.
    """
    number = find(view, block_id)
    found = [(edge.other(number), edge_result(view, edge)) for edge in view.edges_of(number)]
    found.sort(key=lambda entry: (-entry[1].effective_weight, view.id(entry[0])))
    return tuple(edge for _, edge in found)


def ids(view: View) -> list[BlockId]:
    """Return the id of every block learned by now, sorted."""
    named = view.state.catalogue.ids
    return sorted(named[number] for number in view.known().tolist())


def blocks(  # a query has one argument per thing one may ask for
    view: View,
    *,
    tag: str | None = None,
    category: str | None = None,
    author: str | None = None,
    thread: str | None = None,
    status: str | None = None,
    after: int | None = None,
    limit: int = 100,
) -> Page:
    """Return a page of blocks in the order of the versions that learned them.

    Args:
        view: Where to look.
        tag: Blocks with this tag; one that ends in ``/`` stands for every tag below it.
        category: Blocks of this category.
        author: Blocks said by this author.
        thread: Blocks of this thread.
        status: ``inbox``, ``active`` or ``archived``.
        after: Continue behind this version.
        limit: Most blocks of the page. Range: 1 to 1000.

    Raises:
        FieldRefused: One of them is not of these.
    """
    if status is not None and status not in STATUSES:
        raise FieldRefused(f"status must be one of {', '.join(STATUSES)}, got {status!r}")
    if type(limit) is not int or not 1 <= limit <= PAGE_LIMIT:
        raise FieldRefused(f"limit must be from 1 to {PAGE_LIMIT}, got {limit!r}", field="limit")
    if after is not None and type(after) is not int:
        raise FieldRefused(f"after must be a version, got {after!r}", field="after")
    _check_words(tag=tag, category=category, author=author, thread=thread)
    numbers = view.known() if status is None else view.with_status(STATUSES.index(status))
    if tag is not None:
        numbers = numbers[view.tagged(view.life.column("tags", numbers), (tag,))]
    if category is not None:
        wanted = view.state.catalogue.categories.known(category)
        numbers = numbers[view.life.column("category", numbers) == wanted]
    learned = view.life.column("learned", numbers)
    order = np.argsort(learned, kind="stable")
    numbers, learned = numbers[order], learned[order]
    if after is not None:
        numbers = numbers[learned > after]
    items: list[Block] = []
    for number in numbers.tolist():
        if not _said(view, number, author, thread):
            continue
        if len(items) == limit:
            return Page(items=tuple(items), next_after=items[-1].learned_version)
        items.append(block_result(view, number))
    return Page(items=tuple(items))


def _check_words(**given: object) -> None:
    for name, word in given.items():
        if word is not None and not isinstance(word, str):
            raise FieldRefused(f"{name} must be text, got {word!r:.100}", field=name)


def _said(view: View, number: int, author: str | None, thread: str | None) -> bool:
    if author is None and thread is None:
        return True
    text = view.text(number)
    return isinstance(text, BlockText) and (
        (author is None or text.author == author) and (thread is None or text.thread == thread)
    )


def status(view: View, space: str) -> Status:
    """Return the counts of a view and what is in force at it."""
    statuses = np.bincount(view.life.column("status", view.known()), minlength=len(STATUSES))
    timeline, version = view.state.timeline, view.point.version
    pending = len(view.waiting_connections())
    recalls = timeline.kinds.known("RecallRecorded")
    alerts = []
    if pending > PENDING_ALERT:
        alerts.append(f"{pending} connections wait for room: run curate() or raise degree_cap")
    if timeline.space_erased is not None and timeline.space_erased <= version:
        alerts.append("the space was erased")
    return Status(
        space=space,
        version=version,
        hour=view.point.hour,
        recorded_at=iso(int(timeline.recorded_us.values[version])) if version >= 0 else None,
        inbox=int(statuses[0]),
        active=int(statuses[1]),
        archived=int(statuses[2]),
        edges=len(view.pairs()),
        pending_connections=pending,
        near_duplicates=len(view.sightings()),
        decisions=int(np.count_nonzero(timeline.kind.values[: version + 1] == recalls)),
        open_sessions=tuple(view.open_sessions()),
        policy=view.policy.name,
        policy_id=view.policy.id,
        frames=tuple(frame.name for frame in view.policy.frames),
        embedder=None if view.embedder is None else view.embedder.name,
        exact=not view.live,
        alerts=tuple(alerts),
    )


def near_duplicates(view: View) -> tuple[tuple[Block, Block, float], ...]:
    """Return the recorded near-duplicate pairs, both blocks active, in the order of recording."""
    return tuple(
        (block_result(view, pair.block), block_result(view, pair.other), unit(pair.cosine))
        for pair in view.sightings()
    )


def pending_connections(view: View) -> tuple[Edge, ...]:
    """Return the connections that wait for room, first in first."""
    results = []
    for waiting in view.waiting_connections():
        note = view.state.graph.notes[waiting.note] if waiting.note >= 0 else None
        results.append(
            Edge(
                source_id=view.id(waiting.source),
                target_id=view.id(waiting.target),
                relation=waiting.relation,
                weight=unit(waiting.weight),
                effective_weight=0.0,
                origin="agent",
                note=note.text if isinstance(note, Remark) else None,
            )
        )
    return tuple(results)
