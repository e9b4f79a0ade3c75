"""A memory with data of every kind, as the base of fuzzed variants."""

from __future__ import annotations

from functools import cache
from typing import Any

from attrs import frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.ports import PayloadRow, Record, Store

SPACE = "default"


def opened(store: Store | None = None) -> SyncMemory:
    """Open a memory that costs little, in a store of its own if none is given."""
    return SyncMemory.open(
        MemoryStore() if store is None else store,
        embedder=HashEmbedder(),
        clock=ManualClock(),
        entropy=SeededEntropy("fuzz"),
    )


def filled(memory: SyncMemory) -> dict[str, Any]:
    """Put data of every kind into a memory, and return the ids that callers could name."""
    memory.start_session()
    words = ("gate", "oil", "shed", "lamp", "tea", "rope")
    blocks = [
        memory.learn(
            f"The {word} is in the yard {number}.",
            tags=["yard", f"n:{number}"],
            author="Ines",
            thread="yard",
            metadata={"page": number},
        ).block_id
        for number, word in enumerate(words)
    ]
    memory.consolidate()
    memory.connect(blocks[0], blocks[1], "supports", note="seen", if_exists="update")
    decision = memory.recall("gate", where={"tags": "yard"}).decision_id
    memory.outcome(blocks[:1], signal=0.9)
    lane = memory.compose(blocks[:3], query="what now?", metadata={"n": 1}).composition_id
    label = memory.label(lane, "helpful", notes="it did").label_id
    memory.forget(blocks[5], reason="gone")
    memory.revise(blocks[4], "Tea is ready at five.")
    memory.rezone(blocks[3], "vetted")
    memory.adopt_policy(DEFAULT)
    memory.connect(blocks[0], blocks[2], "elaborates")
    memory.disconnect(blocks[0], blocks[2])
    memory.curate()
    memory.erase(blocks[1])
    memory.end_session()
    assert decision is not None
    return {
        "block_id": blocks[0],
        "other_id": blocks[2],
        "source": blocks[0],
        "target": blocks[3],
        "of": blocks[0],
        "decision_id": decision,
        "composition_id": lane,
        "label_id": label,
        "confirm": SPACE,
    }


@frozen
class Kept:
    """A whole log: every record with its payloads."""

    entries: tuple[tuple[Record, tuple[PayloadRow, ...]], ...]
    receipt: dict[str, Any]
    names: dict[str, Any]


@cache
def kept() -> Kept:
    """Return the log of a filled memory, made once."""
    store = MemoryStore()
    with opened(store) as memory:
        names = filled(memory)
        receipt = memory.receipt(memory.recall("lamp").decision_id or "").to_dict()
        entries = tuple(store.log(SPACE).read())
    return Kept(entries, receipt, names)
