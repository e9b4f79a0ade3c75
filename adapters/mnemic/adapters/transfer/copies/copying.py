"""Copies a log's beginning byte for byte into another log: the same chain, payloads and keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from attrs import define, field, frozen

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.sealing import LOCKED
from mnemic.kernel.errors import HistoryReplaced, LogCorrupt, VersionConflict
from mnemic.kernel.events import (
    BlockErased,
    Event,
    LossAccepted,
    LostPayload,
    Recorded,
    SpaceErased,
)
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.ports import Clock, CommandRow, Entropy, Head, Log, PayloadRow, Record

Progress = Callable[[int, int], None]
"""Called with the number of events done and the total."""

Sealed = Callable[[Sequence[str]], bool]
"""Given a payload's owners, returns whether it cannot be read: its key is gone, or elsewhere."""

BATCH_RECORDS = 512
BATCH_BYTES = 8 * 2**20
"""Limits of a batch, which is one transaction."""


@frozen(kw_only=True)
class TransferRecord:
    """One event in transfer, with its payloads and command."""

    record: Record
    recorded: Recorded
    """The record, decoded."""
    payloads: tuple[PayloadRow, ...]
    command: CommandRow | None = None
    """The command that this event begins, if it may be repeated."""


@frozen(kw_only=True)
class CopyContext:
    """The actor of a copy, and what stamps the events that a copy adds."""

    clock: Clock
    entropy: Entropy
    actor: str


class Carried(Protocol):
    """What ``fill`` takes: a ``TransferRecord``, or an entry of an export."""

    @property
    def record(self) -> Record: ...
    @property
    def recorded(self) -> Recorded: ...
    @property
    def payloads(self) -> tuple[PayloadRow, ...]: ...
    @property
    def command(self) -> CommandRow | None: ...


def none_sealed(_owners: Sequence[str]) -> bool:
    """Return False: every payload can be read."""
    return False


def readable(rows: Sequence[PayloadRow], sealed: Sealed) -> list[PayloadRow]:
    """Return the rows that can be decoded: neither sealed, nor encrypted with keys kept elsewhere.

    Thus an encrypted store is copied as it is, without its keys, and they decrypt the copy too.
    """
    return [row for row in rows if not (row.key.startswith(LOCKED) or sealed(row.owners))]


def transfer_records(
    log: Log,
    upto: Head | int,
    codec: Codec,
    *,
    after: Head | int = -1,
    sealed: Sealed = none_sealed,
) -> Iterator[TransferRecord]:
    """Yield the events of *log* after *after* up to *upto*, each checked and decoded.

    A command whose events are only partly in that range is not remembered.

    Args:
        log: The source.
        upto: The last version wanted; as a head, the log is required to hold it.
        codec: Decodes the events.
        after: The last version that is there already; as a head, as *upto*.
        sealed: Which payloads are copied unread.

    Raises:
        HistoryReplaced: The log does not hold a head that was given.
        LogCorrupt, StoreTooNew: At the first event that cannot be read.
    """
    before, last = "", upto.version if isinstance(upto, Head) else upto
    for record, payloads in log.read(after, upto):
        recorded = codec.decode(record, readable(payloads, sealed))
        command = log.command(recorded.command_id) if recorded.command_id != before else None
        before = recorded.command_id
        if command is not None and (command.first != record.version or command.last > last):
            command = None
        yield TransferRecord(record=record, recorded=recorded, payloads=payloads, command=command)


@define
class _Batch:
    """The content of the next transaction."""

    records: list[Record] = field(factory=list)
    payloads: list[PayloadRow] = field(factory=list)
    command: CommandRow | None = None
    size: int = 0
    erase: set[str] = field(factory=set)
    """Blocks whose payloads it deletes, including those that it inserts."""
    erase_all: bool = False

    def add(self, transfer_record: Carried, *, erasing: bool) -> None:
        self.records.append(transfer_record.record)
        self.payloads += transfer_record.payloads
        self.size += len(transfer_record.record.body) + sum(
            len(row.data) for row in transfer_record.payloads
        )
        self.command = self.command or transfer_record.command
        if erasing:
            event = transfer_record.recorded.event
            self.erase_all = self.erase_all or isinstance(event, SpaceErased)
            if isinstance(event, BlockErased):
                self.erase.add(event.block_id)

    def would_lose(self, transfer_record: Carried) -> bool:
        """Whether the erasures of this transaction would take payloads that came after them."""
        return bool(self.erase) and any(
            not self.erase.isdisjoint(row.owners) for row in transfer_record.payloads
        )

    @property
    def is_full(self) -> bool:
        """Whether it is time to write: a transaction remembers one command at most."""
        if self.command is not None and self.records[-1].version >= self.command.last:
            return True
        full = len(self.records) >= BATCH_RECORDS or self.size >= BATCH_BYTES
        return full or self.erase_all


