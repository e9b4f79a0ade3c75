"""The caller of a session handle, and the checks that apply to all of its commands.

Checks that depend on the operation are made by the decisions.
"""

from __future__ import annotations

from collections.abc import Container

from attrs import define

from mnemic.adapters.inprocess.engine.commands import Command
from mnemic.kernel.decisions.authorization import check_whole
from mnemic.kernel.errors import SessionState, SpaceErased, VersionConflict, ViewReadOnly
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.ports import Clock, Entropy
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import Snapshot, View

SPACE_WIDE_OPERATIONS = frozenset(
    """
    adopt_extraction adopt_policy calibrate erase_space quarantine reembed revert revert_source
    """.split()
)
"""Operations that affect every block of a space."""


@define(kw_only=True, eq=False)
class Caller:
    """The caller of one session handle. The queue of commands changes it while a command runs."""

    space: str
    """The name of the space, for messages."""
    actor: str
    clock: Clock
    entropy: Entropy
    read_only: bool = False
    """Whether the caller may not write."""
    zone: str | None = None
    """Trust zone: what the caller learns gets this zone at most; None: full trust."""
    session: SessionId | None = None
    """The caller's last session, which may have ended since."""
    expected_version: int | None = None
    """Version that the log must have for a write; each own write advances it. None: any version."""
    answered_version: int | None = None
    """Version of the log after its last command was answered."""
    informed: int = 0
    """How many replacements of the log the caller has got an error about."""

    def seen_by(self, view: View) -> View:
        """Set the zone and the actor of this caller in *view*, and return it."""
        view.highest, view.writer = self.zone, self.actor
        return view

    def moment(self, snapshot: Snapshot) -> Instant:
        """Return the time, active and wall clock, that an event after a snapshot would have now."""
        session = self.session_among(snapshot.sessions)
        return snapshot.instant(session, self.clock.now_us())

    def view(self, snapshot: Snapshot, moment: Instant) -> View:
        """Return the view of a snapshot at a moment, as this caller sees it."""
        view = snapshot.view(active_us=moment.active_us, instant_us=moment.recorded_us)
        return self.seen_by(view)

    def session_among(self, open_sessions: Container[SessionId]) -> SessionId | None:
        """Return the caller's session if it is among *open_sessions*; another handle may end it."""
        session = self.session
        return session if session is not None and session in open_sessions else None

    def check_no_session(self, open_sessions: Container[SessionId]) -> None:
        """Refuse to start a second session.

        Raises:
            SessionState: The caller has a session that is open.
        """
        session = self.session_among(open_sessions)
        if session is not None:
            raise SessionState(f"session {session} is open", session_id=session)

    def check_writable(self, *, space_is_read_only: bool) -> None:
        """Refuse when nothing may be written.

        Raises:
            ViewReadOnly: The space or this caller is read-only.
        """
        if space_is_read_only:
            raise ViewReadOnly(f"space {self.space!r} is open read-only")
        if self.read_only:
            raise ViewReadOnly(f"this session handle on space {self.space!r} is read-only")

    def check_version(self, version: int) -> None:
        """Refuse when the log is not at the version that this caller expects.

        Raises:
            VersionConflict: Another writer has appended, or the version is in the future.
        """
        if self.expected_version not in {None, version}:
            raise VersionConflict(
                f"the log is at version {version}, not at {self.expected_version}",
                expected=self.expected_version,
                head=version,
            )

    def check_allowed(self, command: Command, view: View) -> None:
        """Refuse an operation on the whole space to a lower zone.

        Raises:
            Forbidden: The operation requires the highest zone.
        """
        if self.zone is not None and command.operation in SPACE_WIDE_OPERATIONS:
            check_whole(view, command.operation)

    def check_not_erased(self, erased: int | None) -> None:
        """Refuse when the space has been erased.

        Args:
            erased: The version of the erasure; None: there was none.

        Raises:
            SpaceErased: Its text is erased, and no new text may be written.
        """
        if erased is not None:
            raise SpaceErased(f"space {self.space!r} was erased", version=erased)
