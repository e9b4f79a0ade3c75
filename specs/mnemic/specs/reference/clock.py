"""Active time as defined by DOMAIN section 2."""

from __future__ import annotations

from attrs import define, field


@define
class PlainClock:
    """Counts the time between two events of one session, once, up to a gap."""

    active_us: int = 0
    counted: int | None = None
    """Wall clock up to which time has been counted; None before the first event of a session."""
    last: dict[str, int] = field(factory=dict)
    """Wall clock of the last event of each open session."""

    def start(self, session: str, t: int) -> None:
        """Open *session* at wall clock *t*. A start adds nothing."""
        self.last[session] = t

    def event(self, session: str | None, t: int, gap: int) -> int:
        """Count an event at wall clock *t* and return the active time it gets."""
        if session is None or session not in self.last:
            return self.active_us
        if self.counted is not None and t < self.counted - gap:
            self.counted = t
        since = self.last[session]
        if self.counted is not None and self.counted > since:
            since = self.counted
        added = min(max(t - since, 0), gap)
        self.active_us += added
        if self.counted is None or t > self.counted:
            self.counted = t
        self.last[session] = t
        return self.active_us

    def end(self, session: str) -> None:
        """Close *session*, whose end has been counted as an event."""
        self.last.pop(session, None)
