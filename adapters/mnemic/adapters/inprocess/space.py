"""The shell around the kernel: catch up, decide, append, apply, answer. Here and nowhere else.

Rules of this module:

1. Nothing slow runs while the log's writing lock is held. What takes time (embedding, searching,
   scoring) is prepared on a snapshot; under the lock only what is cheap is decided.
2. Whoever looks at the state holds the guard. ``folding`` says why, and how the state comes about.
3. Seats of one space share its log, its state and its guard, and have an actor and a session each.
   Between two times that one of them holds the guard, others may have done anything.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from typing import Protocol, TypeVar, runtime_checkable

from attrs import frozen

from mnemic.adapters.inprocess import repeats
from mnemic.adapters.inprocess.commands import (
    AFTER_ERASURE,
    Again,
    Command,
    Decide,
    Outcome,
    Written,
)
from mnemic.adapters.inprocess.folding import Folded
from mnemic.kernel import events as happened
from mnemic.kernel.decisions.clearance import check_whole, within
from mnemic.kernel.decisions.learning import checked_name
from mnemic.kernel.errors import (
    FieldRefused,
    Refused,
    SessionState,
    SpaceErased,
    VersionConflict,
    ViewReadOnly,
)
from mnemic.kernel.events import Event, Recorded
from mnemic.kernel.identity import CommandId, SessionId
from mnemic.kernel.ports import Clock, CommandRow, Entropy, Log, PayloadRow, Record, Store
from mnemic.kernel.reading import Moment
from mnemic.projections import views
from mnemic.projections.views import View

T = TypeVar("T")

OF_THE_WHOLE = frozenset({"adopt_policy", "erase_space", "reembed", "revert"})
"""Verbs that change what every block goes by."""
PREPARED_MAX = 3
"""Lost races after which even a decision that takes long is made under the writing lock."""
SHORT_S = 0.02
"""A decision that took the processor no longer is made again under the writing lock as soon as it
has lost a race. That is a few durable appends; at the end of a queue it would lose the next too."""
CONFLICTS_MAX = 100
"""Lost races after which a command gives up; under the writing lock none is lost at all."""


@frozen(kw_only=True)
class _Draft:
    """What was decided without the turn to write it."""

    command: Command
    decide: Decide
    written: Written
    moment: Moment
    head: int
    """Version of the state that it was decided on."""
    took_s: float
    """What it took the processor."""


@runtime_checkable
class _UnderKeys(Protocol):
    """A log whose words hang on keys, which somebody may have brought back: an encrypted one."""

    def erased_before(self, erase: Sequence[str], *, erase_all: bool) -> None:
        """Destroy again the keys of what was erased before. The right to append is held."""
        ...


class Space(Folded):
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
    ) -> Space:
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

    # --- writing ----------------------------------------------------------------------------

    def execute(self, command: Command, decide: Decide, *, again: Again | None = None) -> Outcome:
        """Decide on the head of the log and append what was decided.

        The state is first taken for the head: the append itself finds out if it is not. Only an
        answer that writes nothing has to look before it may be given.

        Args:
            command: What is asked.
            decide: Says what is to be written.
            again: Answers the command if it was written before; None: *decide* does, on what stood
                then. Even who asked for that beforehand can be told so here: the same command may
                run twice at once.

        Raises:
            CommandIdReused: The id was used for another request.
            VersionConflict: The log stands elsewhere than this seat wants it.
            Closed: Another seat's thread closed the space meanwhile.
        """
        self.check_writable()
        with self.guard:
            self.check_open()
            with self.turn_if_free() as is_ours:
                if is_ours:
                    return self._executed(command, decide, again)
        with self.turn():
            return self._executed(command, decide, again)

    def _executed(self, command: Command, decide: Decide, again: Again | None) -> Outcome:
        repeated = self.remembered(command)
        if repeated is not None:
            return self.decided_again(repeated, decide) if again is None else again(repeated)
        for _ in range(CONFLICTS_MAX):
            self.check_stands()
            if command.verb not in AFTER_ERASURE:
                self.check_kept()
            self.check_clear(command)
            moment = self.moment()
            try:
                written = decide(self.live(moment), moment)
                if written.events or not self.catch_up():
                    return self.append(command, written, moment)
            except VersionConflict:
                self.catch_up()
            except Refused:
                if not self.catch_up():
                    raise
        raise VersionConflict(f"{command.verb} lost {CONFLICTS_MAX} races for the log's end")

    def prepared(self, command: Command, decide: Decide, *, again: Again | None = None) -> Outcome:
        """Like ``execute`` for decisions that take long: decide off the lock, then append.

        When the log has moved meanwhile the decision is made afresh: under the lock if it took no
        time to speak of, and after a few lost races in any case. What writes nothing needs no turn.
        """
        self.check_writable()
        for _ in range(PREPARED_MAX):
            with self.guard:
                self.catch_up()
                repeated = self.remembered(command)
                if repeated is not None:
                    return (
                        self.decided_again(repeated, decide) if again is None else again(repeated)
                    )
                self.check_stands()
                self.check_kept()
                self.check_clear(command)
                draft = self._drafted(command, decide)
                if not draft.written.events:
                    return self.append(command, draft.written, draft.moment)
                with self.turn_if_free() as is_ours:
                    landed = self._landed(draft, again) if is_ours else None
            if not is_ours:
                with self.turn():
                    landed = self._landed(draft, again)
            if landed is not None:
                return landed
        return self.execute(command, decide, again=again)

    def _drafted(self, command: Command, decide: Decide) -> _Draft:
        moment, begun = self.moment(), time.thread_time()
        written = decide(self.live(moment), moment)
        return _Draft(
            command=command,
            decide=decide,
            written=written,
            moment=moment,
            head=self.state.version,
            took_s=time.thread_time() - begun,
        )

    def _landed(self, draft: _Draft, again: Again | None) -> Outcome | None:
        """Append a draft if the log stands where it was made, or decide afresh if that is quick.

        Returns:
            None if it is neither. The turn and the guard are held.
        """
        if self.log.head().version == self.state.version == draft.head:
            try:
                return self.append(draft.command, draft.written, draft.moment)
            except VersionConflict:
                return None
        if draft.took_s <= SHORT_S:
            return self._executed(draft.command, draft.decide, again)
        return None

    def append(self, command: Command, written: Written, moment: Moment) -> Outcome:
        """Append events that were decided on the head, and fold them.

        Raises:
            VersionConflict: The log has moved; nothing was written.
        """
        head = self.state.version
        if not written.events:
            if (written.erase or written.erase_all) and isinstance(self.log, _UnderKeys):
                self.log.erased_before(written.erase, erase_all=written.erase_all)
            self.answered = head
            return Outcome(written.extra, head, head, ())
        stamped = self._stamped(command, written.events, moment)
        records: list[Record] = []
        payloads: list[PayloadRow] = []
        for recorded in stamped:
            record, rows = self.codec.encode(recorded)
            records.append(record)
            payloads.extend(rows)
        first, last = head + 1, head + len(records)
        remembered = None
        if command.id is not None:
            request = repeats.request(command, payloads, self)
            remembered = CommandRow(command.id, request, first, last)
        self.log.append(
            records,
            payloads,
            command=remembered,
            erase=written.erase,
            erase_all=written.erase_all,
        )
        if written.erase or written.erase_all:
            self._erased()
        else:
            self._fold(stamped)
            self._advanced()
        begun = written.events[0]
        if isinstance(begun, happened.SessionStarted):
            self._session = begun.session_id
        self.answered = last
        if self.stands is not None:
            self.stands = last
        return Outcome(written.extra, first, last, written.events)

    def _stamped(self, command: Command, events: Sequence[Event], moment: Moment) -> list[Recorded]:
        command_id = CommandId(command.id or self.entropy.token(8).hex())
        first = events[0]
        session = first.session_id if isinstance(first, happened.SessionStarted) else self.session
        return [
            Recorded(
                version=version,
                active_us=moment.active_us,
                recorded_us=moment.recorded_us,
                command_id=command_id,
                actor=self.actor,
                session_id=session,
                event=event,
            )
            for version, event in enumerate(events, start=self.state.version + 1)
        ]

    def remembered(self, command: Command) -> CommandRow | None:
        """Return what a command with this id wrote, if it is the same command.

        Raises:
            CommandIdReused: It was another one.
            FieldRefused: The id is no short text.
        """
        if command.id is None:
            return None
        checked_name("command_id", command.id)
        self.catch_up()
        row = self.log.command(command.id)
        if row is not None:
            repeats.check_same(command, row, self)
            self.answered = row.last
            if self.stands == row.first - 1:
                self.stands = row.last  # it was this command that moved the log on, here too
        return row

    def decided_again(self, row: CommandRow, decide: Decide) -> Outcome:
        """Answer a repeated command: decide as it was decided then, and write nothing.

        Args:
            row: What it wrote.
            decide: What said so; the guard is held.
        """
        timeline = self.state.timeline
        moment = Moment(
            int(timeline.active_us.values[row.first]), int(timeline.recorded_us.values[row.first])
        )
        then = views.as_of(
            self.state,
            row.first - 1,
            active_us=moment.active_us,
            instant_us=moment.recorded_us,
        )
        then.highest = self.zone
        written = decide(then, moment)
        return Outcome(written.extra, row.first, row.last, written.events)

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
