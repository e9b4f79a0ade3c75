"""The state folded from a log: catching up, restoring from a checkpoint, and full replay.

Rules of this module:

1. The state is only ever advanced by events that are in the log.
2. Erasure applies to the past: a state that has folded text which is erased later is replayed.
3. A checkpoint may save a replay and never decides anything: when and whether one is written shows
   in files alone.
4. Tables move pending rows into their arrays when they are read, so reading the state requires the
   state lock, as folding does.
5. The state remembers the head, version and digest, that it was folded up to. A log that does not
   hold that head is another history: the state is dropped, and every session handle gets the error
   ``history-replaced`` once.
6. A thread that holds the state lock never waits for other processes, and so never for the write
   lock: a thread that needs both acquires the write lock first. Its holder blocks all writers, in
   this and in other processes, so it does not also queue for the state lock; nor does a writer that
   proceeds at once if the write lock is free.
7. No state is folded from a log that has lost payloads, unless it is read-only: then what is lost
   is marked, and never passes for erased.
"""

from __future__ import annotations

import logging
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
from mnemic.adapters.inprocess.engine.known_history import KnownHistory, again
from mnemic.adapters.inprocess.engine.payload_check import PayloadCheck, payloads_missing
from mnemic.adapters.stores.logs.chain import EMPTY
from mnemic.adapters.system.forks import OpeningProcess
from mnemic.adapters.system.heap import collector_at_rest, give_back, overwrite_small_arrays
from mnemic.kernel.errors import (
    Closed,
    Corrupt,
    HistoryReplaced,
    LogCorrupt,
    MnemicError,
    PayloadsMissing,
    StoreTooNew,
    Unavailable,
)
from mnemic.kernel.events import Recorded
from mnemic.kernel.ports import Entropy, Head, Log, PayloadRow, Record
from mnemic.projections.state.event_validation import (
    REPLAY_ERRORS,
    Impossible,
    applied_singly,
    check_policy_known,
    first_impossible,
)
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.view import publish

if TYPE_CHECKING:
    from mnemic.adapters.ann.graphs import GraphBuilder
    from mnemic.adapters.checkpoints.writer import CheckpointWriter

LOG = logging.getLogger("mnemic.history")

REPLAYS_MAX = 3
"""Attempts to fold a log that is replaced while it is read."""
_ENDS = (LogCorrupt, StoreTooNew)
"""Errors that end the readable part of a log; everything before them is sound."""


