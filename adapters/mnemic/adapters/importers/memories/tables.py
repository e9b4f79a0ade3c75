"""SQLite files of other programs, read without a change and row by row."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from mnemic.adapters.importers.parsed_items import InputRefused, InputUnreadable

Row = dict[str, Any]
_HEADER: Final = 100
"""Bytes of the header of a SQLite file: page size at 16, number of pages at 28."""
_LARGEST_PAGE: Final = 65_536
"""The page size that is written as 1."""


class Tables:
    """The tables of an open file, with errors that name the table and the row."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    def names(self) -> list[str]:
        """Return the names of the tables."""
        rows = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return [name for (name,) in rows.fetchall()]

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the names of a table's columns; none if there is no such table."""
        try:
            rows = self._connection.execute(f'PRAGMA table_info("{table}")').fetchall()
        except sqlite3.Error as error:
            raise self._damaged(table, 0, error) from error
        return tuple(row[1] for row in rows)

    def rows(
        self, table: str, needed: Collection[str], *, order: str = "rowid"
    ) -> Iterator[tuple[str, Row]]:
        """Yield the rows of a table, each with its place.

        Args:
            table: The table.
            needed: Columns that it must have; the row has all others too.
            order: SQL to order by, which is part of this program.

        Raises:
            InputRefused: The table or a column is missing, or the file is damaged.
        """
        known = self.columns(table)
        missing = sorted({*needed} - {*known})
        if missing:
            what = f"columns {', '.join(missing)} in table {table}" if known else f"table {table}"
            raise InputRefused(
                f"{self._path} has no {what}",
                recovery="It is of another kind, or of a version that is not known: see "
                "docs/how-to/importing-memories.md.",
            )
        count = 0
        try:
            cursor = self._connection.execute(f'SELECT * FROM "{table}" ORDER BY {order}')  # noqa: S608
            for count, values in enumerate(cursor, start=1):
                yield (
                    f"{self._path.name}: {table} row {count}",
                    dict(zip(known, values, strict=True)),
                )
        except sqlite3.Error as error:
            raise self._damaged(table, count + 1, error) from error

    def _damaged(self, table: str, row: int, error: Exception) -> InputRefused:
        return InputRefused(
            f"{self._path} cannot be read: table {table}, row {row}: {error}",
            recovery="The file is damaged or incomplete: copy it again while its program is "
            "stopped, or repair it with `sqlite3 FILE .recover`.",
        )


@contextmanager
def tables(path: Path) -> Generator[Tables]:
    """Open a SQLite file for reading, for a ``with`` block.

    Raises:
        InputUnreadable: There is no such file.
        InputRefused: It is not a SQLite file.
    """
    if not is_sqlite(path):
        raise InputRefused(
            f"{path} is not a SQLite file", recovery="Name the database file of the program."
        )
    _check_whole(path)
    # A copy of a live database may need its write-ahead log, which only a writer can apply.
    mode = "ro" if path.with_name(f"{path.name}-wal").exists() else "ro&immutable=1"
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        connection.text_factory = lambda text: text.decode(errors="replace")
        yield Tables(path, connection)


def _check_whole(path: Path) -> None:
    """Refuse a file that is shorter than its header says: SQLite reads it and loses rows."""
    with path.open("rb") as file:
        header = file.read(_HEADER)
    size = path.stat().st_size
    page_size = int.from_bytes(header[16:18], "big")
    whole = (_LARGEST_PAGE if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
    if len(header) < _HEADER or size < whole:
        raise InputRefused(
            f"{path} is cut off: it has {size} bytes of {max(whole, _HEADER)}",
            recovery="Copy it again while its program is stopped.",
        )


def is_sqlite(path: Path) -> bool:
    """Whether a file begins as SQLite files do.

    Raises:
        InputUnreadable: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError as error:
        raise InputUnreadable(f"cannot read {path}: {error.strerror}", path=str(path)) from error


def table_columns(path: Path) -> Mapping[str, frozenset[str]]:
    """Return the columns of each table of a file; none if it is no SQLite file or damaged."""
    try:
        if not is_sqlite(path):
            return {}
        with tables(path) as found:
            return {name: frozenset(found.columns(name)) for name in found.names()}
    except (sqlite3.Error, InputRefused):
        return {}
