"""The pass behind every copy, export and check: records of a source, verified on their way.

1. A source yields ``TransferRecord``s in the order of the log, decoded and authenticated: a log
   (``logs.log_records``), an export (``Export.entries``), or what is sound of a damaged log.
2. ``Walk.over`` links the chain, counts, notes payloads that are missing without having been
   erased, and reports progress. A progress callback that raises ends the pass.
3. The consumer appends to a log (``logs.fill``), writes an export, compares, or folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from attrs import define, field, frozen

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.erasures import Erasures
from mnemic.adapters.stores.logs import chain
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.events import Recorded
from mnemic.kernel.ports import CommandRow, Head, PayloadRow, Record
from mnemic.kernel.values import Value

Progress = Callable[[int, int], None]
"""Called with the number of events done and the total."""

PROGRESS_EVERY = 1000


@frozen(kw_only=True)
class TransferRecord(Value):
    """One event in transfer, with its payloads and command."""

    record: Record
    recorded: Recorded
    """The record, decoded."""
    payloads: tuple[PayloadRow, ...]
    missing: tuple[int, ...] = ()
    """Slots for which there is no payload."""
    unread: int = 0
    """How many of the payloads were not decoded."""
    command: CommandRow | None = None
    """The command that this event begins, if it may be repeated."""


@define
class Tally:
    """Progress over all passes of an operation: every event is counted once in each."""

    progress: Progress | None = None
    total: int = 0
    done: int = 0
    _shown: int = field(default=0, init=False)

    def add(self, events: int = 1) -> None:
        """Count events that were processed."""
        self.done += events
        if self.progress is not None and self.done - self._shown >= PROGRESS_EVERY:
            self.show()

    def show(self) -> None:
        """Report the progress."""
        self._shown = self.done
        if self.progress is not None:
            self.progress(self.done, max(self.done, self.total))


class Walk:
    """One pass over the records of a source, and what it found.

    Args:
        codec: Reads which payloads an event names.
        after: Where the records before the first one end.
        erased_later: Blocks that are known to be erased after the last record.
        tally: Counts the records.
    """

    def __init__(
        self,
        codec: Codec,
        *,
        after: Head = chain.EMPTY,
        erased_later: Iterable[str] = (),
        tally: Tally | None = None,
    ) -> None:
        self._tally = tally or Tally()
        self.erasures = Erasures(codec, erased_later)
        self.head = after
        """Where the records end, computed from their bytes."""
        self.last: Recorded | None = None
        self.payloads = 0
        self.unread = 0
        """How many of them were counted only."""

    def over(self, records: Iterable[TransferRecord]) -> Iterator[TransferRecord]:
        """Yield *records*, each once it has been counted."""
        for each in records:
            version = each.record.version
            self.head = Head(version, chain.digest(self.head.digest, *each.record))
            self.last = each.recorded
            self.payloads += len(each.payloads)
            self.unread += each.unread
            self.erasures.see(each.record, each.recorded, each.missing)
            yield each
            self._tally.add()

    def settle(self) -> None:
        """Refuse a log that lacks payloads that were not erased.

        Raises:
            LogCorrupt: With the fact ``version``.
        """
        version = self.erasures.unasked()
        if version is not None:
            raise LogCorrupt(
                f"version {version} lacks a payload that was not erased", version=version
            )
