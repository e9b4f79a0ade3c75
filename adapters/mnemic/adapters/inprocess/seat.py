"""A seat at an open space: who acts there, in which session, and what they may do.

Rules of this module:

1. Seats of one space share its log, its state and its guard, and have an actor and a session each.
   Between two times that one of them holds the guard, others may have done anything.
2. What is refused here is refused whatever a command says; the decisions have their own refusals.
"""

from __future__ import annotations

from copy import copy
from typing import Self

from mnemic.adapters.inprocess.commands import Command
from mnemic.adapters.inprocess.folding import Folded
from mnemic.kernel.decisions.clearance import check_whole, within
from mnemic.kernel.decisions.learning import checked_name
from mnemic.kernel.errors import (
    FieldRefused,
    SessionState,
    SpaceErased,
    VersionConflict,
    ViewReadOnly,
)
from mnemic.kernel.identity import SessionId
from mnemic.kernel.ports import Clock, Entropy, Log, Store
from mnemic.kernel.reading import Moment
from mnemic.projections import views
from mnemic.projections.views import View

OF_THE_WHOLE = frozenset({"adopt_policy", "erase_space", "reembed", "revert"})
"""Verbs that change what every block goes by."""


class Seat(Folded):
    """One space, open: its log and the state folded from it, as one seat has them."""

    def __init__(
        self, log: Log, *, clock: Clock, entropy: Entropy, actor: str, read_only: bool
    ) -> None:
        super().__init__(log, entropy=entropy, read_only=read_only)
        self.clock = clock
        self.entropy = entropy
        self.actor = actor
        self.read_only = read_only
        """Whether this seat may not write."""
        self.zone: str | None = None
        """How far this seat is trusted: what it learns is of this zone at most; None: in full."""
        self.stands: int | None = None
        """Where this seat wants to find the log, as it left it; None: anywhere."""
        self.answered: int | None = None
        """Where the log stood when the last command of this seat had been answered."""
        self.store: Store | None = None
        """Where it was opened, for whoever puts a fork beside it."""
        self._session: SessionId | None = None
        """The last one of this seat; it may have ended since."""

    # --- seats ------------------------------------------------------------------------------

    def seated(
        self,
        actor: str,
        session: str | None,
        *,
        read_only: bool = False,
        version: int | None = None,
        zone: str | None = None,
    ) -> Self:
        """Return another seat on this space, for *actor*.

        Args:
            actor: Who acts, as the log should name it.
            session: An open session of this actor to go on with; None: none.
            read_only: Whether it may not write.
            version: Where the log has to stand when it writes; None: anywhere.
            zone: How far it is trusted; None: as far as this one. It never is further.

        Raises:
            FieldRefused: The actor, the session or the zone is no name, or the version is none.
            SessionState: The session is not open, or another actor began it.
        """
        checked_name("actor", actor)
        zone = self.zone if zone is None else self._lower(checked_name("zone", zone))
        if version is not None and type(version) is not int:
            raise FieldRefused(f"version must be a whole number, got {version!r}", field="version")
        if session is not None:
            self._check_session(checked_name("session", session), actor)
        seat = copy(self)
        seat.actor, seat.session = actor, None if session is None else SessionId(session)
        seat.read_only, seat.stands, seat.answered = self.read_only or read_only, version, None
        seat.zone = zone
        return seat

    def _lower(self, zone: str) -> str:
        """Return the lower of this seat's zone and another, by the policy in force."""
        if self.zone is None:
            return zone
        with self.guard:
            self.catch_up()
            return self.zone if within(self.state.timeline.policy, self.zone, zone) else zone

    def _check_session(self, session: str, actor: str) -> None:
        with self.guard:
            self.catch_up()
            beginner = self._beginner(SessionId(session))
        if beginner is None:
            raise SessionState(
                f"no session {session!r} is open",
                recovery="Leave out session, and start one.",
                session_id=session,
            )
        if beginner != actor:
            raise SessionState(
                f"session {session} was not begun by {actor!r}",
                recovery="Go on with it as the actor that began it, or start one.",
                session_id=session,
            )

    def _beginner(self, session: SessionId) -> str | None:
        """Return who began a session, if it is open. A caller may ask with every request."""
        standing = self.state.timeline.sessions.current
        started = standing.get(session)
        if started is None:
            return None
        known = self._shared.beginners
        if started not in known:
            begun = self.event_at(started)
            if begun is None:
                return None
            known[started] = begun.actor
            for ended in known.keys() - set(standing.values()):
                del known[ended]
        return known[started]

    @property
    def session(self) -> SessionId | None:
        """The session of this seat, unless it has ended: another seat may have gone on with it."""
        if self._session is None:
            return None
        with self.guard:
            if self.state.version < 0:
                self.catch_up()  # a fold was cut short, and there is nothing folded yet
            is_open = self._session in self.state.timeline.sessions.current
            return self._session if is_open else None

    @session.setter
    def session(self, session: SessionId | None) -> None:
        self._session = session

    def check_no_session(self) -> None:
        """Refuse to start a second session on one seat.

        Raises:
            SessionState: One is open.
        """
        session = self.session
        if session is not None:
            raise SessionState(f"session {session} is open", session_id=session)

    # --- now --------------------------------------------------------------------------------

    def moment(self) -> Moment:
        """Return now, on both clocks, as an event of this process would be stamped."""
        timeline = self.state.timeline
        now_us = _whole_us(self.clock.now_us())
        gap_us = timeline.policy.gap_us
        return Moment(timeline.clock.reading(self.session, now_us, gap_us=gap_us), now_us)

    def live(self, moment: Moment | None = None) -> View:
        """Return the live view at *moment*, good until the next event."""
        moment = moment or self.moment()
        view = views.live(self.state, active_us=moment.active_us, instant_us=moment.recorded_us)
        view.highest = self.zone
        return view

    # --- what may be done -------------------------------------------------------------------

    def check_writable(self) -> None:
        """Refuse when nothing may be written.

        Raises:
            ViewReadOnly: The space was opened read-only.
        """
        if self._shared.read_only:
            raise ViewReadOnly(f"space {self.log.name!r} is open read-only")
        if self.read_only:
            raise ViewReadOnly(f"this seat on space {self.log.name!r} only reads")

    def check_stands(self) -> None:
        """Refuse when the log stands elsewhere than this seat wants it.

        Raises:
            VersionConflict: Somebody has written meanwhile, or the version is still to come.
        """
        if self.stands is None:
            return
        self.catch_up()
        if self.stands != self.state.version:
            raise VersionConflict(
                f"the log stands at version {self.state.version}, not at {self.stands}",
                expected=self.stands,
                head=self.state.version,
            )

    def check_clear(self, command: Command) -> None:
        """Refuse what a seat of a lower zone may not do to a whole space; the guard is held.

        Raises:
            Forbidden: It takes the highest zone.
        """
        if self.zone is not None and command.verb in OF_THE_WHOLE:
            check_whole(self.live(), command.verb)

    def check_kept(self) -> None:
        """Refuse when the space has been erased; the guard is held.

        Raises:
            SpaceErased: Its words are gone, and no new ones may come.
        """
        erased = self.state.timeline.space_erased
        if erased is not None:
            raise SpaceErased(f"space {self.log.name!r} was erased", version=erased)

    # --- going ------------------------------------------------------------------------------

    @property
    def left(self) -> tuple[str, ...]:
        """The names of files that may hold erased words, or their keys, and should not."""
        return (*(() if self.keeper is None else self.keeper.left), *self.keys_left)

    @property
    def keys_left(self) -> tuple[str, ...]:
        """The names of files that may hold keys of erased words, where these were encrypted."""
        left: tuple[str, ...] = getattr(self.log, "left", ())
        return left

    def close(self) -> None:
        """Let go of the log, for every seat, and of nothing that opening could need."""
        with self.guard:  # whoever decides just now comes to an end first
            if self.is_closed:
                return
            self._shared.is_closed = True
        if self.keeper is not None:
            self.keeper.close()
        if self.graphs is not None:
            self.graphs.close()
        self.log.close()


def _whole_us(now_us: object) -> int:
    """Return what a clock shows, if a log can hold it.

    Raises:
        FieldRefused: It is no whole number of 63 bits.
    """
    if type(now_us) is not int or not -(2**62) <= now_us < 2**62:
        raise FieldRefused(
            f"the clock shows {now_us!r}",
            recovery="Give a clock whose now_us() is a whole number of microseconds.",
            field="clock",
        )
    return now_us
