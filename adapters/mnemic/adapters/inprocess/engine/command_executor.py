"""The command loop around the kernel: catch up, decide, append, apply, answer.

Rules of this module:

1. Commands are carried out in the order of their arrival, in groups: those that arrive while one
   group is written are decided, folded and written together in the next transaction. Each command
   has its own decision, events and id; a refusal affects its own command alone.
2. Nothing slow runs while the locks are held. Slow work (embedding, searching, scoring) is done on
   a snapshot before; only quick decisions are made in a group.
3. The locks are acquired in one order: the queue, the log's write lock, the fold lock. So a writer
   that waits for another process does not hold up readers.
4. If the transaction of a group fails, nothing of it is written, and a state that events of it were
   folded into is dropped. After a lost race its commands are carried out one by one; after any
   other error all are refused.
5. A command that erases text is a group of its own.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from mnemic.adapters.inprocess.engine import idempotency
from mnemic.adapters.inprocess.engine.caller import Caller
from mnemic.adapters.inprocess.engine.command_group import Group, PreparedWrite, Task
from mnemic.adapters.inprocess.engine.command_queue import CommandQueue
from mnemic.adapters.inprocess.engine.commands import (
    AFTER_ERASURE,
    Command,
    Decide,
    Outcome,
    ReplayHandler,
)
from mnemic.adapters.inprocess.engine.log_state import LogState
from mnemic.kernel.decision import Decision
from mnemic.kernel.errors import HistoryReplaced, VersionConflict
from mnemic.kernel.model.identity import CommandId
from mnemic.kernel.ports import CommandRow, Head
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.validation import checked_name
from mnemic.projections.state.state import State
from mnemic.projections.view import View, as_of, live

PREPARED_MAX = 3
"""Lost races after which even a slow decision is made under the locks."""
QUICK_S = 0.02
"""A decision that took at most this much processor time is repeated under the locks as soon as it
has lost a race. It is the time of a few durable appends; a decision prepared again would probably
lose the next race too."""
CONFLICTS_MAX = 100
"""Lost races after which a command gives up; under the write lock no race can be lost."""


class CommandExecutor:
    """Carries out the commands of all session handles of a space.

    Args:
        state: The log and the state folded from it.
    """

    def __init__(self, state: LogState) -> None:
        self._state = state
        self._log = state.log
        self._queue = CommandQueue(self._work)

    def execute(
        self,
        caller: Caller,
        command: Command,
        decide: Decide,
        *,
        again: ReplayHandler | None = None,
    ) -> Outcome:
        """Decide on the head of the log and append the decision. The caller holds no lock.

        Args:
            caller: Who issues the command.
            command: The command.
            decide: Returns the events to write; it may be called several times, on any thread, and
                reads nothing but the view that it is given.
            again: Answers the command if it was written before; None: *decide* does, on the state
                of that time. A caller that has called ``remembered`` needs it too, since the same
                command may run twice at once.

        Raises:
            CommandIdReused: The id was used for another request.
            VersionConflict: The log is not at the version that the caller expects.
            HistoryReplaced: The log is not a continuation of what was folded; nothing was written.
            ViewReadOnly: The space or the session handle is read-only.
            Closed: The space was closed meanwhile.
        """
        task = Task(caller=caller, command=command, decide=decide)
        self._carry_out(task)
        return self._answered(task, again)

    def prepared(
        self,
        caller: Caller,
        command: Command,
        decide: Decide,
        *,
        again: ReplayHandler | None = None,
    ) -> Outcome:
        """Like ``execute`` for slow decisions: decide on a snapshot, then append.

        When the log has moved meanwhile the decision is repeated: under the locks if it was quick,
        and after a few lost races in any case. A decision without events needs no lock.
        """
        for _ in range(PREPARED_MAX):
            caller.check_writable(space_is_read_only=self._state.is_read_only)
            published, begun = self._state.current(), time.thread_time()
            row = self.remembered(caller, command)
            if row is not None:
                return self._repeated(caller, row, decide=decide, again=again)
            snapshot = published.snapshot
            self._check_history_of(caller, command)
            moment = caller.moment(snapshot)
            view = caller.view(snapshot, moment)
            self._check(caller, command, view, snapshot.erased_at)
            written = decide(view, moment)
            if not written.events:
                return self._without_events(caller, written, published.head)
            prepared = PreparedWrite(
                written=written,
                moment=moment,
                head=published.head,
                took_s=time.thread_time() - begun,
            )
            task = Task(caller=caller, command=command, decide=decide, prepared=prepared)
            self._carry_out(task)
            if not task.has_moved:
                return self._answered(task, again)
        return self.execute(caller, command, decide, again=again)

    def remembered(self, caller: Caller, command: Command) -> CommandRow | None:
        """Return what this command wrote before; None: this actor has not used its id.

        Raises:
            CommandIdReused: The id was used for another request, or the store has lost the request.
            FieldRefused: The id is not a short text.
        """
        if command.id is None:
            return None
        published = self._state.current()
        snapshot = published.snapshot
        _, row = self._place(caller, command, snapshot.state, upto=snapshot.version)
        if row is not None:
            self._note_repeated(caller, row)
        return row

    def decided_again(self, caller: Caller, row: CommandRow, decide: Decide) -> Outcome:
        """Answer a repeated command: repeat its decision on the state of that time, write nothing.

        Args:
            caller: Who repeats it.
            row: The events that it wrote.
            decide: The decision to repeat.
        """
        state = self._state.published.snapshot.state
        timeline = state.timeline
        moment = Instant(
            int(timeline.active_us.values[row.first]), int(timeline.recorded_us.values[row.first])
        )
        then = as_of(
            state, row.first - 1, active_us=moment.active_us, instant_us=moment.recorded_us
        )
        written = decide(caller.seen_by(then), moment)
        return Outcome(written.result, row.first, row.last, written.events)

    # --- answering ------------------------------------------------------------------------------

    def _carry_out(self, task: Task) -> None:
        """Wait until a task has an outcome, is refused, or has to be prepared again.

        Raises:
            ViewReadOnly, Closed: See ``execute``.
        """
        task.caller.check_writable(space_is_read_only=self._state.is_read_only)
        self._state.check_open()
        erasures = self._state.erasures
        try:
            while not task.is_done:  # the thread that carried out its group may be interrupted
                self._queue.run(task)
        finally:
            self._state.finish_erasure(since=erasures)

    def _answered(self, task: Task, again: ReplayHandler | None) -> Outcome:
        if task.error is not None:
            raise task.error
        if task.repeated is not None:
            self._note_repeated(task.caller, task.repeated)
            return self._repeated(task.caller, task.repeated, decide=task.decide, again=again)
        outcome = task.outcome
        assert outcome is not None  # noqa: S101 - all other ways to be done are excluded
        if not outcome.events:
            self._state.confirm(self._state.published.head)
        task.caller.answered_version = outcome.last
        return outcome

    def _without_events(self, caller: Caller, written: Decision[Any], head: Head) -> Outcome:
        """Return the answer that a decision without events gives at a head."""
        self._state.confirm(head)  # it may depend on events of another process
        caller.answered_version = head.version
        return Outcome(written.result, head.version, head.version, ())

    def _note_repeated(self, caller: Caller, row: CommandRow) -> None:
        """Set the caller's versions to those after a command that was written before."""
        self._state.confirm(self._state.published.head)
        caller.answered_version = row.last
        if caller.expected_version == row.first - 1:
            caller.expected_version = row.last  # the command itself advanced the log

    def _repeated(
        self, caller: Caller, row: CommandRow, *, decide: Decide, again: ReplayHandler | None
    ) -> Outcome:
        """Answer a command that was written before."""
        return self.decided_again(caller, row, decide) if again is None else again(row)

    def _place(
        self, caller: Caller, command: Command, state: State, *, upto: int
    ) -> tuple[str | None, CommandRow | None]:
        """Return the key of a command in the log, and what it wrote there up to a version.

        Raises:
            CommandIdReused: The id was used for another request.
            FieldRefused: The id is not a short text.
        """
        if command.id is None:
            return None, None
        checked_name("command_id", command.id)
        key, row = idempotency.place(command.id, caller.actor, self._state, state, upto=upto)
        if row is not None:
            try:
                idempotency.check_same(command, row, self._state, state)
            finally:
                self._state.check_history()
        return key, row

    def _check_history_of(self, caller: Caller, command: Command) -> None:
        """Refuse a command if its history was replaced since its caller, or it, last read the log.

        Raises:
            HistoryReplaced: There was a replacement since.
        """
        known, caller.informed = caller.informed, self._state.replacements
        self._state.check_unreplaced(known)
        if command.replacements is not None:
            self._state.check_unreplaced(command.replacements)

    @staticmethod
    def _check(caller: Caller, command: Command, view: View, erased: int | None) -> None:
        """Refuse a command that its caller may not issue now.

        Args:
            caller: Who issues it.
            command: The command.
            view: What it is decided on.
            erased: The version that erased the space, if it was erased.

        Raises:
            VersionConflict, SpaceErased, Forbidden: See ``Caller``.
        """
        caller.check_version(view.version)
        if command.operation not in AFTER_ERASURE:
            caller.check_not_erased(erased)
        caller.check_allowed(command, view)

    # --- groups ---------------------------------------------------------------------------------

    def _work(self, tasks: Sequence[Task]) -> None:
        """Carry out tasks, in as few transactions as they allow.

        After an interrupt of this thread, the tasks that are not done are carried out by their own
        threads.
        """
        left = deque(tasks)
        try:
            with self._log.write_lock(), self._state.lock:
                self._state.check_open()
                while left:
                    self._write_group(left)
        except Exception as error:  # noqa: BLE001 - of a lock, or of a whole group: for all tasks
            for task in tasks:
                if not task.is_done:
                    task.error = error

    def _write_group(self, left: deque[Task]) -> None:
        """Carry out the first tasks in *left*, as many as one group takes, and remove them.

        The write lock and the fold lock are held. A single task is decided on the state as it is:
        its append fails if others have written.
        """
        if len(left) > 1 or left[0].races or self._state.head.version < 0:
            self._state.catch_up()
        group = Group(self._state.head.version)
        try:
            while left and group.takes(left[0]) and self._stage(group, left[0]):
                left.popleft()
            if group.events:
                self._append(group)
        except BaseException as error:
            group.undo()
            if not isinstance(error, VersionConflict | HistoryReplaced):
                raise
            self._put_back(group, left)
        else:
            group.done()

    @staticmethod
    def _put_back(group: Group, left: deque[Task]) -> None:
        """Return the tasks of a group that lost a race to the front of *left*."""
        for each in reversed(group.staged):
            task = each.task
            task.races += 1
            if task.races < CONFLICTS_MAX:
                left.appendleft(task)
            else:
                task.error = VersionConflict(
                    f"{task.command.operation} lost {CONFLICTS_MAX} races for the log's end"
                )

    def _append(self, group: Group) -> None:
        """Append what is staged, fold the part that is not folded yet, and publish.

        Raises:
            VersionConflict: The log has moved; nothing was written.
            HistoryReplaced: The log is not the one that was folded; nothing was written.
        """
        state = self._state
        try:
            head = self._log.append(
                group.records,
                group.payloads,
                after=state.head,
                commands=group.commands,
                erase=group.erase,
                erase_all=group.erase_all,
            )
        except BaseException as error:
            if group.folded:
                state.drop()
                if isinstance(error, Exception):
                    state.try_to_restore()
            raise
        if not (group.erase or group.erase_all):
            state.fold(group.events[group.folded :])
        state.appended(head, group.events, payloads=len(group.payloads))

    def _stage(self, group: Group, task: Task) -> bool:
        """Decide a task on the state with everything that is staged before it.

        The state may lack events of other processes. So a refusal is final only if the state is at
        the end of the log; otherwise the task is decided again there.

        Returns:
            False if the decision erases and the group has other tasks: it needs its own group.
        """
        if group.folded < len(group.events):
            self._state.fold(group.events[group.folded :])
            group.folded = len(group.events)
        while True:
            try:
                return self._decide(group, task)
            except Exception as error:  # noqa: BLE001 - of this task alone
                task.error = error
            try:
                if group.staged or not self._move_to_end(group):
                    return True
            except Exception as error:  # noqa: BLE001 - a replaced history, say
                task.error = error
                return True
            task.error = None

    def _decide(self, group: Group, task: Task) -> bool:
        """Decide a task once, and stage what it writes; see ``_stage`` for the result."""
        caller, command, state = task.caller, task.command, self._state.state
        if command.id is not None and not group.staged:
            self._move_to_end(group)
            state = self._state.state
        self._check_history_of(caller, command)
        key, task.repeated = self._place(caller, command, state, upto=group.version)
        if task.repeated is not None:
            return True
        session = caller.session_among(state.timeline.sessions.current)
        moment = state.timeline.instant(session, caller.clock.now_us())
        view = live(state, active_us=moment.active_us, instant_us=moment.recorded_us)
        self._check(caller, command, caller.seen_by(view), state.timeline.space_erased)
        prepared = task.prepared
        if prepared is not None and not group.events and prepared.head == self._state.head:
            written, moment = prepared.written, prepared.moment
        elif prepared is None or prepared.took_s <= QUICK_S:
            written = task.decide(view, moment)
        else:
            task.has_moved = True
            return True
        erases = bool(written.erase) or written.erase_all
        if erases and group.staged:
            return False
        if not written.events:
            if not group.staged and self._move_to_end(group):
                return self._decide(group, task)
            if erases:
                self._state.erased_before(written.erase, erase_all=written.erase_all)
            group.leave_out(task, written.result)
            return True
        events = written.recorded(
            first=group.version + 1,
            at=moment,
            command_id=CommandId(key or caller.entropy.token(8).hex()),
            actor=caller.actor,
            session=session,
        )
        payloads = group.write(task, written, events, list(map(self._state.codec.encode, events)))
        if key is not None:
            request = idempotency.request(command, payloads, state)
            group.commands.append(CommandRow(key, request, events[0].version, events[-1].version))
        return True

    def _move_to_end(self, group: Group) -> bool:
        """Catch up with the log before anything is staged; return whether the log had moved."""
        has_moved = self._state.catch_up()
        group.version = self._state.head.version
        return has_moved
