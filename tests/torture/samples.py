"""A small store in which every kind of event has been written once."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import random
import shutil
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from attrs import frozen

from mnemic.adapters.access.keyring import Keyring
from mnemic.adapters.access.register import beside
from mnemic.adapters.ann.graphs import Graphs
from mnemic.adapters.codec.registry import TOPICS
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import Receipt
from tests.torture.histories import WORDS

NAME: Final = "agent.db"
EXPORT: Final = "export.jsonl"
EMBEDDER: Final = HashEmbedder(8)
BEFORE: Final = HashEmbedder(6)
GRAPHS: Final = Graphs(always=True, least=8, sizes=(8, 16))
QUESTION: Final = "when does the harbour gate open"
COMMANDS: Final = ("first", "many", "helped", "tide", "late-1", "late-2", "late-3")
"""Ids of commands in the first space that may be repeated."""


@frozen(kw_only=True)
class Sample:
    """What was made, as it was left."""

    closed: Path
    """A folder with a store that was closed, and all its other files."""
    live: Path
    """A folder with the same store as its next writer left it when it was killed: a database and
    its write-ahead log, and what was acknowledged."""
    receipt: Receipt
    """Of the last decision, which only the write-ahead log holds."""


def sample(folder: Path) -> Sample:
    """Make a store with every kind of event and of file."""
    closed, live = folder / "closed", folder / "live"
    for each in (closed, live):
        each.mkdir(parents=True)
    path = closed / NAME
    with ExitStack() as stack:
        store = stack.enter_context(closing(SQLiteStore(path)))
        clock = ManualClock()

        def handle(space: str, embedder: HashEmbedder = EMBEDDER) -> SyncMemory:
            return stack.enter_context(
                SyncMemory.open(
                    store,
                    space=space,
                    embedder=embedder,
                    clock=clock,
                    entropy=SeededEntropy(space),
                    retriever=GRAPHS,
                )
            )

        _erase_one(handle("gone"))
        handle("other").learn("the other space has a word too", command_id="first")
        memory = handle("default", BEFORE)
        _live(memory, clock)
        memory.checkpoint()
        _wait_for_graphs(memory)
        memory.export(closed / EXPORT)
    keyring = Keyring.open(beside(path), clock=ManualClock(), entropy=SeededEntropy("tokens"))
    keyring.create("ann", {"default": "write"})
    keyring.create("ben", {"*": "read"})
    receipt = _left_open(path, live)
    return Sample(closed=closed, live=live, receipt=receipt)


def _erase_one(memory: SyncMemory) -> None:
    """Write much and erase it, so that pages are free."""
    memory.learn_many([f"gone {number}: {'and on ' * 5}" for number in range(80)])
    memory.erase_space("gone")


def _live(memory: SyncMemory, clock: ManualClock) -> None:
    memory.start_session()
    gate = memory.learn("the harbour gate opens at six", tags=["gate"], command_id="first").block_id
    late = memory.learn("the harbour gate closes at nine", author="Ann", thread="rota").block_id
    crane = memory.learn("the crane needs oil", metadata={"crane": 2}).block_id
    chance = random.Random(1)
    texts = [f"{number}: {' '.join(chance.sample(WORDS, 6))}" for number in range(24)]
    lessons = [{"content": text, "category": "message"} for text in texts]  # none supersedes any
    notes = [each.block_id for each in memory.learn_many(lessons, command_id="many").results]
    memory.consolidate()
    memory.connect(gate, late, "elaborates", note="hours")
    memory.connect(gate, crane, "supports")
    memory.disconnect(gate, crane, reason="no use")
    first = memory.recall(QUESTION)
    clock.advance(minutes=50)
    memory.adopt_policy(Policy(name="other", top_k=3, degree_cap=4))
    for each in notes[:9]:
        memory.connect(gate, each, "supports")
    memory.outcome([gate, late], 0.9, command_id="helped")
    memory.outcome(decision_id=first.decision_id, signal=0.1)
    lane = memory.compose([gate, late, crane], query="gate", output_preview="six").composition_id
    label = memory.label(lane, "helpful", notes="so it was").label_id
    memory.retract_label(label, reason="it was not")
    memory.erase(crane)
    memory.forget(notes[-1], "stale")
    memory.rezone(notes[-2], "untrusted", "hearsay")
    memory.quarantine({"block": notes[-3]}, "to be checked")
    memory.revise(late, "the harbour gate closes at ten", "new rota")
    memory.adopt_policy(Policy(name="wider", top_k=3, degree_cap=12))
    memory.consolidate(relink=True)
    memory.reembed(EMBEDDER)
    clock.advance(minutes=55)
    memory.curate()
    mistaken = memory.learn("tides turn at noon", command_id="tide").version
    memory.learn("the harbour gate closes at ten", author="Ann")
    memory.revert(mistaken, mistaken, reason="they do not")
    memory.end_session()
    memory.deep_reference(QUESTION)
    answer = {f"{kind}.1" for kind in memory.timeline().kinds}
    missing = TOPICS.keys() - answer
    # The first ends it, the second is of a salvage, the third of an extractor.
    assert missing <= {"space-erased.1", "loss-accepted.1", "facts-extracted.1"}, missing


def _wait_for_graphs(memory: SyncMemory) -> None:
    for _ in range(3):
        memory.recall(QUESTION, record=False)
    graphs = memory._space.graphs  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    assert graphs is not None
    graphs.finish()


def _left_open(path: Path, live: Path) -> Receipt:
    """Write a little more to a copy of the store, and copy that while it is open."""
    work = live / "work"
    work.mkdir()
    shutil.copy(path, work / NAME)
    with SyncMemory.open(work / NAME, embedder=EMBEDDER, checkpoints=False) as memory:
        for number in range(1, 4):
            memory.learn(f"the last word but {3 - number}", command_id=f"late-{number}")
            memory.recall(QUESTION)
        receipt = memory.receipt(f"d{memory.status().version}")
        for name in (NAME, f"{NAME}-wal", f"{NAME}.heads"):
            shutil.copy(work / name, live / name)
    shutil.rmtree(work)
    return receipt
