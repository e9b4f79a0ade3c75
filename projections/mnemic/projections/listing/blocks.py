"""Listings of a view: its blocks, page by page, their edges, and its status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel import results as kernel_results
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.blocks import STATUSES
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import BlockText, Remark
from mnemic.kernel.results import unit
from mnemic.kernel.timestamps import iso
from mnemic.projections.view import View
from mnemic.projections.view.block_results import block_result, edge_result, find

if TYPE_CHECKING:
    from mnemic.kernel.results import Block, Edge, Page, Status

Ints = NDArray[np.int64]
PAGE_LIMIT = 1000
"""Maximum number of blocks in one page."""
PENDING_ALERT = 50
"""Number of deferred connections from which the status warns. Source: DOMAIN section 5."""


def edges(view: View, block_id: str) -> tuple[Edge, ...]:
    """Return the edges of a block, strongest now first, ties by the other end.

    Raises:
        BlockNotFound: It had not been learned at the view's version.
    """
    number = find(view, block_id)
    found = [(edge.other(number), edge_result(view, edge)) for edge in view.edges_of(number)]
    found.sort(key=lambda entry: (-entry[1].effective_weight, view.id(entry[0])))
    return tuple(edge for _, edge in found)


def ids(view: View, start: str = "") -> list[BlockId]:
    """Return the id of every block learned by now whose id begins with *start*, sorted."""
    named = view.state.catalogue.ids
    return sorted(
        name for number in view.known().tolist() if (name := named[number]).startswith(start)
    )


def blocks(  # a query has one argument per filter
    view: View,
    *,
    tag: str | None = None,
    category: str | None = None,
    author: str | None = None,
    thread: str | None = None,
    key: str | None = None,
    status: str | None = None,
    after: int | None = None,
    limit: int = 100,
) -> Page:
    """Return a page of blocks in the order of the versions that learned them.

    Args:
        view: The view to read.
        tag: Blocks with this tag; one that ends in ``/`` matches every tag below it.
        category: Blocks of this category.
        author: Blocks by this author.
        thread: Blocks of this thread.
        key: Blocks learned with this key; one that ends in ``/`` matches every key below it.
        status: ``inbox``, ``active``, ``archived`` or ``quarantined``.
        after: Continue after this version.
        limit: Maximum number of blocks in the page. Range: 1 to 1000.

    Raises:
        FieldRefused: An argument is not valid.
    """
    if status is not None and status not in STATUSES:
        raise FieldRefused(f"status must be one of {', '.join(STATUSES)}, got {status!r}")
    if type(limit) is not int or not 1 <= limit <= PAGE_LIMIT:
        raise FieldRefused(f"limit must be from 1 to {PAGE_LIMIT}, got {limit!r}", field="limit")
    if after is not None and type(after) is not int:
        raise FieldRefused(f"after must be a version, got {after!r}", field="after")
    _check_words(tag=tag, category=category, author=author, thread=thread, key=key)
    numbers = _candidates(view, key=key, status=status)
    if tag is not None:
        numbers = numbers[view.tagged(numbers, (tag,))]
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
            return kernel_results.Page(items=tuple(items), next_after=items[-1].learned_version)
        items.append(block_result(view, number))
    return kernel_results.Page(items=tuple(items))


def _candidates(view: View, *, key: str | None, status: str | None) -> Ints:
    """Return the numbers of the blocks with a key and a status; None: any."""
    if key is None:
        return view.known() if status is None else view.with_status(STATUSES.index(status))
    numbers: Ints = np.array(view.keyed(key), dtype=np.int64)
    return numbers if status is None else numbers[view.statuses(numbers) == STATUSES.index(status)]


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
    """Return the counts of a view and the settings in force at it."""
    statuses = np.bincount(view.statuses(view.known()), minlength=len(STATUSES))
    timeline, version = view.state.timeline, view.point.version
    pending = len(view.waiting_connections())
    recalls = timeline.kinds.known("RecallRecorded")
    alerts = []
    if pending > PENDING_ALERT:
        alerts.append(f"{pending} connections wait for room: run curate() or raise degree_cap")
    if timeline.space_erased is not None and timeline.space_erased <= version:
        alerts.append("the space was erased")
    return kernel_results.Status(
        space=space,
        version=version,
        hour=view.point.hour,
        recorded_at=iso(int(timeline.recorded_us.values[version])) if version >= 0 else None,
        inbox=int(statuses[0]),
        active=int(statuses[1]),
        archived=int(statuses[2]),
        quarantined=int(statuses[3]),
        edges=len(view.pairs()),
        pending_connections=pending,
        near_duplicates=len(view.sightings()),
        decisions=int(np.count_nonzero(timeline.kind.values[: version + 1] == recalls)),
        open_sessions=tuple(view.open_sessions()),
        policy=view.policy.name,
        policy_id=view.policy.id,
        frames=tuple(frame.name for frame in view.policy.frames),
        embedder=None if view.embedder is None else view.embedder.name,
        exact=not view.is_latest,
        alerts=tuple(alerts),
    )


def near_duplicates(view: View) -> tuple[tuple[Block, Block, float], ...]:
    """Return the recorded near-duplicate pairs, both blocks active, in the order of recording."""
    return tuple(
        (block_result(view, pair.block), block_result(view, pair.other), unit(pair.cosine))
        for pair in view.sightings()
    )


def pending_connections(view: View) -> tuple[Edge, ...]:
    """Return the connections that wait for a free place under the degree cap, oldest first."""
    results = []
    for waiting in view.waiting_connections():
        note = view.state.graph.notes[waiting.note] if waiting.note >= 0 else None
        results.append(
            kernel_results.Edge(
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
