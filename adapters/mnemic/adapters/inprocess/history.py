"""The log as a reader sees it: one line per event, the events behind a block, and the walk."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mnemic.adapters.codec.erasures import Erasures
from mnemic.adapters.inprocess.moments import moment
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.errors import FieldRefused, LogCorrupt, StoreTooNew
from mnemic.kernel.results import Moment, Verification
from mnemic.projections.blocks import find
from mnemic.projections.views import View

LIMIT_MAX = 1000
PROGRESS_EVERY = 1000


def entries(space: Space, *, after: int = -1, limit: int = 100) -> tuple[Moment, ...]:
    """Return up to *limit* events behind version *after*, in order.

    Raises:
        FieldRefused: The limit is not from 1 to 1000, or *after* is no version.
    """
    _check_limit(limit)
    if type(after) is not int:
        raise FieldRefused(f"after must be a version, got {after!r}", field="after")
    after = max(after, -1)
    # Never beyond what is folded: behind it, a log opened over damage cannot be read.
    upto = min(after + limit, space.state.version)
    return tuple(moment(recorded) for recorded in space.recorded(after, upto))


def latest(space: Space, version: int, *, limit: int = 100) -> tuple[Moment, ...]:
    """Return the last *limit* events up to *version*, in order.

    Raises:
        FieldRefused: The limit is not from 1 to 1000.
    """
    _check_limit(limit)
    after = max(-1, version - limit)
    return entries(space, after=after, limit=min(limit, version - after))


def behind(space: Space, view: View, block_id: str, *, limit: int = 100) -> tuple[Moment, ...]:
    """Return the last *limit* events that changed a block or what ties it, in order.

    Raises:
        BlockNotFound: It was not learned by the view's version.
    """
    _check_limit(limit)
    number = find(view, block_id)
    catalogue, graph = space.state.catalogue, space.state.graph
    tables = (catalogue.life, catalogue.strength, catalogue.evidence, catalogue.uses)
    touched = [table.touched(number) for table in tables]
    touched += [graph.rows.touched(pair) for pair in graph.incident[number]]
    for ledger in (graph.pending, graph.barred, graph.sightings):
        touched.append(ledger.touched_by(number))
    versions = np.unique(np.concatenate(touched))
    chosen = versions[versions <= view.point.version][-limit:]
    found = (space.event_at(int(version)) for version in chosen)
    return tuple(moment(recorded) for recorded in found if recorded is not None)


def _check_limit(limit: int) -> None:
    if type(limit) is not int or not 1 <= limit <= LIMIT_MAX:
        raise FieldRefused(f"limit must be from 1 to {LIMIT_MAX}, got {limit!r}", field="limit")


def verify(space: Space, progress: Callable[[int, int], None] | None = None) -> Verification:
    """Walk the whole log: chain, codec, payload MACs, and payloads that are missing unasked.

    Then let the store check what it keeps beside the chain, if it can.

    The walk reads the store afresh and does not touch the folded state. It begins anew where words
    were erased elsewhere meanwhile: it may miss them, and not have come upon the word of it.
    """
    while True:
        recast, head = space.recast, space.log.head()
        found = _verified(space, progress)
        if found.sound or not space.lost_since(head, recast):
            return found


def _verified(space: Space, progress: Callable[[int, int], None] | None) -> Verification:
    """Walk it once."""
    events = payloads = 0
    walk = Erasures(space.codec)
    head = space.log.head()
    try:
        for record, rows in space.log.read():
            recorded = space.codec.decode(record, rows)
            walk.see(record, recorded, {row.slot for row in rows})
            events, payloads = events + 1, payloads + len(rows)
            if progress is not None and events % PROGRESS_EVERY == 0:
                progress(events, head.version + 1)
    except (LogCorrupt, StoreTooNew) as error:
        version = error.facts.get("version", events)
        return _damaged(space, int(str(version)), error.message, payloads)
    unasked = walk.unasked()
    if unasked is not None:
        return _damaged(space, unasked, "a payload is missing that nobody erased", payloads)
    check: Callable[[], None] | None = getattr(space.log, "check", None)
    try:
        if check is not None:
            check()
    except LogCorrupt as error:
        return _damaged(space, events, error.message, payloads)
    if progress is not None:
        progress(events, head.version + 1)
    return Verification(
        events=events,
        head=space.log.head().digest.hex(),
        sound=True,
        payloads=payloads,
        erased_payloads=walk.missing_count,
    )


def _damaged(space: Space, version: int, problem: str, payloads: int) -> Verification:
    return Verification(
        events=version,
        head=space.log.head().digest.hex(),
        sound=False,
        first_bad_version=version,
        problem=problem,
        payloads=payloads,
    )
