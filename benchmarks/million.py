"""Measures recall in a space of a million blocks.

Consolidating a million blocks in the usual way compares each with all others, which takes hours. So
blocks are learned in the usual way, through ``learn_many``, but the events of their promotion, with
the vector and four edges to earlier blocks of the topic, are written directly, as a consolidation
would have written them. Everything else is unchanged: the same log, the same fold, the same recall.

Words, topics and vectors are those of ``synthetic_life.py``; everything is drawn from one seed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import synthetic_life
from attrs import asdict
from replay import ROOT, Found, timed
from rich.progress import track
from scale import awoken, resident
from synthetic_life import Language

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.commands import Command
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.decision import Decision
from mnemic.kernel.events import BlocksPromoted, EmbedderAdopted, Event, Link, Promotion
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import Embedding
from mnemic.kernel.model.vectors import pack, quantise

BLOCKS = 1_000_000
CHUNK = 2_000
"""Blocks of one batch, and of one event of promotion."""
TOPICS = 2_500
EDGES = 4
"""To earlier blocks of the topic."""
REACH = 40
"""Number of earlier blocks considered."""
WEIGHT = 500_000_000
SEED = 11
QUESTIONS = 60
WARM_UP = 8


def place(root: Path, blocks: int) -> Path:
    """Return the path of the space."""
    return root / ("million.db" if blocks == BLOCKS else f"blocks-{blocks}.db")


def built(path: Path, blocks: int) -> Path:
    """Return the path of a space of *blocks* blocks; an existing one is used again."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".part")
    for each in path.parent.glob(f"{fresh.name}*"):
        each.unlink()
    chance = Random(SEED)
    language = Language.drawn(chance, topics=TOPICS)
    clock = ManualClock()
    with SyncMemory.open(
        fresh,
        embedder=synthetic_life.embedder(),
        clock=clock,
        entropy=SeededEntropy("a million"),
        synchronous="normal",
        checkpoints=False,
    ) as memory:
        by_topic: list[list[BlockId]] = [[] for _ in range(TOPICS)]
        for _ in track(range(blocks // CHUNK), description="building"):
            clock.advance(minutes=1)
            _chunk(memory, language, by_topic)
    fresh.rename(path)
    return path


def _chunk(memory: SyncMemory, language: Language, by_topic: list[list[BlockId]]) -> None:
    chance = language.chance
    topics = chance.choices(range(TOPICS), k=CHUNK)
    texts = [language.sentence(topic, chance.randint(8, 24)) for topic in topics]
    learned = memory.learn_many([{"content": text} for text in texts])
    said = zip(topics, texts, strict=True)
    found = dict(zip((each.block_id for each in learned.results), said, strict=True))
    rows = synthetic_life.embedder().embed([text for _, text in found.values()])
    promotions, links = [], []
    for (block, (topic, _)), row in zip(found.items(), rows, strict=True):
        known = by_topic[topic]
        recent = known[-REACH:]
        links += [
            Link(source=block, target=other, weight=WEIGHT)
            for other in chance.sample(recent, min(EDGES, len(recent)))
        ]
        known.append(block)
        packed = pack(quantise(row, dimension=synthetic_life.DIMENSION))
        promotions.append(Promotion(block_id=block, vector=Embedding(of=(block,), packed=packed)))
    _write(memory, BlocksPromoted(promotions=tuple(promotions), links=tuple(links)))


def _write(memory: SyncMemory, event: BlocksPromoted) -> None:
    """Append *event*, as a consolidation would have decided it."""
    # No operation writes a promotion without comparing, so this uses internals.
    space: SessionHandle = memory._space  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

    def decide(view: Any, _: Any) -> Decision[Any]:
        adopted: tuple[Event, ...] = ()
        if view.embedder is None:
            adopted = (EmbedderAdopted(embedder=synthetic_life.embedder().identity),)
        return Decision((*adopted, event), None)

    space.execute(Command("consolidate", {}), decide)


# --- measuring ------------------------------------------------------------------------------


def recalls(path: Path, retriever: str) -> Iterator[Found]:
    """Measure recalls with one retriever; missing graphs are built first."""
    clock, bare = ManualClock(), resident()
    memory = SyncMemory.open(
        path,
        embedder=synthetic_life.embedder(),
        clock=clock,
        retriever=retriever,  # type: ignore[arg-type]
    )
    with memory:
        awoken(memory, clock)
        questions = asked(QUESTIONS + WARM_UP)
        for question in questions[:WARM_UP]:
            memory.recall(question, top_k=10, record=False)
        _, waited = timed(_graphs, memory)
        if waited > 1:
            yield Found(what=f"{retriever}: graphs ready after", value=waited, unit="s")
        seconds = [
            timed(lambda each: memory.recall(each, top_k=10, record=False), question)[1]
            for question in questions[WARM_UP:]
        ]
        private = resident() - bare
    limit = {"exact": 40.0, "ann": 25.0}.get(retriever)
    yield Found(
        what=f"{retriever}: recall, p50", value=1000 * median(seconds), unit="ms", limit=limit
    )
    yield Found(what="  the slowest", value=1000 * max(seconds), unit="ms")
    yield Found(what=f"{retriever}: private memory", value=private / 1e6, unit="MB", limit=1000)


def _graphs(memory: SyncMemory) -> None:
    # Only a benchmark waits for graphs, so there is no public operation for it.
    graphs = memory._space.graphs  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    if graphs is not None:
        graphs.finish()


def asked(count: int) -> Sequence[str]:
    """Return questions in the words of the space."""
    language = Language.drawn(Random(SEED), topics=TOPICS)
    language.chance = Random(SEED + 1)
    topics = range(TOPICS)
    return [
        language.sentence(language.chance.choice(topics), language.chance.randint(3, 7))
        for _ in range(count)
    ]


def main() -> None:
    """Build the space if it is missing, measure, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--blocks", type=int, default=BLOCKS)
    add("--root", type=Path, default=ROOT, help="path of the space, existing or new")
    add("--build", action="store_true", help="build the space if it is not there, and end")
    add("--retriever", choices=("exact", "ann", "auto"), action="append")
    add("--json", type=Path, help="write what was found here, too")
    options = parser.parse_args()
    path = built(place(options.root, options.blocks), options.blocks)
    if options.build:
        return
    lines = []
    for retriever in options.retriever or ("exact", "ann"):
        for found in recalls(path, retriever):
            print(f"{found.what:34}{found.value:>12,.3f} {found.unit:12}{found.goal}", flush=True)
            lines.append(asdict(found))
    if options.json is not None:
        options.json.write_text(json.dumps({"blocks": options.blocks, "found": lines}, indent=2))


if __name__ == "__main__":
    main()
