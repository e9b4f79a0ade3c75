"""The state folded from a log: catching up, restoring from a checkpoint, and full replay.

Rules of this module:

1. The state is only ever advanced by events that are in the log.
2. Erasure applies to the past: a state that has folded text which is erased later is replayed.
3. A checkpoint may save a replay and never decides anything: when and whether one is written shows
   in files alone.
4. Tables move pending rows into their arrays when they are read, so reading the state requires the
   state lock, as folding does.
5. A thread that holds the state lock never waits for other processes, and so never for the write
   lock: a thread that needs both acquires the write lock first. Its holder blocks all writers, in
   this and in other processes, so it does not also queue for the state lock; nor does a writer that
   proceeds at once if the write lock is free.
6. No state is folded from a log that has lost payloads, unless it is read-only: then what is lost
   is marked, and never passes for erased.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import starmap
from operator import attrgetter
from typing import TYPE_CHECKING

from attrs import define, field

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.erasures import ERASING, Erasures, Missing
from mnemic.adapters.inprocess.engine.fifo_lock import FifoLock
from mnemic.adapters.inprocess.engine.payload_check import PayloadCheck, payloads_missing
from mnemic.adapters.system.forks import OpeningProcess
from mnemic.adapters.system.heap import collector_at_rest, give_back
from mnemic.kernel.errors import (
    Closed,
    Corrupt,
    LogCorrupt,
    PayloadsMissing,
    StoreTooNew,
    Unavailable,
    VersionConflict,
)
from mnemic.kernel.events import Recorded
from mnemic.kernel.ports import Entropy, Head, Log, PayloadRow, Record
from mnemic.projections.state.event_validation import (
    REPLAY_ERRORS,
    applied_singly,
    check_policy_known,
)
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State

if TYPE_CHECKING:
    from mnemic.adapters.ann.graphs import GraphBuilder
    from mnemic.adapters.checkpoints.writer import CheckpointWriter

_ENDS = (LogCorrupt, StoreTooNew)
"""Errors that end the readable part of a log; everything before them is sound."""


@define(kw_only=True)
class _Shared:
    """Mutable fields shared by all session handles of a space."""

    state: State = field(factory=State)
    damage: LogCorrupt | StoreTooNew | None = None
    missing: PayloadsMissing | None = None
    """What is lost of a log that was opened read-only."""
    restored_version: int = -1
    """Version of the checkpoint that the state was restored from; -1: the whole log was read."""
    erasures: int = 0
    """How often folded text was erased afterwards."""
    is_closed: bool = False
    is_pinned: bool = False
    """Whether catching up is suspended, by a thread that holds the state lock while it reads."""
    log_epoch: int = 0
    """The log's epoch when it was last folded."""
    session_actors: dict[int, str] = field(factory=dict)
    """Actors that began the resumed sessions, by the versions at which the sessions started."""
    read_only: bool
    """Whether the space was opened read-only: damage then ends the fold without an error."""
    hour: float = 0.0
    """The latest active hour that any status has shown."""
    process: OpeningProcess = field(factory=lambda: OpeningProcess("the memory"))


