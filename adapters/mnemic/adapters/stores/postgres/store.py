"""The store for several machines: a schema of a PostgreSQL database, many spaces, many writers."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import sha256

import psycopg
from attrs import evolve

from mnemic.adapters.stores.addresses import ServerAddress, parsed
from mnemic.adapters.stores.leaders import Leads, LedElsewhere, MovedAway, moved_away
from mnemic.adapters.stores.logs.append import Entry
from mnemic.adapters.stores.logs.recorded_log import RecordedLog
from mnemic.adapters.stores.logs.recorded_store import RecordedStore
from mnemic.adapters.stores.logs.staged_spaces import is_hidden
from mnemic.adapters.stores.postgres import opening
from mnemic.adapters.stores.postgres.checkpoint_objects import CheckpointObjects, enable
from mnemic.adapters.stores.postgres.connections import RECONNECT_S, Datastore, Lost, Synchronous
from mnemic.adapters.stores.postgres.faults import named
from mnemic.adapters.stores.postgres.format import has_checkpoints
from mnemic.adapters.stores.postgres.leadership import Leadership
from mnemic.adapters.stores.postgres.lost_rows import lost_row, orphans
from mnemic.adapters.stores.postgres.notices import Notices
from mnemic.adapters.stores.postgres.write_lock import WriteLock
from mnemic.kernel.errors import FieldRefused, SpaceExists, StoreFailed
from mnemic.kernel.ports import Head, LogCapabilities

_IS_STANDBY = b"SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool"


class PostgresStore(RecordedStore["PostgresLog"]):
    """Many spaces in one schema of a PostgreSQL database, for any number of threads and processes.

    Do not carry it across a fork: open it in each process.

    Args:
        address: ``postgresql://user@host/database``, with any option of libpq. The schema is made
            if it does not exist, the database is not. Two options are ours: ``schema`` and
            ``answer_timeout``, in seconds.
        synchronous: ``full`` keeps every acknowledged append through a crash of the server,
            ``normal`` through a killed process of ours only.
        read_only: Never write; the server may be a replica.
        schema: Schema of the tables; None: the option ``schema`` of the address, else ``mnemic``.
        answer_timeout_s: How long the server may be silent while an answer is due, before the
            connection counts as lost; a server process may hang. What is sent again then may take
            as long once more. None: as the address says, else 60. Range: > 0.
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
        answer_timeout_s: float | None = None,
        reconnect_s: float = RECONNECT_S,
    ) -> None:
        self.address: ServerAddress = parsed(
            address, schema=schema, answer_timeout_s=answer_timeout_s
        )
        self.is_vacuumed = True
        """False while deleted payloads may still occupy dead rows."""
        with named(self.address):
            datastore = Datastore(
                self.address,
                synchronous=synchronous,
                read_only=read_only,
                reconnect_s=reconnect_s,
            )
            self.recorder = opening.opened(datastore, read_only=read_only)
        super().__init__(self.recorder, shown=self.address.shown, read_only=read_only)
        # A channel of its own for each schema, for names of any length.
        self.channel = "mnemic_" + sha256(self.address.schema.encode()).hexdigest()[:16]
        self.notices = Notices(self.recorder.datastore, self.channel)
        self.leads: Leads | None = None
        """In which epochs it may write. None: in any, as a process that is no host of a cluster."""
        self.is_followed = True
        """Whether spaces that were moved away are refused, rather than made anew here."""
        self.is_home = True
        """Whether a cluster whose hosts opened it looks for spaces here."""
        self.moved_away: set[str] = set()
        """Spaces of which it was noticed last that they are in another database."""
        self.leadership = Leadership(self.recorder.datastore)
        """Leases, epochs and moves, of a store that serves a cluster."""

    def __repr__(self) -> str:
        return f"PostgresStore({self.address.shown!r})"

    def probe(self) -> None:
        """Check that the server answers, and accepts writes unless this store is read-only.

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
        """Try to have the server clear away deleted payloads; ``is_vacuumed`` reports the outcome.

        A table in use is skipped, and left to autovacuum.
        """
        self.is_vacuumed = False
        # The erasure is committed: what fails here is tried again with the next one.
        with suppress(psycopg.Error):
            try:
                self.recorder.vacuum()
            except Lost as error:
                self.is_vacuumed = error.is_silence  # the vacuum may take the server long
            else:
                self.is_vacuumed = True

    def checkpoint_objects(self) -> Callable[[str], CheckpointObjects]:
        """Prepare the store for checkpoints, and return what returns those of a space by its name.

        A standby gets the table from its primary: until then it has none.

        Raises:
            StoreFailed, StoreBusy: It cannot be prepared.
        """
        if not (self.read_only or self.has_checkpoints()):
            enable(self.recorder.datastore)
        return lambda space: CheckpointObjects(
            self.recorder.datastore, lambda: self.log(space, create=False).number
        )

    def has_checkpoints(self) -> bool:
        """Return whether the store is prepared for checkpoints."""
        with named(self.address):
            return has_checkpoints(self.recorder.datastore)

    def close(self) -> None:
        """Close every connection. Closing twice is fine."""
        if self._process.is_another:
            return
        self.notices.close()
        self.recorder.datastore.close()

    @contextmanager
    def draft(self, space: str) -> Generator[PostgresLog]:
        """Open the log of a space that stays hidden until the ``with`` block has succeeded.

        Raises:
            FieldRefused: No host of the cluster would find it here.
            SpaceExists: The space has events, was made meanwhile, or is in another database.
            VersionConflict: Another process has begun to make it since.
        """
        if not self.is_home:
            raise FieldRefused(
                "a space that was moved to another database is not forked there by a host",
                recovery=f"Fork it with --db {self.address.shown}, or export it and import it.",
                field="space",
            )
        try:
            self.check_not_moved(space)
        except MovedAway as moved:
            raise SpaceExists(f"the space {space!r} is in another database", space=space) from moved
        with super().draft(space) as log:
            yield log

    def _named(self) -> AbstractContextManager[None]:
        return named(self.address)

    def _tidy(self) -> None:
        self.vacuum()

    def check_not_moved(self, space: str) -> None:
        """Refuse a space that is in another database now.

        Raises:
            MovedAway: With its address.
        """
        if not self.is_followed:
            return
        with named(self.address):
            address = self.leadership.moved_to(space) if self.leadership.is_enabled() else None
        if address is not None:
            self._logs.pop(space, None)  # should it come back, it has another number
            self.moved_away.add(space)
            raise moved_away(space, address)
        self.moved_away.discard(space)

    def _found(self, space: str) -> int | None:
        """Return the number of *space*; None: there is none.

        Raises:
            LogCorrupt: There are events of a space whose row is gone: it may be this one.
            MovedAway: It is in another database now.
        """
        number = super()._found(space)
        if number is None or self.recorder.has_hosts:  # it may be here again, as an unfinished copy
            self.check_not_moved(space)
        if number is None:
            self._check_rows()
        return number

    def check(self) -> None:
        """Refuse a store that has lost rows of its table of spaces.

        Raises:
            LogCorrupt: There are events of a space whose row is gone.
        """
        with self._named():
            self._check_rows()

    def _check_rows(self) -> None:
        lost = orphans(self.recorder.datastore)
        if lost:
            raise lost_row(self.recorder.datastore, dict.fromkeys(lost))

    def _log(self, space: str, number: int) -> PostgresLog:
        return PostgresLog(self, space, number)


class PostgresLog(RecordedLog):
    """One space of a PostgreSQL store."""

    batch_versions = 512  # more saves round trips to the server, and takes longer to process

    @property
    def number(self) -> int:
        """The space's number in the tables."""
        return self._number

    def __init__(self, store: PostgresStore, name: str, number: int) -> None:
        super().__init__(store.recorder, name, number)
        self._store = store
        self._write_locks = WriteLock(
            store.recorder.datastore,
            key=self._lock_key(),
            channel=store.channel,
        )

    @contextmanager
    def write_lock(self) -> Generator[None]:
        """Hold the write lock, fairly among processes. Not re-entrant.

        Each epoch has a lock of its own: a session of a host that has stopped may keep that of an
        earlier one for as long as it is stopped.
        """
        self._store.require_writable()
        epoch = self._epoch()
        key = None if epoch is None else self._lock_key(str(epoch))
        with named(self._store.address), self._write_locks.write_lock(key):
            yield
        if not self._store.is_vacuumed:  # outside the lock: it takes time
            self._store.vacuum()

    @property
    def capabilities(self) -> LogCapabilities:
        """What this log can do beyond the port."""
        return evolve(super().capabilities, confirm=self.confirm, hear=self.hear)

    def wait(self, after: int, timeout_s: float) -> bool:
        """Wait until the log goes beyond version *after*, whichever process writes it.

        The server notifies of appends. Should a notification be lost, polling finds the append a
        second later at most.

        Args:
            after: Last version that the reader has.
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

        To be certain, poll now and then as well: a notification can be lost.

        Returns:
            A function that ends the subscription.
        """
        return self._store.notices.hear(self._number, tell)

    def confirm(self, head: Head) -> None:
        """Return once the log is as durable up to *head* as an append is.

        See ``mnemic.kernel.ports.LogCapabilities``.
        """
        with self._named():
            is_new = self._store.recorder.confirm(self._number, head.version)
        if is_new:  # perhaps on a server that has taken over without the last events
            self._check_holds(head)

    def head(self) -> Head:
        """Return where the log ends now, other writers' events included.

        Raises:
            MovedAway: It was moved to another database.
        """
        head = super().head()
        if head.version < 0:  # it is new, or its remains were destroyed
            self._store.check_not_moved(self._name)
        return head

    def _insert(self, entry: Entry) -> None:
        epoch = self._epoch()
        try:
            with self._named():
                self._store.recorder.insert_entry(self._number, entry, epoch)
        except LedElsewhere:
            if self._store.leads is not None:
                self._store.leads.forget(self.name)
            raise

    def _epoch(self) -> int | None:
        """Return the epoch in which this process may write; None: any.

        Raises:
            LedElsewhere: Another host leads the space.
        """
        leads = None if is_hidden(self.name) else self._store.leads
        return None if leads is None else leads.epoch_of(self.name)

    def _lock_key(self, *names: str) -> int:
        return opening.lock_key(self._store.address.schema, str(self._number), *names)

    def _named(self) -> AbstractContextManager[None]:
        return named(self._store.address)

    def _require_writable(self) -> None:
        self._store.require_writable()

    def _appended(self, entry: Entry) -> None:
        if entry.erase or entry.erase_all:
            self._store.is_vacuumed = False
        if entry.stored:
            self._write_locks.tell(f"{self._number} {entry.after.version}")
        if not self._store.is_vacuumed and not self._write_locks.is_taken:
            self._store.vacuum()
