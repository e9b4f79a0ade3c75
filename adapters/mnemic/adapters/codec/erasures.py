"""Which payloads of a log are missing, and which erasures in it account for them.

A payload that is missing was erased if the log has the erasure of an owner after the event, or of
the whole space. Otherwise it is lost. A copy made by ``salvage`` may accept that, by an event.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol, runtime_checkable

from attrs import frozen

from mnemic.adapters.codec.codec import Codec
from mnemic.kernel import events as happened
from mnemic.kernel.errors import LogCorrupt, StoreTooNew
from mnemic.kernel.events import Event, Recorded
from mnemic.kernel.ports import Log, PayloadRow, Record
from mnemic.kernel.values import Value

ERASING = (happened.BlockErased, happened.SpaceErased, happened.LossAccepted)
"""Events that explain why payloads are missing."""
_ERASING = frozenset(ERASING)
TOPICS = ("block-erased.", "space-erased.", "loss-accepted.")
"""Prefixes of their topics, in all versions."""
LATER = 2**62
"""Version of an erasure that comes after the end of the range that is read."""


@runtime_checkable
class CopyOfErased(Protocol):
    """A log that may lack text which was erased in another copy of it."""

    def unrecorded_erasures(self) -> Sequence[Event]:
        """Return the events that would record these erasures, and that the log does not have."""
        ...


@frozen
class Missing(Value):
    """One payload that is missing."""

    version: int
    slot: int
    blocks: frozenset[str]
    """Its owners, whose erasure accounts for it; none: only the erasure of the space does."""


class Erasures:
    """Reads a log from its beginning to its end, event by event.

    Args:
        codec: Reads which payloads an event names.
        later: Blocks that are known to be erased after the end.
    """

    def __init__(self, codec: Codec, later: Iterable[str] = ()) -> None:
        self._codec = codec
        self._gaps: list[tuple[Record, Sequence[int]]] = []
        """Events with the slots of payloads that are missing, until their owners are asked for."""
        self._missing: list[Missing] = []
        """Those whose owners were asked for."""
        self._erased: defaultdict[str, list[int]] = defaultdict(list)
        """Versions at which each block was erased."""
        self.space_erased = False
        for block in later:
            self._erased[block].append(LATER)
        self._accepted: set[tuple[int, int]] = set()
        self.missing_count = 0
        """Payloads that are missing, erased ones included."""
        self.present_count = 0
        """Payloads that ``read`` has found."""

    def read(
        self,
        entries: Iterable[tuple[Record, Sequence[PayloadRow]]],
    ) -> Iterator[Recorded]:
        """Decode records with their payloads for a fold, processing each.

        Raises:
            StoreTooNew, LogCorrupt: As ``Codec.decode``.
        """
        shortcuts = self._codec.fold_shortcuts
        missing: tuple[int, ...]
        for record, rows in entries:
            try:
                recorded, missing = shortcuts[record[1]](record, rows), ()
            except Exception:  # noqa: BLE001 - a payload is missing, or what ``decode`` says
                recorded, missing = self._codec.decode_noting(record, rows)
            if missing or recorded.kind in _ERASING:
                self.see(record, recorded, missing)
            if rows:
                self.present_count += len(rows)
            yield recorded

    def see(self, record: Record, recorded: Recorded, missing: Sequence[int]) -> None:
        """Process one event, given the slots for which there is no payload."""
        if missing:
            self._gaps.append((record, missing))
            self.missing_count += len(missing)
        if isinstance(recorded.event, ERASING):
            self._see_erasure(recorded)

    @property
    def any_erased(self) -> bool:
        """Whether an erasure was processed."""
        return self.space_erased or bool(self._erased)

    def look_beyond(self, log: Log, version: int) -> None:
        """Process erasures after *version*, and those made in other copies, if any payload is lost.

        Other events need not be readable.
        """
        if not self.lost():
            return
        with suppress(LogCorrupt, StoreTooNew):
            for record, rows in log.read(version):
                if record.topic.startswith(TOPICS):
                    self._see_erasure(self._codec.decode(record, rows))
            if isinstance(log, CopyOfErased):
                for event in log.unrecorded_erasures():
                    self._see(event, LATER)

    def lost(self) -> list[Missing]:
        """Return what is lost and not accepted as lost, in the order of the log."""
        return [each for each in self.unerased() if not self.is_accepted(each)]

    def unerased(self) -> list[Missing]:
        """Return what no erasure accounts for, in the order of the log."""
        if self.space_erased:
            return []
        return [each for each in self.missing() if not self.is_erased(each)]

    def missing(self) -> Sequence[Missing]:
        """Return every payload that is missing, in the order of the log."""
        for record, slots in self._gaps:
            owners = self._codec.owners(record)
            self._missing += (
                Missing(record.version, slot, frozenset(owners[slot])) for slot in slots
            )
        self._gaps.clear()
        return self._missing

    def is_accepted(self, missing: Missing) -> bool:
        """Return whether an event accepts the loss."""
        return (missing.version, missing.slot) in self._accepted

    def is_erased(self, missing: Missing, upto: int = LATER) -> bool:
        """Return whether the erasure of an owner up to version *upto* accounts for it."""
        return any(
            missing.version < version <= upto
            for block in missing.blocks
            for version in self._erased.get(block, ())
        )

    def erased_last(self, block: str) -> int | None:
        """Return the version at which a block was last erased; None: it was not."""
        return max(self._erased.get(block, ()), default=None)

    def unasked(self) -> int | None:
        """Return the first version with a payload that is lost and not accepted as lost."""
        return next((missing.version for missing in self.lost()), None)

    def _see_erasure(self, recorded: Recorded) -> None:
        self._see(recorded.event, recorded.version)

    def _see(self, event: Event, version: int) -> None:
        if isinstance(event, happened.SpaceErased):
            self.space_erased = True
        if isinstance(event, happened.LossAccepted):
            self._accepted.update((each.version, each.slot) for each in event.payloads)
        if isinstance(event, happened.BlockErased):
            self._erased[event.block_id].append(version)
