"""What do graphs over vectors miss, and what do they save?

Sentences are the docstrings of whatever Python packages are installed here, embedded by the bundled
model; questions are sentences that are not among them. Of all vectors a share is alive, drawn at
random or the newest ones. Each question goes through the graphs and through the exact search.

* ``recall@10``: of the ten nearest that are alive, how many are among the 64 that the graphs find.
  Target: .99 at every share alive.
* ``left over``: questions at which the graphs had to leave it to the exact search. They count as
  found, and their time is that of both.
* ``ratio``: the exact search's time over theirs, processor time, medians.
"""

from __future__ import annotations

import argparse
import ast
import re
import sysconfig
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import TypeVar

import numpy as np
from attrs import frozen
from rich.console import Console
from rich.table import Table

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.proximity.hnsw import HnswGraph
from mnemic.adapters.proximity.library import obstacle
from mnemic.kernel.vectors import Vector, quantise
from mnemic.projections.index import VectorIndex
from mnemic.projections.proximity import (
    OVERFETCH,
    SHORTEST,
    Bools,
    Ints,
    Segment,
    nearest,
    spans,
)

T = TypeVar("T")

ROWS = 100_000
QUESTIONS = 200
WANTED = 64
"""As many as ``Policy.candidates``."""
TOP = 10
SHARES = (0.01, 0.1, 0.5, 0.9)
WORDS_MIN, WORDS_MAX = 5, 60
SEED = 7


@frozen(kw_only=True)
class Row:
    """What came of one share."""

    share: float
    alive: str
    found: float
    left_over: float
    exact_ms: float
    graphs_ms: float


def sentences(count: int) -> list[str]:
    """Return so many sentences that people wrote, no two alike, in a drawn order."""
    found: dict[str, None] = {}
    paths = [Path(sysconfig.get_path(name)) for name in ("purelib", "stdlib")]
    for path in paths:
        for file in sorted(path.rglob("*.py")):
            found.update(dict.fromkeys(_said(file)))
            if len(found) >= count:
                break
    drawn = list(found)[:count]
    Random(SEED).shuffle(drawn)
    return drawn


def _said(file: Path) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            for sentence in re.split(r"(?<=[.!?])\s+|\n\s*\n", ast.get_docstring(node) or ""):
                words = sentence.split()
                if WORDS_MIN <= len(words) <= WORDS_MAX:
                    yield " ".join(words)


def embedded(texts: list[str]) -> list[Vector]:
    """Return the vectors of texts."""
    embedder = BundledEmbedder()
    rows = embedder.embed(texts)
    return [quantise(row, dimension=embedder.identity.dimension) for row in rows]


def asked(
    index: VectorIndex, segments: tuple[Segment, ...], questions: list[Vector], alive: Bools
) -> tuple[float, float, float, float]:
    """Return recall@10, the share left over, and what both ways took, in milliseconds."""
    rows = np.flatnonzero(alive)
    ids = [f"{row:016x}" for row in range(index.rows)]
    count = max(SHORTEST, -(-OVERFETCH * WANTED * index.rows // len(rows)))
    hits, left, exact_ms, graphs_ms = 0, 0, [], []

    def exactly(question: Vector) -> Ints:
        return index.top(question, rows, TOP, ids=ids)[0]

    def by_graphs(question: Vector) -> Ints | None:
        return nearest(
            index, segments, question, WANTED, count=count, counts=lambda found: alive[found]
        )

    for question in questions:
        best, exact = timed(partial(exactly, question))
        found, graphs = timed(partial(by_graphs, question))
        left += found is None
        hits += TOP if found is None else len(np.intersect1d(best, found))
        exact_ms.append(exact)
        graphs_ms.append(graphs + exact if found is None else graphs)
    asked_for = TOP * len(questions)
    return hits / asked_for, left / len(questions), median(exact_ms), median(graphs_ms)


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what *work* returns and its processor time, in milliseconds."""
    start = time.thread_time_ns()
    found = work()
    return found, (time.thread_time_ns() - start) / 1e6


def measured(rows: int, questions: int) -> Iterator[Row]:
    """Yield a row per share and kind of being alive."""
    vectors = embedded(sentences(rows + questions))
    index = VectorIndex()
    for block, vector in enumerate(vectors[:-questions]):
        index.append(block, vector)
    segments = tuple(
        Segment(span=span, graph=HnswGraph.built(index.stretch(*span)))
        for span in spans(index.rows)
    )
    chance = np.random.default_rng(SEED)
    for share in SHARES:
        least = int(index.rows * (1 - share))
        for name, alive in (
            ("drawn", chance.random(index.rows) < share),
            ("newest", np.arange(index.rows) >= least),
        ):
            found = asked(index, segments, vectors[-questions:], alive)
            yield Row(
                share=share,
                alive=name,
                found=found[0],
                left_over=found[1],
                exact_ms=found[2],
                graphs_ms=found[3],
            )


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    wanted = parser.parse_args()
    if (trouble := obstacle()) is not None:
        raise SystemExit(f"skipped: {trouble}")
    table = Table("alive", "which", "recall@10", "left over", "exact ms", "graphs ms", "ratio")
    for row in measured(wanted.rows, wanted.questions):
        table.add_row(
            f"{row.share:.0%}",
            row.alive,
            f"{row.found:.4f}",
            f"{row.left_over:.0%}",
            f"{row.exact_ms:.2f}",
            f"{row.graphs_ms:.2f}",
            f"{row.exact_ms / row.graphs_ms:.1f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
