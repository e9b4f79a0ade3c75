"""The active-hour clock, which runs only while a session is in use.

Rules of this module:

1. Time passes between two events of one session, never between sessions: idle days add nothing.
2. Overlapping sessions count once: ``counted`` is the wall-clock instant up to which time has
   been credited, by any session.
3. No event adds a negative amount or more than the gap, even if the wall clock jumps.
4. A session that a dead process left open ends at its last event, since no later event
   credits the time after it.

Source: DOMAIN section 2.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from mnemic.kernel.model.identity import SessionId


@define(kw_only=True)
class ActiveClock:
    """State of the clock at one version of a log."""

    active_us: int = 0
    """Active time so far, microseconds."""
    counted_us: int | None = None
    """Wall clock up to which time has been credited; None before the first credit."""
    last_us: dict[SessionId, int] = field(factory=dict)
    """Wall clock of the last event of each open session."""

    def copy(self) -> ActiveClock:
        """Return a clock that this one's further events do not move."""
        return ActiveClock(
            active_us=self.active_us, counted_us=self.counted_us, last_us=self.last_us.copy()
        )

    def reading(self, session: SessionId | None, now_us: int, *, gap_us: int) -> int:
        """Return the active time that an event of *session* at *now_us* would get."""
        last = None if session is None else self.last_us.get(session)
        if last is None:
            return self.active_us
        counted = self._counted(now_us, gap_us)
        since = last if counted is None else max(last, counted)
        return self.active_us + min(max(now_us - since, 0), gap_us)

    def tick(self, session: SessionId | None, now_us: int, *, gap_us: int) -> int:
        """Credit an event of *session* at *now_us* and return its active time."""
        self.active_us = self.reading(session, now_us, gap_us=gap_us)
        if session is not None:
            self.credit(session, now_us, gap_us=gap_us)
        return self.active_us

    def credit(self, session: SessionId, now_us: int, *, gap_us: int) -> None:
        """Count *session* up to *now_us*, for an event whose active time is known."""
        if session in self.last_us:
            counted = self.counted_us
            if counted is None or not counted - gap_us <= now_us <= counted:
                self.counted_us = now_us
            self.last_us[session] = now_us

    def credit_each(
        self, sessions: Sequence[SessionId | None], now_us: Sequence[int], *, gap_us: int
    ) -> None:
        """Call ``credit`` for each event in order, skipping events outside a session."""
        last_us, counted = self.last_us, self.counted_us
        for session, now in zip(sessions, now_us, strict=True):
            if session is not None and session in last_us:
                if counted is None or not counted - gap_us <= now <= counted:
                    counted = now
                last_us[session] = now
        self.counted_us = counted

    def start(self, session: SessionId, now_us: int) -> None:
        """Begin *session*; its start credits no time."""
        self.last_us[session] = now_us

    def end(self, session: SessionId) -> None:
        """Forget *session*; its end has been credited by ``tick``."""
        self.last_us.pop(session, None)

    def _counted(self, now_us: int, gap_us: int) -> int | None:
        """Return the credited instant, moved back if the wall clock was set back."""
        if self.counted_us is not None and now_us < self.counted_us - gap_us:
            return now_us
        return self.counted_us
