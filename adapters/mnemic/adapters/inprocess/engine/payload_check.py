"""Check, while a log is folded, that every missing payload was erased.

Rules of this module:

1. A fold of the whole log checks every payload exactly: decoding an event shows which are missing,
   and each has to be covered by an erasure in the log.
2. A fold from a checkpoint checks the events after it exactly, and those before it by the number of
   payloads, which the checkpoint holds; a checkpoint from before an erasure is not used. If the
   store has another number, the whole log is folded.
3. A payload may be missing because it was erased after the log was read: erasure and event are
   written in one transaction, so the event is in the log by the time that the gap is noticed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.erasures import Erasures, Missing
from mnemic.kernel.errors import PayloadsMissing
from mnemic.kernel.events import Recorded
from mnemic.kernel.model.identity import short
from mnemic.kernel.ports import Head, Log
from mnemic.kernel.results import NAMED_MAX, plural

FACTS_MAX = 100
"""Most versions, and most blocks, in the facts of an error."""


class PayloadCheck:
    """The payloads of the events that a state was folded from.

    Args:
        log: The log.
        codec: Decodes its events.
    """

    def __init__(self, log: Log, codec: Codec) -> None:
        self._log = log
        self._codec = codec
        self._erasures = Erasures(codec)
        self._before = 0
        """Payloads that were counted and not read: those in a checkpoint, and of own appends."""
        self._erased_at: int | None = None
        """The version of an erasure since which the payloads before it were not counted."""
        self._checked = 0
        """Payloads that were missing at the last check, erased ones included."""
        self.lost: Mapping[int, frozenset[int]] = {}
        """Slots of the payloads that are known to be lost, by version."""

    def begin(self, payloads: int = 0) -> None:
        """Begin a fold.

        Args:
            payloads: How many payloads the events in a checkpoint have; 0: from the first event.
        """
        self._erasures, self._before, self._checked = Erasures(self._codec), payloads, 0
        self._erased_at = None

    @property
    def count(self) -> int:
        """How many payloads the folded events have, erased ones excluded.

        Those before the last erasure are counted by the store, which looks at each of them.
        """
        counted, erased_at = self._log.capabilities.payload_count, self._erased_at
        if counted is not None and erased_at is not None:
            self._before += counted(erased_at)
            self._erased_at = None
        return self._before + self._erasures.present_count

    def appended(self, payloads: int) -> None:
        """Count payloads of events that this process has appended."""
        self._before += payloads

    def erased(self, version: int) -> None:
        """Have the payloads of the events up to *version* counted, after some were erased."""
        if self._log.capabilities.payload_count is not None:
            self._erased_at, self._before = version, -self._erasures.present_count

    def recorded(self, after: Head | int, upto: Head | None = None) -> Iterator[Recorded]:
        """Return the events after *after* up to *upto*, or to the end, and check their payloads."""
        if self.lost:
            return self._marked(after, upto)
        return self._erasures.read(self._log.read(after, upto))

    def _marked(self, after: Head | int, upto: Head | None) -> Iterator[Recorded]:
        """Yield the same events, with lost payloads marked."""
        for record, rows in self._log.read(after, upto):
            for recorded in self._erasures.read([(record, rows)]):
                lost = self.lost.get(record.version)
                yield recorded if lost is None else self._codec.decode(record, rows, lost=lost)

    def unexplained(self, version: int) -> tuple[Missing, ...]:
        """Return the payloads that are missing, not erased, and not known to be lost yet.

        Args:
            version: Version of the last folded event.
        """
        if self._erasures.missing_count == self._checked:
            return ()
        self._checked = self._erasures.missing_count
        if self._new():
            # Erased since the log was read, in another copy, or by an event that cannot be folded.
            self._erasures.look_beyond(self._log, version)
        return tuple(self._new())

    def _new(self) -> list[Missing]:
        return [
            each
            for each in self._erasures.lost()
            if each.slot not in self.lost.get(each.version, ())
        ]

    def mark(self) -> bool:
        """Mark in the next fold what the last one found lost; return whether that has changed."""
        found = _by_version((each.version, each.slot) for each in self._erasures.unerased())
        has_changed = found != self.lost
        self.lost = found
        return has_changed

    def restore(self, losses: Iterable[tuple[int, int]]) -> None:
        """Set the known losses, each as version and slot: those that the log has accepted."""
        self.lost = _by_version(losses)

    def all_lost(self) -> list[Missing]:
        """Return the payloads that the fold found lost, with those that the log has accepted."""
        return self._erasures.unerased()


def _by_version(losses: Iterable[tuple[int, int]]) -> dict[int, frozenset[int]]:
    slots: defaultdict[int, set[int]] = defaultdict(set)
    for version, slot in losses:
        slots[version].add(slot)
    return {version: frozenset(found) for version, found in sorted(slots.items())}


def payloads_missing(space: str, missing: Collection[Missing]) -> PayloadsMissing:
    """Return the error that names what is lost.

    Args:
        space: The space's name.
        missing: What is lost, at least one, in the order of the log.
    """
    versions = sorted({each.version for each in missing})
    blocks = list(dict.fromkeys(block for each in missing for block in sorted(each.blocks)))
    named = ", ".join(map(str, versions[:NAMED_MAX]))
    more = f" and {len(versions) - NAMED_MAX} more" if len(versions) > NAMED_MAX else ""
    of = f", of blocks such as {', '.join(map(short, blocks[:NAMED_MAX]))}" if blocks else ""
    return PayloadsMissing(
        f"space {space!r} lacks {plural(len(missing), 'payload')} (texts or vectors) that no "
        f"erasure accounts for, at version {named}{more}{of}",
        version=versions[0],
        payloads=len(missing),
        versions=versions[:FACTS_MAX],
        blocks=blocks[:FACTS_MAX],
    )
