"""Clocks: that of the machine, and one that is set by hand."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

NEW_YEAR_2026_US = 1_767_225_600_000_000


class SystemClock:
    """The wall clock of this machine."""

    def now_us(self) -> int:
        """Return microseconds since the epoch, UTC."""
        return time.time_ns() // 1000


class ManualClock:
    """A clock that stays still until it is moved, in any direction.

    Args:
        start_us: The first reading, microseconds since the epoch, UTC.
        jumps: Moves the clock before each reading by the next of these microseconds, until they
            run out: ``(0, -5, 3_600_000_000)`` repeats, steps back and jumps an hour ahead.
    """

    def __init__(self, start_us: int = NEW_YEAR_2026_US, *, jumps: Iterable[int] = ()) -> None:
        self._now_us = start_us
        self._jumps = iter(jumps)

    def now_us(self) -> int:
        """Return microseconds since the epoch, UTC, as last set or advanced."""
        self._now_us += next(self._jumps, 0)
        return self._now_us

    def advance(
        self,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        microseconds: float = 0,
    ) -> int:
        """Move by the sum of the arguments, back where it is negative, and return the time."""
        step = timedelta(
            days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=microseconds
        )
        return self.set(self._now_us + step // _MICROSECOND)

    def set(self, to: int | datetime) -> int:
        """Move to microseconds since the epoch or to an aware datetime, and return the time.

        Raises:
            TypeError: A datetime without a zone.
        """
        self._now_us = (to - _EPOCH) // _MICROSECOND if isinstance(to, datetime) else to
        return self._now_us
