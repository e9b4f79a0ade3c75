"""A log's beginning, moved byte for byte into another log: the same chain, payloads and keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from attrs import define, field, frozen

from mnemic.adapters.codec import Codec
from mnemic.kernel.errors import LogCorrupt, SpaceExists, VersionConflict
from mnemic.kernel.events import BlockErased, Event, Recorded, SpaceErased
from mnemic.kernel.identity import BlockId, CommandId
from mnemic.kernel.ports import Clock, CommandRow, Entropy, Head, Log, PayloadRow, Record, Store

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do, in events."""

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
    def payloads(self) -> tuple[PayloadRow, ...]: ...
    @property
    def command(self) -> CommandRow | None: ...


def parcels(log: Log, upto: int, codec: Codec) -> Iterator[Parcel]:
    """Yield what stands in *log* up to version *upto*, each event checked and read.

    A command that *upto* cuts through is not remembered.

    Raises:
        LogCorrupt, StoreTooNew: At the first event that cannot be read.
    """
    before = ""
    for record, payloads in log.read(-1, upto):
        recorded = codec.decode(record, payloads)
        command = log.command(recorded.command_id) if recorded.command_id != before else None
        before = recorded.command_id
        if command is not None and (command.first != record.version or command.last > upto):
            command = None
        yield Parcel(record=record, recorded=recorded, payloads=payloads, command=command)


def vacant(store: Store, space: str) -> Log:
    """Return the log of a space that has nothing in it yet.

    Raises:
        SpaceExists: It has something.
    """
    log = store.log(space)
    head = log.head()
    if head.version >= 0:
        raise SpaceExists(
            f"there is a space {space!r} already, with {head.version + 1} events",
            space=space,
            version=head.version,
        )
    return log


@define
class _Batch:
    """What the next transaction takes."""

    records: list[Record] = field(factory=list)
    payloads: list[PayloadRow] = field(factory=list)
    command: CommandRow | None = None
    size: int = 0

    def add(self, parcel: Carried) -> None:
        self.records.append(parcel.record)
        self.payloads += parcel.payloads
        self.size += len(parcel.record.body) + sum(len(row.data) for row in parcel.payloads)
        self.command = self.command or parcel.command

    @property
    def is_full(self) -> bool:
        """Whether it is time to write: a transaction remembers one command at most."""
        if self.command is not None and self.records[-1].version >= self.command.last:
            return True
        return len(self.records) >= BATCH_RECORDS or self.size >= BATCH_BYTES


def fill(
    log: Log, carried: Iterable[Carried], *, total: int, progress: Progress | None = None
) -> Head:
    """Append everything to an empty log, in batches, and return where it ends then.

    A command whose events do not fit one batch is remembered with the first of them.

    Raises:
        VersionConflict: Somebody else writes there.
    """
    head, batch = log.head(), _Batch()
    for parcel in carried:
        batch.add(parcel)
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
        return log.append(batch.records, batch.payloads, command=batch.command)


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
        records = _behind(last, [BlockErased(block_id=block) for block in blocks], hands)
        with log.writing():
            log.append(records, (), erase=blocks)


def erase_all_again(log: Log, last: Recorded, hands: Hands) -> None:
    """Erase a copy whose original was erased as a whole while it was made. As ``erase_again``."""
    records = _behind(last, [SpaceErased()], hands)
    with log.writing():
        log.append(records, (), erase_all=True)


def _behind(last: Recorded, events: Sequence[Event], hands: Hands) -> list[Record]:
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
