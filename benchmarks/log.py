"""What does the log cost above raw sqlite3, to write and to read?

Targets, each as a ratio to raw sqlite3 in the same run:

* one durable append (event, payload, head, command) through the store: at most 1.35
* replay of a whole log through the store, chain checked: at most 4
* one durable ``learn``: at most 2, async at most 3; 1M events decoded and folded: at most 8
  (the kernel's part, see the mark below)

Both sides write the same rows with ``synchronous=FULL`` in turns of some hundred appends, so that
a busy disk slows both. Medians are compared: the mean of a durable write is the disk's mood.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from random import Random

from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.ports import CommandRow, Log, PayloadRow, Record

BODY_BYTES = 250
PAYLOAD_BYTES = 300
ROUND = 250
"""Appends of one side before it is the other's turn."""
FETCHED = 512
"""Rows that the raw cursor fetches at once; more makes it no faster."""

RAW_TABLES = """
    CREATE TABLE events (stream TEXT, version INTEGER, topic TEXT, state BLOB,
        PRIMARY KEY (stream, version)) WITHOUT ROWID;
    CREATE TABLE payloads (stream TEXT, version INTEGER, slot INTEGER, id TEXT, key BLOB,
        owner TEXT, other TEXT, data BLOB, PRIMARY KEY (stream, version, slot)) WITHOUT ROWID;
    CREATE TABLE heads (stream TEXT PRIMARY KEY, version INTEGER, digest BLOB);
    CREATE TABLE commands (stream TEXT, id TEXT, request BLOB, first INTEGER, last INTEGER,
        PRIMARY KEY (stream, id)) WITHOUT ROWID;
    INSERT INTO heads VALUES ('1', -1, zeroblob(32));
"""

Rows = tuple[Record, PayloadRow, CommandRow]
Append = Callable[[Rows], None]


def generated(first: int, count: int) -> Iterator[Rows]:
    """Yield what *count* commands write, from version *first*; the same in every run."""
    for version in range(first, first + count):
        chance = Random(version)
        record = Record(version, "block-learned.1", b"{" + chance.randbytes(BODY_BYTES - 1))
        name = f"{chance.getrandbits(64):016x}"
        data = chance.randbytes(PAYLOAD_BYTES)
        payload = PayloadRow(version, 0, name, chance.randbytes(32), (name,), data)
        yield record, payload, CommandRow(chance.randbytes(16).hex(), bytes(32), version, version)


# --- appending ---


