"""The library's recorder for SQLite, extended by everything else that an append writes."""

from __future__ import annotations

import json
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

from eventsourcing.sqlite import SQLiteAggregateRecorder, SQLiteFactory

from mnemic.adapters.stores.logs import chain
from mnemic.adapters.stores.logs.append import Entry, moved
from mnemic.adapters.stores.sqlite.connections import BUSY_TIMEOUT_S, Datastore, Mode, Synchronous
from mnemic.adapters.stores.sqlite.faults import is_damage
from mnemic.adapters.stores.sqlite.format import COMMANDS_AGAIN, STATEMENTS, check_version
from mnemic.kernel.errors import CommandIdReused, LogCorrupt
from mnemic.kernel.ports import GENESIS_DIGEST, CommandRow, Head, PayloadRow

_INSERT_SPACE = "INSERT OR IGNORE INTO spaces (name, version, digest) VALUES (?, -1, ?)"
_SELECT_SPACE = "SELECT id FROM spaces WHERE name = ?"  # reads the index on names alone
_SELECT_NAME = "SELECT name FROM spaces WHERE id = ?"
_SELECT_NAMED = "SELECT id FROM spaces NOT INDEXED WHERE name = ?"
_SELECT_NAMES = "SELECT name FROM spaces NOT INDEXED ORDER BY name"
_RENAME_SPACE = """UPDATE spaces SET name = :name
    WHERE id = :space AND name = :before AND version = :version AND digest = :digest"""
_CLEAR_HEAD = """UPDATE spaces SET version = -1, digest = :empty
    WHERE id = :space AND name = :name AND version = :version AND digest = :digest"""
_CLEAR = (
    "DELETE FROM commands WHERE space = :space",
    "DELETE FROM stored_events WHERE originator_id = CAST(:space AS TEXT)",
)
_SELECT_NEWEST = "SELECT max(id) FROM spaces"
_SELECT_HEAD = "SELECT version, digest FROM spaces WHERE id = ?"
_SELECT_STRAYS = """SELECT EXISTS (SELECT 1 FROM stored_events
    WHERE originator_id = ? AND originator_version > version) FROM spaces WHERE id = ?"""
_SELECT_LAST = """SELECT originator_version, topic, state FROM stored_events
    WHERE originator_id = ? ORDER BY originator_version DESC LIMIT 1"""
_MOVE_HEAD = """UPDATE spaces SET version = ?, digest = ?
    WHERE id = ? AND version = ? AND digest = ?"""
_SELECT_EVENTS = """SELECT originator_version, topic, state FROM stored_events
    WHERE originator_id = ? AND originator_version BETWEEN ? AND ? ORDER BY originator_version"""
_INSERT_CONTENT = "INSERT INTO contents (key, data) VALUES (?, ?)"
_INSERT_PAYLOAD = "INSERT INTO payloads VALUES (?, ?, ?, ?, ?, ?, ?)"
_SELECT_PAYLOADS = """SELECT version, slot, payloads.id, key, owner, other, data
    FROM payloads CROSS JOIN contents ON contents.id = content
    WHERE space = ? AND version BETWEEN ? AND ? ORDER BY version, slot"""
_COUNT_PAYLOADS = """SELECT count(*) FROM payloads CROSS JOIN contents ON contents.id = content
    WHERE space = ? AND version <= ?"""
_INSERT_COMMAND = "INSERT INTO commands VALUES (?, ?, ?, ?, ?)"
_SELECT_COMMAND = """SELECT id, request, first, last FROM commands NOT INDEXED
    WHERE space = ? AND id = ?"""
_SELECT_COMMAND_AGAIN = """SELECT id, request, first, last FROM commands INDEXED BY commands_again
    WHERE space = ? AND id = ?"""
_HAS_COMMANDS_AGAIN = "SELECT count(*) FROM sqlite_master WHERE name = 'commands_again'"
_CHECKED = ("commands", "spaces")
"""Tables that no chain covers; an index holds a copy of their rows."""
_BLANK_CONTENTS = """UPDATE contents
    SET key = zeroblob(length(key)), data = zeroblob(length(data))
    WHERE id IN (SELECT content FROM payloads WHERE space = :space"""
