"""Copies of erased words: a log that lost the keys of some is made to say so.

A backup knows nothing of an erasure that came after it, nor does any other copy that was not asked
to erase. Its rows are there, and their keys are not. Whoever may write tells of it in events of its
own, as a copy does whose original was erased; who only reads is told of it behind the log's end,
and the file stays as it is. Either way the blocks are shown as erased, and the log accounts for
everything that is missing. ``telling`` says when.
"""

from __future__ import annotations

from contextlib import suppress

from attrs import frozen

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.codec import Codec
from mnemic.adapters.encryption import cipher
from mnemic.adapters.encryption.erasures import Account
from mnemic.adapters.encryption.log import EncryptedLog
from mnemic.adapters.encryption.owners import THE_SPACE, owners_of
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.exchange.copying import Hands, behind
from mnemic.adapters.stores import chain
from mnemic.kernel.events import BlockErased, Event, Recorded, SpaceErased
from mnemic.kernel.identity import BlockId
from mnemic.kernel.ports import Head, Log, Record

RETELLER = "restore"
"""Who tells a reader of erasures that the log itself does not know."""


@frozen(kw_only=True)
class Untold:
    """What a log does not know of its own erasures."""

    erasures: tuple[int, ...]
    """By their numbers in the table of keys."""
    blocks: tuple[BlockId, ...]
    """Whose rows are there without their keys, in order of the log."""
    is_whole: bool
    """Whether the key of the space itself is gone, and with it everything."""

    def events(self) -> list[Event]:
        """Return what is to be told."""
        if self.is_whole:
            return [SpaceErased()]
        return [BlockErased(block_id=block) for block in self.blocks]


@frozen(kw_only=True)
class Retelling:
    """What a reader finds behind the end of a log."""

    end: Head
    """Where the log ends."""
    records: tuple[Record, ...]
    digests: tuple[bytes, ...]
    """Of the chain, as it goes on with each of them."""

    @property
    def head(self) -> Head:
        """Where the log ends with what is told."""
        return Head(self.records[-1].version, self.digests[-1])


def untold(log: EncryptedLog, *, since: int = 0) -> Untold | None:
    """Return what *log* does not know; None: it knows everything.

    Reads the log only where the table of keys has an erasure that does not stand in it.

    Args:
        log: Of one space.
        since: Up to which generation of the keys it knows everything; see ``KeyTable.generation``.

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
            with suppress(cipher.Damaged):  # whoever folds it finds out
                for owner, name in zip(owners_of(row), cipher.names(row), strict=True):
                    is_gone = log.keys.find((name,)) is None
                    if is_gone and log.keys.are_of((name,), log.space, (owner,)):
                        gone[owner] = None
    is_whole = THE_SPACE in gone
    return Untold(
        erasures=erasures,
        blocks=tuple(BlockId(owner) for owner in gone if owner != THE_SPACE),
        is_whole=is_whole,
    )


def tell(log: EncryptedLog, missing: Untold, hands: Hands) -> None:
    """Write into *log* what it does not know. The right to append is held.

    The keys themselves are left alone: the same words may have been learned again since, where the
    erasure came from.

    Raises:
        StoreFull, StoreBusy, StoreFailed: It cannot be written.
    """
    if missing.events():
        log.inner.append(
            _records(log, missing, hands),
            (),
            erase=() if missing.is_whole else missing.blocks,
            erase_all=missing.is_whole,
        )
    head = log.head()
    log.keys.account(missing.erasures, Account(head.version, head.digest))


def retelling(log: EncryptedLog, missing: Untold | None) -> Retelling | None:
    """Return what to tell a reader of *log* behind its end; None: nothing.

    It is told the same to everybody: at the time of the last event, under the same ids.
    """
    if missing is None or not missing.events():
        return None
    hands = Hands(
        clock=ManualClock(_last(log).recorded_us), entropy=SeededEntropy(RETELLER), actor=RETELLER
    )
    end, records = log.head(), _records(log, missing, hands)
    digests = [end.digest]
    for record in records:
        digests.append(chain.digest(digests[-1], *record))
    return Retelling(end=end, records=tuple(records), digests=tuple(digests[1:]))


def _last(log: Log) -> Recorded:
    head = log.head().version
    ((record, payloads),) = log.read(head - 1, head)
    return Codec(SeededEntropy(RETELLER)).decode(record, payloads)


def _records(log: Log, missing: Untold, hands: Hands) -> list[Record]:
    return behind(_last(log), missing.events(), hands)
