"""Measures the cost of encryption: the same operations with keys and without.

Targets, each as a ratio to the same work without keys, in the same run:

* one durable ``learn``: at most 4 (its own key is on the disk before the text is)
* one durable recorded recall: at most 1.5 (its text is encrypted under the key of the space)
* ``learn_many`` of 100: at most 3
* opening, all of the log decrypted and folded, without checkpoints: at most 2
* one ``erase``: at most 2

Both sides alternate, so that a busy disk slows both. Medians are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

from attrs import asdict, frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory

WORDS = [
    f"{a}{b}" for a in "amber birch cedar delta ember".split() for b in "ridge fall mere".split()
]
WORDS_EACH = 40
BATCH = 100
GOALS = {"learn": 4.0, "recall": 1.5, "learn_many(100)": 3.0, "open": 2.0, "erase": 2.0}


@frozen(kw_only=True)
class Line:
    """One row of the table."""

    what: str
    plain_ms: float
    locked_ms: float
    goal: float

    @property
    def ratio(self) -> float:
        return round(self.locked_ms / self.plain_ms, 2)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=10_000, help="in the memory that is opened")
    parser.add_argument("--rounds", type=int, default=200, help="of each durable operation")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mnemic-keys-") as folder:
        lines = list(measured(Path(folder), blocks=options.blocks, rounds=options.rounds))
    print(f"{'':16}{'plain ms':>10}{'locked ms':>11}{'ratio':>8}{'goal':>6}")
    for line in lines:
        print(
            f"{line.what:16}{line.plain_ms:>10.3f}{line.locked_ms:>11.3f}{line.ratio:>8}"
            f"{line.goal:>6}"
        )
    if options.json is not None:
        rows = [asdict(line) | {"ratio": line.ratio} for line in lines]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def measured(folder: Path, *, blocks: int, rounds: int) -> Iterator[Line]:
    """Yield the times of each operation on both sides."""
    places: list[tuple[Path, Path | None]] = [
        (folder / "plain.db", None),
        (folder / "locked.db", folder / "locked.keys"),
    ]
    with ExitStack() as stack:
        both = [stack.enter_context(_opened(path, keys)) for path, keys in places]
        texts = _texts(Random(1))
        yield _line("learn", both, rounds, lambda memory, _: memory.learn(next(texts)))
        yield _line(
            "learn_many(100)",
            both,
            max(3, rounds // 20),
            lambda memory, _: memory.learn_many([next(texts) for _ in range(BATCH)]),
        )
        for memory in both:
            for _ in range(blocks // BATCH):
                memory.learn_many([next(texts) for _ in range(BATCH)])
            memory.consolidate()
        yield _line("recall", both, rounds, lambda memory, _: memory.recall("amberfall cedarmere"))
    yield _opening(places)
    with ExitStack() as stack:
        both = [stack.enter_context(_opened(path, keys)) for path, keys in places]
        ids = [[block.id for block in memory.blocks(limit=10).items] for memory in both]
        gone = {id(memory): iter(known) for memory, known in zip(both, ids, strict=True)}
        yield _line("erase", both, 5, lambda memory, _: memory.erase(next(gone[id(memory)])))


def _opened(path: Path, keys: Path | None) -> SyncMemory:
    return SyncMemory.open(path, keys=keys, embedder=HashEmbedder(64), checkpoints=False)


def _line(
    what: str, both: list[SyncMemory], rounds: int, operation: Callable[[SyncMemory, int], object]
) -> Line:
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds):
        for memory, taken in zip(both, times, strict=True):
            begun = time.perf_counter()
            operation(memory, turn)
            taken.append(time.perf_counter() - begun)
    plain, locked = (statistics.median(taken) * 1000 for taken in times)
    return Line(what=what, plain_ms=plain, locked_ms=locked, goal=GOALS[what])


def _opening(places: list[tuple[Path, Path | None]]) -> Line:
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(5):
        for (path, keys), taken in zip(places, times, strict=True):
            begun = time.perf_counter()
            with _opened(path, keys):
                taken.append(time.perf_counter() - begun)
    plain, locked = (statistics.median(taken) * 1000 for taken in times)
    return Line(what="open", plain_ms=plain, locked_ms=locked, goal=GOALS["open"])


def _texts(chance: Random) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{' '.join(chance.choices(WORDS, k=WORDS_EACH))} {number}"


if __name__ == "__main__":
    main()
