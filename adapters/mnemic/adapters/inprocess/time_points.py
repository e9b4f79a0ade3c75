"""Points of the past written as one argument, as in ``diff`` and on command lines."""

from __future__ import annotations

from datetime import date
from typing import TypeAlias

from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.recall import decision_records
from mnemic.adapters.system.days import day_or_instant
from mnemic.kernel.errors import FieldRefused, PointOutOfRange
from mnemic.kernel.late import late_pattern
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.projections.view import View, as_of, published_version

Point: TypeAlias = int | str | date
"""A version (``120``), active hours (``"12.5h"``), a decision (``"d45"``), a wall-clock instant
(ISO 8601, or a datetime), a day (its end: see ``system.days``), or ``"now"``."""
FORMS = (
    'Name a version (120), active hours ("12.5h"), a decision ("d45"), an instant (ISO 8601), '
    'a day ("2026-11-17") or "now".'
)

NOW = "now"
HORIZON_HOURS = 24.0
"""Active hours after a decision in which outcomes and labels count for it: one FSRS day."""
_VERSION = late_pattern(r"[0-9]{1,15}")
_HOURS = late_pattern(r"([0-9]{1,9}(?:\.[0-9]+)?)\s*h")
_DECISION = late_pattern(r"d[0-9]+")


def view_of_point(space: SessionHandle, now: View, name: str, point: object) -> View:
    """Return the view at a point.

    Args:
        space: The space.
        now: The current view: the meaning of ``"now"``, and the latest point that may be named.
        name: The name of the argument.
        point: See ``Point``.

    Raises:
        FieldRefused: It is not a point.
        PointOutOfRange, DecisionNotFound: There is no such point up to *now*.
    """
    found = _view(space, now, name, point)
    if found.point.version > now.point.version:
        head = now.point.version
        raise PointOutOfRange(
            f"there is no event at {name} {point} yet; the view is at version {head}",
            point=name,
            asked=str(point),
            head=head,
        )
    return found


def _view(space: SessionHandle, now: View, name: str, point: object) -> View:
    state, timeline = now.state, now.state.timeline
    word = point.strip() if isinstance(point, str) else ""
    if _DECISION.fullmatch(word):
        return decision_records.view_before(space, now, word)
    hours, active_us, instant_us = _HOURS.fullmatch(word), None, None
    head = now.version if now.live else published_version(state)
    if word == NOW:
        version, active_us = now.point.version, now.point.active_us
        instant_us = now.point.instant_us
    elif hours is not None:
        active_us = round(float(hours[1]) * MICROS_PER_HOUR)
        version = min(timeline.version_at_hour(active_us, head=head), now.point.version)
    elif type(point) is int:
        version = timeline.checked_version(point, head=head)
    elif _VERSION.fullmatch(word):
        version = timeline.checked_version(int(word), head=head)
    elif isinstance(point, str | date):
        version = timeline.version_at_instant(_instant_us(name, point), head=head)
    else:
        hint = f' For active hours write "{point:g}h".' if isinstance(point, float) else ""
        raise FieldRefused(
            f"{name} must be a point of the past, got {point!r:.80}",
            recovery=FORMS + hint,
            field=name,
        )
    return as_of(state, version, active_us=active_us, instant_us=instant_us)


def _instant_us(name: str, point: str | date) -> int:
    try:
        found = day_or_instant(name, point)
    except FieldRefused as error:
        if "zone" in error.message:
            raise
        raise FieldRefused(
            f"{name} is not a point of the past: {point!r:.80}", recovery=FORMS, field=name
        ) from None
    assert found is not None  # noqa: S101 - there is something to read
    return found
