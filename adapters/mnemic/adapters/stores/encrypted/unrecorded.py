"""Erasures that a log does not record: those made in another copy that shares its keys.

A backup does not record an erasure that came after it, nor does any other copy on which the erasure
was not requested. Its rows are there, and their keys are not. A writer appends erasure events of
its own, see ``EncryptedLog.write_lock``; a reader is shown them behind the log's end, see
``read_only``. Either way the blocks read as erased, and the log accounts for everything that is
missing.
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

if TYPE_CHECKING:
    from mnemic.adapters.stores.encrypted.erasing import Eraser

READER = "restore"
"""Actor of the erasure events that are shown to a reader whose log lacks them."""


@frozen(kw_only=True)
class UnrecordedErasures:
    """Erasures that a log does not record."""

    erasures: tuple[int, ...]
    """By their numbers in the table of keys."""
    blocks: tuple[BlockId, ...]
    """Blocks whose rows are there without their keys, in order of the log."""
    is_whole: bool
    """Whether the key of the space itself is gone, and with it everything."""

    def events(self) -> list[Event]:
        """Return the erasure events to add."""
        if self.is_whole:
            return [SpaceErased()]
        return [BlockErased(block_id=block) for block in self.blocks]


def unrecorded(eraser: Eraser, space: int | None, *, since: int = 0) -> UnrecordedErasures | None:
    """Return the erasures that the log of *eraser* does not record; None: it records all.

    Reads the log only where the table of keys has an erasure that is not in it.

    Args:
        eraser: Of the log.
        space: Number of the space; None: nothing was ever encrypted.
        since: The generation of the keys up to which it records all; see ``KeyTable.generation``.

    Raises:
        LogCorrupt: It cannot be read.
    """
    if space is None:
        return None
    keys = eraser.keys
    erasures = tuple(
        each.number
        for each in keys.erasures(space, since=since)
        if not eraser.tells_of(each.accounts)
    )
    if not erasures:
        return None
    keys.refresh(space)
    gone: dict[str, None] = {}
    for _, rows in eraser.log.read():
        for row in rows:
            with suppress(cipher.Damaged):  # the next replay reports it
                for owner, name in zip(owners_of(row), cipher.names(row), strict=True):
                    if keys.find((name,)) is None and keys.are_of((name,), space, (owner,)):
                        gone[owner] = None
    return UnrecordedErasures(
        erasures=erasures,
        blocks=tuple(BlockId(owner) for owner in gone if owner != THE_SPACE),
        is_whole=THE_SPACE in gone,
    )


def record(eraser: Eraser, missing: UnrecordedErasures, copy_context: CopyContext) -> None:
    """Append the erasures that a log does not record. The write lock is held.

    The keys themselves are left alone: the same text may have been learned again since, where the
    erasure came from.

    Raises:
        StoreFull, StoreBusy, StoreFailed: It cannot be written.
    """
    log = eraser.log
    if events := missing.events():
        end = log.head()
        log.append(
            events_behind(log, end, events, copy_context),
            (),
            after=end,
            erase=() if missing.is_whole else missing.blocks,
            erase_all=missing.is_whole,
        )
    head = log.head()
    eraser.keys.account(missing.erasures, Account(head.version, head.digest))


def events_behind(
    log: Log, end: Head, events: Sequence[Event], copy_context: CopyContext | None = None
) -> list[Record]:
    """Return erasure *events* as the records behind the end of *log*.

    Args:
        log: As the inner store holds it.
        end: Where it ends.
        events: The erasures that it does not record.
        copy_context: Stamps the events; None: they are the same for every reader, at the time of
            the last event and under ids derived from nothing else.
    """
    ((record, _),) = log.read(end.version - 1, end)
    last = Codec(SeededEntropy(READER)).decode(record)
    if copy_context is None:
        copy_context = CopyContext(
            clock=ManualClock(last.recorded_us), entropy=SeededEntropy(READER), actor=READER
        )
    return behind(last, events, copy_context)
