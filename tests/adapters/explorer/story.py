"""A store for the explorer: a bad answer, what followed from it, and texts that would break out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock

QUESTION = "When does the ferry leave?"
RULE = "The ferry leaves at nine."
REVISED = "The ferry leaves at half past nine."
GOSSIP = "The ferry crew left a crate of herring on the quay when the cook was ill."
MISSING = "Herring is sold in crates of twelve."
DOOMED = "The safe of the ferry opens with 4711."
OTHERS = (
    "The quay is closed when the wind is above nine.",
    "Tickets for the ferry are sold until it leaves.",
    "A cabin costs ninety.",
    "The cook of the ferry comes from Marl.",
)

SCRIPT = "<script>window.broken = 1</script><img src=x onerror='window.broken = 2'> ferry"
LINK = '[ferry](javascript:window.broken=3) <a href="javascript:window.broken=4">ferry</a>'
BIDI = "ferry \u202egnp.exe\u202c and \u2066hidden\u2069 and \u200bnothing"
ENDLESS = "ferry " + "x" * 32_000
HOSTILE = (SCRIPT, LINK, BIDI, ENDLESS)
HOSTILE_AUTHOR = '"><script>window.broken = 5</script>'


def write(store: Path) -> dict[str, Any]:
    """Write the spaces of the story into a new store, and return the ids that tests need."""
    clock = ManualClock()
    ids: dict[str, Any] = {}
    with opened(store, "default", clock) as memory:
        ids |= _ferry(memory, clock)
    with opened(store, "hostile", clock) as memory, memory.session():
        for text in HOSTILE:
            memory.learn(text, author=HOSTILE_AUTHOR, tags=["<b>tag</b>"])
        hostile = memory.recall(f"ferry {SCRIPT}", top_k=4)
        memory.outcome(decision_id=hostile.decision_id, signal=0.1)
        memory.compose(list(hostile.block_ids[:2]), query=SCRIPT)
        ids["hostile"] = hostile.decision_id
    with opened(store, "empty", clock):
        pass
    with opened(store, "sealed", clock) as memory:
        secret = memory.learn(DOOMED).block_id
        memory.learn(RULE)
        ids["sealed"] = memory.recall("What opens the safe?").decision_id
        memory.erase(secret)
        ids["erased"] = secret
    return ids


def opened(store: Path, space: str, clock: ManualClock) -> SyncMemory:
    """Open a space of the store."""
    return SyncMemory.open(store, space=space, embedder=HashEmbedder(), clock=clock)


def _ferry(memory: SyncMemory, clock: ManualClock) -> dict[str, Any]:
    with memory.session():
        rule = memory.learn(RULE, author="Ines", tags=["ferry"]).block_id
        gossip = memory.learn(GOSSIP, author="crew").block_id
        missing = memory.learn(MISSING).block_id
        others = [memory.learn(text).block_id for text in OTHERS]
        clock.advance(hours=1)
        good = memory.recall(QUESTION, top_k=2)
        memory.outcome(decision_id=good.decision_id, signal=0.9)
        clock.advance(hours=1)
        bad = memory.recall("What did the crew leave?", top_k=2)
        memory.outcome(decision_id=bad.decision_id, signal=0.1)
    clock.advance(hours=40)
    with memory.session():
        clock.advance(hours=1)
        revised = memory.revise(rule, REVISED, "the winter timetable").block_id
        memory.consolidate()
        memory.connect(revised, others[1], "supports")
        memory.connect(gossip, others[3], "contradicts", if_exists="update")
        clock.advance(hours=1)
        composed = memory.compose([revised, others[1]], query="how to plan a trip")
        memory.label(composed.composition_id, "helpful")
        failed = memory.compose([gossip, missing], query="what the crew likes")
        memory.label(failed.composition_id, "dead_end")
        memory.recall(QUESTION, top_k=3)
        memory.curate()
    return {
        "good": good.decision_id,
        "bad": bad.decision_id,
        "rule": rule,
        "revised": revised,
        "gossip": gossip,
        "missing": missing,
    }