class LogState:
    """A log, and the state folded from it."""

    def __init__(self, log: Log, *, entropy: Entropy, read_only: bool) -> None:
        self.log = log
        self.codec = Codec(entropy)
        self._state_lock = threading.RLock()
        self._holds_state_lock: Callable[[], bool] = attrgetter("_is_owned")(
            self._state_lock
        )  # as conditions do
        self._write_queue = FifoLock()
        """Queue of the writers that are about to try the write lock."""
        self._writer_latch = threading.Lock()
        """Held by a writer from when it requests the state lock until it releases it."""
        self._try_write_lock: Callable[[], AbstractContextManager[bool]] = getattr(
            log, "try_write_lock", _no_write_lock
        )
        self.confirm: Callable[[int], None] = getattr(log, "confirm", _is_durable)
        """Waits until the log is durable up to a version; see ``ports.DurabilityBarrier``."""
        self.checkpoint_writer: CheckpointWriter | None = None
        """Writes checkpoints of the state; None: there are none."""
        self.graphs: GraphBuilder | None = None
        """Maintains graphs over the vectors; None: there are none, and every search is exact."""
        self._payloads = PayloadCheck(log, self.codec)
        self._shared = _Shared(read_only=read_only)

    @property
    def state_lock(self) -> threading.RLock:
        """The lock required for reading the state; pending writers acquire it first.

        Raises:
            StoreFailed: The process was forked since; a thread of the parent may hold the lock.
        """
        self._shared.process.check()
        if self._writer_latch.locked() and not self._holds_state_lock():
            with self._writer_latch:  # only waited for: the writer is done with the lock by then
                pass
        return self._state_lock

    @contextmanager
    def write_lock(self) -> Generator[None]:
        """Wait for the write lock, and hold it and the state lock.

        The caller does not hold the state lock yet.

        Raises:
            Closed: The space was closed meanwhile.
            StoreBusy, StoreFailed: The write lock cannot be acquired.
        """
        with self.log.write_lock(), self._writer_latch, self._state_lock:
            self.check_open()
            yield

    def try_write_lock(self) -> AbstractContextManager[bool]:
        """Acquire the write lock if it is free and not waited for; the state lock is held.

        See ``mnemic.kernel.ports.Prompt``; for a log without this capability it is never free.

        Returns:
            A context manager whose value says whether the write lock is held.
        """
        return self._try_write_lock()

    @property
    def state(self) -> State:
        """The folded state; the state lock is held."""
        return self._shared.state

    @property
    def damage(self) -> LogCorrupt | StoreTooNew | None:
        """The error that ended the fold early, if the space was opened read-only on such a log."""
        return self._shared.damage

    @property
    def missing(self) -> PayloadsMissing | None:
        """The error that names what is lost, if the space was opened read-only on such a log."""
        return self._shared.missing

    @property
    def payload_count(self) -> int:
        """How many payloads the folded events have, erased ones excluded."""
        return self._payloads.count

    @property
    def erasures(self) -> int:
        """How often folded text was erased afterwards, and the whole log replayed."""
        return self._shared.erasures

    @property
    def is_closed(self) -> bool:
        """Whether the space has been closed, for every session handle."""
        return self._shared.is_closed

    @property
    def is_from_parent(self) -> bool:
        """Whether the process was forked since the space was opened."""
        return self._shared.process.is_another

    @property
    def is_pinned(self) -> bool:
        """Whether the state keeps its version although others append; the state lock is held."""
        return self._shared.is_pinned

    @contextmanager
    def pinned(self) -> Generator[int]:
        """Keep the state at the current end of the log, and yield that version.

        Several queries are then answered from one version, however fast other processes append.
        Session handles of this process wait for the state lock, and nothing is written.
        """
        with self.state_lock:
            self.catch_up()
            self._shared.is_pinned = True
            try:
                yield self.state.version
            finally:
                self._shared.is_pinned = False

    def catch_up(self) -> bool:
        """Fold the events that other writers have appended, and return whether there were any.

        Raises:
            Closed: A thread of another session handle closed the space meanwhile.
        """
        with self.state_lock:
            self.check_open()
            if self.is_pinned:
                return False
            if self._has_new_epoch():
                self._erased()
                return True
            if self.damage is not None:
                return False
            if self.log.head().version == self.state.version:
                return False
            fresh = list(self._payloads.recorded(self.state.version))
            if any(_erases(each) for each in fresh):
                self._erased()
            elif fresh and self._payloads.unexplained(fresh[-1].version):
                self.replay_again()  # says what is lost
            else:
                self._fold_fresh(fresh)
            return bool(fresh)

    def _fold_fresh(self, fresh: Iterable[Recorded]) -> None:
        try:
            self._fold(fresh)
        except REPLAY_ERRORS:
            self.replay_again()  # says which event it is
        self._advanced()

    def _has_new_epoch(self) -> bool:
        """Return whether the log lost text elsewhere since the last call, besides growing.

        Erasing in a copy under the same keys removes the text from all copies.
        """
        log_epoch = self.log_epoch
        if log_epoch == self._shared.log_epoch:
            return False
        self._shared.log_epoch = log_epoch
        return True

    @property
    def log_epoch(self) -> int:
        """How often the log was changed other than by appending, as far as it reports that."""
        log_epoch: int = getattr(self.log, "log_epoch", 0)
        return log_epoch

    def is_as_applied(self) -> bool:
        """Return whether the log was at most appended to since the fold; the state lock is held."""
        return self.log_epoch == self._shared.log_epoch

    def erased_since(self, head: Head, log_epoch: int) -> bool:
        """Return whether text was erased since a given head, as far as the log can be read.

        Args:
            head: The head of the log at that time.
            log_epoch: The epoch of the log at that time; see ``log_epoch``.
        """
        with self.state_lock, suppress(*_ENDS):  # no erasure events are added during a write
            return self.log_epoch != log_epoch or any(map(_erases, self.recorded(head.version)))
        return False

    def check_as_applied(self) -> None:
        """Refuse to append if the log's epoch has changed since the fold; the write lock is held.

        The log may be as long as before: erasure events that were overlaid after its end may have
        been written meanwhile, under other ids and at another time. A state that continued from the
        overlay would hold a past that the log does not.

        Raises:
            VersionConflict: The epoch has changed. The whole log has been replayed by now.
        """
        if self._has_new_epoch():
            self._erased()
            raise VersionConflict(
                "words were erased elsewhere meanwhile", version=self.state.version
            )

    def restore(self) -> None:
        """Load the newest valid checkpoint and fold the events after it; else fold the whole log.

        Raises:
            LogCorrupt: As ``replay_again``; nothing before a valid checkpoint is read.
        """
        with self.state_lock:
            kept = None if self.checkpoint_writer is None else self.checkpoint_writer.newest()
            if kept is None or not self._fold_on(kept):
                self.replay_again()

    def _fold_on(self, kept: State) -> bool:
        """Fold the events after *kept*; return False if the whole log has to be folded instead."""
        assert self.checkpoint_writer is not None  # noqa: S101 - *kept* comes from it
        self._shared.state, restored_version = kept, kept.version
        self._payloads.begin(self.checkpoint_writer.restored_payloads)
        self._restore_losses(sorted(kept.timeline.losses))
        try:
            with collector_at_rest():
                self._fold_all(_unless_erased(self._payloads.recorded(kept.version)))
        except _WordsErased:
            self.checkpoint_writer.passed_over()
            return False
        except (Corrupt, Unavailable):
            raise
        except Exception as error:  # noqa: BLE001 - the log is authoritative: fold all of it
            self.checkpoint_writer.passed_over(error)
            return False
        if self._payloads.unexplained(self.state.version):
            self.checkpoint_writer.passed_over()
            return False
        self._shared.restored_version = restored_version
        return True

    def _restore_losses(self, losses: Sequence[tuple[int, int]]) -> None:
        """Continue with the losses that the log of a checkpoint has accepted."""
        self._payloads.restore(losses)
        found = [Missing(version, slot, frozenset()) for version, slot in losses]
        self._shared.missing = payloads_missing(self.log.name, found) if found else None

    def replay_again(self) -> None:
        """Fold the whole log into a fresh state.

        Raises:
            LogCorrupt, StoreTooNew: At the first record that is damaged, invalid or of a newer
                release, unless the space is read-only: then the state ends before that record.
            PayloadsMissing: The log has lost payloads, unless the space is read-only: then the
                state has them marked as lost.
        """
        with self.state_lock, collector_at_rest():
            while True:
                self._fold_from_start()
                lost = self._payloads.unexplained(self.state.version)
                if lost and not self._shared.read_only:
                    self._shared.state = State()
                    raise payloads_missing(self.log.name, lost)
                if not self._payloads.mark():
                    break
            found = self._payloads.all_lost()
            self._shared.missing = payloads_missing(self.log.name, found) if found else None
        give_back()

    def _fold_from_start(self) -> None:
        self._shared.state, self._shared.restored_version = State(), -1
        self._payloads.begin()
        try:
            self._fold_all(self._payloads.recorded(-1))
            self.state.settle()
        except REPLAY_ERRORS as error:
            self._shared.state = State()
            self._replay_valid(error)

    def _replay_valid(self, error: Exception) -> None:
        """Fold the events before the first invalid one, and report the version of that one.

        An intact hash chain proves that nothing was changed, not that the events are consistent: an
        imported log may name blocks that were never learned.

        Args:
            error: The error raised by folding the whole log at once.

        Raises:
            LogCorrupt, StoreTooNew: With the version of that event, unless the space is read-only.
        """
        for settling in (False, True):
            _, version = applied_singly(self._readable(), settling=settling)
            if version is not None:
                break
        else:
            raise error
        damage = self._reason(version, error)
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.trouble = None  # no checkpoint was to blame
        if not self._shared.read_only:
            raise damage from error
        self._shared.state, _ = applied_singly(self.recorded(-1, version - 1), settling=settling)
        self._shared.damage = damage

    def _reason(self, version: int, error: Exception) -> LogCorrupt | StoreTooNew:
        """Return why an event cannot be folded: a newer release wrote it, or it is wrong."""
        try:
            for recorded in self.recorded(version - 1, version):
                check_policy_known(recorded)
        except StoreTooNew as newer:
            return newer
        return LogCorrupt(
            f"the event at version {version} is inconsistent: {error!r:.200}", version=version
        )

    def _readable(self) -> Iterator[Recorded]:
        """Yield the events before the first that cannot be read."""
        with suppress(*_ENDS):
            yield from self.recorded(-1)

    def _fold_all(self, source: Iterator[Recorded]) -> None:
        """Fold *source* to its end; if read-only, up to damage or an event of a newer release."""
        try:
            self._fold(source)
        except _ENDS as damage:
            if not self._shared.read_only:
                raise
            self._shared.damage = damage

    def _fold(self, source: Iterable[Recorded]) -> None:
        """Fold *source* to its end, or to its damage; after any other error discard the state.

        An error in the middle of a batch (an interrupt, no memory left) leaves a state that has
        counted events which its tables lack. That cannot be detected later, so the next catch-up
        begins with an empty state.
        """
        try:
            rebuild(self.state, source)
        except _ENDS:
            raise  # a read error: everything before it is folded
        except BaseException:
            self._shared.state, self._shared.restored_version = State(), -1
            raise

    def recorded(self, after: int, upto: int | None = None) -> Iterator[Recorded]:
        """Return the events with version in (after, upto]."""
        decode = self.decoded if self._payloads.lost else self.codec.decode
        return starmap(decode, self.log.read(after, upto))

    def decoded(self, record: Record, rows: Sequence[PayloadRow]) -> Recorded:
        """Return the event in *record* with its payloads; what is known to be lost is marked."""
        return self.codec.decode(record, rows, lost=self._payloads.lost.get(record.version, ()))

    def digest_at(self, version: int) -> bytes:
        """Return the chain digest of the log as it ends with the event at *version*.

        Raises:
            LogCorrupt: The log has no such record, or cannot read it.
        """
        found = self.log.digest_at(version)
        if found is None:
            raise LogCorrupt(f"no record can be read at version {version}", version=version)
        return found

    def event_at(self, version: int) -> Recorded | None:
        """Return the event at *version*, if the log has it."""
        return next(self.recorded(version - 1, version), None) if version >= 0 else None

    def _erased(self) -> None:
        """Discard everything derived that may hold erased text, and replay the log."""
        self._shared.erasures += 1
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.erased()
        if self.graphs is not None:
            self.graphs.erased()
        self.replay_again()

    def _advanced(self) -> None:
        """Let the checkpoint writer consider a checkpoint, as the state has grown."""
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.consider()

    def check_open(self) -> None:
        """Refuse when the space has been closed.

        Raises:
            Closed: The space was closed, through any of its session handles.
            StoreFailed: The process was forked since the space was opened.
        """
        self._shared.process.check()
        if self._shared.is_closed:
            raise Closed("the memory is closed")

    def latest_hour(self, hour: float) -> float:
        """Return *hour*, or a later one that a status has shown already.

        Between two events the hour depends on the machine's clock, which may be set back.
        """
        with self.state_lock:
            self._shared.hour = max(self._shared.hour, hour)
            return self._shared.hour

    def check_foldable(self) -> None:
        """Refuse when replaying the whole log would lose events that only a checkpoint still holds.

        Reads, once, the part of the log that opening skipped.

        Raises:
            LogCorrupt: With the first damaged version.
        """
        restored_version = self._shared.restored_version
        erasures = Erasures(self.codec)
        try:
            if restored_version >= 0:
                for _ in erasures.read(self.log.read(-1, restored_version)):
                    pass
                if lost := erasures.lost():
                    raise payloads_missing(self.log.name, lost)
        except LogCorrupt as error:
            raise LogCorrupt(
                f"nothing was erased: {error.message}; this memory depends on a checkpoint, and an "
                "erasure would leave only the events before the damage",
                recovery="Restore a backup and erase there, or erase the whole space.",
                **error.facts,
            ) from error
        self._shared.restored_version = -1


class _WordsErased(Exception):
    """Text that a checkpoint may hold was erased later. Never leaves this module."""


def _no_write_lock() -> AbstractContextManager[bool]:
    return nullcontext(enter_result=False)


def _is_durable(version: int) -> None:
    """Do nothing: what this log has is durable."""
    del version


def _erases(recorded: Recorded) -> bool:
    return isinstance(recorded.event, ERASING)


def _unless_erased(source: Iterator[Recorded]) -> Iterator[Recorded]:
    """Yield events up to the first that erases text.

    Raises:
        _WordsErased: At that event.
    """
    for recorded in source:
        if _erases(recorded):
            raise _WordsErased
        yield recorded
