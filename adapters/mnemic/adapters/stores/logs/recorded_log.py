"""Base class of logs whose bytes a recorder keeps in tables.

Stores differ in how a writer gets its write lock, and in what follows an append; the rest of a log
is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain as concatenation
from itertools import repeat
from operator import itemgetter
from typing import ClassVar, Protocol, TypeAlias

from mnemic.adapters.stores.logs import chain
from mnemic.adapters.stores.logs.append import Entry, replaced, staged
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.ports import CommandRow, Head, LogCapabilities, PayloadRow, Record

RecordBatch: TypeAlias = Iterable[tuple[Record, tuple[PayloadRow, ...]]]
_version = itemgetter(Record._fields.index("version"))


class Recorder(Protocol):
    """The tables of a store."""

    def head(self, space: int) -> Head:
        """Return where the log of *space* ends by its head row.

        Raises:
            LogCorrupt: If there is no such row.
        """
        ...

    def has_strays(self, space: int) -> bool:
        """Return whether *space* holds records beyond its head."""
        ...

    def records(self, space: int, first: int, last: int) -> list[chain.Row]:
        """Return the records of *space* from version *first* to *last*, without their payloads."""
        ...

    def batch(self, space: int, first: int, last: int) -> tuple[list[chain.Row], list[PayloadRow]]:
        """Return the records and payloads of *space* from version *first* to *last*."""
        ...

    def command(self, space: int, command_id: str) -> CommandRow | None:
        """Return the remembered command *command_id* of *space*."""
        ...

    def payload_count(self, space: int, upto: int) -> int:
        """Return how many payloads of *space* are stored whole, of events up to version *upto*."""
        ...

    def insert_entry(self, space: int, entry: Entry) -> None:
        """Write *entry* in one transaction, or nothing of it."""
        ...


class RecordedLog(ABC):
    """One space of a store that keeps its bytes in a recorder's tables.

    Args:
        recorder: Its tables.
        name: The space's name.
        number: The space's number in them.
    """

    batch_versions: ClassVar[int]
    """Versions per batch. Between batches a reader holds no lock, so it blocks no erasure."""

    def __init__(self, recorder: Recorder, name: str, number: int) -> None:
        self._recorder = recorder
        self._name = name
        self._number = number
        self._tip = chain.EMPTY
        """Where this handle last saw the log end."""

    @property
    def name(self) -> str:
        """The space's name."""
        return self._name

    @property
    def tip(self) -> Head:
        """Where this handle last saw the log end, without looking again."""
        return self._tip

    @abstractmethod
    def write_lock(self) -> AbstractContextManager[None]:
        """Hold the write lock, fairly among processes. Not re-entrant."""

    @abstractmethod
    def _named(self) -> AbstractContextManager[None]:
        """Convert what the database raises to our errors."""

    @abstractmethod
    def _require_writable(self) -> None:
        """Refuse to write to a store that is open read-only."""

    @abstractmethod
    def _appended(self, entry: Entry) -> None:
        """Hook that runs after an append."""

    def head(self) -> Head:
        """Return where the log ends now, other writers' events included."""
        with self._named():
            self._tip = self._recorder.head(self._number)
        return self._tip

    def read(
        self, after: Head | int = -1, upto: Head | int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield records with version in (after, upto] in order, each with its payloads by slot.

        Records appended after the iteration has begun are not among them. An erasure takes effect
        at once: a payload erased before its batch is read is missing.

        Raises:
            HistoryReplaced: The log does not hold a head that was given, or was replaced meanwhile.
            LogCorrupt: With the fact ``version``; every sound record before it has been yielded.
        """
        return concatenation.from_iterable(self._record_batches(after, upto))

    def _record_batches(self, after: Head | int, upto: Head | int | None) -> Iterator[RecordBatch]:
        """Yield the records of ``read`` a batch at a time, and raise what it raises.

        A generator of records would be resumed for each of them, through every one around it.
        """
        known = [each for each in (after, upto) if isinstance(each, Head)]
        start = after if isinstance(after, Head) else Head(max(after, -1), b"")
        head = upto if isinstance(upto, Head) else self._end(start.version)
        end = min(upto, head.version) if isinstance(upto, int) else head.version
        try:
            if start.version < end:
                yield from self._record_batches_under(
                    head, after=start.version, upto=end, start=start.digest or None
                )
            elif known and head != after:
                self._check_holds(*known)
        except LogCorrupt:
            self._check_holds(*known, head)  # it may have been replaced while it was read
            raise
        if upto is None or (isinstance(upto, int) and upto > head.version):
            with self._named():
                has_strays = self._recorder.has_strays(self._number)
            if has_strays:
                raise chain.damage(head.version + 1, reason="the head row ends before it")

    def _end(self, after: int) -> Head:
        """Return where the log ends, for a reader that has it up to version *after*."""
        try:
            return self.head()
        except LogCorrupt as error:
            raise chain.damage(after + 1, reason="the head row cannot be read") from error

    def _check_holds(self, *known: Head) -> None:
        """Refuse a log that does not hold the heads that were given.

        Raises:
            HistoryReplaced: It ends before one of them, or has another record there.
        """
        for each in known:
            head = self.head()
            if each.version < 0 or each == head:
                continue
            with self._named():
                rows = self._recorder.records(self._number, each.version, each.version + 1)
            if not chain.holds(each, rows, head):
                raise replaced(each, head)

    def digest_at(self, version: int) -> bytes | None:
        """Return the chain digest of the record at *version*, from its stored bytes."""
        with self._named():
            rows = self._recorder.records(self._number, version, version)
        return chain.digest_of(rows[0] if rows else None)

    def append(
        self,
        records: Sequence[Record],
        payloads: Sequence[PayloadRow],
        *,
        after: Head,
        commands: Sequence[CommandRow] = (),
        erase: Sequence[str] = (),
        erase_all: bool = False,
    ) -> Head:
        """Write everything in one transaction, or nothing, and return the new head.

        Raises:
            VersionConflict: If another writer was first.
            HistoryReplaced: If the log does not hold *after*.
            CommandIdReused: If a command is remembered already.
            FieldRefused: If the records leave a gap or a payload has no record.
        """
        self._require_writable()
        entry = staged(
            str(self._number),
            after,
            records,
            payloads=payloads,
            commands=commands,
            erase=erase,
            erase_all=erase_all,
        )
        self._insert(entry)
        self._tip = entry.after
        self._appended(entry)
        return entry.after

    def _insert(self, entry: Entry) -> None:
        """Write *entry* in one transaction, or nothing of it."""
        with self._named():
            self._recorder.insert_entry(self._number, entry)

    def command(self, command_id: str) -> CommandRow | None:
        """Return the remembered command with this id."""
        with self._named():
            return self._recorder.command(self._number, command_id)

    def payload_count(self, upto: int) -> int:
        """Return how many payloads are stored, key and bytes included, of events up to *upto*."""
        with self._named():
            return self._recorder.payload_count(self._number, upto)

    @property
    def capabilities(self) -> LogCapabilities:
        """What this log can do beyond the port."""
        return LogCapabilities(payload_count=self.payload_count)

    def close(self) -> None:  # noqa: B027 - overriding it is optional
        """Do nothing: files and connections belong to the store."""

    def read_under(
        self, head: Head, *, after: int, upto: int, start: bytes | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield what ``read`` yields if the log ends at *head*, regardless of its head row.

        Args:
            head: Where it ends.
            after: Last version that the reader has. Range: [-1, upto).
            upto: Last version wanted. Range: (after, head.version].
            start: The digest that the record at *after* must have; None: any.

        Raises:
            LogCorrupt: As ``read``.
        """
        batches = self._record_batches_under(head, after=after, upto=upto, start=start)
        return concatenation.from_iterable(batches)

    def _record_batches_under(
        self, head: Head, *, after: int, upto: int, start: bytes | None
    ) -> Iterator[RecordBatch]:
        payloads: dict[int, list[PayloadRow]] = {}
        batches = self._batches(max(after, 0), min(upto + 2, head.version), payloads)
        for records in chain.verified_together(
            batches, after=after, upto=upto, head=head, start=start
        ):
            transfer_records = map(payloads.pop, map(_version, records), repeat(()))
            yield zip(records, map(tuple, transfer_records), strict=False)

    def _batches(
        self, first: int, last: int, payloads: dict[int, list[PayloadRow]]
    ) -> Iterator[list[chain.Row]]:
        """Yield the stored rows in batches; put their payloads into *payloads*, by version."""
        for start in range(first, last + 1, self.batch_versions):
            stop = min(start + self.batch_versions - 1, last)
            with self._named():
                rows, transfer_records = self._recorder.batch(self._number, start, stop)
            for transfer_record in transfer_records:
                payloads.setdefault(transfer_record.version, []).append(transfer_record)
            yield rows
            if not rows:
                return
