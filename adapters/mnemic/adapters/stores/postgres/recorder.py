"""The library's recorder for PostgreSQL, extended by everything else that an append writes.

An append is one statement, and so one transaction and one round trip to the server. It moves the
head row from where the writer saw it, and inserts nothing if it cannot: so of two writers one
loses, and the same append sent twice is written once. That makes it safe to send it again when the
server hung up before it answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import psycopg
from eventsourcing.persistence import ConnectionPoolClosedError
from eventsourcing.postgres import PostgresAggregateRecorder

from mnemic.adapters.stores.leaders import LedElsewhere
from mnemic.adapters.stores.logs import chain
from mnemic.adapters.stores.logs.append import Entry, moved
from mnemic.adapters.stores.postgres.connections import (
    THROUGHOUT_S,
    Attempts,
    Datastore,
    Lost,
    Row,
    Unreplicated,
    asked,
)
from mnemic.adapters.stores.postgres.faults import unreplicated
from mnemic.adapters.stores.postgres.format import STATEMENTS, filled, has_checkpoints
from mnemic.adapters.stores.postgres.lost_rows import lost_row
from mnemic.kernel.errors import CommandIdReused, Conflict, MnemicError, StoreFailed
from mnemic.kernel.ports import GENESIS_DIGEST, CommandRow, Head, PayloadRow

_INSERT_SPACE = """INSERT INTO {schema}.spaces (name, version, digest) VALUES (%b, -1, %b)
    ON CONFLICT DO NOTHING RETURNING id"""
_SELECT_SPACE = """SELECT id, to_regclass(quote_ident(%b) || '.hosts') IS NOT NULL
    FROM {schema}.spaces WHERE name = %b"""
_SELECT_NAMES = 'SELECT name FROM {schema}.spaces ORDER BY name COLLATE "C"'
_RENAME_SPACE = """UPDATE {schema}.spaces SET name = %b
    WHERE id = %b AND name = %b AND version = %b AND digest = %b RETURNING id"""
_CLEAR = """WITH
    cleared AS (UPDATE {schema}.spaces SET version = -1, digest = %b
        WHERE id = %b AND name = %b AND version = %b AND digest = %b RETURNING id),
    payloads AS (DELETE FROM {schema}.payloads WHERE space = (SELECT id FROM cleared)),
    commands AS (DELETE FROM {schema}.commands WHERE space = (SELECT id FROM cleared)),
    events AS (DELETE FROM {schema}.stored_events
        WHERE originator_id = (SELECT id::text FROM cleared))
    SELECT id FROM cleared"""
_SELECT_HEAD = "SELECT version, digest FROM {schema}.spaces WHERE id = %b"
_SELECT_STRAYS = """SELECT EXISTS (SELECT 1 FROM {schema}.stored_events
    WHERE originator_id = s.id::text AND originator_version > s.version)
    FROM {schema}.spaces s WHERE s.id = %b"""
_SELECT_EVENTS = """SELECT originator_version, topic, state FROM {schema}.stored_events
    WHERE originator_id = %b AND originator_version BETWEEN %b AND %b
    ORDER BY originator_version"""
_SELECT_PAYLOADS = """SELECT version, slot, id, key, owner, other, data FROM {schema}.payloads
    WHERE space = %b AND version BETWEEN %b AND %b ORDER BY version, slot"""
_COUNT_PAYLOADS = """SELECT count(*) FROM {schema}.payloads
    WHERE space = %b AND version <= %b"""
_SELECT_COMMAND = """SELECT id, request, first, last FROM {schema}.commands
    WHERE space = %b AND id = %b"""
_MOVED = """WITH
    moved AS (UPDATE {schema}.spaces SET version = %b, digest = %b
        WHERE id = %b AND version = %b AND digest = %b RETURNING id),"""
_MOVED_IN_EPOCH = _MOVED.replace("digest = %b RETURNING", "digest = %b AND epoch = %b RETURNING")
_INSERT_ENTRY = """
    events AS (INSERT INTO {schema}.stored_events
        SELECT moved.id::text, new.*
        FROM moved, unnest(%b::bigint[], %b::text[], %b::bytea[]) AS new),
    payloads AS (INSERT INTO {schema}.payloads
        SELECT moved.id, new.* FROM moved, unnest(%b::bigint[], %b::int[], %b::text[],
            %b::text[], %b::text[], %b::bytea[], %b::bytea[]) AS new),
    command AS (INSERT INTO {schema}.commands
        SELECT moved.id, new.*
        FROM moved, unnest(%b::text[], %b::bytea[], %b::bigint[], %b::bigint[]) AS new)"""
_ERASED_ALL = """,
    erased AS (DELETE FROM {schema}.payloads WHERE space = (SELECT id FROM moved))"""
_ERASED_OWNED = _ERASED_ALL[:-1] + " AND (owner = ANY(%b::text[]) OR other = ANY(%b::text[])))"
# Checkpoints that other hosts can fetch go with the text that they may hold.
_DROPPED = """,
    dropped AS (DELETE FROM {schema}.checkpoints WHERE space = (SELECT id FROM moved))"""
_DROP_OF_CLEARED = """DELETE FROM {schema}.checkpoints c WHERE c.space = %b AND EXISTS
    (SELECT 1 FROM {schema}.spaces s WHERE s.id = c.space AND s.version < 0) RETURNING c.name"""
_WAS_MOVED = "\n    SELECT id FROM moved"
_VACUUM = "VACUUM (SKIP_LOCKED) {schema}.payloads"
_VACUUM_CHECKPOINTS = "VACUUM (SKIP_LOCKED) {schema}.checkpoints"

_payload = partial(tuple.__new__, PayloadRow)


class SpaceRecorder(PostgresAggregateRecorder):
    """The library's aggregate recorder, with everything else of an append in its transaction."""

    datastore: Datastore

    def __init__(self, datastore: Datastore) -> None:
        super().__init__(datastore)
        self._names: dict[int, str] = {}
        """Names of the spaces that were looked up, by number."""
        self.has_hosts = False
        """Whether the store serves hosts of a cluster, as far as it was noticed."""
        self._confirmed: dict[int, tuple[int, int]] = {}
        """Connections on which a space is known to be durable, and its version, by space."""
        written = partial(filled, schema=datastore.schema)
        self._insert_space = written(_INSERT_SPACE)
        self._rename_space = written(_RENAME_SPACE)
        self._clear = written(_CLEAR)
        self._select_space = written(_SELECT_SPACE)
        self._select_names = written(_SELECT_NAMES)
        self._select_head = written(_SELECT_HEAD)
        self._select_strays = written(_SELECT_STRAYS)
        self._select_events = written(_SELECT_EVENTS)
        self._select_payloads = written(_SELECT_PAYLOADS)
        self._count_payloads = written(_COUNT_PAYLOADS)
        self._select_command = written(_SELECT_COMMAND)
        self._insert_entry = written(_MOVED + _INSERT_ENTRY)
        self._insert_in_epoch = written(_MOVED_IN_EPOCH + _INSERT_ENTRY)
        self._erased_all = written(_ERASED_ALL)
        self._erased_owned = written(_ERASED_OWNED)
        self._was_moved = written(_WAS_MOVED)
        self._vacuum = written(_VACUUM)
        self._vacuum_checkpoints = written(_VACUUM_CHECKPOINTS)
        self._dropped, self._drop_of_cleared = written(_DROPPED), written(_DROP_OF_CLEARED)

    def making(self) -> list[bytes]:
        """Return the statements that make the tables."""
        events = self.sql_create_statements[self.create_table_statement_index]
        return [
            events.as_bytes(None),
            *(filled(statement, self.datastore.schema) for statement in STATEMENTS),
        ]

    # --- writing ---

    def add_space(self, name: str) -> None:
        """Make the space *name* unless it exists."""
        self.datastore.written(self._insert_space, (name, GENESIS_DIGEST))

    def rename(self, space: int, names: tuple[str, str], head: Head) -> bool | None:
        """Rename a space that ends at *head*; *names* are its present and its new name.

        Returns:
            Whether it was done; False: another space has that name. None: it ends elsewhere, or has
            another name now, perhaps because the server hung up when it had just been done.
        """
        before, name = names
        values = (name, space, before, head.version, head.digest)
        try:
            return True if self.datastore.written(self._rename_space, values) else None
        except psycopg.errors.UniqueViolation:
            return False

    def clear(self, space: int, name: str, head: Head) -> None:
        """Delete everything of a space, if it is called *name* and ends at *head*."""
        values = (GENESIS_DIGEST, space, name, head.version, head.digest)
        self.datastore.written(self._clear, values, more_s=THROUGHOUT_S)
        if has_checkpoints(self.datastore):
            self.datastore.written(self._drop_of_cleared, (space,))

    def insert_entry(self, space: int, entry: Entry, epoch: int | None = None) -> None:
        """Write *entry* in one transaction, or nothing of it.

        Args:
            space: The number of the space.
            entry: What is written.
            epoch: That in which it may be written alone; None: any.

        Raises:
            LedElsewhere: Another host has begun an epoch since.
            VersionConflict, HistoryReplaced: If the log does not end at ``entry.before``.
            CommandIdReused: If a command is remembered already.
            LogCorrupt: If a record stands where the log should end.
            StoreFailed: If the server hung up, or may not have replicated it, and the outcome
                cannot be found out.
        """
        lost: Exception | None = None
        attempts = Attempts()
        generation = self.datastore.generation
        while True:
            try:
                self._send(space, entry, epoch)
            except Lost as error:
                lost = error
                if attempts.are_over(lost):
                    raise self._in_doubt(lost) from lost
            except Conflict:
                if lost is None:
                    raise
                if self._is_durable(space, entry):
                    return
                raise
            except (psycopg.Error, ConnectionPoolClosedError) as error:
                if lost is None:
                    raise
                raise self._in_doubt(error) from error
            else:
                self._confirmed[space] = generation, entry.after.version
                return

    def confirm(self, space: int, version: int) -> bool:
        """Return once *space* is as durable up to *version* as an append of this store is.

        Returns:
            Whether the server was asked; False: it was known.

        Raises:
            StoreFailed: That cannot be found out.
        """
        known, upto = self._confirmed.get(space, (-1, -1))
        if known == self.datastore.generation and version <= upto:
            return False
        self._confirm_now(space, version)
        return True

    def _confirm_now(self, space: int, version: int) -> None:
        generation = self.datastore.generation
        try:
            self.datastore.confirm()
        except (Lost, psycopg.Error, ConnectionPoolClosedError) as error:
            raise self._in_doubt(error) from error
        self._confirmed[space] = generation, version

    def _send(self, space: int, entry: Entry, epoch: int | None) -> None:
        try:
            was_moved = self._is_moved(space, entry, epoch)
        except psycopg.errors.UniqueViolation as error:
            raise _taken(error, entry) from error
        if not was_moved:
            found = self._head_row(space)
            if epoch is not None and found is not None and Head(*found) == entry.before:
                raise LedElsewhere("another host has begun to lead the space", epoch=epoch)
            raise moved(entry.before, Head(*found) if found else None)

    def _is_moved(self, space: int, entry: Entry, epoch: int | None) -> bool:
        """Write *entry*; return whether log and epoch were where they should be."""
        statement, values = self._written(space, entry, epoch)
        with self.datastore.lent() as connection:
            return bool(asked(connection, statement, values))

    def _written(self, space: int, entry: Entry, epoch: int | None) -> tuple[bytes, list[object]]:
        """Return the statement that writes *entry*, and its values."""
        before, after = entry.before, entry.after
        values: list[object] = [after.version, after.digest, space, before.version, before.digest]
        values += [] if epoch is None else [epoch]
        values += _columns([(e.originator_version, e.topic, e.state) for e in entry.stored], 3)
        # The statement cannot delete what it inserts: payloads to be erased at once are left out.
        kept = () if entry.erase_all else entry.payloads
        gone = frozenset(entry.erase)
        values += _columns([_stored(each) for each in kept if gone.isdisjoint(each.owners)], 7)
        values += _columns([(c.id, c.request, c.first, c.last) for c in entry.commands], 4)
        statement = self._insert_entry if epoch is None else self._insert_in_epoch
        if entry.erase_all:
            statement += self._erased_all
        elif entry.erase:
            statement += self._erased_owned
            values += [list(entry.erase), list(entry.erase)]
        if (entry.erase_all or entry.erase) and has_checkpoints(self.datastore):
            statement += self._dropped
        return statement + self._was_moved, values

    def _is_durable(self, space: int, entry: Entry) -> bool:
        """Return whether *entry* was written after all, once it is as durable as any.

        Raises:
            StoreFailed: That cannot be found out.
        """
        while True:
            generation = self.datastore.generation
            if not self._found(space, entry):
                return False
            self._confirm_now(space, entry.after.version)
            if self.datastore.generation == generation:
                return True
            # What was found was perhaps on a server that has failed since, and is not on this one.

    def _found(self, space: int, entry: Entry) -> bool:
        """Return whether *entry* was written after all.

        Raises:
            StoreFailed: The server hung up once more.
        """
        try:
            return self._stands(space, entry)
        except (Lost, psycopg.Error, ConnectionPoolClosedError) as error:
            raise self._in_doubt(error) from error

    def _stands(self, space: int, entry: Entry) -> bool:
        """Return whether *entry* itself moved the head, or remembered its commands."""
        if entry.stored:
            version = entry.after.version
            rows = self.records(space, version, version)
            return bool(rows) and chain.digest_of(rows[0]) == entry.after.digest
        return any(self.command(space, each.id) == each for each in entry.commands)

    def _in_doubt(self, error: Exception) -> MnemicError:
        address = self.datastore.address
        if isinstance(error, Unreplicated):
            return unreplicated(address)
        return StoreFailed(
            f"{address.shown}: the connection was lost while something was written, and whether it "
            f"was cannot be found out: {address.censored(error)}",
            recovery="When the server is back, repeat the command with its command id: what was "
            "written is answered, and not written twice.",
            path=address.shown,
        )

    def vacuum(self) -> None:
        """Let the server reuse the space of deleted payloads.

        Raises:
            Lost: The server hung up.
            psycopg.Error: It refuses.
        """
        with self.datastore.lent() as connection:
            connection.execute(self._vacuum, prepare=False)
        if has_checkpoints(self.datastore):
            with self.datastore.lent() as connection:
                connection.execute(self._vacuum_checkpoints, prepare=False)

    # --- reading ---

    def names(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        return tuple(name for (name,) in self.datastore.rows(self._select_names))

    def space(self, name: str) -> int | None:
        """Return the number of the space *name*, or None if there is none."""
        rows = self.datastore.rows(self._select_space, (self.datastore.schema, name))
        if not rows:
            return None
        number: int = rows[0][0]
        self.has_hosts = self.has_hosts or rows[0][1]
        self._names[number] = name
        return number

    def head(self, space: int) -> Head:
        """Return where the log of *space* ends by its head row.

        Raises:
            LogCorrupt: If there is no such row.
        """
        row = self._head_row(space)
        if row is None:
            raise lost_row(self.datastore, {space: self._names.get(space)})
        return Head(*row)

    def _head_row(self, space: int) -> Row | None:
        return next(iter(self.datastore.rows(self._select_head, (space,))), None)

    def has_strays(self, space: int) -> bool:
        """Return whether *space* holds records beyond its head."""
        return self.datastore.rows(self._select_strays, (space,)) == [(True,)]

    def command(self, space: int, command_id: str) -> CommandRow | None:
        """Return the remembered command *command_id* of *space*."""
        rows = self.datastore.rows(self._select_command, (space, command_id))
        return CommandRow(*rows[0]) if rows else None

    def records(self, space: int, first: int, last: int) -> list[chain.Row]:
        """Return the records of *space* from version *first* to *last*, without their payloads."""
        return cast(
            "list[chain.Row]",
            self.datastore.rows(self._select_events, (str(space), first, last)),
        )

    def batch(self, space: int, first: int, last: int) -> tuple[list[chain.Row], list[PayloadRow]]:
        """Return the records and payloads of *space* from version *first* to *last*.

        Records never change, and payloads change with a commit, so no snapshot of both is needed:
        an erasure between the two reads is seen entirely, or not at all.
        """
        rows = self.records(space, first, last)
        stored = self.datastore.rows(self._select_payloads, (space, first, last))
        return rows, [
            _payload((version, slot, payload_id, key, _owners(owner, other), data))
            for version, slot, payload_id, key, owner, other, data in stored
        ]

    def payload_count(self, space: int, upto: int) -> int:
        """Return how many payloads of *space* are stored, of events up to version *upto*."""
        return cast("int", self.datastore.rows(self._count_payloads, (space, upto))[0][0])


def _taken(error: psycopg.errors.UniqueViolation, entry: Entry) -> MnemicError:
    """Return the error for an entry whose place, or whose command's, is taken."""
    if error.diag.table_name == "commands":
        used = ", ".join(repr(each.id) for each in entry.commands)
        return CommandIdReused(
            f"command {used} is already remembered", command_id=entry.commands[0].id
        )
    return chain.damage(entry.before.version + 1, reason="the head lags behind")


def _columns(rows: Sequence[tuple[object, ...]], width: int) -> list[list[object]]:
    """Return *rows* as *width* columns, which ``unnest`` turns into rows again."""
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]


def _stored(payload: PayloadRow) -> tuple[object, ...]:
    owner, other = (*payload.owners, None, None)[:2]
    return (payload.version, payload.slot, payload.id, owner, other, payload.key, payload.data)


def _owners(owner: str | None, other: str | None) -> tuple[str, ...]:
    if other is not None:
        return (owner or "", other)
    return () if owner is None else (owner,)
