"""Days and time zones: what a caller means by a day, as an instant.

A day stands for its end, in the zone named in brackets after it (RFC 9557) or else in the local
zone of this process. Zones are resolved here, in the adapters: the kernel and the log have
instants only.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, tzinfo

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.late import late_pattern
from mnemic.kernel.timestamps import instant

_ZONED = late_pattern(r"(?P<moment>.*?)\s*\[(?P<zone>[^\[\]]{1,100})\]", re.DOTALL)


def day_or_instant(name: str, value: object) -> int | None:
    """Return a point in time as microseconds since the epoch; a day means its last microsecond.

    Args:
        name: The name of the argument.
        value: A day (``2026-11-17``, or a date), or an instant (ISO 8601, or a datetime). Text may
            end in the name of a time zone in brackets, ``2026-11-17[Europe/Berlin]``; without one
            a day is one of the local zone, and an instant without an offset is UTC.

    Raises:
        FieldRefused: It is neither, or the zone is not known.
    """
    zone: tzinfo | None = None
    moment: object = value.strip() if isinstance(value, str) else value
    if isinstance(moment, str) and (zoned := _ZONED.fullmatch(moment)) is not None:
        moment, zone = zoned["moment"], _zone(name, zoned["zone"])
    day = _day(moment)
    if day is not None:
        return instant(name, _end(day, zone))
    if zone is not None and isinstance(moment, str):
        us = instant(name, moment)  # refuses what is no date
        at = datetime.fromisoformat(moment)
        return us if at.tzinfo is not None else instant(name, at.replace(tzinfo=zone))
    return instant(name, moment)


def is_day(value: object) -> bool:
    """Return whether a caller named a day or a zone, which is resolved where the caller is."""
    text = value.strip() if isinstance(value, str) else value
    return _day(text) is not None or (isinstance(text, str) and text.endswith("]"))


def _day(moment: object) -> date | None:
    """Return a day, if only a day was given."""
    if isinstance(moment, date):
        return None if isinstance(moment, datetime) else moment
    try:
        return date.fromisoformat(moment) if isinstance(moment, str) else None
    except ValueError:
        return None


def _end(day: date, zone: tzinfo | None) -> datetime:
    """Return the end of a day; where the clock shows it twice, the second time."""
    last = datetime.combine(day, time.max).replace(fold=1)
    if zone is not None:
        return last.replace(tzinfo=zone)
    try:
        return last.astimezone()
    except (OverflowError, ValueError, OSError):  # at the ends of the calendar
        return last.replace(tzinfo=UTC)


def _zone(name: str, zone: str) -> tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # slow to import, and rarely needed

    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise FieldRefused(
            f"{name} names a time zone that is not known here: {zone!r:.100}",
            recovery="Write it like 2026-11-17[Europe/Berlin], or give an instant with its offset, "
            "2026-11-17T23:59:59+01:00. Where no zone is known, install the package tzdata.",
            field=name,
        ) from None
