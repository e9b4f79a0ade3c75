"""The clock of an import: events are recorded at the times of the source.

Rules of this module:

1. An event is recorded when the source recorded the change, unless the log is already later.
2. Then it is recorded now: the log of a memory that was in use before does not go back. The time
   of the source is in ``created_at``.
3. What has no time is recorded now. Nothing is recorded in the future.
"""

from __future__ import annotations

from mnemic.adapters.system.clocks import SystemClock
from mnemic.kernel.ports import Clock


class ImportClock:
    """A clock that is moved to the time of each change.

    Args:
        start_us: The first reading, unless it is in the future.
        real: The wall clock.
    """

    def __init__(self, start_us: int | None, real: Clock | None = None) -> None:
        self._real = SystemClock() if real is None else real
        now_us = self._real.now_us()
        self._us = now_us if start_us is None else min(start_us, now_us)
        self.in_future = 0
        """Changes whose time in the source is later than now."""

    def now_us(self) -> int:
        """Return microseconds since the epoch, UTC."""
        return self._us

    def not_before(self, us: int) -> None:
        """Never return an earlier time than *us* from here on."""
        self._us = max(self._us, us)

    def move(self, us: int | None) -> None:
        """Move to the time of a change; None: it has none."""
        real_us = self._real.now_us()
        self.in_future += us is not None and us > real_us
        is_past = us is None or us < self._us
        self._us = max(self._us, real_us if is_past else min(us or 0, real_us))
