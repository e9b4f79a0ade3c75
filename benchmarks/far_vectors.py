"""Measures the cost and the saving of keeping the vectors of a space on a PostgreSQL server.

For one space, in three variants, each in a process of its own: with the vectors in the process, and
on the server, with pgvector and without.

* memory of the process once the space is open, beyond one that has only imported everything
* time of a recall, without embedding and not recorded, now and as of the middle of the log
* time of ``consolidate`` of 50 new blocks
* time to open, which folds the log

Answers are compared: they have to be the same to the last digit. Ratios are to the first column.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from postgres_vectors import encoded, served

from mnemic.adapters.codec import Codec
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.vector_payloads import Embeddings
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.events import BlocksPromoted, EmbedderAdopted, EmbedderIdentity, Promotion
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import Embedding
from mnemic.kernel.model.vectors import pack, quantise

WAYS: Final = ("process", "pgvector", "bytea")
CHUNK: Final = 128
"""Blocks that one event promotes."""
LESSONS: Final = 1_000
FRESH: Final = 50
TOPICS: Final = 200
WORDS: Final = 4_000
PATIENCE_S: Final = 3_600


class Drawn:
    """An embedder that draws a vector for each text, near to others of its topic."""

    def __init__(self, dimension: int) -> None:
        self.identity = EmbedderIdentity(name="drawn", dimension=dimension)
        self._topics = np.random.default_rng(9).normal(size=(TOPICS, dimension))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a row for each of *texts*."""
        seeds = [int.from_bytes(sha256(text.encode()).digest()[:8]) for text in texts]
        size = self.identity.dimension
        return np.stack(
            [
                self._topics[seed % TOPICS] + np.random.default_rng(seed).normal(size=size)
                for seed in seeds
            ]
        )


def main() -> None:
    """Measure each variant in a process of its own, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=20, help="of each question")
    parser.add_argument("--address", help="of a server; one of its own unless given")
    parser.add_argument("--way", choices=WAYS, help="measure this one, here")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    options = parser.parse_args()
    if options.way is not None:
        print(json.dumps(measured(options)))
        return
    found: dict[str, dict[str, Any]] = {}
    with served(options.address) as address:
        for way in WAYS:
            own = f"{address}{'&' if '?' in address else '?'}schema=far_{way}"
            filled(own, options, pgvector=way != "bytea")
            found[way] = asked_of(own, way, options)
    assert len({each.pop("answers") for each in found.values()}) == 1, "answers differ"
    shown(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


def shown(found: dict[str, dict[str, Any]]) -> None:
    """Print a line for each measure, with ratios to the first variant."""
    first = next(iter(found.values()))
    print(f"{'':34}" + "".join(f"{way:>22}" for way in found))
    for name, base in first.items():
        cells = [f"{each[name]:,.1f} ({each[name] / base:.2f}x)" for each in found.values()]
        print(f"{name:34}" + "".join(f"{cell:>22}" for cell in cells))


def asked_of(address: str, way: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the measurements of one variant, made in a child process."""
    command = [sys.executable, __file__, "--way", way, "--address", address]
    for name in ("blocks", "dimension", "rounds"):
        command += [f"--{name}", str(getattr(options, name))]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=PATIENCE_S)  # noqa: S603
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def opened_store(address: str, *, pgvector: bool) -> PostgresStore:
    """Return the store, opened with vectors on the server."""
    recogniser = Embeddings(Codec(SeededEntropy("bench")))
    return PostgresStore(address, synchronous="normal", recogniser=recogniser, pgvector=pgvector)