def fill(
    log: Log,
    carried: Iterable[Carried],
    *,
    after: Head,
    total: int,
    erasing: bool = False,
    progress: Progress | None = None,
) -> Head:
    """Append everything to a log, in batches, and return where it ends then.

    A command whose events do not fit one batch is remembered with the first of them.

    Args:
        log: The target.
        carried: The events after those that it has.
        after: Where the log ends, as *carried* continues it.
        total: How many events there will be.
        erasing: Whether the erasures among them are carried out, in the transactions that append
            them: the target may hold text that was erased since it was copied.
        progress: Called with every batch.

    Raises:
        VersionConflict: Another process writes there.
    """
    head, batch = after, _Batch()
    for transfer_record in carried:
        if batch.would_lose(transfer_record):
            head, batch = _flush(log, head, batch), _Batch()
        batch.add(transfer_record, erasing=erasing)
        if batch.is_full:
            head, batch = _flush(log, head, batch), _Batch()
            if progress is not None:
                progress(head.version + 1, total)
    head = _flush(log, head, batch)
    if progress is not None:
        progress(head.version + 1, total)
    return head


def _flush(log: Log, head: Head, batch: _Batch) -> Head:
    if not batch.records:
        return head
    try:
        with log.write_lock():
            return log.append(
                batch.records,
                batch.payloads,
                after=head,
                commands=() if batch.command is None else (batch.command,),
                erase=sorted(batch.erase),
                erase_all=batch.erase_all,
            )
    except (VersionConflict, HistoryReplaced) as error:
        raise VersionConflict(
            f"another process writes to {log.name!r}, where a copy is being made",
            recovery="Copy to a name that is not in use.",
            expected=head.version + 1,
        ) from error


def erase_again(
    log: Log,
    blocks: Sequence[BlockId],
    last: Recorded,
    copy_context: CopyContext,
    *,
    after: Head,
    lost: Sequence[LostPayload] = (),
) -> None:
    """Record in a copy the erasure of blocks that the original erased after the copy's end.

    Their text was not copied; without these events the copy would appear to have lost it.

    Args:
        log: The copy.
        blocks: Blocks whose text is missing.
        last: The last event copied; no active time passes after it.
        copy_context: The actor of the copy.
        after: Where the copy ends.
        lost: What else is missing, and is accepted as lost.
    """
    events: list[Event] = [BlockErased(block_id=block) for block in blocks]
    if lost:
        events.append(LossAccepted(payloads=tuple(lost)))
    if events:
        records = behind(last, events, copy_context)
        with log.write_lock():
            log.append(records, (), after=after, erase=blocks)


def erase_all_again(log: Log, last: Recorded, copy_context: CopyContext, *, after: Head) -> None:
    """Erase a copy whose original was erased as a whole while it was made. As ``erase_again``."""
    records = behind(last, [SpaceErased()], copy_context)
    with log.write_lock():
        log.append(records, (), after=after, erase_all=True)


def behind(last: Recorded, events: Sequence[Event], copy_context: CopyContext) -> list[Record]:
    """Return events without payloads as the records of one command after *last*."""
    codec, command = Codec(copy_context.entropy), CommandId(copy_context.entropy.token(8).hex())
    return [
        codec.encode(
            Recorded(
                version=version,
                active_us=last.active_us,
                recorded_us=copy_context.clock.now_us(),
                command_id=command,
                actor=copy_context.actor,
                event=event,
            )
        )[0]
        for version, event in enumerate(events, start=last.version + 1)
    ]


def check_copy(log: Log, head: Head) -> None:
    """Check that a copy ends where it should.

    Raises:
        LogCorrupt: The chains differ.
    """
    if log.digest_at(head.version) != head.digest:
        raise LogCorrupt(
            f"the copy {log.name!r} does not end in the chain of its original",
            version=head.version,
        )
