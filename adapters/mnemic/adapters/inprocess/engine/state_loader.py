"""Folding a log into a fresh state: from its first event, or from a checkpoint.

Rules of this module:

1. A checkpoint saves time and changes no answer: the state is the same with one and without.
2. Text that is erased later is not folded: a checkpoint from before an erasure is not used.
3. No state is folded from a log that has lost payloads, unless it is read-only: then what is lost
   is marked as lost, never as erased.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import define, field

from mnemic.adapters.codec.erasures import ERASING, Missing
from mnemic.adapters.inprocess.engine.log_reader import ENDS, LogReader
from mnemic.adapters.inprocess.engine.payload_check import payloads_missing
from mnemic.adapters.stores.logs.chain import EMPTY
from mnemic.adapters.system.collector import collector_at_rest
from mnemic.adapters.system.heap import give_back
from mnemic.kernel.errors import (
    Corrupt,
    HistoryReplaced,
    LogCorrupt,
    PayloadsMissing,
    StoreTooNew,
    Unavailable,
)
from mnemic.kernel.events import Event, Recorded
from mnemic.kernel.ports import Head
from mnemic.projections.state.event_validation import (
    REPLAY_ERRORS,
    Impossible,
    applied_singly,
    check_policy_known,
    first_impossible,
)
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State

if TYPE_CHECKING:
    from mnemic.adapters.checkpoints.writer import CheckpointWriter

REPLAYS_MAX = 3
"""Attempts to fold a log that is replaced while it is read."""


@define(kw_only=True, eq=False)
class FoldedLog:
    """A state, and how much of its log it was folded from."""

    state: State = field(factory=State)
    head: Head = EMPTY
    """Where the folded part of the log ends; its version is that of the state."""
    damage: LogCorrupt | StoreTooNew | None = None
    """The error that ended the fold early; None: none, or the log is open for writing."""
    missing: PayloadsMissing | None = None
    """The error that names lost payloads; None unless the log is read-only, or its losses were
    accepted."""
    restored_version: int = -1
    """Version of the checkpoint that the state was restored from; -1: the whole log was read."""
    is_mapped: bool = False
    """Whether arrays of the state may be mapped from the file of that checkpoint."""


class StateLoader:
    """Folds one log.

    Args:
        reader: Reads its events.
        read_only: Whether damage ends the fold without an error.
    """

    def __init__(self, reader: LogReader, *, read_only: bool) -> None:
        self._reader = reader
        self._log = reader.log
        self._payloads = reader.payloads
        self.read_only = read_only
        self.checkpoint_writer: CheckpointWriter | None = None
        """Loads and writes checkpoints of the state; None: there are none."""

    def load(self) -> FoldedLog:
        """Load the newest valid checkpoint and fold the events after it; else fold the whole log.

        Raises:
            LogCorrupt, StoreTooNew, PayloadsMissing: See ``fold_all``. Events before a valid
                checkpoint are not read.
        """
        kept = None if self.checkpoint_writer is None else self.checkpoint_writer.newest()
        continued = None if kept is None else self._continued(*kept)
        return continued or self.fold_all()

    def _continued(self, kept: State, digest: bytes) -> FoldedLog | None:
        """Fold the events after *kept*; return None if the whole log has to be folded instead.

        Args:
            kept: The state of a checkpoint.
            digest: The digest of the log at its version.
        """
        writer = self.checkpoint_writer
        assert writer is not None  # noqa: S101 - *kept* comes from it
        restored = Head(kept.version, digest)
        folded = FoldedLog(
            state=kept, head=restored, restored_version=restored.version, is_mapped=True
        )
        self._payloads.begin(writer.restored_payloads)
        folded.missing = self._restored_losses(sorted(kept.timeline.losses))
        try:
            head = self._log.head()
            with collector_at_rest():
                self._fold(folded, _unless_erased(self._reader.to_end(restored, head)), head)
                folded.state.settle()
        except _TextErased:
            writer.passed_over()
            return None
        except (Corrupt, Unavailable):
            raise
        except Exception as error:  # noqa: BLE001 - the log is authoritative: fold all of it
            writer.passed_over(error)
            return None
        if self._payloads.unexplained(folded.state.version):
            writer.passed_over()
            return None
        return folded

    def _restored_losses(self, losses: Sequence[tuple[int, int]]) -> PayloadsMissing | None:
        """Continue with the losses that the log of a checkpoint has accepted."""
        self._payloads.restore(losses)
        found = [Missing(version, slot, frozenset()) for version, slot in losses]
        return payloads_missing(self._log.name, found) if found else None

    def fold_all(self, upto: Head | None = None) -> FoldedLog:
        """Fold the whole log into a fresh state.

        Args:
            upto: Where the log ends; None: its end now.

        Raises:
            HistoryReplaced: The log does not hold that end, or is replaced again and again.
            LogCorrupt, StoreTooNew: At the first record that is damaged, invalid or of a newer
                release, unless the space is read-only: then the state ends before that record.
            PayloadsMissing: The log has lost payloads, unless the space is read-only: then the
                state has them marked as lost.
        """
        with collector_at_rest():
            while True:
                folded = self._from_start(upto)
                lost = self._payloads.unexplained(folded.state.version)
                if lost and not self.read_only:
                    raise payloads_missing(self._log.name, lost)
                if not self._payloads.mark():
                    break
            found = self._payloads.all_lost()
            folded.missing = payloads_missing(self._log.name, found) if found else None
        give_back()
        return folded

    def _from_start(self, upto: Head | None) -> FoldedLog:
        for tries_left in reversed(range(REPLAYS_MAX)):
            folded = FoldedLog()
            self._payloads.begin()
            head = self._reader.end() if upto is None else upto
            try:
                self._fold(folded, self._reader.to_end(-1, head), head)
                folded.state.settle()
            except REPLAY_ERRORS as error:
                return self._valid_part(error)
            except HistoryReplaced:
                if upto is not None or not tries_left:
                    raise
                continue  # it was replaced after its end was read
            return folded
        raise AssertionError("the last attempt returns or raises")  # pragma: no cover

    def _valid_part(self, error: Exception) -> FoldedLog:
        """Fold the events before the first invalid one, and report the version of that one.

        An intact hash chain proves that nothing was changed, not that the events are consistent: an
        imported log may name blocks that were never learned.

        Args:
            error: The error raised by folding the whole log at once.

        Raises:
            LogCorrupt, StoreTooNew: For that event, unless the space is read-only.
        """
        found = first_impossible(self._reader.readable, error)
        damage = self._reason(found)
        if self.checkpoint_writer is not None:
            self.checkpoint_writer.trouble = None  # no checkpoint was to blame
        if not self.read_only:
            raise damage from error
        before = self._reader.read(-1, found.version - 1)
        state, _ = applied_singly(before, settling=found.settling)
        return self._ended(FoldedLog(state=state), damage)

    def _reason(self, found: Impossible) -> LogCorrupt | StoreTooNew:
        """Return the error for an event that cannot be folded: of a newer release, or invalid."""
        try:
            for recorded in self._reader.read(found.version - 1, found.version):
                check_policy_known(recorded)
        except StoreTooNew as newer:
            return newer
        return LogCorrupt(found.problem, version=found.version)

    def _fold(self, folded: FoldedLog, source: Iterable[Recorded], head: Head | None) -> None:
        """Fold *source* to its end; if read-only, up to damage or an event of a newer release.

        Args:
            folded: What was folded before.
            source: The events up to *head*.
            head: Where the log ends; None: that is unreadable.
        """
        try:
            rebuild(folded.state, source)
        except ENDS as damage:
            if not self.read_only:
                raise
            self._ended(folded, damage)
        else:
            folded.head = EMPTY if head is None else head

    def _ended(self, folded: FoldedLog, damage: LogCorrupt | StoreTooNew) -> FoldedLog:
        """Mark *folded* as ending before *damage*, and return it."""
        folded.damage, version = damage, folded.state.version
        folded.head = Head(version, self._log.digest_at(version) or b"")
        return folded


class _TextErased(Exception):
    """Text that a checkpoint may hold was erased later. Internal to this module."""


def erases(event: Event) -> bool:
    """Return whether an event erases text."""
    return isinstance(event, ERASING)


def _unless_erased(source: Iterator[Recorded]) -> Iterator[Recorded]:
    """Yield events up to the first that erases text.

    Raises:
        _TextErased: At that event.
    """
    for recorded in source:
        if erases(recorded.event):
            raise _TextErased
        yield recorded