def filled(address: str, options: argparse.Namespace, *, pgvector: bool) -> None:
    """Learn and promote the blocks, without searching for edges."""
    embedder, codec = Drawn(options.dimension), Codec(SeededEntropy("promoted"))
    with closing(opened_store(address, pgvector=pgvector)) as store:
        ids, texts = _learned(store, options.blocks)
        log = store.log("default")
        version = log.head().version + 1
        log.append([encoded(codec, version, EmbedderAdopted(embedder=embedder.identity))[0]], [])
        for first in range(0, len(ids), CHUNK):
            some = slice(first, first + CHUNK)
            version += 1
            promotions = tuple(
                Promotion(
                    block_id=block,
                    vector=Embedding(
                        of=(block,), packed=pack(quantise(row, dimension=options.dimension))
                    ),
                )
                for block, row in zip(ids[some], embedder.embed(texts[some]), strict=True)
            )
            record, payloads = encoded(codec, version, BlocksPromoted(promotions=promotions))
            log.append([record], payloads)
        with store.recorder.datastore.lent() as connection:
            connection.execute(b"ANALYZE")


def _learned(store: PostgresStore, blocks: int) -> tuple[list[BlockId], list[str]]:
    texts = [sentence(number) for number in range(blocks)]
    ids: list[BlockId] = []
    with SyncMemory.open(
        store, clock=ManualClock(), entropy=SeededEntropy("learned"), embedder=Drawn(8)
    ) as memory:
        for first in range(0, blocks, LESSONS):
            learned = memory.learn_many(texts[first : first + LESSONS])
            ids += [each.block_id for each in learned.results]
    return ids, texts


def sentence(number: int) -> str:
    """Return the synthetic sentence of a number, the same every time."""
    chance = np.random.default_rng(number)
    words = (WORDS * chance.random(9) ** 3).astype(int)
    return f"Note {number}: " + " ".join(f"word{word}" for word in words.tolist())


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Return the measurements of one variant."""
    embedder = Drawn(options.dimension)
    questions = [sentence(10**7 + number) for number in range(options.rounds)]
    known = {text: embedder.embed([text])[0] for text in questions}
    embedder.embed = lambda texts: np.stack([known[text] for text in texts])  # type: ignore[method-assign]
    found: dict[str, Any] = {}
    with closing(opened_store(options.address, pgvector=options.way != "bytea")) as store:
        before, start = held_mb(), time.perf_counter()
        vectors = "process" if options.way == "process" else "server"
        with SyncMemory.open(
            store,
            embedder=embedder,
            clock=ManualClock(),
            entropy=SeededEntropy("asked"),
            vectors=vectors,  # type: ignore[arg-type]
        ) as memory:
            found["opened, folding the log (s)"] = time.perf_counter() - start
            memory.recall(questions[0], record=False)
            gc.collect()
            found["held, once it is open (MB)"] = held_mb() - before
            answers: list[Any] = []
            middle = memory.as_of(version=memory.status().version - options.blocks // CHUNK // 2)
            for name, ask in (
                ("a recall (ms)", lambda text: memory.recall(text, record=False)),
                ("a recall as of the middle (ms)", middle.recall),
            ):
                found[name] = 1e3 * median(questions, ask, answers)
            fresh = [sentence(10**8 + number) for number in range(FRESH)]
            known |= zip(fresh, Drawn(options.dimension).embed(fresh), strict=True)
            memory.learn_many(fresh)
            start = time.perf_counter()
            answers.append(memory.consolidate())
            found[f"consolidate of {FRESH} (ms)"] = 1e3 * (time.perf_counter() - start)
            found["held, at the end (MB)"] = held_mb() - before
    return found | {"answers": digest(answers)}


def median(questions: Sequence[str], ask: Callable[[str], Any], answers: list[Any]) -> float:
    """Return the median time of a question, in seconds, and append the answers to *answers*."""
    times: list[float] = []
    for question in questions:
        start = time.perf_counter()
        answers.append(ask(question))
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def digest(answers: Sequence[Any]) -> str:
    """Return a digest of all answers."""
    return sha256(json.dumps([each.to_dict() for each in answers]).encode()).hexdigest()


def held_mb() -> float:
    """Return the current resident memory of this process, in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1e3


if __name__ == "__main__":
    main()
