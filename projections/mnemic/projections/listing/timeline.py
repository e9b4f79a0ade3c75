"""The chronicle of a view: events by active hours, and sessions."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.results import SessionSpan, Timeline, TimelineBin
from mnemic.kernel.timestamps import iso
from mnemic.projections.view import View

Ints = NDArray[np.int64]

BINS = 24
BINS_MAX = 1000
LIMIT_MAX = 1000
"""Maximum number of sessions in one page."""


def kind_of(name: str) -> str:
    """Return the stable name of a kind of event, such as ``block-learned``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def kinds(view: View, first: int, last: int) -> dict[str, int]:
    """Return how many events of each kind there are from version *first* to *last*, by name."""
    timeline = view.state.timeline
    counts = np.bincount(timeline.kind.values[first : last + 1])
    found = {kind_of(timeline.kinds.words[each]): int(counts[each]) for each in counts.nonzero()[0]}
    return dict(sorted(found.items()))


def timeline(view: View, *, bins: int | None, after: int | None, limit: int) -> Timeline:
    """Return the chronicle of everything up to a view.

    Args:
        view: The view to read.
        bins: Number of intervals of equal length; None: 24. Range: 1 to 1000.
        after: Sessions that started after this version.
        limit: Maximum number of sessions. Range: 1 to 1000.

    Raises:
        FieldRefused: An argument is not valid.
    """
    count = BINS if bins is None else bins
    if type(count) is not int or not 1 <= count <= BINS_MAX:
        raise FieldRefused(f"bins must be from 1 to {BINS_MAX}, got {bins!r}", field="bins")
    if type(limit) is not int or not 1 <= limit <= LIMIT_MAX:
        raise FieldRefused(f"limit must be from 1 to {LIMIT_MAX}, got {limit!r}", field="limit")
    if after is not None and type(after) is not int:
        raise FieldRefused(f"after must be a version, got {after!r}", field="after")
    last = view.point.version
    sessions = view.kept.get("sessions")
    if sessions is None:
        sessions = view.kept["sessions"] = _sessions(view)
    behind = [each for each in sessions if after is None or each.start_version > after]
    page = tuple(behind[:limit])
    recorded = view.state.timeline.recorded_us.values
    return Timeline(
        version=last,
        hour=view.point.hour,
        from_at=iso(int(recorded[0])),
        to_at=iso(int(recorded[last])),
        events=last + 1,
        kinds=kinds(view, 0, last),
        bins=_bins(view, count),
        sessions=page,
        sessions_total=len(sessions),
        next_after=page[-1].start_version if len(behind) > limit else None,
    )


def _bins(view: View, count: int) -> tuple[TimelineBin, ...]:
    """Return equal intervals of active time; a single one if no time has passed."""
    last = view.point.version
    active = view.state.timeline.active_us.values[: last + 1]
    total = int(active[-1])
    edges = [total * place // count for place in range(count + 1)] if total else [0, 0]
    starts = [0, *np.searchsorted(active, edges[1:-1], side="left").tolist(), last + 1]
    return tuple(
        _bin(view, (edges[place], edges[place + 1]), starts[place], starts[place + 1] - 1)
        for place in range(len(edges) - 1)
    )


def _bin(view: View, edges: tuple[int, int], first: int, last: int) -> TimelineBin:
    hours = edges[0] / MICROS_PER_HOUR, edges[1] / MICROS_PER_HOUR
    if first > last:
        return TimelineBin(from_hour=hours[0], to_hour=hours[1])
    recorded = view.state.timeline.recorded_us.values
    return TimelineBin(
        from_hour=hours[0],
        to_hour=hours[1],
        from_version=first,
        to_version=last,
        from_at=iso(int(recorded[first])),
        to_at=iso(int(recorded[last])),
        events=last - first + 1,
        kinds=kinds(view, first, last),
    )


def _sessions(view: View) -> list[SessionSpan]:
    """Return every session, in the order of their starts."""
    timeline, last = view.state.timeline, view.point.version
    numbers = timeline.session.values[: last + 1]
    versions = np.flatnonzero(numbers)
    found, places = np.unique(numbers[versions], return_index=True)
    ends = versions[len(versions) - 1 - np.unique(numbers[versions][::-1], return_index=True)[1]]
    counts = np.bincount(numbers)
    kind = timeline.kinds.known("SessionEnded")
    ended = set(numbers[timeline.kind.values[: last + 1] == kind].tolist())
    spans = [
        _session(view, int(number), (int(start), int(end)), ended=number in ended, events=counts)
        for number, start, end in zip(found, versions[places], ends, strict=True)
    ]
    return sorted(spans, key=lambda span: span.start_version)


def _session(
    view: View, number: int, versions: tuple[int, int], *, ended: bool, events: Ints
) -> SessionSpan:
    timeline, (start, end) = view.state.timeline, versions
    active, recorded = timeline.active_us.values, timeline.recorded_us.values
    return SessionSpan(
        session_id=SessionId(timeline.session_ids.words[number]),
        start_version=start,
        end_version=end,
        ended=ended,
        from_hour=int(active[start]) / MICROS_PER_HOUR,
        to_hour=int(active[end]) / MICROS_PER_HOUR,
        started_at=iso(int(recorded[start])),
        ended_at=iso(int(recorded[end])),
        events=int(events[number]),
    )
