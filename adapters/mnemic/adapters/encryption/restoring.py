"""Backups of erased words: a log that lost the keys of some is made to say so.

A backup knows nothing of an erasure that came after it. Its rows are there, and their keys are not.
Whoever may write tells of it in events of its own, as a copy does whose original was erased; who
only reads is told of it behind the log's end, and the file stays as it is. Either way the blocks
are shown as erased, and the log accounts for everything that is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress

from attrs import frozen

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.codec import Codec
from mnemic.adapters.encryption import cipher
from mnemic.adapters.encryption.erasures import Account
from mnemic.adapters.encryption.log import EncryptedLog
from mnemic.adapters.encryption.owners import THE_SPACE, owners_of
from mnemic.adapters.encryption.vault import Vault
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.exchange.copying import Hands, behind
from mnemic.adapters.stores import chain
from mnemic.kernel.errors import LogCorrupt, ViewReadOnly
from mnemic.kernel.events import BlockErased, Event, Recorded, SpaceErased
from mnemic.kernel.identity import BlockId
from mnemic.kernel.ports import CommandRow, Head, Log, PayloadRow, Record

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


def untold(log: EncryptedLog) -> Untold | None:
    """Return what *log* does not know; None: it knows everything.

    Reads the log only where the table of keys has an erasure that does not stand in it.

    Raises:
        LogCorrupt: It cannot be read.
    """
    if log.space is None:
        return None
    erasures = tuple(
        each.number for each in log.keys.erasures(log.space) if not log.tells_of(each.accounts)
    )
    if not erasures:
        return None
    gone: dict[str, None] = {}
    for _, rows in log.inner.read():
        for row in rows:
            with suppress(cipher.Damaged):  # whoever folds it finds out
                for owner, name in zip(owners_of(row), cipher.names(row), strict=True):
                    if log.keys.find((name,)) is None:
                        gone[owner] = None
    is_whole = THE_SPACE in gone
    return Untold(
        erasures=erasures,
        blocks=tuple(BlockId(owner) for owner in gone if owner != THE_SPACE),
        is_whole=is_whole,
    )


def accounted(log: EncryptedLog, hands: Hands) -> EncryptedLog:
    """Write into *log* what it does not know, and return it.

    The keys themselves are left alone: the same words may have been learned again since, where the
    erasure came from.

    Raises:
        StoreFull, StoreBusy, StoreFailed: It cannot be written.
    """
    with suppress(LogCorrupt):  # a damaged log opens to read only, and then ``retold`` has a look
        if untold(log) is None:
            return log
        with log.writing():
            missing = untold(log)
            if missing is None:
                return log
            if missing.events():
                log.inner.append(
                    _records(log, missing, hands),
                    (),
                    erase=() if missing.is_whole else missing.blocks,
                    erase_all=missing.is_whole,
                )
            head = log.head()
            log.keys.account(missing.erasures, Account(head.version, head.digest))
    return log


def retold(log: EncryptedLog) -> Log:
    """Return *log* with what it does not know told behind its end, for a reader.

    It is told the same to everybody: at the time of the last event, under the same ids.
    """
    with suppress(LogCorrupt):
        missing = untold(log)
        if missing is not None and missing.events():
            last = _last(log)
            hands = Hands(
                clock=ManualClock(last.recorded_us), entropy=SeededEntropy(RETELLER), actor=RETELLER
            )
            return RetoldLog(log, _records(log, missing, hands))
    return log


def _last(log: Log) -> Recorded:
    head = log.head().version
    ((record, payloads),) = log.read(head - 1, head)
    return Codec(SeededEntropy(RETELLER)).decode(record, payloads)


def _records(log: Log, missing: Untold, hands: Hands) -> list[Record]:
    return behind(_last(log), missing.events(), hands)


class RetoldLog:
    """A log as it stood when it was opened, and a few records more. Nothing can be written."""

    def __init__(self, log: EncryptedLog, more: Sequence[Record]) -> None:
        self._log = log
        self._end = log.head()
        self._more = tuple(more)
        digests = [self._end.digest]
        for record in more:
            digests.append(chain.digest(digests[-1], *record))
        self._digests = digests[1:]

    @property
    def name(self) -> str:
        """The space's name."""
        return self._log.name

    def head(self) -> Head:
        """Return where the log ends, with what was told."""
        return Head(self._more[-1].version, self._digests[-1])

    def read(
        self, after: int = -1, upto: int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield records as the log does, and then what was told."""
        last = self.head().version if upto is None else upto
        yield from self._log.read(after, min(last, self._end.version))
        for record in self._more:
            if after < record.version <= last:
                yield record, ()

    def digest_at(self, version: int) -> bytes | None:
        """Return the chain digest of the record at *version*."""
        told = version - self._end.version - 1
        if told < 0:
            return self._log.digest_at(version)
        return self._digests[told] if told < len(self._digests) else None

    def command(self, command_id: str) -> CommandRow | None:
        """Return the remembered command with this id."""
        return self._log.command(command_id)

    def writing(self) -> AbstractContextManager[None]:
        """Refuse.

        Raises:
            ViewReadOnly: Always.
        """
        raise ViewReadOnly(f"space {self.name!r} is open read-only")

    def append(
        self,
        records: Sequence[Record],  # noqa: ARG002 - of every log
        payloads: Sequence[PayloadRow],  # noqa: ARG002
        *,
        command: CommandRow | None = None,  # noqa: ARG002
        erase: Sequence[str] = (),  # noqa: ARG002
        erase_all: bool = False,  # noqa: ARG002
    ) -> Head:
        """Refuse.

        Raises:
            ViewReadOnly: Always.
        """
        raise ViewReadOnly(f"space {self.name!r} is open read-only")

    @property
    def vault(self) -> Vault:
        """What locks the checkpoints of this space."""
        return self._log.vault

    def close(self) -> None:
        """Let go of the log."""
        self._log.close()
