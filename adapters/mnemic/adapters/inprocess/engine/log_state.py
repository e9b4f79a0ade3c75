"""The state folded from a log: catching up, folding own events, and publishing snapshots.

Rules of this module:

1. One thread at a time folds: the holder of the fold lock. It publishes an immutable snapshot when
   it is done. Readers use the last one and hold no lock; a reader that finds events of other
   processes in the log folds them first.
2. The state is only advanced by events that are in the log, or that the same thread appends before
   it releases the lock. If that append fails, the state is dropped; what is published stays.
3. Erasure applies to the past: a state that has folded text which is erased later is replaced, by
   one without it or, where that cannot be derived, by a new fold of the whole log.
4. With the state is kept the head (version and digest) that it was folded up to. A log without that
   head is another history: the state is dropped, and every session handle gets the error
   ``history-replaced`` once.
5. The holder of the fold lock never waits for other processes, and so never for the write lock: a
   writer acquires the write lock first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from attrs import frozen

from mnemic.adapters.codec.erasures import Erasures
from mnemic.adapters.inprocess.engine.fifo_lock import FifoLock
from mnemic.adapters.inprocess.engine.known_history import KnownHistory, again
from mnemic.adapters.inprocess.engine.log_reader import LogReader
from mnemic.adapters.inprocess.engine.payload_check import payloads_missing
from mnemic.adapters.inprocess.engine.state_loader import FoldedLog, StateLoader, erases
from mnemic.adapters.stores.logs.chain import EMPTY
from mnemic.adapters.system.forks import OpeningProcess
from mnemic.adapters.system.heap import overwrite_small_arrays
from mnemic.kernel.errors import (
    Closed,
    HistoryReplaced,
    LogCorrupt,
    MnemicError,
    PayloadsMissing,
    StoreTooNew,
)
from mnemic.kernel.events import Recorded
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.ports import Entropy, Head, Log
from mnemic.projections.lexical.languages.words import forget_questions
from mnemic.projections.state.checkpoint import copied, freeze
from mnemic.projections.state.erasing import Capture, Derived, erased, erased_alone
from mnemic.projections.state.event_validation import REPLAY_ERRORS
from mnemic.projections.state.replay import BATCHED_MIN, rebuild
from mnemic.projections.state.state import State
from mnemic.projections.view import Snapshot, publish

if TYPE_CHECKING:
    from mnemic.adapters.ann.graphs import GraphBuilder
    from mnemic.adapters.checkpoints.writer import CheckpointWriter


@runtime_checkable
class _EncryptedLog(Protocol):
    """An encrypted log, whose text depends on keys that may have been restored after an erasure."""

    def erased_before(self, erase: Sequence[str], *, erase_all: bool) -> None:
        """Destroy again the keys of text that was erased before. The write lock is held.

        Args:
            erase: Owners of the text.
            erase_all: Whether all text of the space was erased.
        """
        ...


@frozen(eq=False)
class Published:
    """A snapshot, and the log that it is of."""

    snapshot: Snapshot
    head: Head
    """Where the log ended when it was folded."""


class LogState:
    """A log, and the state folded from it: one for all session handles of a space.

    Args:
        log: The log.
        entropy: Source of the random bytes that the codec needs to encode.
        read_only: Whether damage ends the fold without an error.
    """

    def __init__(self, log: Log, *, entropy: Entropy, read_only: bool) -> None:
        self.log = log
        self.reader = LogReader(log, entropy)
        self.codec = self.reader.codec
        self.loader = StateLoader(self.reader, read_only=read_only)
        self.lock = FifoLock()
        """The fold lock. Its holder may use ``state`` and ``head``."""
        self.confirm: Callable[[Head], None] = log.capabilities.confirm or _is_durable
        """Waits until the log is durable up to a head; see ``ports.LogCapabilities``."""
        self.graphs: GraphBuilder | None = None
        """Maintains graphs over the vectors; None: there are none, and every search is exact."""
        self._folded = FoldedLog()
        self._published = Published(publish(self._folded.state), EMPTY)
        self._known = KnownHistory()
        self.replacements = 0
        """How often the log was found to be another history."""
        self.replaced: HistoryReplaced | None = None
        """The error for the last of these replacements."""
        self.erasures = 0
        """How often text was erased that had been folded."""
        self.is_closed = False
        """Whether the space has been closed, for every session handle."""
        self._derived: Derived | None = None
        """What is derived for an erasure that is about to be written."""
        self._process = OpeningProcess("the memory")
        self._hour = 0.0
        self._hour_lock = Lock()

    @property
    def checkpoint_writer(self) -> CheckpointWriter | None:
        """Writes checkpoints of the state; None: there are none."""
        return self.loader.checkpoint_writer

    @property
    def is_read_only(self) -> bool:
        """Whether the space was opened read-only."""
        return self.loader.read_only

    @property
    def is_from_parent(self) -> bool:
        """Whether the process was forked since the space was opened."""
        return self._process.is_another

    def check_open(self) -> None:
        """Refuse when the space has been closed.

        Raises:
            Closed: The space was closed, through any of its session handles.
            StoreFailed: The process was forked since the space was opened.
        """
        self._process.check()
        if self.is_closed:
            raise Closed("the memory is closed")

    # --- reading ----------------------------------------------------------------------------

    @property
    def published(self) -> Published:
        """What was published last; other processes may have appended since."""
        return self._published

    @property
    def version(self) -> int:
        """The version of the last snapshot."""
        return self._published.head.version

    @property
    def damage(self) -> LogCorrupt | StoreTooNew | None:
        """The error that ended the fold early, if the space was opened read-only on such a log."""
        return self._folded.damage

    @property
    def missing(self) -> PayloadsMissing | None:
        """The error that names what is lost, if the space was opened read-only on such a log."""
        return self._folded.missing

    def current(self) -> Published:
        """Return the snapshot of the whole log, after folding what others have appended.

        A thread that holds the fold lock gets the last snapshot, without what it has folded since.

        Raises:
            Closed: The space was closed meanwhile.
            HistoryReplaced: The log is not a continuation of what was folded.
            LogCorrupt: An event cannot be read, or folded.
        """
        self.check_open()
        if not self.lock.is_mine and not self._is_current():
            self.catch_up()
        return self._published

    def _is_current(self) -> bool:
        return self.damage is not None or self.log.head() == self._published.head

    def recorded(self, after: int, upto: int | None = None) -> Iterator[Recorded]:
        """Yield the events with version in (after, upto], of the history that was folded.

        Raises:
            HistoryReplaced: At the end, if the log is another one by then.
        """
        yield from self.reader.read(after, upto)
        self.check_history()

    def event_at(self, version: int) -> Recorded | None:
        """Return the event at *version*, if the log has it."""
        if version < 0:
            return None
        found = list(self.recorded(version - 1, version))
        return found[0] if found else None

    def digest_at(self, version: int) -> bytes:
        """Return the chain digest of the log as it ends with the event at *version*.

        Raises:
            HistoryReplaced: The log is not the one that was folded.
            LogCorrupt: The log has no such record, or cannot read it.
        """
        head = self._published.head
        if version == head.version and head.digest:
            return head.digest
        found = self.log.digest_at(version)
        self.check_history()
        if found is None:
            raise LogCorrupt(f"no record can be read at version {version}", version=version)
        return found

    def latest_hour(self, hour: float) -> float:
        """Return *hour*, or the latest one that this method has returned, if that is later.

        Between two events the hour depends on the machine's clock, which may be set back.

        Args:
            hour: An active hour, >= 0.
        """
        with self._hour_lock:
            self._hour = max(self._hour, hour)
            return self._hour

    # --- folding; the fold lock is held -----------------------------------------------------

    @property
    def state(self) -> State:
        """The state that the holder of the fold lock advances."""
        return self._folded.state

    @property
    def head(self) -> Head:
        """Where the folded part of the log ends."""
        return self._folded.head

    @property
    def payload_count(self) -> int:
        """How many payloads the folded events have, erased ones excluded."""
        return self.reader.payloads.count

    def catch_up(self) -> bool:
        """Fold the events that other writers have appended, and return whether there were any.

        Acquires the fold lock.

        Raises:
            Closed, HistoryReplaced, LogCorrupt: As ``current``.
        """
        erasures = self.erasures
        try:
            with self.lock:
                self.check_open()
                if self.damage is not None:
                    return False
                head = self.log.head()
                if head == self.head:
                    return False
                if self.state.version < 0:
                    self.restore()
                    if self.checkpoint_writer is not None:
                        self.checkpoint_writer.settle()  # text may have been erased meanwhile
                    self._check_holds(self._known.newest())
                    return self.state.version >= 0
                self._fold_others(head)
                return True
        finally:
            self.finish_erasure(since=erasures)

    def restore(self) -> None:
        """Load the state from the newest checkpoint, or fold the whole log; acquires the lock.

        Raises:
            LogCorrupt, StoreTooNew, PayloadsMissing: See ``StateLoader``.
        """
        with self.lock:
            self._take(self.loader.load())

    def try_to_restore(self) -> None:
        """Load the state anew if that is possible now; the next command tries again and says why.

        What is published is then of a state that never held what was not appended.
        """
        with suppress(MnemicError):
            self.restore()

    def fold(self, events: Sequence[Recorded]) -> None:
        """Fold events of this process, before or after they are appended.

        An error in the middle (an interrupt, no memory left) leaves a state that has counted events
        which its tables lack. That cannot be detected later, so the state is dropped.
        """
        try:
            rebuild(self.state, events)
        except BaseException:
            self.drop()
            raise

    def appended(self, head: Head, events: Sequence[Recorded], *, payloads: int) -> None:
        """Publish the state with the events that this process has appended and folded.

        Args:
            head: Where the log ends with them.
            events: All of them, at least one; those of a group that erases are folded here.
            payloads: How many payloads they have.
        """
        self._known.add(head, first=events[0].version)
        if any(erases(each.event) for each in events):
            self._erased(events, head)
            return
        self.reader.payloads.appended(payloads)
        self._advanced(head, is_author=True)

    def erased_before(self, erase: Sequence[str], *, erase_all: bool) -> None:
        """Destroy again the keys of text that was erased before. The write lock is held.

        Args:
            erase: Owners of the text.
            erase_all: Whether all text of the space was erased.
        """
        if isinstance(self.log, _EncryptedLog):
            self.log.erased_before(erase, erase_all=erase_all)

    def drop(self) -> None:
        """Drop the state: it holds events that were not appended. It is loaded anew when needed."""
        self._folded = FoldedLog()

    def _take(self, folded: FoldedLog) -> None:
        """Publish a state that was folded anew."""
        self._folded = folded
        if folded.damage is None and self._known.newest() is None:
            self._known.begin(folded.head, self.log.digest_at)
        self._publish()

    def _publish(self) -> None:
        self._published = Published(publish(self.state), self.head)

    def _advanced(self, head: Head, *, is_author: bool = False) -> None:
        """Publish the state, which has grown up to *head*, and consider a checkpoint.

        Args:
            head: Where the log ends.
            is_author: Whether this process wrote its last events.
        """
        self._folded.head = head
        self._publish()
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.consider(is_author=is_author)

    def _fold_others(self, head: Head) -> None:
        """Fold the events of other writers, which may be invalid.

        Args:
            head: Where the log ends.

        Raises:
            HistoryReplaced: They do not continue what was folded.
            LogCorrupt: An event cannot be read, or folded; the fact ``version`` is its version.
        """
        try:
            fresh = list(self.reader.to_end(self.head, head))
        except HistoryReplaced as error:
            raise self._dropped(error) from error
        if any(erases(each.event) for each in fresh):
            self._erased(fresh, head)
        elif self._continued(fresh):
            self._known.add(head)
            self._advanced(head)
        else:
            self._fold_again(head)
            self._check_holds(head)

    def _continued(self, fresh: Sequence[Recorded]) -> bool:
        """Fold events on, and return whether that succeeded.

        If not, the log has to be folded again from its start: the error of that fold names the
        event, or the payloads that are lost; read-only, the state then ends before the event.
        """
        if fresh and self.reader.payloads.unexplained(fresh[-1].version):
            return False
        try:
            self.fold(fresh)
            # Few events leave nothing behind that the next command would not need again.
            if len(fresh) >= BATCHED_MIN:
                self.state.settle()
        except REPLAY_ERRORS:
            return False
        return True

    def _fold_again(self, head: Head) -> None:
        """Fold the whole log up to *head*.

        Raises:
            HistoryReplaced, LogCorrupt, StoreTooNew, PayloadsMissing: See ``StateLoader``; the
                state has been dropped.
        """
        self.drop()
        self._take(self.loader.fold_all(head))

    def _erased(self, fresh: Sequence[Recorded], head: Head) -> None:
        """Fold events that erase text, and discard everything derived that may hold it.

        Args:
            fresh: The events after those that are folded.
            head: Where the log ends with them.

        Raises:
            HistoryReplaced: The log does not hold that head any more.
        """
        self.erasures += 1
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.erased()
        if self.graphs is not None:
            self.graphs.erased()
        try:
            if self._erased_in_place(fresh):
                self.reader.payloads.erased(head.version)
                self._advanced(head)
            else:
                self._fold_again(head)
        except HistoryReplaced as error:
            raise self._dropped(error) from error
        if self.graphs is not None:
            self.graphs.erased()  # a reader of the old snapshot may have begun another one
        forget_questions()
        self._check_holds(head)

    def _erased_in_place(self, fresh: Sequence[Recorded]) -> bool:
        """Fold events on a state without the text that they erase; return False if that fails."""
        ids = erased_alone(each.event for each in fresh)
        state = None if ids is None else erased(self.state, ids, self._derived)
        if state is None:
            return False
        if self._folded.is_mapped:  # the file that it is mapped from holds the text
            state, self._folded.is_mapped = copied(freeze(state)), False
        self._folded.state = state
        return self._continued(fresh)

    def finish_erasure(self, *, since: int) -> None:
        """Destroy files and freed memory that may hold erased text, unless the lock is held.

        That may take long, so no lock of the space is held meanwhile. A call with the fold lock has
        to be followed by one without it.

        Args:
            since: The number of ``erasures`` when the operation began: without a later one, this is
                left to another operation.
        """
        if self.erasures == since or self.lock.is_mine:
            return
        overwrite_small_arrays()
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.destroy()

    @contextmanager
    def prepared_erasure(self, ids: Collection[BlockId]) -> Generator[None]:
        """Do the long work of an erasure before the ``with`` block, which is to execute it.

        What is computed from all texts and vectors is derived without those of *ids*. The write
        lock is not held meanwhile.

        Args:
            ids: The blocks that are probably going to be erased.

        Raises:
            LogCorrupt: See ``check_foldable``.
        """
        self.check_foldable()
        self._copy_mapped()
        state = self.state
        if state.lexicon.analysed:
            state.lexicon.settle()  # before the lock, which leaves it little to do
            state.passages.settle()
        with self.lock:
            capture = Capture.of(self.state, ids) if ids else None
        self._derived = None if capture is None else capture.derived()
        try:
            yield
        finally:
            self._derived = None

    def _copy_mapped(self) -> None:
        """Replace the state by a copy if it is mapped from a file that is to be destroyed."""
        with self.lock:
            state, head = self.state, self.head
            if not self._folded.is_mapped:
                return
            parts = freeze(state)
        copy = copied(parts)
        copy.prepare()
        # If the log cannot be read now, the command reports why, and copies the state itself.
        with self.lock, suppress(MnemicError):
            if self.state is state and self._folded.is_mapped:
                rebuild(copy, list(self.reader.read(head, self.head)))
                self._folded.state, self._folded.is_mapped = copy, False
                self._publish()

    def check_foldable(self) -> None:
        """Refuse when folding the whole log would lose events that only a checkpoint still holds.

        Reads, once, the part of the log that opening skipped.

        Raises:
            LogCorrupt: That part is damaged, or lacks payloads; the fact ``version`` is the first.
        """
        restored_version = self._folded.restored_version
        erasures = Erasures(self.codec)
        try:
            if restored_version >= 0:
                for _ in erasures.read(self.log.read(-1, restored_version)):
                    pass
                erasures.look_beyond(self.log, restored_version)  # others may have erased since
                if lost := erasures.lost():
                    raise payloads_missing(self.log.name, lost)
        except LogCorrupt as error:
            raise LogCorrupt(
                f"nothing was erased: {error.message}; this memory depends on a checkpoint, and an "
                "erasure would leave only the events before the damage",
                recovery="Restore a backup and erase there, or erase the whole space.",
                **error.facts,
            ) from error
        self._folded.restored_version = -1

    # --- another history ------------------------------------------------------------------------

    def check_unreplaced(self, replacements: int) -> None:
        """Refuse what depends on a history that was replaced.

        Args:
            replacements: The count of replacements when that history was read.

        Raises:
            HistoryReplaced: There was another replacement since.
        """
        if replacements != self.replacements:
            assert self.replaced is not None  # noqa: S101 - set when it is counted
            raise again(self.replaced)

    def check_history(self) -> None:
        """Refuse to answer from a log that is neither the folded one nor a continuation of it.

        Raises:
            HistoryReplaced: It is another history. The state has been dropped.
        """
        known = self._published.head
        if known.version < 0 or self.damage is not None:
            return
        found = self.log.head()
        if found != known:
            self._check_continues(known, found)

    def _check_holds(self, known: Head | None) -> None:
        """Refuse a log that was folded anew and does not hold a head of the folded one before.

        Raises:
            HistoryReplaced: It is another history. The state has been dropped.
        """
        if self.damage is not None:
            return
        if known is not None and known != self.head:
            self._check_continues(known, self.head)
        if self._known.newest() != self.head:
            self._known.add(self.head)

    def _check_continues(self, known: Head, found: Head) -> None:
        """Refuse a log that ends at *found* and does not hold *known*.

        Raises:
            HistoryReplaced: It is another history. The state has been dropped.
        """
        replacements = self.replacements
        try:
            next(self.log.read(known, found), None)
        except HistoryReplaced as error:
            with self.lock:
                self.check_unreplaced(replacements)  # another thread may have been first
                raise self._dropped(error) from error

    def _dropped(self, error: HistoryReplaced) -> HistoryReplaced:
        """Drop the state of a history that was replaced, and fold the log as it is.

        If the log cannot be folded now, the next operation reports why. The fold lock is held.

        Args:
            error: The error of the store.

        Returns:
            The error to raise, with where the histories part if that can be determined.
        """
        with suppress(MnemicError):
            error = self._known.parted_from(self.log.head(), self.log.digest_at)
        self.replaced, self.replacements = error, self.replacements + 1
        self.drop()
        self._known.clear()
        self.reader.payloads.restore(())
        self._publish()
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.replaced()
        if self.graphs is not None:
            self.graphs.replaced()
        import logging

        logging.getLogger("mnemic.history").error("space %r: %s", self.log.name, error.message)
        self.try_to_restore()
        return error

    # --- closing --------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the log for every session handle; everything needed to reopen it is kept."""
        with self.lock:  # a group in progress is finished first
            if self.is_closed:
                return
            self.is_closed = True
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.close()
        if self.graphs is not None:
            self.graphs.close()
        self.log.close()


def _is_durable(head: Head) -> None:
    """Do nothing: what this log has is durable."""
    del head
