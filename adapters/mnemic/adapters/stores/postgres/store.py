"""The store for several machines: a schema of a PostgreSQL database, many spaces, many writers."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from hashlib import sha256
from threading import Lock

import psycopg

from mnemic.adapters.stores.addresses import ServerAddress, parsed
from mnemic.adapters.stores.drafts import drafted, is_hidden
from mnemic.adapters.stores.entry import Entry
from mnemic.adapters.stores.postgres import opening
from mnemic.adapters.stores.postgres.connections import RECONNECT_S, Datastore, Lost, Synchronous
from mnemic.adapters.stores.postgres.faults import named
from mnemic.adapters.stores.postgres.notices import Notices
from mnemic.adapters.stores.postgres.turns import Turns
from mnemic.adapters.stores.recorded import RecordedLog
from mnemic.kernel.errors import PointOutOfRange, StoreFailed, ViewReadOnly
from mnemic.kernel.ports import Log

_IS_STANDBY = b"SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool"


class PostgresStore:
    """Many spaces in one schema of a PostgreSQL database, for any number of threads and processes.

    Do not carry it across a fork: open it in each process.

    Args:
        address: ``postgresql://user@host/database``, with any option of libpq. The schema is made
            if it does not exist, the database is not.
        synchronous: ``full`` keeps every acknowledged append through a crash of the server,
            ``normal`` through a killed process of ours only.
        read_only: Never write; the server may be a replica.
        schema: Where the tables stand; None: the option ``schema`` of the address, else ``mnemic``.
        reconnect_s: How long a server that hung up may take to come back, before what was asked of
            it fails. Range: >= 0.

    Raises:
        NotAStore: The address is none, or the schema belongs to another program.
        StoreTooNew: A later release of mnemic made it.
        StoreFailed, StoreBusy: The server cannot be reached, or refuses.
    """

    def __init__(
        self,
        address: str,
        *,
        synchronous: Synchronous = "full",
        read_only: bool = False,
        schema: str | None = None,
        reconnect_s: float = RECONNECT_S,
    ) -> None:
        self.address: ServerAddress = parsed(address, schema=schema)
        self.read_only = read_only
        self.is_vacuumed = True
        """False while deleted payloads may be more than dead rows to the server."""
        self._logs: dict[str, PostgresLog] = {}
        self._opening = Lock()
        with named(self.address):
            datastore = Datastore(
                self.address,
                synchronous=synchronous,
                read_only=read_only,
                reconnect_s=reconnect_s,
            )
            self.recorder = opening.opened(datastore, read_only=read_only)
        # A name of its own for each schema, however long that is called.
        self.channel = "mnemic_" + sha256(self.address.schema.encode()).hexdigest()[:16]
        self.notices = Notices(self.recorder.datastore, self.channel)

    def __repr__(self) -> str:
        return f"PostgresStore({self.address.shown!r})"

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        with named(self.address):
            return tuple(name for name in self.recorder.names() if not is_hidden(name))

    def log(self, space: str, *, create: bool = True) -> PostgresLog:
        """Return the log of *space*; twice the same.

        Raises:
            PointOutOfRange: If the space does not exist and may not be made.
        """
        with self._opening, named(self.address):
            if space not in self._logs:
                self._logs[space] = PostgresLog(self, space, self._number(space, create=create))
            return self._logs[space]

    @contextmanager
    def draft(self, space: str) -> Generator[Log]:
        """Give the log of a space that nobody sees before the ``with`` block has ended well.

        Raises:
            SpaceExists: The space has events, or was made meanwhile.
            VersionConflict: Somebody else has begun to make it since.
        """
        self.require_writable()
        try:
            with drafted(
                self.recorder, space, partial(PostgresLog, self), partial(named, self.address)
            ) as log:
                yield log
        finally:
            self.vacuum()  # what was given up, or left by somebody who was killed, was deleted

    def require_writable(self) -> None:
        """Refuse to write to a store opened with ``read_only``."""
        if self.read_only:
            shown = self.address.shown
            raise ViewReadOnly(f"{shown} is open to read only", path=shown)

    def probe(self) -> None:
        """See whether the server answers, and takes what is written unless this store only reads.

        Raises:
            StoreFailed, StoreBusy: It does not.
        """
        with named(self.address):
            is_standby = self.recorder.datastore.rows(_IS_STANDBY) == [(True,)]
        if is_standby and not self.read_only:
            raise StoreFailed(
                f"{self.address.shown} is a replica, or takes no writes",
                recovery="Name the primary server, or open the store with read_only=True.",
                path=self.address.shown,
            )

    def vacuum(self) -> None:
        """Try to have the server clear away deleted payloads; ``is_vacuumed`` says how it went.

        A table that is being worked on is passed over, and left to the server's own clearing.
        """
        self.is_vacuumed = False
        # The erasure is committed: what fails here is tried again with the next one.
        with suppress(psycopg.Error, Lost):
            self.recorder.vacuum()
            self.is_vacuumed = True

    def close(self) -> None:
        """Close every connection. Closing twice is fine."""
        self.notices.close()
        self.recorder.datastore.close()

    def _number(self, space: str, *, create: bool) -> int:
        number = self.recorder.space(space)
        if number is None and create and not self.read_only:
            self.recorder.add_space(space)
            number = self.recorder.space(space)
        if number is None:
            raise PointOutOfRange(
                f"{self.address.shown} has no space {space!r}",
                recovery="Name one of the store's spaces, or let it be made.",
                space=space,
            )
        return number


class PostgresLog(RecordedLog):
    """One space of a PostgreSQL store."""

    batch_versions = 512  # more spares journeys to the server, and takes longer to go through

    def __init__(self, store: PostgresStore, name: str, number: int) -> None:
        super().__init__(store.recorder, name, number)
        self._store = store
        self._turns = Turns(
            store.recorder.datastore,
            key=opening.lock_key(store.address.schema, str(number)),
            channel=store.channel,
        )

    @contextmanager
    def writing(self) -> Generator[None]:
        """Hold the right to append, fairly among processes. Not re-entrant."""
        self._store.require_writable()
        with named(self._store.address), self._turns.turn():
            yield
        if not self._store.is_vacuumed:  # which takes time, and nobody else's
            self._store.vacuum()

    def wait(self, after: int, timeout_s: float) -> bool:
        """Wait until the log goes on beyond version *after*, whoever writes it.

        The server tells of what is written. Should it not, that is found by looking, a second
        later at most.

        Args:
            after: How far the reader has come.
            timeout_s: How long at most. Range: >= 0.

        Returns:
            Whether it goes on; False: the time is up.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            count = self._store.notices.count(self._number)
            if self.head().version > after:
                return True
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            self._store.notices.rest(self._number, count, left_s)

    def hear(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Call *tell*, on another thread, whenever the log may have moved on.

        Whoever wants to be sure looks besides, now and then: a notice can be lost.

        Returns:
            What ends it.
        """
        return self._store.notices.hear(self._number, tell)

    def _named(self) -> AbstractContextManager[None]:
        return named(self._store.address)

    def _require_writable(self) -> None:
        self._store.require_writable()

    def _appended(self, entry: Entry) -> None:
        if entry.erase or entry.erase_all:
            self._store.is_vacuumed = False
        if entry.stored:
            self._turns.tell(f"{self._number} {entry.after.version}")
        if not self._store.is_vacuumed and not self._turns.is_taken:
            self._store.vacuum()
