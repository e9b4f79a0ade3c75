"""Group of commands: the outcome of each, and what one transaction writes for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import define, field, frozen

from mnemic.adapters.inprocess.engine.caller import Caller
from mnemic.adapters.inprocess.engine.commands import Command, Decide, Outcome
from mnemic.kernel.decision import Decision
from mnemic.kernel.events import Recorded, SessionStarted
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.ports import CommandRow, Head, PayloadRow, Record
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.values import Value

RECORDS_MAX = 4096
"""Records after which a group takes no more commands."""


@frozen(kw_only=True)
class PreparedWrite(Value):
    """A decision made without a lock, ready to be appended."""

    written: Decision[Any]
    moment: Instant
    head: Head
    """Head of the log when it was decided."""
    took_s: float
    """Processor time of the decision, in seconds."""


@define(kw_only=True, eq=False)
class Task:
    """One command in the queue. Once it is done, one of its last four fields is set."""

    caller: Caller
    command: Command
    decide: Decide
    prepared: PreparedWrite | None = None
    races: int = 0
    """Races for the end of the log that were lost."""
    outcome: Outcome | None = None
    repeated: CommandRow | None = None
    """Events that the same command wrote before; it was not decided again."""
    has_moved: bool = False
    """Whether the log has moved since a slow decision was prepared: it has to be prepared again."""
    error: Exception | None = None

    @property
    def is_done(self) -> bool:
        """Whether it needs no more work in the queue."""
        return not (self.outcome is None and self.repeated is None and self.error is None) or (
            self.has_moved
        )


@frozen(eq=False)
class Staged:
    """A task with the outcome that it has once the group is written."""

    task: Task
    outcome: Outcome
    session: SessionId | None
    """The caller's session before the task."""
    expected_version: int | None
    """The version that the caller expected before the task."""

    def undo(self) -> None:
        """Restore the caller's session and expected version."""
        self.task.caller.session = self.session
        self.task.caller.expected_version = self.expected_version


@define(eq=False)
class Group:
    """The tasks that are decided so far, and what their transaction writes."""

    version: int
    """Version of the log with everything that is staged."""
    staged: list[Staged] = field(factory=list)
    events: list[Recorded] = field(factory=list)
    folded: int = 0
    """How many of the events, from the first on, are folded."""
    records: list[Record] = field(factory=list)
    payloads: list[PayloadRow] = field(factory=list)
    commands: list[CommandRow] = field(factory=list)
    erase: tuple[str, ...] = ()
    erase_all: bool = False

    def takes(self, task: Task) -> bool:
        """Return whether a task may be decided in this group.

        No task follows an erasure, or a task with the same command id. A task that has lost a race
        is a group of its own.
        """
        if not self.staged:
            return True
        first = self.staged[0].task
        return not (
            self.erase
            or self.erase_all
            or first.races
            or task.races
            or len(self.records) >= RECORDS_MAX
            or (
                task.command.id is not None
                and any(each.task.command.id == task.command.id for each in self.staged)
            )
        )

    def leave_out(self, task: Task, result: Any) -> None:
        """Stage a decision without events."""
        self._add(task, Outcome(result, self.version, self.version, ()))

    def write(
        self,
        task: Task,
        written: Decision[Any],
        records: Sequence[Recorded],
        encoded: Sequence[tuple[Record, Sequence[PayloadRow]]],
    ) -> list[PayloadRow]:
        """Stage the events of a decision, and return their payloads.

        Args:
            task: The task that was decided.
            written: The decision, with at least one event.
            records: Its events in their envelopes.
            encoded: The same, each as a record and its payloads.
        """
        payloads = [row for _, rows in encoded for row in rows]
        first, last = records[0].version, records[-1].version
        self._add(task, Outcome(written.result, first, last, written.events))
        self.events += records
        self.records += [record for record, _ in encoded]
        self.payloads += payloads
        self.erase, self.erase_all, self.version = written.erase, written.erase_all, last
        begun, caller = written.events[0], task.caller
        if isinstance(begun, SessionStarted):
            caller.session = begun.session_id
        if caller.expected_version is not None:
            caller.expected_version = last
        return payloads

    def _add(self, task: Task, outcome: Outcome) -> None:
        caller = task.caller
        self.staged.append(Staged(task, outcome, caller.session, caller.expected_version))

    def undo(self) -> None:
        """Restore every caller: nothing was written."""
        for each in reversed(self.staged):
            each.undo()

    def done(self) -> None:
        """Set the outcome of every task: everything was written."""
        for each in self.staged:
            each.task.outcome = each.outcome
