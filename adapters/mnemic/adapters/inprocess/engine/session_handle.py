"""Session handle on an open space: its actor, its session and its permissions.

Rules of this module:

1. Session handles of one space share its log, its state and its state lock, and have an actor and a
   session each. Between two times that one of them holds the state lock, others may have changed
   anything.
2. What is refused here is refused for every command; the decisions have their own refusals.
"""

from __future__ import annotations

from copy import copy
from typing import Self

from mnemic.adapters.inprocess.engine.commands import Command
from mnemic.adapters.inprocess.engine.log_state import LogState
from mnemic.kernel.decisions.authorization import check_whole, within
from mnemic.kernel.errors import (
    FieldRefused,
    SessionState,
    SpaceErased,
    VersionConflict,
    ViewReadOnly,
)
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.ports import Clock, Entropy, Log, Store
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.validation import checked_name
from mnemic.projections.view import View, live

SPACE_WIDE_OPERATIONS = frozenset(
    "adopt_policy calibrate erase_space quarantine reembed revert revert_source".split()
)
"""Operations that affect every block of a space."""


class SessionHandle(LogState):
    """One caller's handle on an open space; the log and the folded state are shared."""

    def __init__(
        self, log: Log, *, clock: Clock, entropy: Entropy, actor: str, read_only: bool
    ) -> None:
        super().__init__(log, entropy=entropy, read_only=read_only)
        self.clock = clock
        self.entropy = entropy
        self.actor = actor
        self.read_only = read_only
        """Whether this session handle may not write."""
        self.zone: str | None = None
        """Trust zone of this session handle: what it learns is of this zone at most; None: full."""
        self.expected_version: int | None = None
        """Version that the log must have for a write, as this handle left it; None: any."""
        self.answered_version: int | None = None
        """Version of the log after the last command of this session handle was answered."""
        self.store: Store | None = None
        """The store of the space, where forks are created too."""
        self._session: SessionId | None = None
        """The last session of this session handle; it may have ended since."""

    # --- session handles --------------------------------------------------------------------

    def handle_of(
        self,
        actor: str,
        session: str | None,
        *,
        read_only: bool = False,
        version: int | None = None,
        zone: str | None = None,
    ) -> Self:
        """Return another session handle on this space, for *actor*.

        Args:
            actor: The name to record as actor in the log.
            session: An open session of this actor to continue; None: none.
            read_only: Whether it may not write.
            version: Version that the log must have when it writes; None: any.
            zone: Its trust zone; None: that of this handle. It is never trusted further than this.

        Raises:
            FieldRefused: The actor, the session or the zone is not a valid name, or the version is
                not a whole number.
            SessionState: The session is not open, or another actor began it.
        """
        checked_name("actor", actor)
        zone = self.zone if zone is None else self._lower(checked_name("zone", zone))
        if version is not None and type(version) is not int:
            raise FieldRefused(f"version must be a whole number, got {version!r}", field="version")
        if session is not None:
            self._check_session(checked_name("session", session), actor)
        session_handle = copy(self)
        session_handle.actor, session_handle.session = (
            actor,
            None if session is None else SessionId(session),
        )
        (
            session_handle.read_only,
            session_handle.expected_version,
            session_handle.answered_version,
        ) = (
            self.read_only or read_only,
            version,
            None,
        )
        session_handle.zone = zone
        session_handle.begin_informed()
        return session_handle

    def _lower(self, zone: str) -> str:
        """Return the lower of this session handle's zone and another, by the policy in force."""
        if self.zone is None:
            return zone
        with self.state_lock:
            self.catch_up()
            return self.zone if within(self.state.timeline.policy, self.zone, zone) else zone

    def _check_session(self, session: str, actor: str) -> None:
        with self.state_lock:
            self.catch_up()
            beginner = self._session_actor(SessionId(session))
        if beginner is None:
            raise SessionState(
                f"no session {session!r} is open",
                recovery="Leave out session, and start one.",
                session_id=session,
            )
        if beginner != actor:
            raise SessionState(
                f"session {session} was not begun by {actor!r}",
                recovery="Continue it as the actor that began it, or start one.",
                session_id=session,
            )

    def _session_actor(self, session: SessionId) -> str | None:
        """Return the actor that began a session, if it is open. Cheap enough for every request."""
        existing = self.state.timeline.sessions.current
        started = existing.get(session)
        if started is None:
            return None
        known = self._shared.session_actors
        if started not in known:
            begun = self.event_at(started)
            if begun is None:
                return None
            known[started] = begun.actor
            for ended in known.keys() - set(existing.values()):
                del known[ended]
        return known[started]

    @property
    def session(self) -> SessionId | None:
        """The session of this handle, unless it has ended; another handle may have continued it."""
        if self._session is None:
            return None
        with self.state_lock:
            if self.state.version < 0:
                self.catch_up()  # a fold was interrupted, and the state is empty
            return self._open_session()

    @session.setter
    def session(self, session: SessionId | None) -> None:
        self._session = session

    def _open_session(self) -> SessionId | None:
        """Return the session, unless it has ended. The state is not empty, its lock is held."""
        is_open = self._session in self.state.timeline.sessions.current
        return self._session if is_open else None

    def check_no_session(self) -> None:
        """Refuse to start a second session on one session handle.

        Raises:
            SessionState: One is open.
        """
        session = self.session
        if session is not None:
            raise SessionState(f"session {session} is open", session_id=session)

    # --- current time -----------------------------------------------------------------------

    def moment(self) -> Instant:
        """Return the current time on both clocks, as an event of this process is stamped."""
        return self.state.timeline.instant(self.session, self.clock.now_us())

    def live(self, moment: Instant | None = None) -> View:
        """Return the live view at *moment*, valid until the next event."""
        moment = moment or self.moment()
        view = live(self.state, active_us=moment.active_us, instant_us=moment.recorded_us)
        view.highest, view.writer = self.zone, self.actor
        return view

    # --- permissions ------------------------------------------------------------------------

    def check_writable(self) -> None:
        """Refuse when nothing may be written.

        Raises:
            ViewReadOnly: The space or this session handle is read-only.
        """
        if self._shared.read_only:
            raise ViewReadOnly(f"space {self.log.name!r} is open read-only")
        if self.read_only:
            raise ViewReadOnly(f"this session handle on space {self.log.name!r} only reads")

    def check_version(self) -> None:
        """Refuse when the log is not at the version that this session handle expects.

        Raises:
            VersionConflict: Another writer has appended, or the version is in the future.
        """
        if self.expected_version is None:
            return
        self.catch_up()
        if self.expected_version != self.state.version:
            raise VersionConflict(
                f"the log is at version {self.state.version}, not at {self.expected_version}",
                expected=self.expected_version,
                head=self.state.version,
            )

    def check_space_wide_allowed(self, command: Command) -> None:
        """Refuse an operation on the whole space to a lower zone; the state lock is held.

        Raises:
            Forbidden: The operation requires the highest zone.
        """
        if self.zone is not None and command.operation in SPACE_WIDE_OPERATIONS:
            check_whole(self.live(), command.operation)

    def check_not_erased(self) -> None:
        """Refuse when the space has been erased; the state lock is held.

        Raises:
            SpaceErased: Its text is erased, and no new text may be written.
        """
        erased = self.state.timeline.space_erased
        if erased is not None:
            raise SpaceErased(f"space {self.log.name!r} was erased", version=erased)

    # --- closing ----------------------------------------------------------------------------

    @property
    def left(self) -> tuple[str, ...]:
        """The names of leftover files that may still hold erased text, or its keys."""
        return (
            *(() if self.checkpoint_writer is None else self.checkpoint_writer.left),
            *self.keys_left,
        )

    @property
    def keys_left(self) -> tuple[str, ...]:
        """The names of leftover files that may still hold keys of erased, encrypted text."""
        left: tuple[str, ...] = getattr(self.log, "left", ())
        return left

    def close(self) -> None:
        """Close the log for every session handle; everything needed to reopen it is kept."""
        with self.state_lock:  # a decision in progress finishes first
            if self.is_closed:
                return
            self._shared.is_closed = True
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.close()
        if self.graphs is not None:
            self.graphs.close()
        self.log.close()
