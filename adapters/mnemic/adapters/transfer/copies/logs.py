"""Logs as sources and as targets of a copy: the same chain, payloads, keys and commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import define, field

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.sealing import LOCKED
from mnemic.adapters.transfer.copies.pipeline import Tally, TransferRecord, Walk
from mnemic.kernel.errors import HistoryReplaced, LogCorrupt, VersionConflict
from mnemic.kernel.events import BlockErased, Recorded, SpaceErased
from mnemic.kernel.ports import CommandRow, Head, Log, PayloadRow, Record
from mnemic.projections.state.event_validation import impossible_event, newer_policy_fields

BATCH_RECORDS = 512
BATCH_BYTES = 8 * 2**20
"""Limits of a batch, which is one transaction."""


def log_records(
    log: Log,
    upto: Head | int,
    codec: Codec,
    *,
    after: Head | int = -1,
    commands: bool = True,
) -> Iterator[TransferRecord]:
    """Yield the events of *log* after *after* up to *upto*, each checked and decoded.

    Payloads that are encrypted with keys kept elsewhere pass unread: an encrypted store is copied
    as it is, without its keys, and they decrypt the copy too. A command whose events are only
    partly in the range is left out.

    Args:
        log: The source.
        upto: The last version wanted; as a head, the log is required to hold it.
        codec: Decodes the events.
        after: The last version that is there already; as a head, as *upto*.
        commands: Whether to look up commands that may be repeated.

    Raises:
        HistoryReplaced: The log does not hold a head that was given.
        LogCorrupt, StoreTooNew: At the first event that cannot be read.
    """
    before, last = "", upto.version if isinstance(upto, Head) else upto
    for record, payloads in log.read(after, upto):
        read = [row for row in payloads if not row.key.startswith(LOCKED)]
        recorded, missing = codec.decode_noting(record, read)
        unread = len(payloads) - len(read)
        if unread:
            present = {row.slot for row in payloads}
            missing = tuple(slot for slot in missing if slot not in present)
        command = None
        if commands and recorded.command_id != before:
            before = recorded.command_id
            command = log.command(before)
            if command is not None and (command.first != record.version or command.last > last):
                command = None
        yield TransferRecord(
            record=record,
            recorded=recorded,
            payloads=payloads,
            missing=missing,
            unread=unread,
            command=command,
        )


def verified(
    log: Log,
    upto: int,
    codec: Codec,
    *,
    tally: Tally | None = None,
) -> Walk:
    """Verify *log* up to version *upto*, and return what was counted.

    Its events are folded, too: a copy that no space can be opened with is none. What follows a
    policy of a newer release is for that release to fold; its bytes are verified all the same.

    Raises:
        LogCorrupt, StoreTooNew: Something is damaged or missing, cannot be folded, or is of a newer
            release.
    """
    walk = Walk(codec, tally=tally)

    def events() -> Iterator[Recorded]:
        is_known = True
        records = log_records(log, upto, codec, commands=False)
        for each in walk.over(records):
            is_known = is_known and not newer_policy_fields(each.recorded.event)
            if is_known:
                yield each.recorded

    impossible = impossible_event(events)
    if impossible is not None:
        raise LogCorrupt(impossible.problem, version=impossible.version)
    walk.settle()
    return walk


# --- a log as a target ------------------------------------------------------------------------


def fill(log: Log, records: Iterable[TransferRecord], walk: Walk, *, erasing: bool = False) -> Head:
    """Append *records* to a log in batches, check where it ends, and return that.

    A command whose events do not fit one batch is remembered with the first of them.

    Args:
        log: The target, which ends where *walk* begins.
        records: The events that it lacks.
        walk: The pass over them.
        erasing: Whether the erasures among them are carried out, in the transactions that append
            them: the target may hold text that was erased since it was copied.

    Raises:
        VersionConflict: Another process writes there.
        LogCorrupt: The store did not keep what it was given.
    """
    head, batch = walk.head, _Batch()
    for each in walk.over(records):
        if batch.would_lose(each):
            head, batch = batch.written(log, head), _Batch()
        batch.add(each, erasing=erasing)
        if batch.is_full:
            head, batch = batch.written(log, head), _Batch()
    head = batch.written(log, head)
    if not holds(log, walk.head):
        raise parted(log, walk.head.version)
    return head


def holds(log: Log, head: Head) -> bool:
    """Return whether *head* is a point of the chain of *log*."""
    return head.version < 0 or log.digest_at(head.version) == head.digest


def parted(log: Log, version: int) -> LogCorrupt:
    """Return the error for a copy whose chain differs from that of its original."""
    return LogCorrupt(
        f"the copy {log.name!r} does not end in the chain of its original", version=version
    )


@define
class _Batch:
    """The content of the next transaction."""

    records: list[Record] = field(factory=list)
    payloads: list[PayloadRow] = field(factory=list)
    commands: list[CommandRow] = field(factory=list)
    size: int = 0
    erase: set[str] = field(factory=set)
    """Blocks whose payloads it deletes, including those that it inserts."""
    erase_all: bool = False

    def add(self, each: TransferRecord, *, erasing: bool) -> None:
        self.records.append(each.record)
        self.payloads += each.payloads
        self.size += len(each.record.body) + sum(len(row.data) for row in each.payloads)
        self.commands += () if each.command is None else (each.command,)
        if erasing:
            event = each.recorded.event
            self.erase_all = self.erase_all or isinstance(event, SpaceErased)
            if isinstance(event, BlockErased):
                self.erase.add(event.block_id)

    def would_lose(self, each: TransferRecord) -> bool:
        """Whether the erasures of this transaction would delete payloads learned after them."""
        return bool(self.erase) and any(
            not self.erase.isdisjoint(row.owners) for row in each.payloads
        )

    @property
    def is_full(self) -> bool:
        """Whether it is time to write."""
        full = len(self.records) >= BATCH_RECORDS or self.size >= BATCH_BYTES
        return full or self.erase_all

    def written(self, log: Log, head: Head) -> Head:
        """Append the batch to *log* after *head*, and return where the log ends then."""
        if not self.records:
            return head
        try:
            with log.write_lock():
                return log.append(
                    self.records,
                    self.payloads,
                    after=head,
                    commands=self.commands,
                    erase=sorted(self.erase),
                    erase_all=self.erase_all,
                )
        except (VersionConflict, HistoryReplaced) as error:
            raise VersionConflict(
                f"another process writes to {log.name!r}, where a copy is being made",
                recovery="Copy to a name that is not in use.",
                expected=head.version + 1,
            ) from error
