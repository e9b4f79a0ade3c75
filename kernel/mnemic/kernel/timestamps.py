"""Parsing and formatting of timestamps, and the time at which a command is decided."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from attrs import frozen

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.values import Value

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_US = -62_135_596_800_000_000
_LAST_US = 253_402_300_799_999_999


@frozen
class Instant(Value):
    """The time at which a command is decided, in active time and wall clock."""

    active_us: int
    recorded_us: int


def instant(name: str, value: object) -> int | None:
    """Return a date as microseconds since the epoch; naive dates are UTC, offsets are honoured.

    Raises:
        FieldRefused: It cannot be read as ISO 8601.
    """
    if value is None:
        return None
    moment: object = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise FieldRefused(
                f"{name} is not an ISO 8601 date: {value!r}",
                recovery="Write it like 2026-03-02T09:04:00+00:00, or leave it out.",
                field=name,
            ) from error
    if not isinstance(moment, datetime):
        raise FieldRefused(f"{name} must be a date or its ISO 8601 text, got {value!r}", field=name)
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    delta = aware - EPOCH  # in range for every datetime and offset
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def iso(us: int) -> str:
    """Return microseconds since the epoch as ISO 8601, UTC; clamped to the years 1 to 9999."""
    return (EPOCH + timedelta(microseconds=min(max(us, _FIRST_US), _LAST_US))).isoformat()
