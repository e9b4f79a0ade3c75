"""Preparing one append: checked against the head, chained to it, with all that a store writes."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from eventsourcing.persistence import StoredEvent

from mnemic.adapters.stores.logs import chain
from mnemic.kernel.errors import FieldRefused, HistoryReplaced, VersionConflict
from mnemic.kernel.ports import CommandRow, Head, PayloadRow, Record
from mnemic.kernel.values import Value


@frozen(kw_only=True)
class Entry(Value):
    """What one transaction writes, all of it or nothing."""

    before: Head
    """Where the log must end for this entry to fit."""
    after: Head
    stored: tuple[StoredEvent, ...]
    payloads: tuple[PayloadRow, ...]
    commands: tuple[CommandRow, ...]
    erase: tuple[str, ...]
    """Owners whose payloads are deleted, those of this entry included."""
    erase_all: bool
    """Whether all payloads of the space are deleted."""


def staged(
    originator: str,
    before: Head,
    records: Sequence[Record],
    *,
    payloads: Sequence[PayloadRow],
    commands: Sequence[CommandRow],
    erase: Sequence[str],
    erase_all: bool,
) -> Entry:
    """Return the entry that appends *records* after *before*.

    Args:
        originator: The library's name for the stream; it is not hashed.
        before: The head that the records were decided on.
        records: What to add, in order.
        payloads: Of these records.
        commands: The commands that these records answer.
        erase: Owners whose payloads are deleted.
        erase_all: Whether all payloads are deleted.

    Raises:
        VersionConflict: If the log has already passed the first record.
        FieldRefused: If the records leave a gap, or two payloads share a version and slot.
    """
    version, link = before.version, before.digest
    stored: list[StoredEvent] = []
    for record in records:
        version += 1
        if record.version != version:
            raise _misfit(record.version, version, is_first=not stored)
        stored.append(StoredEvent(originator, version, record.topic, link + record.body))
        link = chain.digest(link, version, record.topic, record.body)
    _require_places(payloads, first=before.version + 1, last=version)
    return Entry(
        before=before,
        after=Head(version, link),
        stored=tuple(stored),
        payloads=tuple(payloads),
        commands=tuple(commands),
        erase=tuple(erase),
        erase_all=erase_all,
    )


def moved(before: Head, found: Head | None) -> VersionConflict | HistoryReplaced:
    """Return the error for an append after *before* to a log that ends at *found*."""
    if found is not None and found.version <= before.version:
        return replaced(before, found)
    return _conflict(before.version + 1, None if found is None else found.version)


def replaced(known: Head, found: Head) -> HistoryReplaced:
    """Return the error for a log that ends at *found* and does not hold the head *known*."""
    if found.version < known.version:
        problem = f"it ends at version {found.version}"
    else:
        problem = "it has another event at that version"
    return HistoryReplaced(
        f"the log does not continue what was read up to version {known.version}: {problem}",
        known=known.version,
        head=found.version,
    )


def _conflict(expected: int, found: int | None) -> VersionConflict:
    return VersionConflict(
        f"version {expected} was to be written, but the log ends at {found}",
        expected=expected,
        found=found,
    )


def _misfit(version: int, expected: int, *, is_first: bool) -> VersionConflict | FieldRefused:
    if is_first and version < expected:
        return _conflict(version, expected - 1)
    return FieldRefused(
        f"record {version} would leave a gap: the next version is {expected}",
        field="records",
        version=version,
        expected=expected,
    )


def _require_places(payloads: Sequence[PayloadRow], *, first: int, last: int) -> None:
    """Refuse a payload of another append, and two payloads in one slot."""
    taken: set[tuple[int, int]] = set()
    for payload in payloads:
        place = (payload.version, payload.slot)
        if not first <= payload.version <= last or place in taken:
            raise FieldRefused(
                f"payload {payload.id!r} has no place of its own at version {payload.version}, "
                f"slot {payload.slot}",
                field="payloads",
            )
        taken.add(place)
