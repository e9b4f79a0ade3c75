"""Verification of a copy in one pass: chain, events, payloads, and unexplained gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import define, field

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.erasures import Erasures
from mnemic.adapters.transfer.copies.copying import (
    Progress,
    Sealed,
    none_sealed,
    readable,
)
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.events import Recorded
from mnemic.kernel.ports import Log, PayloadRow, Record
from mnemic.projections.state.event_validation import impossible_event, newer_policy_fields

PROGRESS_EVERY = 1000


@define
class Tally:
    """Progress over all spaces: every event is counted once when copied and once when compared."""

    progress: Progress | None
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
    """Reads a log from its beginning to its end, and counts.

    Args:
        codec: Decodes the events.
        sealed: Which payloads exist but cannot be read: they are counted, and not decoded.
    """

    def __init__(self, codec: Codec, *, sealed: Sealed = none_sealed) -> None:
        self._codec = codec
        self._sealed = sealed
        self.erasures = Erasures(codec)
        self.events = 0
        self.payloads = 0
        self.unread = 0
        """How many of them were counted only."""

    def see(self, record: Record, rows: Sequence[PayloadRow]) -> Recorded:
        """Process the next record, and return its event.

        Raises:
            LogCorrupt, StoreTooNew: It cannot be read, or a payload is not the one that it names.
        """
        read = readable(rows, self._sealed)
        recorded = self._codec.decode(record, read)
        self.unread += len(rows) - len(read)
        self.erasures.see(record, recorded, {row.slot for row in rows})
        self.events += 1
        self.payloads += len(rows)
        return recorded

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


def walked(
    log: Log,
    upto: int,
    codec: Codec,
    *,
    sealed: Sealed = none_sealed,
    tally: Tally | None = None,
) -> Walk:
    """Verify *log* up to version *upto*, and return what was counted.

    Its events are folded, too: a copy that no space can be opened with is none. What follows a
    policy of a newer release is for that release to fold; its bytes are verified all the same.

    Raises:
        LogCorrupt, StoreTooNew: Something is damaged or missing, cannot be folded, or is of a newer
            release.
    """
    walk = Walk(codec, sealed=sealed)

    def recorded() -> Iterator[Recorded]:
        is_known = True
        for record, rows in log.read(-1, upto):
            event = walk.see(record, rows)
            is_known = is_known and not newer_policy_fields(event.event)
            if is_known:
                yield event
            if tally is not None:
                tally.add()

    impossible = impossible_event(recorded)
    if impossible is not None:
        raise LogCorrupt(impossible.problem, version=impossible.version)
    walk.settle()
    return walk
