"""Measures the recall and the speed of approximate search over graphs.

Sentences are the docstrings of the installed Python packages, embedded by the bundled model;
questions are sentences that are not among them. If more rows are wanted than there are sentences,
the others are synthetic: the first half of one sentence and the second half of another.
Of all vectors a share is alive, drawn at random or the newest ones. Each question is answered by
the graphs and by the exact search.

* ``recall@10``: of the ten nearest that are alive, how many are among the 64 that the graphs find.
  Target: .99 at every share alive.
* ``left over``: questions for which the graphs fell back to the exact search. They count as
  found, and their time is that of both.
* ``ratio``: the exact search's time over theirs, processor time, medians.

A million rows take some five minutes of one core and 3 GB. With ``--graphs`` the graphs are kept in
a folder, and the next run loads them from there.
"""

from __future__ import annotations

import argparse
import ast
import re
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import TypeVar

import numpy as np
from attrs import frozen
from rich.console import Console
from rich.table import Table
from scale import resident

from mnemic.adapters.ann.files import GraphFolder
from mnemic.adapters.ann.hnsw import HnswGraph
from mnemic.adapters.ann.library import obstacle
from mnemic.adapters.checkpoints.directory import CheckpointDirectory
from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.model.vectors import Vector, quantise
from mnemic.projections.retrieval.approximate_search import (
    DEEPEST,
    OVERFETCH,
    SHORTEST,
    Bools,
    Ints,
    Segment,
    Span,
    nearest,
    spans,
)
from mnemic.projections.vectors.index import VectorIndex

T = TypeVar("T")

ROWS = 100_000
QUESTIONS = 200
WANTED = 64
"""As many as ``Policy.candidates``."""
TOP = 10
SHARES = (0.01, 0.1, 0.5, 0.9)
WORDS_MIN, WORDS_MAX = 5, 60
SEED = 7
AT_ONCE = 20_000
"""Texts embedded in one go."""


@frozen(kw_only=True)
class Row:
    """Results of one share."""

    share: float
    alive: str
    found: float
    left_over: float
    exact_ms: float
    graphs_ms: float


def sentences(count: int) -> list[str]:
    """Return *count* real sentences, no two alike, in random order."""
    found: dict[str, None] = {}
    paths = [Path(sysconfig.get_path(name)) for name in ("purelib", "stdlib")]
    for path in paths:
        for file in sorted(path.rglob("*.py")):
            found.update(dict.fromkeys(_said(file)))
            if len(found) >= count:
                break
    drawn = list(found)[:count]
    chance = Random(SEED)
    chance.shuffle(drawn)
    made_up: dict[str, None] = {}
    while len(drawn) + len(made_up) < count:
        made_up[_crossed(chance.choice(drawn), chance.choice(drawn))] = None
    return [*made_up, *drawn]


def _crossed(one: str, other: str) -> str:
    first, second = one.split(), other.split()
    return " ".join(first[: len(first) // 2] + second[len(second) // 2 :])


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


def embedded(texts: list[str]) -> Iterator[Vector]:
    """Yield the vectors of texts."""
    embedder = BundledEmbedder()
    for start in range(0, len(texts), AT_ONCE):
        for row in embedder.embed(texts[start : start + AT_ONCE]):
            yield quantise(row, dimension=embedder.identity.dimension)


def graph_of(index: VectorIndex, span: Span, folder: GraphFolder | None) -> Segment:
    """Return a segment with its graph, loaded from *folder* if it is there."""
    rows = index.stretch(*span)
    place = None if folder is None else folder.place(span, rows)
    parts = None if folder is None or place is None else folder.read(place)
    if parts is not None:
        return Segment(span=span, graph=HnswGraph.restored(parts, rows))
    graph = HnswGraph.built(rows)
    if folder is not None and place is not None:
        folder.write(place, graph.parts())
    return Segment(span=span, graph=graph)


def asked(
    index: VectorIndex, segments: tuple[Segment, ...], questions: list[Vector], alive: Bools
) -> tuple[float, float, float, float]:
    """Return recall@10, the share left over, and the times of both searches, in milliseconds."""
    rows = np.flatnonzero(alive)
    ids = [f"{row:016x}" for row in range(index.rows)]
    count = max(SHORTEST, -(-OVERFETCH * WANTED * index.rows // len(rows)))
    hits, left, exact_ms, graphs_ms = 0, 0, [], []

    def exactly(question: Vector) -> Ints:
        return index.top(question, rows, TOP, ids=ids)[0]

    def by_graphs(question: Vector) -> Ints | None:
        if count > DEEPEST:
            return None
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


def measured(
    index: VectorIndex,
    segments: tuple[Segment, ...],
    questions: list[Vector],
    shares: Sequence[float],
) -> Iterator[Row]:
    """Yield a row per share and way of choosing the vectors that are alive."""
    chance = np.random.default_rng(SEED)
    for share in shares:
        least = int(index.rows * (1 - share))
        for name, alive in (
            ("drawn", chance.random(index.rows) < share),
            ("newest", np.arange(index.rows) >= least),
        ):
            found = asked(index, segments, questions, alive)
            yield Row(
                share=share,
                alive=name,
                found=found[0],
                left_over=found[1],
                exact_ms=found[2],
                graphs_ms=found[3],
            )


def covered(index: VectorIndex, folder: GraphFolder | None) -> tuple[Segment, ...]:
    """Return the graphs that an index should have, and print how long building them took."""
    before, start = resident(), time.process_time()
    segments = tuple(graph_of(index, span, folder) for span in spans(index.rows))
    took, taken = time.process_time() - start, resident() - before
    print(
        f"{len(segments)} graphs over {index.rows:,} rows: {taken / 1e6:,.0f} MB beside "
        f"{index.rows * index.dimension * 4 / 1e6:,.0f} MB of vectors, "
        f"{took:,.0f} s of the processor to build or to load"
    )
    return segments


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--rows", type=int, default=ROWS, help="how many vectors")
    add("--questions", type=int, default=QUESTIONS)
    add("--shares", type=float, nargs="+", default=SHARES, help="how many of them are alive")
    add("--graphs", type=Path, help="a folder where graphs are kept from run to run")
    wanted = parser.parse_args()
    if (trouble := obstacle()) is not None:
        raise SystemExit(f"skipped: {trouble}")
    texts = sentences(wanted.rows + wanted.questions)
    questions = list(embedded(texts[-wanted.questions :]))
    index = VectorIndex()
    for block, vector in enumerate(embedded(texts[: wanted.rows])):
        index.append(block, vector)
    segments = covered(index, kept(wanted.graphs))
    table = Table("alive", "which", "recall@10", "left over", "exact ms", "graphs ms", "ratio")
    for row in measured(index, segments, questions, wanted.shares):
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


def kept(path: Path | None) -> GraphFolder | None:
    """Return a folder of graphs, if one is named."""
    if path is None:
        return None
    checkpoint_directory = CheckpointDirectory(
        path=path,
        store=MemoryStore(),
        file=None,
        is_own=False,
        reads=True,
        writes=True,
        destroys=False,
    )
    return GraphFolder(checkpoint_directory, space="benchmark", genesis=b"")


if __name__ == "__main__":
    main()
