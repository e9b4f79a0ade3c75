"""Copies of erased text: the events that a log needs when keys of some of its rows are gone.

A backup does not record an erasure that came after it, nor does any other copy on which the erasure
was not requested. Its rows are there, and their keys are not. A writer appends erasure events of
its own, as a copy does whose original was erased; a reader is shown them behind the log's end, and
the file stays as it is. Either way the blocks are shown as erased, and the log accounts for
everything that is missing. ``erasure_overlay`` says when.
"""

from __future__ import annotations

from contextlib import suppress

from attrs import frozen

from mnemic.adapters.codec import Codec
from mnemic.adapters.stores.encrypted import cipher
from mnemic.adapters.stores.encrypted.cipher import THE_SPACE, owners_of
from mnemic.adapters.stores.encrypted.erasures import Account
from mnemic.adapters.stores.encrypted.log import EncryptedLog
from mnemic.adapters.stores.logs import chain
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.adapters.transfer.copies.copying import CopyContext, behind
from mnemic.kernel.events import BlockErased, Event, Recorded, SpaceErased
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.ports import Head, Log, Record

RETELLER = "restore"
"""Actor of the erasure events shown to a reader whose log lacks them."""


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


@frozen(kw_only=True)
class LogEpoch:
    """The erasure events shown behind the end of a log."""

    end: Head
    """Where the log ends."""
    records: tuple[Record, ...]
    digests: tuple[bytes, ...]
    """Chain digests, continued with each of them."""

    @property
    def head(self) -> Head:
        """Where the log ends with these events."""
        return Head(self.records[-1].version, self.digests[-1])

    def holds(self, known: Head) -> bool:
        """Return whether *known* lies in the log itself, or is one of these events."""
        if known.version <= self.end.version:
            return True
        place = known.version - self.end.version - 1
        return place < len(self.digests) and self.digests[place] == known.digest


def unrecorded(log: EncryptedLog, *, since: int = 0) -> UnrecordedErasures | None:
    """Return the erasures that *log* does not record; None: it records all.

    Reads the log only where the table of keys has an erasure that is not in it.

    Args:
        log: Of one space.
        since: The generation of the keys up to which it records all; see ``KeyTable.generation``.

    Raises:
        LogCorrupt: It cannot be read.
    """
    if log.space is None:
        return None
    erasures = tuple(
        each.number
        for each in log.keys.erasures(log.space, since=since)
        if not log.tells_of(each.accounts)
    )
    if not erasures:
        return None
    log.keys.refresh(log.space)
    gone: dict[str, None] = {}
    for _, rows in log.inner.read():
        for row in rows:
            with suppress(cipher.Damaged):  # the next replay reports it
                for owner, name in zip(owners_of(row), cipher.names(row), strict=True):
                    is_gone = log.keys.find((name,)) is None
                    if is_gone and log.keys.are_of((name,), log.space, (owner,)):
                        gone[owner] = None
    is_whole = THE_SPACE in gone
    return UnrecordedErasures(
        erasures=erasures,
        blocks=tuple(BlockId(owner) for owner in gone if owner != THE_SPACE),
        is_whole=is_whole,
    )


def tell(log: EncryptedLog, missing: UnrecordedErasures, copy_context: CopyContext) -> None:
    """Append to *log* the erasures that it does not record. The write lock is held.

    The keys themselves are left alone: the same text may have been learned again since, where the
    erasure came from.

    Raises:
        StoreFull, StoreBusy, StoreFailed: It cannot be written.
    """
    if missing.events():
        end = log.head()
        log.inner.append(
            _records(log, missing, end, copy_context),
            (),
            after=end,
            erase=() if missing.is_whole else missing.blocks,
            erase_all=missing.is_whole,
        )
    head = log.head()
    log.keys.account(missing.erasures, Account(head.version, head.digest))


def log_epoch(log: EncryptedLog, missing: UnrecordedErasures | None) -> LogEpoch | None:
    """Return the events to show a reader of *log* behind its end; None: there are none.

    They are the same for every reader: at the time of the last event, under the same ids.
    """
    if missing is None or not missing.events():
        return None
    copy_context = CopyContext(
        clock=ManualClock(_last(log, log.head()).recorded_us),
        entropy=SeededEntropy(RETELLER),
        actor=RETELLER,
    )
    end = log.head()
    records = _records(log, missing, end, copy_context)
    digests = [end.digest]
    for record in records:
        digests.append(chain.digest(digests[-1], *record))
    return LogEpoch(end=end, records=tuple(records), digests=tuple(digests[1:]))


def _last(log: Log, head: Head) -> Recorded:
    ((record, payloads),) = log.read(head.version - 1, head)
    return Codec(SeededEntropy(RETELLER)).decode(record, payloads)


def _records(
    log: Log, missing: UnrecordedErasures, end: Head, copy_context: CopyContext
) -> list[Record]:
    return behind(_last(log, end), missing.events(), copy_context)
