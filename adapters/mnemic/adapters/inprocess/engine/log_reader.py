"""Reading the log of a space as events, with what is known to be lost marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import starmap

from mnemic.adapters.codec import Codec
from mnemic.adapters.inprocess.engine.payload_check import PayloadCheck
from mnemic.kernel.errors import LogCorrupt, StoreTooNew
from mnemic.kernel.events import Recorded
from mnemic.kernel.ports import Entropy, Head, Log, PayloadRow, Record
from mnemic.projections.state.apply import TRANSIENT

ENDS = (LogCorrupt, StoreTooNew)
"""Errors that end the readable part of a log; everything before them is sound."""


class LogReader:
    """The events of one log.

    Args:
        log: The log.
        entropy: Source of the random bytes that the codec needs to encode.
    """

    def __init__(self, log: Log, entropy: Entropy) -> None:
        self.log = log
        self.codec = Codec(entropy, transient=TRANSIENT)
        self.payloads = PayloadCheck(log, self.codec)
        """The payloads of the events that were folded."""

    def read(self, after: Head | int, upto: Head | int | None = None) -> Iterator[Recorded]:
        """Return the events with version in (after, upto], in order.

        Args:
            after: A version, or the head of the log there; -1: from the first event.
            upto: The same; None: to the end.

        Raises:
            HistoryReplaced: The log does not hold a head that was given.
            LogCorrupt, StoreTooNew: At the first event that cannot be read.
        """
        decode = self.decoded if self.payloads.lost else self.codec.decode
        return starmap(decode, self.log.read(after, upto))

    def decoded(self, record: Record, rows: Sequence[PayloadRow]) -> Recorded:
        """Return the event in *record* with its payloads; what is known to be lost is marked."""
        return self.codec.decode(record, rows, lost=self.payloads.lost.get(record.version, ()))

    def to_end(self, after: Head | int, head: Head | None) -> Iterator[Recorded]:
        """Yield the events after *after* for a fold, then check that the log still ends at *head*.

        Args:
            after: The last version, or head, that the reader has.
            head: Where the log ends; None: unknown, so that nothing is checked.

        Raises:
            HistoryReplaced: The log does not hold *after* or *head*.
            LogCorrupt, StoreTooNew: At the first event that cannot be read.
        """
        yield from self.payloads.recorded(after, head)
        if head is not None:
            next(self.log.read(head), None)

    def readable(self) -> Iterator[Recorded]:
        """Yield the events before the first that cannot be read."""
        with suppress(*ENDS):
            yield from self.read(-1)

    def end(self) -> Head | None:
        """Return where the log ends; None: that is unreadable, and reading raises the error."""
        with suppress(LogCorrupt):
            return self.log.head()
        return None
