"""Ports for a store and for the log of one space, in bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from attrs import frozen

from mnemic.kernel.values import Value

GENESIS_DIGEST = bytes(32)
"""Digest that the first record of a log names as its predecessor."""


class Record(NamedTuple):
    """One stored event, the unit that the hash chain covers."""

    version: int
    """Contiguous from 0 within one space."""
    topic: str
    """Stable, versioned wire name, such as ``block-learned.1``."""
    body: bytes


class PayloadRow(NamedTuple):
    """One erasable payload, stored separately from the events of the log.

    The event holds *id* and a MAC over the bytes; the key is stored here and dies with the row.
    """

    version: int
    """Version of the event that names it."""
    slot: int
    """Index among the payloads of that event, from 0."""
    id: str
    key: bytes
    owners: tuple[str, ...]
    """Ids of the one or two owners whose erasure destroys this payload."""
    data: bytes


@frozen
class Head(Value):
    """The end of a log: its last version and chain digest."""

    version: int
    """-1 for an empty log."""
    digest: bytes
    """Chain digest of the last record; ``GENESIS_DIGEST`` for an empty log."""


@frozen
class CommandRow(Value):
    """A stored command: its id, the digest of its request, and the events that it wrote."""

    id: str
    request: bytes
    """Digest of the request, keyed with those of the payloads that it wrote, if any."""
    first: int
    last: int
    """Versions of the first and last event written."""


@frozen(kw_only=True)
class LogCapabilities(Value):
    """What a log can do beyond the port ``Log``; None: it cannot."""

    confirm: Callable[[Head], None] | None = None
    """Returns once every event up to a head is as durable as an acknowledged append. Raises
    ``HistoryReplaced`` if the log does not hold that head, ``StoreFailed`` if it cannot be found
    out. None: everything that is read from the log is durable."""
    hear: Callable[[Callable[[], None]], Callable[[], None]] | None = None
    """Calls a function, on another thread, whenever any process may have appended; returns a
    function that ends the subscription. Notifications can be lost: a caller that must not miss an
    append also polls. None: callers poll."""
    payload_count: Callable[[int], int] | None = None
    """Counts the stored payloads, key and bytes included, of events up to a version, without
    reading them: a space that is opened from a checkpoint notices missing ones by it."""
    check: Callable[[], None] | None = None
    """Checks what no chain covers, and raises ``LogCorrupt`` if it is not what was written."""


NO_CAPABILITIES = LogCapabilities()
"""Those of a log that can do nothing beyond the port."""


class Log(Protocol):
    """The one stream of one space. All methods are synchronous and thread-compatible."""

    @property
    def capabilities(self) -> LogCapabilities:
        """What this log can do beyond this port."""
        ...

    @property
    def name(self) -> str:
        """The space's name."""
        ...

    def head(self) -> Head:
        """Return the current end of the log, other writers' events included."""
        ...

    def read(
        self, after: Head | int = -1, upto: Head | int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield records with version in (after, upto] in order, each with its payloads by slot.

        The chain is verified while reading.

        Args:
            after: The last version that the reader has; as a head, the log is required to hold it,
                even if there is nothing to yield.
            upto: The last version wanted; as a head, the log is required to hold it; None: the end
                of the log.

        Raises:
            HistoryReplaced: The log does not hold a given head: it ends before, or has another
                record at that version.
            LogCorrupt: With the fact ``version`` at the first record that does not fit; all
                records before it have been yielded.
        """
        ...

    def digest_at(self, version: int) -> bytes | None:
        """Return the chain digest of the record at *version*, computed from its stored bytes.

        It is what that record's successor must name as its predecessor. A store that keeps the
        predecessor's digest with each record needs one lookup for a log of any length; in that
        case the result does not verify the records before.

        Returns:
            None if the log has no such record, or cannot read it.
        """
        ...

    def write_lock(self) -> AbstractContextManager[None]:
        """Hold the write lock, granted fairly among processes. Not re-entrant."""
        ...

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

        Args:
            records: Versions contiguous from ``after.version + 1``.
            payloads: Of these records.
            after: The head that they were decided on. The log has to end there, version and digest,
                in the transaction that writes them.
            commands: Stored in the same transaction.
            erase: Owners whose payloads are destroyed in the same transaction.
            erase_all: Destroy every payload of the space instead, the new ones included.

        Raises:
            VersionConflict: Another writer appended first; nothing was written.
            HistoryReplaced: The log ends before *after*, or at its version with another digest;
                nothing was written.
            StoreFull, StoreBusy, StoreFailed: Nothing was written.
        """
        ...

    def command(self, command_id: str) -> CommandRow | None:
        """Return the stored command with this id, or None."""
        ...

    def close(self) -> None:
        """Release files and connections. Closing twice is allowed."""
        ...


class Store(Protocol):
    """Holds many spaces."""

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        ...

    def log(self, space: str, *, create: bool = True) -> Log:
        """Return the log of *space*.

        Raises:
            SpaceNotFound: If the space does not exist and *create* is false.
        """
        ...

    def close(self) -> None:
        """Close every log and connection."""
        ...
