"""Erasures that a log does not record: they were made in another copy that shares its keys.

A backup from before an erasure does not record it, nor does any other copy of the log than the one
in which it was requested. Such a copy has the encrypted rows, and their keys are destroyed. A
writer appends the missing erasure events, see ``EncryptedLog.write_lock``; a read-only log shows
them after its end, see ``read_only``. In both cases the blocks are erased, and no text is missing
that the log does not record as erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from attrs import frozen

from mnemic.adapters.codec import Codec
from mnemic.adapters.stores.encrypted import cipher
from mnemic.adapters.stores.encrypted.cipher import THE_SPACE, owners_of
from mnemic.adapters.stores.encrypted.erasures import Account
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.adapters.transfer.copies.copying import CopyContext, behind
from mnemic.kernel.events import BlockErased, Event, SpaceErased
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.ports import Head, Log, Record
from mnemic.kernel.values import Value

if TYPE_CHECKING:
    from mnemic.adapters.stores.encrypted.erasing import Eraser

READER = "restore"
"""Actor of the erasure events that a read-only log shows."""


@frozen(kw_only=True)
class UnrecordedErasures(Value):
    """Erasures that a log does not record."""

    erasures: tuple[int, ...]
    """Their numbers in the table of keys."""
    blocks: tuple[BlockId, ...]
    """Blocks with rows whose keys are destroyed, in the order of the log."""
    is_whole: bool
    """Whether the key of the space itself is destroyed, which erases everything."""

    def events(self) -> list[Event]:
        """Return the erasure events to add."""
        if self.is_whole:
            return [SpaceErased()]
        return [BlockErased(block_id=block) for block in self.blocks]


def unrecorded(eraser: Eraser, space: int | None, *, since: int = 0) -> UnrecordedErasures | None:
    """Return the erasures that the log of *eraser* does not record; None: it records all.

    The log is read only if the table of keys has an erasure that it does not record.

    Args:
        eraser: The eraser of the log.
        space: Number of the space; None: nothing was ever encrypted.
        since: Generation of the keys up to which the log is known to record all erasures; see
            ``KeyTable.generation``.

    Raises:
        LogCorrupt: The log cannot be read.
    """
    if space is None:
        return None
    keys = eraser.keys
    erasures = tuple(
        each.number
        for each in keys.erasures(space, since=since)
        if not eraser.records_any(each.accounts)
    )
    if not erasures:
        return None
    keys.refresh(space)
    destroyed: dict[str, None] = {}
    for _, rows in eraser.log.read():
        for row in rows:
            with suppress(cipher.Damaged):  # the next fold reports it
                for owner, name in zip(owners_of(row), cipher.names(row), strict=True):
                    if keys.find((name,)) is None and keys.are_of((name,), space, (owner,)):
                        destroyed[owner] = None
    return UnrecordedErasures(
        erasures=erasures,
        blocks=tuple(BlockId(owner) for owner in destroyed if owner != THE_SPACE),
        is_whole=THE_SPACE in destroyed,
    )


def record(eraser: Eraser, missing: UnrecordedErasures, copy_context: CopyContext) -> None:
    """Append the erasures that a log does not record. The write lock is held.

    No key is destroyed: in the copy where the erasure was made, the same text may have been learned
    again since.

    Args:
        eraser: The eraser of the log.
        missing: The erasures.
        copy_context: Actor and clock of the events.

    Raises:
        StoreFull, StoreBusy, StoreFailed: The log or the table of keys cannot be written.
    """
    log = eraser.log
    if events := missing.events():
        end = log.head()
        log.append(
            records_after(log, end, events, copy_context),
            (),
            after=end,
            erase=() if missing.is_whole else missing.blocks,
            erase_all=missing.is_whole,
        )
    head = log.head()
    eraser.keys.account(missing.erasures, Account(head.version, head.digest))


def records_after(
    log: Log, end: Head, events: Sequence[Event], copy_context: CopyContext | None = None
) -> list[Record]:
    """Return erasure *events* as the records that follow the end of *log*.

    Args:
        log: The log, as the inner store holds it.
        end: Where it ends.
        events: The erasures that it does not record.
        copy_context: Actor, clock and entropy of the events; None: the time is that of the last
            event and all else is constant, so that every reader gets the same records.
    """
    ((record, _),) = log.read(end.version - 1, end)
    last = Codec(SeededEntropy(READER)).decode(record)
    if copy_context is None:
        copy_context = CopyContext(
            clock=ManualClock(last.recorded_us), entropy=SeededEntropy(READER), actor=READER
        )
    return behind(last, events, copy_context)