@define(kw_only=True)
class _Shared:
    """Mutable fields shared by all session handles of a space."""

    state: State = field(factory=State)
    head: Head = EMPTY
    """Where the folded part of the log ends; its version is that of the state."""
    known: KnownHistory = field(factory=KnownHistory)
    replacements: int = 0
    """How often the log was found to be another history."""
    replaced: HistoryReplaced | None = None
    """What was found then, the last time."""
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
        self.confirm: Callable[[Head], None] = getattr(log, "confirm", _is_durable)
        """Waits until the log is durable up to a head; see ``ports.DurabilityBarrier``."""
        self.checkpoint_writer: CheckpointWriter | None = None
        """Writes checkpoints of the state; None: there are none."""
        self.graphs: GraphBuilder | None = None
        """Maintains graphs over the vectors; None: there are none, and every search is exact."""
        self._payloads = PayloadCheck(log, self.codec)
        self._shared = _Shared(read_only=read_only)
        self._replacements = 0
        """Replacements of the log that callers of this session handle know of."""

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

        See ``mnemic.kernel.ports.TryWriteLock``; it is never free for a log without it.

        Returns:
            A context manager whose value says whether the write lock is held.
        """
        return self._try_write_lock()

    @property
    def state(self) -> State:
        """The folded state; the state lock is held."""
        return self._shared.state

    @property
    def head(self) -> Head:
        """Where the folded part of the log ends; the state lock is held."""
        return self._shared.head

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
            HistoryReplaced: The log is not a continuation of what was folded.
            LogCorrupt: An event cannot be read, or folded.
        """
        with self.state_lock:
            self.check_open()
            if self.is_pinned:
                return False
            self.check_informed()
            if self.damage is not None:
                return False
            head = self.log.head()
            if head == self.head:
                return False
            if self.state.version < 0:
                self.restore()
                self._check_holds(self._shared.known.newest())
                return self.state.version >= 0
            self._fold_others(head)
            return True

    def _fold_others(self, head: Head) -> None:
        """Fold the events of other writers, which may be ones that no fold accepts.

        Args:
            head: Where the log ends.

        Raises:
            HistoryReplaced: They do not continue what was folded.
            LogCorrupt: With the version of the event that cannot be read, or folded.
        """
        try:
            fresh = list(self._read_to_end(self.head, head))
        except HistoryReplaced as error:
            raise self._dropped(error) from error
        if any(map(_erases, fresh)):
            self._erased(upto=head)
            return
        if fresh and self._payloads.unexplained(fresh[-1].version):
            self.replay_again(head)  # says what is lost
            self._check_holds(head)
            return
        try:
            self._fold(fresh)
            self.state.settle()
        except REPLAY_ERRORS:
            self.replay_again(head)  # says which event it is; read-only, the state ends before it
            self._check_holds(head)
            return
        self._shared.head = head
        self._shared.known.add(head)
        self._advanced()

    def fold_own(self, head: Head, written: list[Recorded], *, payloads: int) -> None:
        """Fold events that this process has appended.

        Args:
            head: Where the log ends with them.
            written: These events.
            payloads: How many payloads they have.
        """
        self._shared.known.add(head, first=written[0].version)
        if any(map(_erases, written)):
            self._erased(upto=head)
            return
        self._payloads.appended(payloads)
        self._fold(written)
        self._shared.head = head
        self._advanced()

    def _forget(self) -> None:
        """Discard the folded state."""
        self._shared.state, self._shared.restored_version = State(), -1
        self._shared.head = EMPTY

    # --- another history ------------------------------------------------------------------------

    def check_informed(self) -> None:
        """Refuse once, if the log was found to be another history since this handle was used.

        Raises:
            HistoryReplaced: Another session handle found it out.
        """
        known, now = self._replacements, self._shared.replacements
        if known != now:
            self._replacements = now
            self.check_unreplaced(known)

    def begin_informed(self) -> None:
        """Count what was found out so far as known: this session handle is a new caller's."""
        self._replacements = self._shared.replacements

    def inform_again(self) -> None:
        """Report the last replacement once more: its error reached no caller."""
        self._replacements = min(self._replacements, self._shared.replacements - 1)

    @property
    def replacements(self) -> int:
        """How often the log was found to be another history."""
        return self._shared.replacements

    @property
    def replaced(self) -> HistoryReplaced | None:
        """What was found the last time that the log was another history."""
        return self._shared.replaced

    def check_unreplaced(self, replacements: int) -> None:
        """Refuse what depends on a history that was replaced.

        Args:
            replacements: How often that had been found when it was read.

        Raises:
            HistoryReplaced: It was found again since.
        """
        if replacements != self._shared.replacements:
            assert self._shared.replaced is not None  # noqa: S101 - set when it is counted
            raise again(self._shared.replaced)

    def check_history(self) -> None:
        """Refuse to answer from a log that is not the one that was folded, or a continuation of it.

        Raises:
            HistoryReplaced: It is another one. The state has been dropped.
        """
        with self.state_lock:
            known = self.head
            if known.version < 0 or self.damage is not None:
                return
            found = self.log.head()
            if found != known:
                self._check_continues(known, found)

    def _check_holds(self, known: Head | None) -> None:
        """Refuse a log that was folded anew and does not hold a head that it had.

        Raises:
            HistoryReplaced: It is another history. The state has been dropped.
        """
        if self.damage is not None:
            return
        if known is not None and known != self.head:
            self._check_continues(known, self.head)
        if self._shared.known.newest() != self.head:
            self._shared.known.add(self.head)

    def _check_continues(self, known: Head, found: Head) -> None:
        """Refuse a log that ends at *found* and does not hold *known*.

        Raises:
            HistoryReplaced: It is another history. The state has been dropped.
        """
        try:
            next(self.log.read(known, found), None)
        except HistoryReplaced as error:
            raise self._dropped(error) from error

    def _dropped(self, error: HistoryReplaced) -> HistoryReplaced:
        """Drop the state of a history that was replaced, and fold the log as it is.

        If the log cannot be folded now, the next operation reports why.

        Args:
            error: The store's.

        Returns:
            The error with what this process knows of it.
        """
        shared = self._shared
        with suppress(MnemicError):
            error = shared.known.parted_from(self.log.head(), self.log.digest_at)
        shared.replaced, shared.replacements = error, shared.replacements + 1
        self._replacements = shared.replacements
        self._forget()
        shared.known.clear()
        shared.session_actors.clear()
        shared.missing = None
        self._payloads.restore(())
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.replaced()
        if self.graphs is not None:
            self.graphs.replaced()
        LOG.error("space %r: %s", self.log.name, error.message)
        with suppress(MnemicError):
            self.restore()
        return error

    def restore(self) -> None:
        """Load the newest valid checkpoint and fold the events after it; else fold the whole log.

        Raises:
            LogCorrupt: As ``replay_again``; nothing before a valid checkpoint is read.
        """
        with self.state_lock:
            kept = None if self.checkpoint_writer is None else self.checkpoint_writer.newest()
            if kept is None or not self._fold_on(*kept):
                self.replay_again()

    def _fold_on(self, kept: State, digest: bytes) -> bool:
        """Fold the events after *kept*; return False if the whole log has to be folded instead.

        Args:
            kept: The state of a checkpoint.
            digest: The digest of the log at its version.
        """
        assert self.checkpoint_writer is not None  # noqa: S101 - *kept* comes from it
        self._shared.state, restored = kept, Head(kept.version, digest)
        self._payloads.begin(self.checkpoint_writer.restored_payloads)
        self._restore_losses(sorted(kept.timeline.losses))
        try:
            head = self.log.head()
            with collector_at_rest():
                self._fold_all(_unless_erased(self._read_to_end(restored, head)), head)
                self.state.settle()
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
        self._shared.restored_version = restored.version
        return True

    def _restore_losses(self, losses: Sequence[tuple[int, int]]) -> None:
        """Continue with the losses that the log of a checkpoint has accepted."""
        self._payloads.restore(losses)
        found = [Missing(version, slot, frozenset()) for version, slot in losses]
        self._shared.missing = payloads_missing(self.log.name, found) if found else None

    def replay_again(self, upto: Head | None = None) -> None:
        """Fold the whole log into a fresh state.

        Args:
            upto: Where the log ends; None: find out.

        Raises:
            HistoryReplaced: The log does not hold that end, or is replaced again and again.
            LogCorrupt, StoreTooNew: At the first record that is damaged, invalid or of a newer
                release, unless the space is read-only: then the state ends before that record.
            PayloadsMissing: The log has lost payloads, unless the space is read-only: then the
                state has them marked as lost.
        """
        with self.state_lock, collector_at_rest():
            while True:
                self._fold_from_start(upto)
                lost = self._payloads.unexplained(self.state.version)
                if lost and not self._shared.read_only:
                    self._forget()
                    raise payloads_missing(self.log.name, lost)
                if not self._payloads.mark():
                    break
            found = self._payloads.all_lost()
            self._shared.missing = payloads_missing(self.log.name, found) if found else None
        give_back()

    def _fold_from_start(self, upto: Head | None) -> None:
        for tries_left in reversed(range(REPLAYS_MAX)):
            self._forget()
            self._payloads.begin()
            head = self._end() if upto is None else upto
            try:
                self._fold_all(self._read_to_end(-1, head), head)
                self.state.settle()
            except REPLAY_ERRORS as error:
                self._forget()
                self._replay_valid(error)
            except HistoryReplaced:
                if upto is not None or not tries_left:
                    raise
                continue  # it was replaced between a look at its end and the end of reading
            break

    def _end(self) -> Head | None:
        """Return where the log ends; None: that cannot be read, and reading says why."""
        with suppress(LogCorrupt):
            return self.log.head()
        return None

    def _replay_valid(self, error: Exception) -> None:
        """Fold the events before the first invalid one, and report the version of that one.

        An intact hash chain proves that nothing was changed, not that the events are consistent: an
        imported log may name blocks that were never learned.

        Args:
            error: The error raised by folding the whole log at once.

        Raises:
            LogCorrupt, StoreTooNew: With the version of that event, unless the space is read-only.
        """
        found = first_impossible(self._readable, error)
        damage = self._reason(found)
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.trouble = None  # no checkpoint was to blame
        if not self._shared.read_only:
            raise damage from error
        self._shared.state, _ = applied_singly(
            self._read(-1, found.version - 1),
            settling=found.settling,
        )
        self._ended(damage)

    def _reason(self, found: Impossible) -> LogCorrupt | StoreTooNew:
        """Return why an event cannot be folded: a newer release wrote it, or it is wrong."""
        try:
            for recorded in self._read(found.version - 1, found.version):
                check_policy_known(recorded)
        except StoreTooNew as newer:
            return newer
        return LogCorrupt(found.problem, version=found.version)

    def _readable(self) -> Iterator[Recorded]:
        """Yield the events before the first that cannot be read."""
        with suppress(*_ENDS):
            yield from self._read(-1)

    def _fold_all(self, source: Iterator[Recorded], head: Head | None) -> None:
        """Fold *source* to its end; if read-only, up to damage or an event of a newer release.

        Args:
            source: The events up to *head*.
            head: Where the log ends; None: that cannot be read.
        """
        try:
            self._fold(source)
        except _ENDS as damage:
            if not self._shared.read_only:
                self._forget()
                raise
            self._ended(damage)
        except HistoryReplaced:
            self._forget()
            raise
        else:
            self._shared.head = EMPTY if head is None else head
            if self._shared.known.newest() is None:
                self._shared.known.begin(self._shared.head, self.log.digest_at)

    def _ended(self, damage: LogCorrupt | StoreTooNew) -> None:
        """Record that the state ends before *damage*, for as long as the space is open."""
        self._shared.damage, version = damage, self.state.version
        self._shared.head = Head(version, self.log.digest_at(version) or b"")

    def _fold(self, source: Iterable[Recorded]) -> None:
        """Fold *source* to its end, or to its damage; after any other error discard the state.

        An error in the middle of a batch (an interrupt, no memory left) leaves a state that has
        counted events which its tables lack. That cannot be detected later, so the next catch-up
        begins with an empty state.
        """
        try:
            rebuild(self.state, source)
            publish(self.state)
        except _ENDS:
            publish(self.state)
            raise  # a read error: everything before it is folded
        except BaseException:
            self._forget()
            raise

    def _read(self, after: Head | int, upto: Head | int | None = None) -> Iterator[Recorded]:
        """Return the events with version in (after, upto], as the log has them."""
        decode = self.decoded if self._payloads.lost else self.codec.decode
        return starmap(decode, self.log.read(after, upto))

    def decoded(self, record: Record, rows: Sequence[PayloadRow]) -> Recorded:
        """Return the event in *record* with its payloads; what is known to be lost is marked."""
        return self.codec.decode(record, rows, lost=self._payloads.lost.get(record.version, ()))

    def _read_to_end(self, after: Head | int, head: Head | None) -> Iterator[Recorded]:
        """Yield the events after *after*, then check that the log ends as its store remembers.

        Args:
            after: The last version, or head, that the reader has.
            head: Where the log ends; None: that cannot be read.
        """
        yield from self._payloads.recorded(after, head)
        if head is not None:
            next(self.log.read(head), None)

    def recorded(self, after: int, upto: int | None = None) -> Iterator[Recorded]:
        """Yield the events with version in (after, upto], of the history that was folded.

        Raises:
            HistoryReplaced: At the end, if the log is another one by then.
        """
        yield from self._read(after, upto)
        self.check_history()

    def digest_at(self, version: int) -> bytes:
        """Return the chain digest of the log as it ends with the event at *version*.

        Raises:
            HistoryReplaced: The log is not the one that was folded.
            LogCorrupt: The log has no such record, or cannot read it.
        """
        with self.state_lock:
            if version == self.head.version and self.head.digest:
                return self.head.digest
        found = self.log.digest_at(version)
        self.check_history()
        if found is None:
            raise LogCorrupt(f"no record can be read at version {version}", version=version)
        return found

    def event_at(self, version: int) -> Recorded | None:
        """Return the event at *version*, if the log has it."""
        if version < 0:
            return None
        found = list(self.recorded(version - 1, version))
        return found[0] if found else None

    def _erased(self, *, upto: Head) -> None:
        """Discard everything derived that may hold erased text, and replay the log.

        Args:
            upto: Where the log ends.

        Raises:
            HistoryReplaced: The log does not hold it any more.
        """
        self._shared.erasures += 1
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.erased()
        if self.graphs is not None:
            self.graphs.erased()
        try:
            self.replay_again(upto)
        except HistoryReplaced as error:
            raise self._dropped(error) from error
        overwrite_small_arrays()
        self._check_holds(upto)

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


def _is_durable(head: Head) -> None:
    """Do nothing: what this log has is durable."""
    del head


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
