"""One changed byte anywhere in the stored rows of a log is detected by ``verify``.

Bytes are changed in the rows, through SQL: SQLite's pages also hold free space and counters, which
are not part of a memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve, frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import LogCorrupt

pytestmark = pytest.mark.extended

TABLES = {
    "stored_events": ("originator_id", "originator_version", "topic", "state"),
    "payloads": ("space", "version", "slot", "id", "owner", "other", "content"),
    "contents": ("id", "key", "data"),
    "spaces": ("id", "version", "digest"),
}
"""All stored columns of a log except its lookup keys: its name, and the ids of commands."""
TEXTS = frozenset({"originator_id", "topic", "payloads.id", "owner", "other"})
READ = {"contents": "WHERE id IN (SELECT content FROM payloads)"}
"""An erased payload leaves a row of zeros behind, which is never referenced or read."""
INTEGER_BYTES = 8


@frozen
class Cell:
    """One value of one row."""

    table: str
    row: tuple[object, ...]
    """The whole row, which is found again by it."""
    column: str

    @property
    def value(self) -> object:
        return self.row[TABLES[self.table].index(self.column)]

    def stored(self) -> bytes:
        """Return the value as stored in a page."""
        match self.value:
            case int(number):
                return number.to_bytes(INTEGER_BYTES, "big", signed=True)
            case bytes(data):
                return data
            case _:
                return b""

    def changed(self, data: bytes) -> Cell:
        """Return the same cell with other bytes in it, of the same type."""
        value: object = data
        if isinstance(self.value, int):
            value = int.from_bytes(data, "big", signed=True)
        place = TABLES[self.table].index(self.column)
        return evolve(self, row=(*self.row[:place], value, *self.row[place + 1 :]))

    def replace(self, other: Cell, c: sqlite3.Connection) -> bool:
        """Write this cell in place of *other*; return False if the table cannot hold it."""
        columns = TABLES[self.table]
        found = " AND ".join(f"{name} IS {_taken(self.table, name)}" for name in columns)
        shape = _taken(self.table, self.column)
        statement = f"UPDATE {self.table} SET {self.column} = {shape} WHERE {found}"  # noqa: S608
        try:
            return c.execute(statement, (self.value, *other.row)).rowcount == 1
        except sqlite3.IntegrityError:
            return False


def _taken(table: str, column: str) -> str:
    """Return the SQL placeholder of a value: text as bytes, perhaps invalid Unicode."""
    is_text = not TEXTS.isdisjoint({column, f"{table}.{column}"})
    return "CAST(? AS TEXT)" if is_text else "?"


def _given(table: str, column: str) -> str:
    is_text = not TEXTS.isdisjoint({column, f"{table}.{column}"})
    return f"CAST({column} AS BLOB)" if is_text else column


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    host = {
        "clock": ManualClock(),
        "embedder": HashEmbedder(4),
        "entropy": SeededEntropy("bytes"),
        "synchronous": "normal",
    }
    with SyncMemory.open(path, **host) as memory:  # type: ignore[arg-type]
        memory.start_session()
        gate, crane = (
            memory.learn(content, author="Ann", tags=["harbour"]).block_id
            for content in ("the gate opens at six", "the crane needs oil")
        )
        memory.consolidate()
        memory.connect(gate, crane, "supports", note="both by the water")
        memory.recall("gate")
        memory.erase(crane)
    return path


@pytest.fixture
def rows(path: Path) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        yield connection


def cells(c: sqlite3.Connection, table: str) -> Iterator[Cell]:
    columns = ", ".join(_given(table, column) for column in TABLES[table])
    statement = f"SELECT {columns} FROM {table} {READ.get(table, '')}"  # noqa: S608
    for row in c.execute(statement).fetchall():
        yield from (Cell(table, row, column) for column in TABLES[table])


def is_found(memory: SyncMemory) -> bool:
    """Return whether ``verify`` finds damage."""
    try:
        return not memory.verify().sound
    except LogCorrupt:
        return True  # there is no log of this name any more


@pytest.mark.parametrize("table", TABLES)
def test_one_changed_byte_is_found(path: Path, rows: sqlite3.Connection, table: str) -> None:
    missed: list[tuple[Cell, int]] = []
    with SyncMemory.open(path, read_only=True) as memory:
        for cell in cells(rows, table):
            stored = cell.stored()
            for place, byte in enumerate(stored):
                flipped = bytes([byte ^ (1 << (place % 8))])
                changed = cell.changed(stored[:place] + flipped + stored[place + 1 :])
                if changed.replace(cell, rows):
                    missed += [] if is_found(memory) else [(cell, place)]
                    assert cell.replace(changed, rows)
        assert missed == []
        assert memory.verify().sound
