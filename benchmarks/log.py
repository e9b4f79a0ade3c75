"""Measures the cost of the log relative to raw sqlite3, for writes and reads.

Targets, each as a ratio to raw sqlite3 in the same run:

* one durable append (event, payload, head, command) through the store: at most 1.35
* one durable ``learn``: at most 1.6; ``await learn``: at most 2.2
* 32 tasks that ``await learn``, each with a session handle of its own: at least 8 times as many a
  second as raw sqlite3 writes one by one
* replay of a whole log through the store, chain checked: at most 4
* opening a memory, that is every event decoded and folded: at most 8 times reading and parsing
* bytes of a learn or connect event: at most 350; of a decision: at most 700

Both sides write the same rows with ``synchronous=FULL``, alternating every hundred or so, so that a
busy disk slows both. Medians are compared: the mean of a durable write varies too much with the
disk.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TypeVar

import anyio
import orjson
from attrs import field, frozen

from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.kernel.events import BlockLearned, EdgeConnected, Recorded
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.ports import CommandRow, Log, PayloadRow, Record

T = TypeVar("T")

BODY_BYTES = 250
PAYLOAD_BYTES = 300
ROUND = 250
"""Appends of one side before the other continues."""
FETCHED = 512
"""Rows that the raw cursor fetches at once; more makes it no faster."""
CALLERS = 32
"""Tasks that learn at once."""
FIRST = 2
"""Events with which every memory begins."""
BULK = 10_000

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
RAW_EVENTS = """
    SELECT originator_version, topic, state FROM stored_events
    WHERE originator_id = '1' ORDER BY originator_version"""
RAW_PAYLOADS = """
    SELECT version, slot, payloads.id, key, owner, other, data FROM payloads
    JOIN contents ON contents.id = content WHERE space = 1 ORDER BY version, slot"""

Rows = tuple[Record, tuple[PayloadRow, ...], CommandRow | None]
"""The rows of one command."""
CONCURRENT = f"one of {CALLERS} concurrent learns"
SCALES = {"µs": 1e6, "s": 1.0}


@frozen
class Line:
    """One comparison."""

    what: str
    raw_s: float
    ours_s: float
    unit: str = field(default="µs", kw_only=True)

    @property
    def ratio(self) -> float:
        """Ours over raw."""
        return self.ours_s / self.raw_s

    def __str__(self) -> str:
        """Return a line of the table."""
        scale = SCALES[self.unit]
        raw, ours = (
            f"{self.raw_s * scale:.2f} {self.unit}",
            f"{self.ours_s * scale:.2f} {self.unit}",
        )
        return f"{self.what:30}{raw:>12}{ours:>12}{self.ratio:>8.2f}"


def generated(first: int, count: int) -> Iterator[Rows]:
    """Yield the rows of *count* commands, from version *first*; the same in every run."""
    for version in range(first, first + count):
        chance = Random(version)
        record = Record(version, "block-learned.1", b"{" + chance.randbytes(BODY_BYTES - 1))
        name = f"{chance.getrandbits(64):016x}"
        data = chance.randbytes(PAYLOAD_BYTES)
        payload = PayloadRow(version, 0, name, chance.randbytes(16), (name,), data)
        yield (
            record,
            (payload,),
            CommandRow(chance.randbytes(16).hex(), bytes(32), version, version),
        )


def sentences(first: int, count: int) -> list[str]:
    """Return *count* texts as an agent might note them, no two alike."""
    words = "the build of branch is green again after we moved cache out and pinned it".split()
    return [
        " ".join([f"Note {number}:", *Random(number).choices(words, k=18)])
        for number in range(first, first + count)
    ]


# --- appending ---


def raw_connection(path: Path) -> sqlite3.Connection:
    """Return a connection set up like those of the store."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
        connection.execute(f"PRAGMA {pragma}")
    connection.executescript(RAW_TABLES)
    return connection


def raw_append(connection: sqlite3.Connection, rows: Rows) -> None:
    """Write the rows of one command with plain SQL."""
    record, payloads, command = rows
    version = record.version
    state = bytes(32) + record.body  # as long as with a digest
    run = connection.execute
    run("BEGIN IMMEDIATE")
    run("INSERT INTO events VALUES ('1', ?, ?, ?)", (version, record.topic, state))
    for row in payloads:
        run(
            "INSERT INTO payloads VALUES ('1', ?, ?, ?, ?, ?, NULL, ?)",
            (version, row.slot, row.id, row.key, row.owners[0], row.data),
        )
    run("UPDATE heads SET version = ?, digest = ? WHERE stream = '1'", (version, bytes(32)))
    if command is not None:
        run(
            "INSERT INTO commands VALUES ('1', ?, ?, ?, ?)",
            (command.id, command.request, version, version),
        )
    run("COMMIT")


