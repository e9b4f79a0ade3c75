"""Measures the cost of a recorded recall relative to SQLite's full-text search.

2,000 turns of real conversations (synthetic sentences, if there are none), and real questions.
Ours is the whole public ``recall``: search, graph, signals, answer, and the decision with its
effects durable in the log, inside an open session. Theirs is FTS5 over the same texts, any of the
question's words, ``bm25()`` order, ten rows, nothing written. A second query has the content words
only: FTS5 has no stop words, so they are removed beforehand. ``disk`` is one plain durable commit,
a lower bound for a recorded recall.

Targets, in the same run, without the time of the embedding, which is shown separately:

* a recall at most 3 times the median of FTS5, also while another process writes into each file:
  one that learns, so that each recall has something to promote, or one that also promotes
* ``consolidate`` of 2,000 blocks at most 2 s plus embedding
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

from attrs import define, frozen
from conversations import DATA, NoData, lessons, load
from numpy.typing import NDArray

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.ports import Embedder
from mnemic.projections.lexical import analysis

TOP_K = 10
WARM_UP = 10
"""Untimed questions at the start: the model loads, caches fill."""
MINE, THEIRS = "memory.db", "fts5.db"
WORD = re.compile(r"\w+")
SEARCH = "SELECT rowid, text FROM turns WHERE turns MATCH ? ORDER BY bm25(turns) LIMIT 10"


@frozen(kw_only=True)
class Input:
    """The texts to learn and the questions."""

    lessons: list[dict[str, Any]]
    questions: list[str]


@define
class Timed:
    """Embedder that measures its own time."""

    embedder: Embedder
    clock: Callable[[], float] = time.perf_counter
    """The clock of the measurement, in seconds."""
    seconds: float = 0.0

    @property
    def identity(self) -> EmbedderIdentity:
        """Return that of the embedder inside."""
        return self.embedder.identity

    def embed(self, texts: Sequence[str]) -> NDArray[Any]:
        """Return one row per text."""
        start = self.clock()
        rows = self.embedder.embed(texts)
        self.seconds += self.clock() - start
        return rows


@frozen(kw_only=True)
class Timing:
    """Seconds of each question."""

    ours: list[float]
    """Without embedding."""
    embedding: list[float]
    every: list[float]
    """Theirs, for every word of the question."""
    content: list[float]
    """Theirs, for the words that are no stop words."""
    disk: list[float]
    """One durable commit of some bytes, as plainly as SQLite can do it."""


# --- input ----------------------------------------------------------------------------------


def given(path: Path, blocks: int, questions: int) -> Input:
    """Return real turns and questions, or synthetic ones where there are none."""
    try:
        conversations = load(path)
    except NoData:
        return made_up(blocks, questions)
    turns = [
        lesson
        for conversation in conversations
        for lesson in lessons(conversation.id, conversation.turns)
    ]
    asked = [question.text for each in conversations for question in each.questions]
    Random(1).shuffle(asked)
    return Input(lessons=turns[:blocks], questions=asked[:questions])


def made_up(blocks: int, questions: int) -> Input:
    """Return sentences of synthetic words, some words common and most rare."""
    chance = Random(2)
    words = ["".join(chance.choices("abdegiklmnoprstu", k=6)) for _ in range(3000)]
    common = [1 / (place + 5) for place in range(len(words))]

    def sentence(length: int) -> str:
        return " ".join(chance.choices(words, common, k=length))

    return Input(
        lessons=[{"content": sentence(20), "category": "message"} for _ in range(blocks)],
        questions=[sentence(6) for _ in range(questions)],
    )


# --- the other side -------------------------------------------------------------------------


def fts5(path: Path, texts: Sequence[str]) -> sqlite3.Connection:
    """Return a connection to a fresh full-text index of *texts*."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE VIRTUAL TABLE turns USING fts5(text, tokenize = 'porter unicode61')")
    connection.execute("CREATE TABLE bystander (body BLOB)")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO turns VALUES (?)", [(text,) for text in texts])
    connection.execute("COMMIT")
    connection.execute("INSERT INTO turns(turns) VALUES ('optimize')")
    return connection


def any_of(words: Sequence[str]) -> str:
    """Return the FTS5 query for any of *words*."""
    return " OR ".join(f'"{word}"' for word in words)


def searched(connection: sqlite3.Connection, words: Sequence[str]) -> float:
    """Return how long FTS5 takes to find what has any of *words*."""
    start = time.perf_counter()
    connection.execute(SEARCH, (any_of(words),)).fetchall()
    return time.perf_counter() - start


def committed(connection: sqlite3.Connection) -> float:
    """Return how long one durable commit takes: about as many bytes as a decision has."""
    start = time.perf_counter()
    connection.execute("INSERT INTO bystander VALUES (zeroblob(2000))")
    return time.perf_counter() - start


# --- measuring ------------------------------------------------------------------------------


def timed(
    memory: SyncMemory, embedder: Timed, connection: sqlite3.Connection, questions: Sequence[str]
) -> Timing:
    """Ask both sides every question in turn."""
    analyse = analysis.analyser(analysis.ANALYSER)
    timing = Timing(ours=[], embedding=[], every=[], content=[], disk=[])
    for question in questions:
        before, start = embedder.seconds, time.perf_counter()
        memory.recall(question, top_k=TOP_K)
        seconds, embedding = time.perf_counter() - start, embedder.seconds - before
        timing.ours.append(seconds - embedding)
        timing.embedding.append(embedding)
        words = WORD.findall(question)
        timing.every.append(searched(connection, words))
        timing.content.append(searched(connection, [word for word in words if analyse(word)]))
        timing.disk.append(committed(connection))
    return timing