def raw_connection(path: Path) -> sqlite3.Connection:
    """Return a connection set up like those of the store."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
        connection.execute(f"PRAGMA {pragma}")
    connection.executescript(RAW_TABLES)
    return connection


def raw_append(connection: sqlite3.Connection, rows: Rows) -> None:
    """Write the four rows of one command as plainly as it can be done."""
    record, payload, command = rows
    version = record.version
    state = command.request + record.body  # as long as with a digest
    owner, data = payload.owners[0], payload.data
    run = connection.execute
    run("BEGIN IMMEDIATE")
    run("INSERT INTO events VALUES ('1', ?, ?, ?)", (version, record.topic, state))
    run(
        "INSERT INTO payloads VALUES ('1', ?, 0, ?, ?, ?, NULL, ?)",
        (version, payload.id, payload.key, owner, data),
    )
    run("UPDATE heads SET version = ?, digest = ? WHERE stream = '1'", (version, bytes(32)))
    run(
        "INSERT INTO commands VALUES ('1', ?, ?, ?, ?)",
        (command.id, command.request, version, version),
    )
    run("COMMIT")


def append(log: Log, rows: Rows) -> None:
    """Write one command the way a host does: with its turn, from the head."""
    record, payload, command = rows
    with log.writing():
        log.append((record,), (payload,), command=command)


def timed(write: Append, rows: list[Rows]) -> list[float]:
    """Return the seconds of each append."""
    marks = [time.perf_counter()]
    for each in rows:
        write(each)
        marks.append(time.perf_counter())
    return [after - before for before, after in pairwise(marks)]


def compare_appends(folder: Path, appends: int) -> None:
    """Print the median durable append of both sides."""
    raw_s: list[float] = []
    ours_s: list[float] = []
    with (
        closing(raw_connection(folder / "raw.db")) as connection,
        closing(SQLiteStore(folder / "ours.db")) as store,
    ):
        log = store.log("home")
        for first in range(0, appends, ROUND):
            rows = list(generated(first, ROUND))
            raw_s += timed(lambda each: raw_append(connection, each), rows)
            ours_s += timed(lambda each: append(log, each), rows)
    report("durable append", statistics.median(raw_s), statistics.median(ours_s), unit="µs")


# --- replaying ---


def fill(path: Path, events: int) -> None:
    """Write a log in which every other record has a payload."""
    with closing(SQLiteStore(path, synchronous="normal")) as store:
        log = store.log("home")
        for first in range(0, events, 10_000):
            rows = list(generated(first, min(10_000, events - first)))
            log.append(
                [record for record, _, _ in rows],
                [payload for _, payload, _ in rows if payload.version % 2 == 0],
            )


def drain(cursor: sqlite3.Cursor) -> int:
    """Fetch everything and return how much it was."""
    count = 0
    while rows := cursor.fetchmany(FETCHED):
        count += len(rows)
    return count


def raw_replay(path: Path) -> int:
    """Fetch the rows of events and of payloads in order, and do nothing with them."""
    with closing(sqlite3.connect(path)) as connection:
        return drain(
            connection.execute(
                "SELECT originator_version, topic, state FROM stored_events "
                "WHERE originator_id = '1' ORDER BY originator_version"
            )
        ) + drain(
            connection.execute(
                "SELECT version, slot, payloads.id, key, owner, other, data FROM payloads "
                "JOIN contents ON contents.id = content WHERE space = 1 ORDER BY version, slot"
            )
        )


def replay(path: Path) -> int:
    """Read the log through the store, the chain checked."""
    with closing(SQLiteStore(path, read_only=True)) as store:
        return sum(1 + len(payloads) for _, payloads in store.log("home").read())


def compare_replays(folder: Path, events: int) -> None:
    """Print the best of three replays of both sides."""
    path = folder / "replay.db"
    fill(path, events)
    raw_s: list[float] = []
    ours_s: list[float] = []
    for _ in range(3):
        for seconds, run in ((raw_s, raw_replay), (ours_s, replay)):
            start = time.perf_counter()
            assert run(path) == events + (events + 1) // 2
            seconds.append(time.perf_counter() - start)
    report(f"replay of {events:,} events", min(raw_s), min(ours_s), unit="s")
    print(f"{'':30}{events / min(ours_s):>12,.0f} events/s")
    print(f"{'bytes per event, all tables':30}{path.stat().st_size / events:>12,.0f} B")


# --- the kernel's part ---
# Place for learn, async learn, decode and fold, and bytes per event, as soon as there is a Memory.


def report(what: str, raw_s: float, ours_s: float, *, unit: str) -> None:
    """Print one line of the table."""
    scale = {"µs": 1e6, "s": 1.0}[unit]
    raw, ours = f"{raw_s * scale:.2f} {unit}", f"{ours_s * scale:.2f} {unit}"
    print(f"{what:30}{raw:>12}{ours:>12}{ours_s / raw_s:>8.2f}")


def main() -> None:
    """Run both comparisons in a temporary folder."""
    parser = argparse.ArgumentParser(description="The log against raw sqlite3.")
    parser.add_argument("--appends", type=int, default=2000, help="durable appends of each side")
    parser.add_argument("--events", type=int, default=200_000, help="length of the replayed log")
    options = parser.parse_args()
    print(f"{'':30}{'raw sqlite3':>12}{'mnemic':>12}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        compare_appends(Path(folder), options.appends)
        compare_replays(Path(folder), options.events)


if __name__ == "__main__":
    main()
