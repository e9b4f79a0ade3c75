"""A log's beginning, moved byte for byte into another log: the same chain, payloads and keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from attrs import define, field, frozen

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.sealing import LOCKED
from mnemic.kernel.errors import LogCorrupt, VersionConflict
from mnemic.kernel.events import BlockErased, Event, Recorded, SpaceErased
from mnemic.kernel.identity import BlockId, CommandId
from mnemic.kernel.ports import Clock, CommandRow, Entropy, Head, Log, PayloadRow, Record

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do, in events."""

Sealed = Callable[[Sequence[str]], bool]
"""Says of a payload's owners whether nobody here can read it: its key is gone, or elsewhere."""

BATCH_RECORDS = 512
BATCH_BYTES = 8 * 2**20
"""Either ends a batch, which is one transaction."""


@frozen(kw_only=True)
class Parcel:
    """One event on its way, with everything that stands beside it."""

    record: Record
    recorded: Recorded
    """The same, read."""
    payloads: tuple[PayloadRow, ...]
    command: CommandRow | None = None
    """The command that this event begins, if it may be repeated."""


@frozen(kw_only=True)
class Hands:
    """Who copies, and what stamps the events that a copy adds."""

    clock: Clock
    entropy: Entropy
    actor: str


class Carried(Protocol):
    """What ``fill`` takes: a ``Parcel``, or an entry of an export."""

    @property
    def record(self) -> Record: ...
    @property
    def recorded(self) -> Recorded: ...
    @property
    def payloads(self) -> tuple[PayloadRow, ...]: ...
    @property
    def command(self) -> CommandRow | None: ...


def none_sealed(_owners: Sequence[str]) -> bool:
    """Say that every payload can be read."""
    return False


def readable(rows: Sequence[PayloadRow], sealed: Sealed) -> list[PayloadRow]:
    """Return the rows that can be opened: neither sealed, nor locked with keys that are elsewhere.

    So an encrypted store is copied as it is, without its keys, and they open the copy too.
    """
    return [row for row in rows if not (row.key.startswith(LOCKED) or sealed(row.owners))]


def parcels(
    log: Log, upto: int, codec: Codec, *, after: int = -1, sealed: Sealed = none_sealed
) -> Iterator[Parcel]:
    """Yield what stands in *log* behind *after* up to *upto*, each event checked and read.

    A command that one of the two cuts through is not remembered.

    Args:
        log: Where it stands.
        upto: The last version wanted.
        codec: Reads the events.
        after: The last version that is there already.
        sealed: Which payloads go along unread.

    Raises:
        LogCorrupt, StoreTooNew: At the first event that cannot be read.
    """
    before = ""
    for record, payloads in log.read(after, upto):
        recorded = codec.decode(record, readable(payloads, sealed))
        command = log.command(recorded.command_id) if recorded.command_id != before else None
        before = recorded.command_id
        if command is not None and (command.first != record.version or command.last > upto):
            command = None
        yield Parcel(record=record, recorded=recorded, payloads=payloads, command=command)


@define
class _Batch:
    """What the next transaction takes."""

    records: list[Record] = field(factory=list)
    payloads: list[PayloadRow] = field(factory=list)
    command: CommandRow | None = None
    size: int = 0
    erase: set[str] = field(factory=set)
    """Blocks whose payloads go with it, those that it brings along included."""
    erase_all: bool = False

    def add(self, parcel: Carried, *, erasing: bool) -> None:
        self.records.append(parcel.record)
        self.payloads += parcel.payloads
        self.size += len(parcel.record.body) + sum(len(row.data) for row in parcel.payloads)
        self.command = self.command or parcel.command
        if erasing:
            event = parcel.recorded.event
            self.erase_all = self.erase_all or isinstance(event, SpaceErased)
            if isinstance(event, BlockErased):
                self.erase.add(event.block_id)

    def would_lose(self, parcel: Carried) -> bool:
        """Whether the erasures of this transaction would take payloads that came after them."""
        return bool(self.erase) and any(
            not self.erase.isdisjoint(row.owners) for row in parcel.payloads
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
    total: int,
    erasing: bool = False,
    progress: Progress | None = None,
) -> Head:
    """Append everything to a log, in batches, and return where it ends then.

    A command whose events do not fit one batch is remembered with the first of them.

    Args:
        log: Where to.
        carried: What follows on what is there.
        total: How many events there will be.
        erasing: Whether the erasures among them are done again, in the transactions that bring
            them: what is there already may hold words that were erased since it was copied.
        progress: Called with every batch.

    Raises:
        VersionConflict: Somebody else writes there.
    """
    head, batch = log.head(), _Batch()
    for parcel in carried:
        if batch.would_lose(parcel):
            head, batch = _flush(log, head, batch), _Batch()
        batch.add(parcel, erasing=erasing)
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
    with log.writing():
        if log.head() != head:
            raise VersionConflict(
                f"somebody else writes to {log.name!r}, where a copy is being made",
                recovery="Copy to a name that nobody uses.",
                expected=head.version + 1,
            )
        return log.append(
            batch.records,
            batch.payloads,
            command=batch.command,
            erase=sorted(batch.erase),
            erase_all=batch.erase_all,
        )


def erase_again(log: Log, blocks: Sequence[BlockId], last: Recorded, hands: Hands) -> None:
    """Say in a copy that blocks are erased which were erased after its end in the original.

    Their words were not copied; without this a copy would look as if it had lost them.

    Args:
        log: The copy.
        blocks: Whose words are missing.
        last: The last event copied; no active time passes after it.
        hands: Who copies.
    """
    if blocks:
        records = behind(last, [BlockErased(block_id=block) for block in blocks], hands)
        with log.writing():
            log.append(records, (), erase=blocks)


def erase_all_again(log: Log, last: Recorded, hands: Hands) -> None:
    """Erase a copy whose original was erased as a whole while it was made. As ``erase_again``."""
    records = behind(last, [SpaceErased()], hands)
    with log.writing():
        log.append(records, (), erase_all=True)


def behind(last: Recorded, events: Sequence[Event], hands: Hands) -> list[Record]:
    """Return events that have no payloads as the records of one command behind *last*."""
    codec, command = Codec(hands.entropy), CommandId(hands.entropy.token(8).hex())
    return [
        codec.encode(
            Recorded(
                version=version,
                active_us=last.active_us,
                recorded_us=hands.clock.now_us(),
                command_id=command,
                actor=hands.actor,
                event=event,
            )
        )[0]
        for version, event in enumerate(events, start=last.version + 1)
    ]


def check_copy(log: Log, head: Head) -> None:
    """Compare where a copy ends with where it should.

    Raises:
        LogCorrupt: The chains differ.
    """
    if log.digest_at(head.version) != head.digest:
        raise LogCorrupt(
            f"the copy {log.name!r} does not end in the chain of its original",
            version=head.version,
        )
