"""The shell around the kernel: catch up, decide, append, apply, answer. Here and nowhere else.

Rules of this module:

1. Nothing slow runs while the log's writing lock is held. What takes time (embedding, searching,
   scoring) is prepared on a snapshot; under the lock only what is cheap is decided.
2. Whoever looks at the state holds the guard. ``folding`` says why, and how the state comes about.
3. Nobody waits for the turn to write with the guard in hand: it is had at once, or waited for with
   the guard free. So what was decided before is looked at again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

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
from mnemic.adapters.inprocess.seat import Seat
from mnemic.kernel import events as happened
from mnemic.kernel.decisions.learning import checked_name
from mnemic.kernel.errors import Refused, VersionConflict
from mnemic.kernel.events import Event, Recorded
from mnemic.kernel.identity import CommandId
from mnemic.kernel.ports import CommandRow, PayloadRow, Record
from mnemic.kernel.reading import Moment
from mnemic.projections import views

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


class Space(Seat):
    """One space, open, and everything that is done to it."""

    def execute(self, command: Command, decide: Decide, *, again: Again | None = None) -> Outcome:
        """Decide on the head of the log and append what was decided. The guard is not held yet.

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
        # Those who only read stand aside, and do not outnumber it.
        with self._line, self._ahead, self._guard:
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
        self.check_as_folded()
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
            if row.last > self.state.version:
                self.catch_up()  # another process wrote it in this very moment
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
