"""Snapshots: a published version of a space, from which any thread reads without a lock.

The writer applies events, which no reader sees, and then publishes. A snapshot stays as it is while
the writer goes on: what it shows was written before, and is never written again.
"""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.clock import ActiveClock
from mnemic.kernel.errors import PointOutOfRange
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.timestamps import Instant
from mnemic.projections.state.snapshots import VersionSnapshot
from mnemic.projections.state.state import State
from mnemic.projections.timeline.timeline import instant
from mnemic.projections.view.point import Point
from mnemic.projections.view.view import View, as_of


@frozen(kw_only=True, eq=False)
class Snapshot:
    """A space as it was published at one version."""

    state: State
    """The state behind it, which has moved on since; read it through a view only."""
    version: int
    """The last version of the log, -1 before the first event."""
    tables: VersionSnapshot
    clock: ActiveClock
    salt: bytes | None
    """The key of block ids; None once the space was erased."""
    erased_at: int | None
    """The version that erased the whole space."""
    blocks: int
    """Number of blocks ever learned."""
    waiting: int
    """Number of blocks in the inbox, those in quarantine included."""

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        policy: Policy = self.tables.mapping(self.state.timeline.policies).get("policy", DEFAULT)
        return policy

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """The embedder in force; None before the first promotion."""
        found: EmbedderIdentity | None
        found = self.tables.mapping(self.state.timeline.embedders).get("embedder")
        return found

    @property
    def sessions(self) -> dict[SessionId, int]:
        """The open sessions and the versions at which they started; not to be written to."""
        return self.tables.mapping(self.state.timeline.sessions)

    def instant(self, session: SessionId | None, now_us: int) -> Instant:
        """Return the time of a query or command, as ``Timeline.instant`` does at this version."""
        return instant(self.clock, session, now_us, gap_us=self.policy.gap_us)

    def view(self, *, active_us: int, instant_us: int) -> View:
        """Return a view of this version.

        Args:
            active_us: Where decay is evaluated.
            instant_us: Where ages are evaluated.
        """
        point = Point(self.version, active_us, instant_us)
        return View(self.state, point, self.tables, is_latest=True)

    def as_of(
        self, version: int, *, active_us: int | None = None, instant_us: int | None = None
    ) -> View:
        """Return the view at a version up to this one.

        Args:
            version: A version of the log.
            active_us: As for ``mnemic.projections.view.as_of``.
            instant_us: As there.

        Raises:
            PointOutOfRange: This snapshot has no such version.
        """
        if version > self.version:
            raise PointOutOfRange(
                f"there is no event at version {version}; the log ends at version {self.version}",
                point="version",
                asked=version,
                head=self.version,
            )
        return as_of(self.state, version, active_us=active_us, instant_us=instant_us)


def publish(state: State) -> Snapshot:
    """Return the snapshot of the head.

    Called by the writer. Until then no other thread reads the versions since the last call.
    """
    timeline, catalogue = state.timeline, state.catalogue
    version = state.version
    return Snapshot(
        state=state,
        version=version,
        tables=state.past.publish(state, version),
        clock=timeline.clock.copy(),
        salt=timeline.salt,
        erased_at=timeline.space_erased,
        blocks=len(catalogue.ids),
        waiting=len(catalogue.waiting),
    )