def report(what: str, timing: Timing) -> None:
    """Print medians, 95th percentiles and ratios."""
    ours = statistics.median(timing.ours)
    disk, embedding = statistics.median(timing.disk), statistics.median(timing.embedding)
    cells = [ours, p95(timing.ours), disk, embedding]
    print(f"{what:28}" + "".join(f"{1000 * cell:>9.2f}" for cell in cells), end="")
    for theirs in (timing.every, timing.content):
        median = statistics.median(theirs)
        print(f"{1000 * median:>12.2f}{1000 * p95(theirs):>9.2f}{ours / median:>8.2f}", end="")
    print(flush=True)


def p95(seconds: Sequence[float]) -> float:
    """Return the time that 95 of 100 stay below."""
    return statistics.quantiles(seconds, n=20)[-1]


def consolidated(memory: SyncMemory, embedder: Timed, facts: Input) -> None:
    """Learn and consolidate everything, and print what that took."""
    memory.learn_many(facts.lessons)
    embedder.embed(["the model loads"])
    before, start = embedder.seconds, time.perf_counter()
    done = memory.consolidate()
    seconds, embedding = time.perf_counter() - start, embedder.seconds - before
    assert done.inbox_remaining == 0
    print(
        f"consolidate of {done.promoted:,} blocks: {seconds - embedding:.2f} s and "
        f"{embedding:.2f} s of embedding, {done.edges_created:,} edges"
    )


def profiled(ask: Callable[[], object]) -> None:
    """Print where the time of *ask* goes."""
    profile = cProfile.Profile()
    profile.runcall(ask)
    pstats.Stats(profile).sort_stats("tottime").print_stats(30)


# --- other writers --------------------------------------------------------------------------


@contextmanager
def writers(folder: Path, kind: str, pause_ms: float) -> Generator[None]:
    """Have one process write into the memory and one into FTS5, each in a loop."""
    children = [
        subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, __file__, "--write", each, str(folder), "--pause", str(pause_ms)],
            stdout=subprocess.PIPE,
        )
        for each in (kind, "inserts")
    ]
    try:
        for child in children:
            assert child.stdout is not None
            child.stdout.readline()  # it is at work
        yield
    finally:
        for child in children:
            child.terminate()
            child.communicate()


def write(kind: str, folder: Path, pause_ms: float) -> None:
    """Write as long as the parent lives: the child's side of ``writers``."""
    parent = os.getppid()
    chance, number = Random(3), 0
    words = [f"{chance.getrandbits(24):06x}" for _ in range(2000)]
    with (
        SyncMemory.open(folder / MINE) as memory,
        closing(sqlite3.connect(folder / THEIRS, isolation_level=None, timeout=10)) as connection,
    ):
        connection.execute("PRAGMA synchronous = FULL")
        while os.getppid() == parent:
            text = f"{number} {' '.join(chance.choices(words, k=20))}"
            if kind == "inserts":
                connection.execute("INSERT INTO turns VALUES (?)", (text,))
            else:
                memory.learn(text)
            if kind == "promotes":
                memory.consolidate()
            if number == 0:
                print("writing", flush=True)
            number += 1
            time.sleep(pause_ms / 1000)


# --- the program ----------------------------------------------------------------------------


def compare(options: argparse.Namespace, folder: Path) -> None:
    """Run all comparisons."""
    facts = given(options.data, options.blocks, options.questions)
    embedder = Timed(BundledEmbedder())
    texts = [lesson["content"] for lesson in facts.lessons]
    with (
        closing(fts5(folder / THEIRS, texts)) as connection,
        SyncMemory.open(folder / MINE, embedder=embedder) as memory,
    ):
        consolidated(memory, embedder, facts)
        with memory.session():
            timed(memory, embedder, connection, facts.questions[:WARM_UP])
            if options.profile:
                profiled(lambda: timed(memory, embedder, connection, facts.questions))
                return
            print(
                f"\n{'ms':28}{'mnemic':>9}{'p95':>9}{'disk':>9}{'embed':>9}"
                f"{'FTS5 every':>12}{'p95':>9}{'ratio':>8}{'FTS5 some':>12}{'p95':>9}{'ratio':>8}"
            )
            report("alone", timed(memory, embedder, connection, facts.questions))
            for kind in ("learns", "promotes"):
                with writers(folder, kind, options.pause):
                    what = f"another {kind} every {options.pause:g} ms"
                    report(what, timed(memory, embedder, connection, facts.questions))
            print(f"{memory.status().active:,} blocks at the end")


def main() -> None:
    """Run all comparisons in a temporary folder, or be one of their writers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, default=DATA, help="conversations and their questions")
    add("--blocks", type=int, default=2000)
    add("--questions", type=int, default=300)
    add("--pause", type=float, default=10.0, help="ms between two writes of another process")
    add("--profile", action="store_true", help="print where the time of a recall goes instead")
    add("--write", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write is not None:
        kind, folder = options.write
        write(kind, Path(folder), options.pause)
        return
    with tempfile.TemporaryDirectory() as name:
        compare(options, Path(name))


if __name__ == "__main__":
    main()
