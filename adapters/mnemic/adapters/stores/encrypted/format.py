"""The format of a key file: its tables, and the marks in its header."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from mnemic.kernel.errors import NotAStore, StoreTooNew

APPLICATION_ID = int.from_bytes(b"mnky", "big")
FORMAT_VERSION = 1
HEADER_BYTES = 100
"""Source: sqlite.org/fileformat.html, section 1.3."""
MAGIC = b"SQLite format 3\0"

STATEMENTS = (
    "PRAGMA journal_mode = WAL",  # recorded in the file
    """CREATE TABLE spaces (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        genesis BLOB NOT NULL)""",
    """CREATE TABLE secrets (
        id INTEGER PRIMARY KEY,
        secret BLOB NOT NULL)""",
    """CREATE TABLE keys (
        id INTEGER PRIMARY KEY,
        name BLOB NOT NULL UNIQUE,
        space INTEGER NOT NULL,
        owner TEXT NOT NULL)""",
    "CREATE INDEX keys_of_owners ON keys (space, owner)",
    """CREATE TABLE erasures (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        space INTEGER NOT NULL,
        is_whole INTEGER NOT NULL,
        done INTEGER NOT NULL)""",  # position among all that are fulfilled, from 1; 0: not yet
    "CREATE INDEX erasures_by_end ON erasures (done)",
    """CREATE TABLE doomed (
        key INTEGER NOT NULL,
        erasure INTEGER NOT NULL,
        PRIMARY KEY (key, erasure)) WITHOUT ROWID""",
    "CREATE INDEX doomed_of_erasures ON doomed (erasure)",
    """CREATE TABLE accounts (
        erasure INTEGER NOT NULL,
        version INTEGER NOT NULL,
        digest BLOB NOT NULL)""",
    "CREATE INDEX accounts_of_erasures ON accounts (erasure)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT_VERSION}",
)
"""Statements that initialise an empty file; all but the first work in memory too."""


def is_key_file(path: Path) -> bool:
    """Return whether a file has the header of a key file, without opening it as a database."""
    try:
        with path.open("rb") as opened:
            header = opened.read(HEADER_BYTES)
    except OSError:
        return False
    return header.startswith(MAGIC) and int.from_bytes(header[68:72], "big") == APPLICATION_ID


def not_a_key_file(path: Path) -> NotAStore:
    """Return the error for a file that another program made."""
    return NotAStore(
        f"{path} is not a key file",
        recovery="Give the path of the key file, or one at which no file exists yet.",
        path=str(path),
    )


def check_format(c: sqlite3.Cursor, path: Path) -> None:
    """Refuse a file of another program, or of a later release.

    Raises:
        NotAStore: Another program made it.
        StoreTooNew: A later release made it.
    """
    application: int = c.execute("PRAGMA application_id").fetchone()[0]
    version: int = c.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID or version < 1:
        raise not_a_key_file(path)
    if version > FORMAT_VERSION:
        raise StoreTooNew(
            f"{path} has format {version}; this release knows formats up to {FORMAT_VERSION}",
            path=str(path),
            format=version,
        )
