"""The format of a SQLite store: its tables, and how its file is recognised.

``stored_events`` belongs to the eventsourcing library; a stream is named by the number of its
space. Secrets are kept in ``contents`` alone. Its rows are only ever added at the end, and erased
by overwriting them in place: SQLite zeroes what it frees, but not the copies that stay behind when
rebalancing moves a row to another page, so no row with a secret may ever move.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from mnemic.kernel.errors import NotAStore, StoreTooNew

APPLICATION_ID = int.from_bytes(b"mnem", "big")
"""Stored in the header of the file. Source: sqlite.org/pragma.html#pragma_application_id."""
FORMAT_VERSION = 1
"""Stored there as ``user_version``; every change of the tables or of stored bytes raises it."""

COMMANDS_AGAIN = """CREATE UNIQUE INDEX IF NOT EXISTS commands_again
    ON commands (id, space, request, first, last)"""
"""A copy of every remembered command. No chain covers them: a difference shows damage."""

STATEMENTS = (
    # The head rows: where each log ends, written with every append.
    """CREATE TABLE IF NOT EXISTS spaces (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        version INTEGER NOT NULL,
        digest BLOB NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS payloads (
        space INTEGER NOT NULL,
        version INTEGER NOT NULL,
        slot INTEGER NOT NULL,
        id TEXT NOT NULL,
        owner TEXT,
        other TEXT,
        content INTEGER NOT NULL,
        PRIMARY KEY (space, version, slot)) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS contents (
        id INTEGER PRIMARY KEY,
        key BLOB NOT NULL,
        data BLOB NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS commands (
        space INTEGER NOT NULL,
        id TEXT NOT NULL,
        request BLOB NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (space, id)) WITHOUT ROWID""",
    COMMANDS_AGAIN,
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT_VERSION}",
)
"""Statements that initialise an empty file, after the library's own table."""


_LOOK = """SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
    FROM pragma_application_id, pragma_user_version"""
"""One statement, since another process may make the file between two."""


def is_new(c: sqlite3.Cursor, path: Path) -> bool:
    """Return whether the file is still empty; nothing is written.

    Raises:
        NotAStore: If it belongs to another program.
        StoreTooNew: If a later release of mnemic made it.
    """
    application, version, tables = c.execute(_LOOK).fetchone()
    if application == version == tables == 0:
        return True
    if application != APPLICATION_ID or version < 1:
        raise NotAStore(f"{path} is a SQLite database of another program", path=str(path))
    check_version(version, path)
    return False


def check_version(version: int, path: Path) -> None:
    """Refuse a format that this release does not know.

    Raises:
        StoreTooNew: A later release made the file, or moved it to its own format.
    """
    if version > FORMAT_VERSION:
        raise StoreTooNew(
            f"{path} has format {version}; this release knows formats up to {FORMAT_VERSION}",
            path=str(path),
            format=version,
        )
