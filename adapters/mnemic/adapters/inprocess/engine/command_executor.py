"""The command loop around the kernel: catch up, decide, append, apply, answer.

Rules of this module:

1. Nothing slow runs while the log's write lock is held. What takes time (embedding, searching,
   scoring) is prepared on a snapshot; only cheap decisions are made under the lock.
2. Reading the state requires the state lock. ``log_state`` explains why, and how the state is
   folded.
3. No thread waits for the write lock while it holds the state lock: the write lock is acquired at
   once, or waited for with the state lock released. A decision made before the wait is therefore
   checked again.
4. This loop is implemented here and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from attrs import frozen

from mnemic.adapters.inprocess.engine import idempotency
from mnemic.adapters.inprocess.engine.commands import (
    AFTER_ERASURE,
    Command,
    Decide,
    Outcome,
    ReplayHandler,
)
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.kernel import events as happened
from mnemic.kernel.decision import Decision
from mnemic.kernel.errors import HistoryReplaced, Refused, VersionConflict
from mnemic.kernel.model.identity import CommandId
from mnemic.kernel.ports import CommandRow, Head, PayloadRow, Record
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.validation import checked_name
from mnemic.projections.view import as_of

PREPARED_MAX = 3
"""Lost races after which even a slow decision is made under the write lock."""
QUICK_S = 0.02
"""A decision that took at most this much processor time is repeated under the write lock as soon as
it has lost a race. That is a few durable appends; at the end of a queue it would lose the next
too."""
CONFLICTS_MAX = 100
"""Lost races after which a command gives up; under the write lock no race can be lost."""


@frozen(kw_only=True)
class _PreparedWrite:
    """A decision made without the write lock, ready to be appended."""

    command: Command
    decide: Decide
    written: Decision[Any]
    moment: Instant
    head: Head
    """Head of the log that it was decided on."""
    took_s: float
    """Processor time of the decision, in seconds."""


@runtime_checkable
class _EncryptedLog(Protocol):
    """An encrypted log, whose text depends on keys that may have been restored after an erasure."""

    def erased_before(self, erase: Sequence[str], *, erase_all: bool) -> None:
        """Destroy again the keys of text that was erased before. The write lock is held."""
        ...


class CommandExecutor(SessionHandle):
    """An open space that executes commands."""

    def execute(
        self, command: Command, decide: Decide, *, again: ReplayHandler | None = None
    ) -> Outcome:
        """Decide on the head of the log and append the decision. The state lock is not held yet.

        The state is first assumed to be at the head: the append fails if it is not. Only an answer
        that writes nothing has to catch up before it may be given.

        Args:
            command: The command.
            decide: Returns the events to write.
            again: Answers the command if it was written before; None: *decide* does, on the state
                of that time. This is needed even if the caller has looked for the command before:
                the same command may run twice at once.

        Raises:
            CommandIdReused: The id was used for another request.
            VersionConflict: The log is not at the version that this session handle expects.
            HistoryReplaced: The log is not a continuation of what was folded; nothing was written.
            Closed: A thread of another session handle closed the space meanwhile.
        """
        self.check_writable()
        # With the writer latch held, readers yield, so that they cannot starve the writer.
        with self._write_queue, self._writer_latch, self._state_lock:
            self.check_open()
            with self.try_write_lock() as is_ours:
                if is_ours:
                    return self._executed(command, decide, again)
        with self.write_lock():
            return self._executed(command, decide, again)

    def _executed(self, command: Command, decide: Decide, again: ReplayHandler | None) -> Outcome:
        repeated = self.remembered(command)
        if repeated is not None:
            return self.decided_again(repeated, decide) if again is None else again(repeated)
        for _ in range(CONFLICTS_MAX):
            self._check_history_of(command)
            if self.state.version < 0:
                self.catch_up()  # a fold was interrupted, or another history could not be folded
            self.check_version()
            if command.operation not in AFTER_ERASURE:
                self.check_not_erased()
            self.check_space_wide_allowed(command)
            moment = self.moment()
            try:
                written = decide(self.live(moment), moment)
                if written.events or not self.catch_up():
                    return self.append(command, written, moment)
            except (VersionConflict, HistoryReplaced):
                self.catch_up()  # which says more about a history that was replaced
            except Refused:
                if not self.catch_up():
                    raise
        raise VersionConflict(f"{command.operation} lost {CONFLICTS_MAX} races for the log's end")

    def prepared(
        self, command: Command, decide: Decide, *, again: ReplayHandler | None = None
    ) -> Outcome:
        """Like ``execute`` for slow decisions: decide without the write lock, then append.

        When the log has moved meanwhile the decision is repeated: under the lock if it was quick,
        and after a few lost races in any case. A decision without events needs no write lock.
        """
        self.check_writable()
        for _ in range(PREPARED_MAX):
            with self.state_lock:
                self.catch_up()
                repeated = self.remembered(command)
                if repeated is not None:
                    return (
                        self.decided_again(repeated, decide) if again is None else again(repeated)
                    )
                self._check_history_of(command)
                self.check_version()
                self.check_not_erased()
                self.check_space_wide_allowed(command)
                prepared = self._prepare_write(command, decide)
                if not prepared.written.events:
                    return self.append(command, prepared.written, prepared.moment)
                with self.try_write_lock() as is_ours:
                    outcome = self._try_commit(prepared, again) if is_ours else None
            if not is_ours:
                with self.write_lock():
                    outcome = self._try_commit(prepared, again)
            if outcome is not None:
                return outcome
        return self.execute(command, decide, again=again)

    def _check_history_of(self, command: Command) -> None:
        """Refuse a command of a session handle, or one prepared, on a history that was replaced.

        Raises:
            HistoryReplaced: It was found to be replaced.
        """
        self.check_informed()
        if command.replacements is not None:
            self.check_unreplaced(command.replacements)

    def _prepare_write(self, command: Command, decide: Decide) -> _PreparedWrite:
        moment, begun = self.moment(), time.thread_time()
        written = decide(self.live(moment), moment)
        return _PreparedWrite(
            command=command,
            decide=decide,
            written=written,
            moment=moment,
            head=self.head,
            took_s=time.thread_time() - begun,
        )

    def _try_commit(self, prepared: _PreparedWrite, again: ReplayHandler | None) -> Outcome | None:
        """Append a prepared write if the log has not moved since, or decide again if that is quick.

        The write lock and the state lock are held.

        Returns:
            None if the log has moved and the decision is slow.
        """
        if self.log.head() == self.head == prepared.head:
            try:
                return self.append(prepared.command, prepared.written, prepared.moment)
            except (VersionConflict, HistoryReplaced):
                return None
        if prepared.took_s <= QUICK_S:
            return self._executed(prepared.command, prepared.decide, again)
        return None

    def append(self, command: Command, written: Decision[Any], moment: Instant) -> Outcome:
        """Append events that were decided at the head, and fold them.

        Raises:
            VersionConflict: The log has moved; nothing was written.
            HistoryReplaced: The log is not the one that was folded; nothing was written.
        """
        before = self.head
        head = before.version
        if not written.events:
            if (written.erase or written.erase_all) and isinstance(self.log, _EncryptedLog):
                self.log.erased_before(written.erase, erase_all=written.erase_all)
            self.confirm(before)  # the answer rests on what may be another process's events
            self.answered_version = head
            return Outcome(written.result, head, head, ())
        key = None if command.id is None else idempotency.place(command.id, self.actor, self)[0]
        stamped = written.recorded(
            first=head + 1,
            at=moment,
            command_id=CommandId(key or self.entropy.token(8).hex()),
            actor=self.actor,
            session=self._open_session(),
        )
        records: list[Record] = []
        payloads: list[PayloadRow] = []
        for recorded in stamped:
            record, rows = self.codec.encode(recorded)
            records.append(record)
            payloads.extend(rows)
        first, last = head + 1, head + len(records)
        remembered = None
        if key is not None:
            request = idempotency.request(command, payloads, self)
            remembered = CommandRow(key, request, first, last)
        after = self.log.append(
            records,
            payloads,
            after=before,
            command=remembered,
            erase=written.erase,
            erase_all=written.erase_all,
        )
        self.fold_own(after, stamped, payloads=len(payloads))
        begun = written.events[0]
        if isinstance(begun, happened.SessionStarted):
            self._session = begun.session_id
        self.answered_version = last
        if self.expected_version is not None:
            self.expected_version = last
        return Outcome(written.result, first, last, written.events)

    def remembered(self, command: Command) -> CommandRow | None:
        """Return what a command of this actor with this id wrote, if it is the same command.

        Raises:
            CommandIdReused: It was another one, or the store has lost what it asked for.
            FieldRefused: The id is no short text.
        """
        if command.id is None:
            return None
        checked_name("command_id", command.id)
        with self.state_lock:
            self.catch_up()
            _, row = idempotency.place(command.id, self.actor, self)
            if row is not None:
                try:
                    idempotency.check_same(command, row, self)
                finally:
                    self.check_history()
                self.confirm(self.head)
                self.answered_version = row.last
                if self.expected_version == row.first - 1:
                    self.expected_version = row.last  # this very command advanced the log
            return row

    def decided_again(self, row: CommandRow, decide: Decide) -> Outcome:
        """Answer a repeated command: repeat its decision on the state of that time, write nothing.

        The state lock is held.

        Args:
            row: The events that it wrote.
            decide: The decision to repeat.
        """
        timeline = self.state.timeline
        moment = Instant(
            int(timeline.active_us.values[row.first]), int(timeline.recorded_us.values[row.first])
        )
        then = as_of(
            self.state,
            row.first - 1,
            active_us=moment.active_us,
            instant_us=moment.recorded_us,
        )
        then.highest, then.writer = self.zone, self.actor
        written = decide(then, moment)
        return Outcome(written.result, row.first, row.last, written.events)
