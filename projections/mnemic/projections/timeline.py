"""The timeline: when each version happened, and what is in force at it.

Version, active hour and wall clock of every event, so that any way to name a point of the past
comes down to a version; and the few facts of which one is in force at a time.
"""

from __future__ import annotations

import numpy as np

from mnemic.kernel.clock import ActiveClock
from mnemic.kernel.errors import PointOutOfRange
from mnemic.kernel.events import EmbedderIdentity, Recorded
from mnemic.kernel.identity import SessionId
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.projections.columns import Ledgered, Names, Series


class Timeline:
    """Where the log stands, and where it stood."""

    def __init__(self) -> None:
        self.active_us = Series(np.int64)
        self.recorded_us = Series(np.int64)
        self.kind = Series(np.int16)
        self.kinds = Names()
        self._kind_numbers: dict[type, int] = {}
        self.clock = ActiveClock()
        self.policies: Ledgered[Policy] = Ledgered()
        self.embedders: Ledgered[EmbedderIdentity] = Ledgered()
        self.sessions: Ledgered[int] = Ledgered()
        """Open sessions and the versions at which they started."""
        self.latest_session: Ledgered[SessionId] = Ledgered()
        self.curated_us: Ledgered[int] = Ledgered()
        """Active time of the last sweep."""
        self.salt: bytes | None = None
        self.erased_blocks: dict[int, int] = {}
        """By block number: the version that erased it."""
        self.space_erased: int | None = None
        """The version that erased the whole space."""

    @property
    def version(self) -> int:
        """The last version that was folded, -1 before the first."""
        return len(self.active_us) - 1

    @property
    def policy(self) -> Policy:
        """The policy in force at the head."""
        return self.policies.current.get("policy", DEFAULT)

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """The embedder in force at the head; None before the first promotion."""
        return self.embedders.current.get("embedder")

    def record(self, recorded: Recorded) -> None:
        """Take in the envelope of the next event."""
        if recorded.session_id is not None:
            self.clock.tick(recorded.session_id, recorded.recorded_us, gap_us=self.policy.gap_us)
        # The log's word counts, so that a fold of old bytes can never disagree with them.
        self.clock.active_us = recorded.active_us
        self.active_us.append(recorded.active_us)
        self.recorded_us.append(recorded.recorded_us)
        kind = type(recorded.event)
        number = self._kind_numbers.get(kind)
        if number is None:
            number = self._kind_numbers[kind] = self.kinds.number(kind.__name__)
        self.kind.append(number)

    def start_session(self, session: SessionId, version: int, recorded_us: int) -> None:
        self.clock.start(session, recorded_us)
        self.sessions.put(session, version, version)
        self.latest_session.put("session", version, session)

    def end_session(self, session: SessionId, version: int) -> None:
        self.clock.end(session)
        self.sessions.drop(session, version)

    # --- points of the past -----------------------------------------------------------------

    def version_at_hour(self, active_us: int) -> int:
        """Return the last version whose active time is at most *active_us*.

        Raises:
            PointOutOfRange: Before the first event, or the log is empty.
        """
        found = int(np.searchsorted(self.active_us.values, active_us, side="right")) - 1
        return self._checked(found, "hour", active_us)

    def version_at_instant(self, recorded_us: int) -> int:
        """Return the last version that was recorded at or before *recorded_us*.

        Raises:
            PointOutOfRange: No event was.
        """
        found = np.nonzero(self.recorded_us.values <= recorded_us)[0]
        return self._checked(int(found[-1]) if found.size else -1, "at", recorded_us)

    def checked_version(self, version: int) -> int:
        """Return *version* if the log has it.

        Raises:
            PointOutOfRange: It has not.
        """
        return self._checked(version if version <= self.version else -1, "version", version)

    def _checked(self, version: int, kind: str, asked: int) -> int:
        if version < 0:
            raise PointOutOfRange(
                f"no event stands at {kind} {asked}; the log ends at version {self.version}",
                point=kind,
                asked=asked,
                head=self.version,
            )
        return version
