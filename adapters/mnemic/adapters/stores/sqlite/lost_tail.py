"""Finds what a file lacks of what was acknowledged, by comparing its tables with its watermarks.

A watermark is read before the tables are. What it states was committed by then, so concurrent
writes do not look like a loss.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from attrs import frozen

from mnemic.adapters.stores.logs import chain
from mnemic.adapters.stores.logs.recorded_log import RecordedLog
from mnemic.adapters.stores.sqlite.recorder import SpaceRecorder
from mnemic.adapters.stores.sqlite.watermark import DurabilityWatermark, Watermarks
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.ports import Head
from mnemic.kernel.results import plural
from mnemic.kernel.values import Value

MAY_BE = "its write-ahead log was damaged, or an older copy has replaced it"


@frozen(kw_only=True)
class LostTail(Value):
    """What one log lacks of what was acknowledged."""

    end: int
    """The last version that it has."""
    error: LogCorrupt


@frozen(kw_only=True)
class LossCheck(Value):
    """Compares the tables of one open file with its watermarks."""

    path: Path
    """Path of the file, as errors name it."""
    inode: int
    """Inode of the file that was opened."""
    recorder: SpaceRecorder
    heads: Watermarks
    naming: AbstractContextManager[None]
    """Converts what is raised about the file to an error of ours."""

    def of_log(self, log: RecordedLog, number: int) -> LostTail | None:
        """Return what a log lacks of what was acknowledged; None: nothing that is known of.

        Args:
            log: The log. Its end is read again if what it saw last is not what was acknowledged.
            number: Of its space.
        """
        known = self.heads.of(number)
        if known is None or known.head == log.tip:
            return None
        try:
            with self.naming:
                return self._lost_tail(log, known)
        except LogCorrupt:
            return None  # the head row cannot be read, and readers get that error

    def of_spaces(self) -> LogCorrupt | None:
        """Return the error for a file that has lost whole spaces; None: it lacks none known of.

        Numbers are assigned in order, so the spaces lost with the end of a write-ahead log are the
        last.
        """
        with self.naming:
            newest = self.recorder.newest()
            found = list(self.heads.behind(newest))
            if found:
                files = self._files()
                newest = self.recorder.newest()  # another process may have made one since
                found = [
                    known for known in found if known.space > newest and known.origin.inode in files
                ]
        if not found:
            return None
        events = sum(known.head.version + 1 for known in found)
        return LogCorrupt(
            f"{plural(len(found), 'space')} with {plural(events, 'event')} cannot be found that "
            f"{self._had()}; {MAY_BE}",
            recovery=self._recovery(),
            path=str(self.path),
        )

    def _lost_tail(self, log: RecordedLog, known: DurabilityWatermark) -> LostTail | None:
        head, version = log.head(), known.head.version
        if version > head.version:
            if head.version < 0:
                is_same = known.origin.inode in self._files()
            else:
                is_same = _is_of(log, known)
            if not is_same:
                return None  # the slot is of another store that had this name
            missing = plural(version - head.version, "event")
            return self._recorded(
                head,
                version=head.version + 1,
                problem=f"it ends before, and {missing} cannot be found that {self._had()}",
                acknowledged=version,
            )
        if head == known.head:
            return None
        if log.digest_at(version) in {None, known.head.digest} or not _is_of(log, known):
            return None
        return self._recorded(
            head,
            version=version,
            problem=f"it holds another event than the one that {self._had()}",
            acknowledged=version,
        )

    def _files(self) -> set[int]:
        """Return the inodes that the file has, or had before it was moved along with its slots.

        A log without events cannot tell whether a slot is its own. Other slots of that time can.
        """
        ours, others = {self.inode}, set[int]()
        for known in self.heads.behind(0):
            first = chain.digest_of(next(iter(self.recorder.records(known.space, 0, 0)), None))
            if first is not None:
                (ours if first == known.origin.genesis else others).add(known.origin.inode)
        return ours - others

    def _recorded(self, head: Head, *, version: int, problem: str, acknowledged: int) -> LostTail:
        """Return the error for a log that ends at *head* and is wrong at *version*."""
        error = LogCorrupt(
            f"the log is damaged at version {version}: {problem}; {MAY_BE}",
            recovery=self._recovery(),
            version=version,
            acknowledged=acknowledged,
        )
        return LostTail(end=head.version, error=error)

    def _had(self) -> str:
        return f"had been acknowledged ({self.heads.path.name} records it)"

    def _recovery(self) -> str:
        return (
            "Restore a backup, or save what is left with `mnemic salvage DAMAGED TO`; open it with "
            "read_only=True to read it. If this is the state that you want, delete "
            f"{self.heads.path.name} beside it."
        )


def _is_of(log: RecordedLog, known: DurabilityWatermark) -> bool:
    return log.digest_at(0) == known.origin.genesis
