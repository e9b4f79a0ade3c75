"""A store in memory, for tests, trials and temporary forks; it is lost with its object."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from threading import Lock
from typing import Any

from attrs import define, field
from eventsourcing.persistence import StoredEvent
from eventsourcing.popo import POPOAggregateRecorder, POPOFactory

from mnemic.adapters.stores.logs import chain
from mnemic.adapters.stores.logs.append import Entry, moved, replaced, staged
from mnemic.adapters.stores.logs.staged_spaces import check_empty, hidden
from mnemic.adapters.system.forks import OpeningProcess
from mnemic.kernel.errors import CommandIdReused, SpaceExists, SpaceNotFound
from mnemic.kernel.ports import CommandRow, Head, LogCapabilities, PayloadRow, Record


@define(kw_only=True)
class Space:
    """What a log has apart from its events."""

    head: Head = chain.EMPTY
    payloads: dict[int, tuple[PayloadRow, ...]] = field(factory=dict)
    """By version, in the order of slots."""
    commands: dict[str, CommandRow] = field(factory=dict)


class MemoryRecorder(POPOAggregateRecorder):
    """The library's recorder of plain objects, with everything else that an append writes."""

    def __init__(self) -> None:
        super().__init__()
        self.spaces: dict[str, Space] = {}

    def rows(self, name: str, first: int, last: int) -> Iterator[chain.Row]:
        """Yield the rows of the space *name* from version *first* to *last*."""
        places = self._stored_events_index[name]
        for version in range(first, last + 1):
            event = self._stored_events[places[version]]
            yield version, event.topic, event.state

    def _assert_uniqueness(
        self,
        stored_events: Sequence[StoredEvent],
        **kwargs: Any,
    ) -> None:
        space: Space = kwargs["space"]
        entry: Entry = kwargs["entry"]
        if space.head != entry.before:
            raise moved(entry.before, space.head)
        known = [each.id for each in entry.commands if each.id in space.commands]
        if known:
            raise CommandIdReused(
                f"command {known[0]!r} is already remembered", command_id=known[0]
            )
        super()._assert_uniqueness(stored_events)

    def _update_table(
        self,
        stored_events: Sequence[StoredEvent],
        **kwargs: Any,
    ) -> Sequence[int] | None:
        space: Space = kwargs["space"]
        entry: Entry = kwargs["entry"]
        for payload in sorted(entry.payloads, key=lambda each: each.slot):
            row = (*space.payloads.get(payload.version, ()), payload)
            space.payloads[payload.version] = row
        space.commands.update((each.id, each) for each in entry.commands)
        if entry.erase_all:
            space.payloads.clear()
        elif entry.erase:
            _erase(space, frozenset(entry.erase))
        ids = super()._update_table(stored_events)
        space.head = entry.after  # last: readers take no lock, and find everything up to the head
        return ids


class MemoryFactory(POPOFactory):
    """Makes the recorder of one store."""

    def aggregate_recorder(self, purpose: str = "events") -> MemoryRecorder:  # noqa: ARG002
        """Return an empty recorder."""
        return MemoryRecorder()


class MemoryStore:
    """Many spaces in the memory of this process. Closing it changes nothing."""

    def __init__(self) -> None:
        self._recorder = MemoryFactory({}).aggregate_recorder()
        self._logs: dict[str, MemoryLog] = {}
        self._staged_spaces = count()
        self._opening = Lock()
        self._process = OpeningProcess("the store in memory")

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        return tuple(sorted(self._logs))

    def log(self, space: str, *, create: bool = True) -> MemoryLog:
        """Return the log of *space*, the same object on every call.

        Raises:
            SpaceNotFound: If the space does not exist and may not be made.
        """
        self._process.check()
        with self._opening:
            if space not in self._logs:
                if not create:
                    raise SpaceNotFound(
                        f"there is no space {space!r} in memory",
                        recovery="Name one of the store's spaces, or let it be made.",
                        space=space,
                    )
                self._logs[space] = MemoryLog(self._recorder, space)
            return self._logs[space]

    @contextmanager
    def draft(self, space: str) -> Generator[MemoryLog]:
        """Open the log of a space that stays hidden until the ``with`` block has succeeded.

        Raises:
            SpaceExists: The space has events, or was made meanwhile.
        """
        existing = self._logs.get(space)
        if existing is not None:
            check_empty(space, existing.head())
            yield existing
            return
        making = MemoryLog(
            self._recorder, space, key=f"{hidden(space)} {next(self._staged_spaces)}"
        )
        yield making
        with self._opening:
            if self._logs.setdefault(space, making) is not making:
                raise SpaceExists(f"the space {space!r} was made meanwhile", space=space)

    def close(self) -> None:
        """Do nothing: the memory is freed with the object."""