class Writer:
    """Writes commands the way a host does: under the write lock, after the head that it knows."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._head = log.head()

    def append(self, rows: Rows) -> None:
        """Write one command."""
        record, payloads, command = rows
        with self._log.write_lock():
            self._head = self._log.append(
                (record,),
                payloads,
                after=self._head,
                commands=() if command is None else (command,),
            )


def timed(run: Callable[[T], object], tasks: Iterable[T]) -> list[float]:
    """Return the seconds of each task."""
    marks = [time.perf_counter()]
    for task in tasks:
        run(task)
        marks.append(time.perf_counter())
    return [after - before for before, after in pairwise(marks)]


def compare_appends(folder: Path, rounds: int) -> Line:
    """Compare the median durable append through the store."""
    raw_s: list[float] = []
    ours_s: list[float] = []
    with (
        closing(raw_connection(folder / "raw-append.db")) as connection,
        closing(SQLiteStore(folder / "append.db")) as store,
    ):
        raw, ours = partial(raw_append, connection), Writer(store.log("home")).append
        for first in range(0, rounds * ROUND, ROUND):
            rows = list(generated(first, ROUND))
            raw_s += timed(raw, rows)
            ours_s += timed(ours, rows)
    return Line("durable append", statistics.median(raw_s), statistics.median(ours_s))


def written_since(log: Log, version: int) -> list[Rows]:
    """Return the rows that *log* wrote after *version*."""
    return [(record, payloads, None) for record, payloads in log.read(version)]


def compare_learns(folder: Path, rounds: int) -> Line:
    """Compare the median durable learn, each against the rows that it wrote."""
    raw_s: list[float] = []
    ours_s: list[float] = []
    with (
        closing(raw_connection(folder / "raw-learn.db")) as connection,
        closing(SQLiteStore(folder / "learn.db")) as store,
        SyncMemory.open(store) as memory,
    ):
        log = store.log("default")
        for first in range(0, rounds * ROUND, ROUND):
            head = log.head().version
            ours_s += timed(memory.learn, sentences(first, ROUND))
            raw_s += timed(partial(raw_append, connection), written_since(log, head))
    return Line("durable learn", statistics.median(raw_s), statistics.median(ours_s))


async def compare_async_learns(folder: Path, rounds: int) -> Line:
    """Compare the median durable learn of an async host."""
    raw_s: list[float] = []
    ours_s: list[float] = []
    with (
        closing(raw_connection(folder / "raw-async.db")) as connection,
        closing(SQLiteStore(folder / "async.db")) as store,
    ):
        log = store.log("default")
        async with Memory.open(store) as memory:
            for first in range(0, rounds * ROUND, ROUND):
                head = log.head().version
                for text in sentences(first, ROUND):
                    start = time.perf_counter()
                    await memory.learn(text)
                    ours_s.append(time.perf_counter() - start)
                raw_s += timed(partial(raw_append, connection), written_since(log, head))
    return Line("durable await learn", statistics.median(raw_s), statistics.median(ours_s))


async def compare_concurrent_learns(folder: Path, rounds: int) -> Line:
    """Compare the time of a durable learn where many tasks learn, with that of one raw append.

    Ours is the time from the first to the last of a round over the number of learns.
    """
    raw_s: list[float] = []
    ours_s: list[float] = []
    with (
        closing(raw_connection(folder / "raw-concurrent.db")) as connection,
        closing(SQLiteStore(folder / "concurrent.db")) as store,
    ):
        log = store.log("default")
        async with Memory.open(store) as memory:
            handles = [
                await memory.session_handle(actor=f"agent {place}") for place in range(CALLERS)
            ]

            async def learn(place: int, texts: list[str]) -> None:
                for text in texts[place::CALLERS]:
                    await handles[place].learn(text)

            for first in range(0, rounds * ROUND, ROUND):
                head, texts = log.head().version, sentences(first, ROUND)
                start = time.perf_counter()
                async with anyio.create_task_group() as tasks:
                    for place in range(CALLERS):
                        tasks.start_soon(learn, place, texts)
                ours_s.append((time.perf_counter() - start) / ROUND)
                raw_s += timed(partial(raw_append, connection), written_since(log, head))
    return Line(CONCURRENT, statistics.median(raw_s), statistics.median(ours_s))


# --- replaying ---


def recorded(version: int) -> Recorded:
    """Return a valid event for *version*: learns and connects by turns."""
    event: BlockLearned | EdgeConnected
    block = BlockId(f"{version:016x}")
    if version % 2 == 0 or version < FIRST + 2:
        event = BlockLearned(
            block_id=block, text=BlockText(content=sentences(version, 1)[0], of=(block,))
        )
    else:
        source, target = (BlockId(f"{version - back:016x}") for back in (1, 3))
        event = EdgeConnected(
            source=source, target=target, relation="supports", weight=750_000_000, action="created"
        )
    return Recorded(
        version=version,
        active_us=version * 1000,
        recorded_us=1_750_000_000_000_000 + version * 1000,
        command_id=CommandId(f"{version:016x}"),
        event=event,
    )


def fill(path: Path, events: int) -> None:
    """Write a log of *events*, the first two as a memory begins."""
    SyncMemory.open(path, synchronous="normal").close()
    codec = Codec(SystemEntropy())
    with closing(SQLiteStore(path, synchronous="normal")) as store:
        log = store.log("default")
        for first in range(FIRST, events, BULK):
            encoded = [
                codec.encode(recorded(version))
                for version in range(first, min(first + BULK, events))
            ]
            log.append(
                [record for record, _ in encoded],
                [row for _, rows in encoded for row in rows],
                after=log.head(),
            )


def raw_replay(path: Path, *, parse: bool = False) -> int:
    """Fetch all events and payloads in order, and with *parse* the JSON that they hold."""
    count = 0
    with closing(sqlite3.connect(path)) as connection:
        for query, skip in ((RAW_EVENTS, 32), (RAW_PAYLOADS, 0)):
            cursor = connection.execute(query)
            while rows := cursor.fetchmany(FETCHED):
                count += len(rows)
                if parse:
                    for row in rows:
                        if row[-1][skip : skip + 1] == b"{":  # the salt is no JSON
                            orjson.loads(row[-1][skip:])
    return count


def replay(path: Path) -> int:
    """Read the log through the store, the chain checked."""
    with closing(SQLiteStore(path, read_only=True)) as store:
        return sum(1 + len(payloads) for _, payloads in store.log("default").read())


def seconds_to_open(path: Path, events: int) -> float:
    """Return how long it takes to decode and fold the log, the better of two.

    The time to release a folded state is not counted.
    """
    found = []
    for _ in range(2):
        start = time.perf_counter()
        memory = SyncMemory.open(path, read_only=True)
        found.append(time.perf_counter() - start)
        assert memory.status().version + 1 == events
        memory.close()
    return min(found)


def seconds_of(run: Callable[[Path], object], path: Path) -> float:
    """Return how long *run* takes, the better of two."""
    return min(timed(run, [path, path]))


def compare_replays(folder: Path, events: int) -> Iterator[Line]:
    """Compare reading a long log, and opening a memory on it."""
    path = folder / "replay.db"
    fill(path, events)
    assert raw_replay(path) == replay(path)
    raw_s, ours_s = seconds_of(raw_replay, path), seconds_of(replay, path)
    yield Line(f"replay of {events:,} events", raw_s, ours_s, unit="s")
    raw_s = seconds_of(partial(raw_replay, parse=True), path)
    yield Line("the same, parsed or folded", raw_s, seconds_to_open(path, events), unit="s")


# --- sizes ---


def print_sizes(folder: Path) -> None:
    """Print the mean bytes of an event of each kind, after a working day."""
    path = folder / "day.db"
    with (
        SyncMemory.open(path, embedder=HashEmbedder(256), synchronous="normal") as memory,
        memory.session(),
    ):
        ids = [memory.learn(text).block_id for text in sentences(0, 300)]
        for source, target in pairwise(ids[::10]):
            memory.connect(source, target, "supports", note="one follows from the other")
        for query in sentences(1000, 30):
            memory.recall(query)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT topic, avg(length(originator_id) + length(originator_version) + length(topic) "
            "+ length(state)), count(*) FROM stored_events GROUP BY topic ORDER BY topic"
        ).fetchall()
    print(f"\n{'event':30}{'mean bytes':>12}{'events':>12}")
    for topic, size, count in rows:
        print(f"{topic:30}{size:>12,.0f}{count:>12,}")


def compared(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """Compare everything, one after the other."""
    yield compare_appends(folder, options.rounds)
    yield compare_learns(folder, options.rounds)
    yield anyio.run(compare_async_learns, folder, options.rounds)
    yield anyio.run(compare_concurrent_learns, folder, options.rounds)
    yield from compare_replays(folder, options.events)


def main() -> None:
    """Run all comparisons in a temporary folder."""
    parser = argparse.ArgumentParser(description="The log against raw sqlite3.")
    parser.add_argument("--rounds", type=int, default=8, help=f"of {ROUND} durable writes each")
    parser.add_argument("--events", type=int, default=200_000, help="length of the replayed log")
    parser.add_argument("--json", type=Path, help="write the ratios here, too")
    options = parser.parse_args()
    print(f"{'':30}{'raw sqlite3':>12}{'mnemic':>12}{'ratio':>8}")
    found = []
    with tempfile.TemporaryDirectory() as name:
        for line in compared(Path(name), options):
            print(line, flush=True)
            found.append({"what": line.what, "value": line.ratio, "unit": "times"})
            if line.what == CONCURRENT:
                faster = {"what": "32 learns, faster", "value": 1 / line.ratio, "unit": "times"}
                found.append(faster)
        print_sizes(Path(name))
    if options.json is not None:
        options.json.write_text(json.dumps({"found": found}, indent=2))


if __name__ == "__main__":
    main()