_DELETE_PAYLOADS = "DELETE FROM payloads WHERE space = :space"
_SELECT_OWNED = "SELECT version, slot, content FROM payloads WHERE space = :space AND "
_OF_ONE = ":owners IN (owner, other)"
"""For a single owner; it takes three quarters of the time."""
_OF_MANY = """(owner IN (SELECT value FROM json_each(:owners))
    OR other IN (SELECT value FROM json_each(:owners)))"""
_ERASE_ALL = (_BLANK_CONTENTS + ")", _DELETE_PAYLOADS)
_BLANK_CONTENT = """UPDATE contents
    SET key = zeroblob(length(key)), data = zeroblob(length(data)) WHERE id = ?"""
_DELETE_PAYLOAD = "DELETE FROM payloads WHERE space = ? AND version = ? AND slot = ?"

_payload = partial(tuple.__new__, PayloadRow)
_StoredPayload = tuple[int, int, str, bytes, str | None, str | None, bytes]


class SpaceRecorder(SQLiteAggregateRecorder):
    """The library's aggregate recorder, with everything else of an append in its transaction."""

    datastore: Datastore
    _remembers_twice: bool | None = None
    """Whether the file has copies of commands; None: not checked yet."""

    def construct_create_table_statements(self) -> list[str]:
        """Return the library's statement and ours."""
        return [*super().construct_create_table_statements(), *STATEMENTS]

    # --- writing ---

    def begin(self) -> None:
        """Make the tables, unless another process was faster."""
        self._prefer_write_ahead()
        self.create_table()

    def touch(self) -> None:
        """Check that the file can be written; adds only what older formats lack."""
        self._prefer_write_ahead()
        with self.datastore.transaction(commit=True) as c:
            c.execute(COMMANDS_AGAIN)

    def _prefer_write_ahead(self) -> None:
        with self.datastore.get_connection(commit=True) as connection:
            connection.cursor().execute("PRAGMA journal_mode = WAL")  # stays with the file

    def add_space(self, name: str) -> None:
        """Make the space *name* unless it exists."""
        with self.datastore.transaction(commit=True) as c:
            c.execute(_INSERT_SPACE, (name, GENESIS_DIGEST))

    def rename(self, space: int, names: tuple[str, str], head: Head) -> bool | None:
        """Rename a space that ends at *head*; *names* are its present and its new name.

        Returns:
            Whether it was done; False: another space has that name. None: it ends elsewhere, or has
            another name now.
        """
        before, name = names
        place = {"space": space, "version": head.version, "digest": head.digest}
        try:
            with self.datastore.transaction(commit=True) as c:
                c.execute(_RENAME_SPACE, {**place, "name": name, "before": before})
                return True if c.sqlite_cursor.rowcount == 1 else None
        except sqlite3.IntegrityError:
            return False

    def clear(self, space: int, name: str, head: Head) -> None:
        """Delete everything of a space, if it is called *name* and ends at *head*."""
        place = {"space": space, "version": head.version, "digest": head.digest}
        with self.datastore.transaction(commit=True) as c:
            c.execute(_CLEAR_HEAD, {**place, "name": name, "empty": GENESIS_DIGEST})
            if c.sqlite_cursor.rowcount == 1:
                for statement in (*_ERASE_ALL, *_CLEAR):
                    c.execute(statement, {"space": space})

    def insert_entry(self, space: int, entry: Entry) -> None:
        """Write *entry* in one transaction, or nothing of it.

        Raises:
            VersionConflict, HistoryReplaced: If the log does not end at ``entry.before``.
            CommandIdReused: If a command is remembered already.
            LogCorrupt: If a record stands where the log should end.
        """
        with self.datastore.transaction(commit=True) as c:
            run = c.sqlite_cursor.execute
            # A later release may have moved the file to its own format while it was open here.
            check_version(run("PRAGMA user_version").fetchone()[0], self.datastore.path)
            self._move_head(c.sqlite_cursor, space, entry)
            try:
                self._insert_events(c, entry.stored)
            except sqlite3.IntegrityError as error:
                lagging = chain.damage(entry.before.version + 1, reason="the head lags behind")
                raise lagging from error
            for payload in entry.payloads:
                content = run(_INSERT_CONTENT, (payload.key, payload.data)).lastrowid
                owner, other = (*payload.owners, None, None)[:2]
                place = (space, payload.version, payload.slot)
                run(_INSERT_PAYLOAD, (*place, payload.id, owner, other, content))
            for command in entry.commands:
                self._insert_command(c.sqlite_cursor, space, command)
            if entry.erase_all:
                for statement in _ERASE_ALL:
                    run(statement, {"space": space})
            elif entry.erase:
                # No index has the owners, so that all payloads are looked through, once.
                if len(entry.erase) == 1:
                    owned = run(_SELECT_OWNED + _OF_ONE, {"space": space, "owners": entry.erase[0]})
                else:
                    owners = {"space": space, "owners": json.dumps(entry.erase)}
                    owned = run(_SELECT_OWNED + _OF_MANY, owners)
                for version, slot, content in owned.fetchall():
                    run(_BLANK_CONTENT, (content,))
                    run(_DELETE_PAYLOAD, (space, version, slot))

    @staticmethod
    def _move_head(c: sqlite3.Cursor, space: int, entry: Entry) -> None:
        before, after = entry.before, entry.after
        c.execute(_MOVE_HEAD, (after.version, after.digest, space, before.version, before.digest))
        if c.rowcount != 1:
            found: tuple[int, bytes] | None = c.execute(_SELECT_HEAD, (space,)).fetchone()
            raise moved(before, Head(*found) if found else None)

    @staticmethod
    def _insert_command(c: sqlite3.Cursor, space: int, command: CommandRow) -> None:
        row = (space, command.id, command.request, command.first, command.last)
        try:
            c.execute(_INSERT_COMMAND, row)
        except sqlite3.IntegrityError as error:
            raise CommandIdReused(
                f"command {command.id!r} is already remembered", command_id=command.id
            ) from error

    def scrub(self, *, patience_s: float) -> bool:
        """Move everything out of the write-ahead log and empty it.

        Returns:
            Whether it is empty; a reader may still need it after the wait.
        """
        with self.datastore.get_connection(commit=True) as connection:
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA busy_timeout = {round(patience_s * 1000)}")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            is_busy: int = cursor.fetchone()[0]
            cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000}")
            return not is_busy

    # --- reading ---

    def names(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted.

        Raises:
            LogCorrupt: If one cannot be read.
        """
        with self.datastore.reading() as c:
            found = tuple(name for (name,) in c.execute(_SELECT_NAMES))
        if not all(isinstance(name, str) for name in found):
            raise LogCorrupt("the name of a space cannot be read")
        return found

    def space(self, name: str, *, salvaging: bool = False) -> int | None:
        """Return the number of the space *name*, or None if there is none.

        Args:
            name: Of the space.
            salvaging: Trust the table where its index has lost the name.

        Raises:
            LogCorrupt: The table and its index disagree.
        """
        with self.datastore.comparing() as c:
            row: tuple[int] | None = c.execute(_SELECT_SPACE, (name,)).fetchone()
            if row is None:
                row = c.execute(_SELECT_NAMED, (name,)).fetchone()
                if row is None or salvaging:
                    return row[0] if row else None
                raise chain.damage(0, reason=f"the name of space {name!r} is lost")
            if c.execute(_SELECT_NAME, row).fetchone() != (name,):
                raise chain.damage(0, reason=f"the space called {name!r} has another name")
            return row[0]

    def newest(self) -> int:
        """Return the highest number of a space; 0: there is none."""
        with self.datastore.reading() as c:
            found: tuple[int | None] = c.execute(_SELECT_NEWEST).fetchone()
            return found[0] or 0

    def head(self, space: int) -> Head:
        """Return where the log of *space* ends by its head row.

        Raises:
            LogCorrupt: If there is no such row, or none that can be read.
        """
        with self.datastore.reading() as c:
            row: tuple[int, bytes] | None = c.execute(_SELECT_HEAD, (space,)).fetchone()
        if row is None:
            raise chain.damage(0, reason="the head row is gone")
        version, digest = row
        if type(version) is not int or type(digest) is not bytes:
            raise chain.damage(0, reason="the head row cannot be read")
        return Head(version, digest)

    def last(self, space: int) -> Head | None:
        """Return where the log of *space* ends by its last record, regardless of its head row.

        Returns:
            None if that cannot be read.
        """
        rows: list[chain.Row] = []
        with self.datastore.reading() as c:
            is_all = _gather(c, _SELECT_LAST, (str(space),), rows)
        if is_all and not rows:
            return chain.EMPTY
        digest = chain.digest_of(rows[0]) if rows else None
        return None if digest is None else Head(rows[0][0], digest)

    def has_strays(self, space: int) -> bool:
        """Return whether *space* holds records beyond its head."""
        with self.datastore.reading() as c:
            found: tuple[int] | None = c.execute(_SELECT_STRAYS, (str(space), space)).fetchone()
            return found == (1,)

    def command(self, space: int, command_id: str) -> CommandRow | None:
        """Return the remembered command *command_id* of *space*.

        Raises:
            LogCorrupt: It is not what was written.
        """
        with self.datastore.comparing() as c:
            if self._remembers_twice is None:
                self._remembers_twice = c.execute(_HAS_COMMANDS_AGAIN).fetchone() == (1,)
            row = c.execute(_SELECT_COMMAND, (space, command_id)).fetchone()
            if self._remembers_twice:
                again = c.execute(_SELECT_COMMAND_AGAIN, (space, command_id)).fetchone()
                if row != again:
                    first: int = (row or again)[2]
                    raise chain.damage(first, reason=f"command {command_id!r} is not as written")
            return CommandRow(*row) if row else None

    def check(self) -> None:
        """Compare the tables that no chain covers with their copies.

        Raises:
            LogCorrupt: They differ.
        """
        with self.datastore.reading() as c:
            for table in _CHECKED:
                (problem,) = c.execute(f"PRAGMA integrity_check('{table}')").fetchone()
                if problem != "ok":
                    *_, problem = problem.splitlines()  # it may begin with a headline
                    raise LogCorrupt(f"the table of {table} is damaged: {problem}")

    def records(self, space: int, first: int, last: int) -> list[chain.Row]:
        """Return the records of *space* from version *first* to *last*, without their payloads."""
        rows: list[chain.Row] = []
        with self.datastore.reading() as c:
            _gather(c, _SELECT_EVENTS, (str(space), first, last), rows)
        return rows

    def batch(self, space: int, first: int, last: int) -> tuple[list[chain.Row], list[PayloadRow]]:
        """Return the records and payloads of *space* from version *first* to *last*.

        Both are in order, and end before the first record that SQLite cannot read whole.
        """
        rows: list[chain.Row] = []
        stored: list[_StoredPayload] = []
        with self.datastore.reading() as c:
            _gather(c, _SELECT_EVENTS, (str(space), first, last), rows)
            if not _gather(c, _SELECT_PAYLOADS, (space, first, last), stored):
                # The payloads of the last record may be incomplete.
                sound_below = stored[-1][0] if stored else first
                rows = [row for row in rows if row[0] < sound_below]
        return rows, [
            _payload((version, slot, payload_id, key, _owners(owner, other), data))
            for version, slot, payload_id, key, owner, other, data in stored
        ]

    def payload_count(self, space: int, upto: int) -> int:
        """Return how many payloads of *space* are stored whole, of events up to version *upto*."""
        with self.datastore.reading() as c:
            found: tuple[int] = c.execute(_COUNT_PAYLOADS, (space, upto)).fetchone()
            return found[0]


class SpaceFactory(SQLiteFactory):
    """Makes the recorder of one file."""

    def __init__(self, path: Path, *, mode: Mode, synchronous: Synchronous) -> None:
        super().__init__({self.SQLITE_DBNAME: str(path), self.CREATE_TABLE: "no"})
        self.datastore: Datastore = Datastore(path, mode=mode, synchronous=synchronous)

    def aggregate_recorder(self, purpose: str = "events") -> SpaceRecorder:
        """Return the recorder."""
        return SpaceRecorder(self.datastore, f"stored_{purpose}")


def _gather(c: sqlite3.Cursor, statement: str, values: tuple[object, ...], rows: list[Any]) -> bool:
    """Add the rows of *statement* to *rows*, and return whether that was all of them."""
    try:
        rows.extend(c.execute(statement, values))  # keeps what came before an error
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return False
    return True


def _owners(owner: str | None, other: str | None) -> tuple[str, ...]:
    if other is not None:
        return (owner or "", other)
    return () if owner is None else (owner,)