class MemoryLog:
    """One space of a memory store."""

    def __init__(self, recorder: MemoryRecorder, name: str, *, key: str | None = None) -> None:
        self._recorder = recorder
        self._key = name if key is None else key
        """Key of its rows; not its name if the space was staged."""
        self._space = recorder.spaces.setdefault(self._key, Space())
        self._name = name
        self._write_lock = Lock()

    @property
    def name(self) -> str:
        """The space's name."""
        return self._name

    def head(self) -> Head:
        """Return where the log ends now."""
        return self._space.head

    def read(
        self, after: Head | int = -1, upto: Head | int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield records with version in (after, upto] in order, each with its payloads by slot.

        Raises:
            HistoryReplaced: The log does not hold a head that was given.
        """
        head = self._space.head
        for known in (after, upto):
            if isinstance(known, Head) and known.version >= 0:
                self._check_holds(known, head)
        first = after.version if isinstance(after, Head) else max(after, -1)
        last = upto.version if isinstance(upto, Head) else upto
        end = head.version if last is None else min(last, head.version)
        if first >= end:
            return
        rows = self._recorder.rows(self._key, max(first, 0), min(end + 2, head.version))
        for record in chain.verified(rows, after=first, upto=end, head=head):
            yield record, self._space.payloads.get(record.version, ())

    def _check_holds(self, known: Head, head: Head) -> None:
        if known != head:
            last = min(known.version + 1, head.version)
            if not chain.holds(known, [*self._recorder.rows(self._key, known.version, last)], head):
                raise replaced(known, head)

    def digest_at(self, version: int) -> bytes | None:
        """Return the chain digest of the record at *version*, from its stored bytes."""
        if not 0 <= version <= self._space.head.version:
            return None
        return chain.digest_of(next(iter(self._recorder.rows(self._key, version, version)), None))

    @property
    def capabilities(self) -> LogCapabilities:
        """What this log can do beyond the port."""
        return LogCapabilities(payload_count=self.payload_count)

    def payload_count(self, upto: int) -> int:
        """Return how many payloads are stored of events up to version *upto*."""
        payloads = self._space.payloads.copy()
        return sum(len(rows) for version, rows in payloads.items() if version <= upto)

    @contextmanager
    def write_lock(self) -> Generator[None]:
        """Hold the write lock, among the threads of this process. Not re-entrant."""
        with self._write_lock:
            yield

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
        """Write everything, or nothing, and return the new head.

        Raises:
            VersionConflict: If another writer was first.
            HistoryReplaced: If the log does not hold *after*.
            CommandIdReused: If a command is remembered already.
            FieldRefused: If the records leave a gap or a payload has no record.
        """
        entry = staged(
            self._key,
            after,
            records,
            payloads=payloads,
            commands=commands,
            erase=erase,
            erase_all=erase_all,
        )
        self._recorder.insert_events(entry.stored, space=self._space, entry=entry)
        return entry.after

    def command(self, command_id: str) -> CommandRow | None:
        """Return the remembered command with this id."""
        return self._space.commands.get(command_id)

    def close(self) -> None:
        """Do nothing: the log belongs to the store."""


def _erase(space: Space, owners: frozenset[str]) -> None:
    for version, rows in list(space.payloads.items()):
        left = tuple(row for row in rows if owners.isdisjoint(row.owners))
        if left != rows:
            space.payloads[version] = left
