"""A sample history in which every operation is called over the wire and returns something."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.remote.calls import Call, answered
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.policy import DEFAULT
from mnemic.specs.strategies.vectors import PlaneEmbedder

SMALL = evolve(DEFAULT, name="small", degree_cap=2, idle_gap_hours=100.0)
LESSONS = (
    {"content": "angle 0: The gate sticks.", "tags": ["yard", "self/value"], "author": "Ines"},
    {"content": "angle 400: The gate sticks a lot.", "thread": "yard", "metadata": {"page": 1}},
    {"content": "angle 880: The gate needs oil.", "tags": ["yard"], "created_at": "2025-05-01"},
    {"content": "angle 1400: The oil is in the shed.", "category": "observation"},
    {"content": "angle 1900: The shed was painted.", "created_at": "unknown", "source": "web"},
    {"content": "angle 2800: Tea is ready at four.", "expires_at": "2030-01-01T00:00:00Z"},
    {"content": "angle 2330: The shed is red.", "tags": ["self/constitutional", "yard"]},
    {"content": "angle 3500: The lamp was sold.", "tags": ["yard"]},
    "angle 5010: Somebody was here again.",
    " ",
)


@define
class Life:
    """One memory, and all its answers."""

    memory: SyncMemory
    clock: ManualClock
    folder: Path
    answers: list[tuple[str, Any]] = field(factory=list)
    """Operation and answer, in order."""

    def ask(self, operation: str, *, as_of: str | None = None, **arguments: Any) -> Any:
        """Return the result of an operation called over the wire, and record it."""
        document = json.loads(json.dumps(arguments))
        call = Call(operation=operation, arguments=document, as_of=as_of)
        return self.keep(operation, answered(self.memory, call))

    def keep(self, operation: str, answer: Any) -> Any:
        """Record an answer, and return it."""
        self.answers.append((operation, answer))
        return answer

    def later(self, hours: float) -> None:
        """Advance the clock."""
        self.clock.advance(hours=hours)


def lived(folder: Path) -> list[tuple[str, Any]]:
    """Return every answer of the sample history, with its operation."""
    clock = ManualClock()
    with SyncMemory.open(
        folder / "life.db",
        embedder=PlaneEmbedder(),
        clock=clock,
        entropy=SeededEntropy("life"),
        policy=SMALL,
        synchronous="normal",
    ) as memory:
        life = Life(memory, clock, folder)
        ids = list(_learned(life))
        _tied(life, ids)
        decision = _recalled(life, ids)
        _composed(life, ids, decision)
        _looked_back(life, ids, decision)
        _tuned(life)
        _copied(life)
        _erased(life, ids, decision)
        return life.answers


def _learned(life: Life) -> Iterator[str]:
    life.ask("guide")
    life.ask("guide", name="connect")
    life.ask("start_session")
    life.ask("learn", content="angle 5000: Somebody was here.")
    life.ask("learn", content="angle 5000: Somebody was here.")
    yield from (each.block_id for each in life.ask("learn_many", lessons=list(LESSONS)).results)
    _added(life)
    life.later(1)
    life.ask("consolidate", limit=4)
    life.ask("consolidate", relink=True)
    life.ask("near_duplicates")


def _added(life: Life) -> None:
    said = {"role": "user", "name": "Ines", "content": "I live in Graz.", "id": "1"}
    added = life.ask("add", messages=[said, {"content": "?"}], extract="rules")
    life.ask("add", messages=[said | {"id": "2", "content": "I live in Linz."}], extract="rules")
    life.ask("facts", of=added.results[0].block_id)
    life.ask("sources", of=added.facts[0].block_id)
    life.keep("add", life.memory.add([said], extract="rules"))


def _tied(life: Life, ids: list[str]) -> None:
    gate, _, oil, shed, paint, tea, red, lamp, _ = ids
    life.ask("connect", source=oil, target=gate, relation="supports", note="seen")
    life.ask("connect", source=oil, target=gate)
    life.ask("connect", source=oil, target=shed, relation="elaborates", weight=0.1)
    life.ask("connect", source=oil, target=tea, relation="near to")
    life.ask("connects", edges=[{"source": shed, "target": red, "relation": "supports"}, {}])
    life.ask("connects", edges=[{"source": gate, "target": lamp, "relation": "contradicts"}])
    life.ask("connect_by_query", source_query="lamp", target_query="tea", min_confidence=1)
    life.ask("connect_by_query", source_query="the lamp was sold", target_query="tea", dry_run=True)
    life.ask("connect_by_query", source_query="lamp", target_query="painted shed", min_confidence=0)
    life.ask("pending_connections")
    life.ask("edges", block_id=oil)
    life.ask("disconnect", source=shed, target=red, guard_relation="similar")
    life.ask("disconnect", source=shed, target=red, reason="not so")
    life.ask("disconnect", source=shed, target=red)
    life.ask("rezone", block_id=paint, zone="vetted")
    life.ask("rezone", block_id=paint, zone="vetted")
    life.ask("revise", block_id=tea, content="angle 2805: Tea is ready at five.", reason="later")


def _recalled(life: Life, ids: list[str]) -> str:
    life.later(30)
    first = life.ask("recall", query="why does the gate stick?", suggest=True)
    life.ask("recall", query=None, frame="self")
    life.ask("recall", query="shed", top_k=1, where={"tags": "yard"}, record=False)
    life.ask("recall", query="shed", top_k=2, record=False, detail="full")
    chance = life.ask("recall", query="the shed", explore=1.0, top_k=2)
    life.ask("recall", query="the shed", as_of="version:20")
    life.ask("outcome", decision_id=first.decision_id, signal=0.9, source="user")
    life.ask("outcome", decision_id=chance.decision_id, signal=0.7)
    life.ask("outcome", block_ids=[ids[4], "0" * 16], signal=0.0)
    life.ask("explain", decision_id=first.decision_id)
    life.ask("why_not", decision_id=first.decision_id, block_id=ids[1])
    life.ask("why_not", decision_id=first.decision_id, block_id=ids[7])
    life.ask("replay", decision_id=first.decision_id)
    life.ask("what_if", decision_id=first.decision_id, policy={"top_k": 2}, query="tea")
    life.ask("replay_all")
    for asked in range(20):
        judged = life.memory.recall("why does the gate stick?", min_probability=0.0)
        life.memory.outcome(decision_id=judged.decision_id, signal=float(asked < 5))
    life.ask("calibrate")
    life.ask("deep_reference", query="The gate does not stick. When was the shed painted?")
    life.ask("deep_reference", query="shed", as_of=f"decision:{first.decision_id}")
    return str(first.decision_id)


def _composed(life: Life, ids: list[str], decision: str) -> None:
    gate, _, oil, shed, paint, _, red, lamp, _ = ids
    life.ask("frontier")
    life.ask("frontier", mode="classic", tags=["yard"])
    life.ask("frontier", size="any", limit=50)
    members = [gate, {"block_id": lamp, "role": "contradicting", "score": 2.5, "trust": 0.5}]
    lane = life.ask("compose", members=members, query="what now?", metadata={"n": [1]})
    life.ask("compose", members=[oil, red], composition_id="mine", confidence=0.4)
    life.ask("compose", members=[oil, red], composition_id="mine", confidence=0.4)
    label = life.ask("label", composition_id=lane.composition_id, label="dead_end", notes="no")
    life.ask("label", composition_id="mine", label="accepted", confidence_delta=0.2)
    life.ask("retract_label", label_id=label.label_id, reason="not yet")
    life.ask("retract_label", label_id=label.label_id)
    life.ask("label", composition_id=lane.composition_id, label="needs_poc")
    life.ask("frontier", decision=decision)
    life.ask("composition", composition_id=lane.composition_id)
    life.ask("ledger", of=gate)
    life.ask("composed_with", block_id=gate)
    life.ask("analogies", block_id=oil)
    life.ask("compare", block_id=shed, other_id=paint)
    life.ask("composed_graph", action="recent")
    life.ask("composed_graph", action="get", event_id="mine")
    life.ask("composed_graph", action="memory", memory_id=gate)
    life.ask("composed_graph", action="neighbors", memory_id=gate)
    life.ask("composed_graph", action="never_composed", client="an old one")
    life.ask("composed_graph", action="never_composed", mode="default")
    life.ask("composed_graph", action="bounty_mode")
    life.ask("composed_graph", action="label", event_id="mine", outcome_type="helpful")
    life.ask("outcome", composition_id="mine", signal=0.8)


def _tuned(life: Life) -> None:
    """Ask often for too many blocks, and have fewer proposed."""
    apart = life.memory.session_handle(actor="another")
    for asked in range(50):
        found = apart.recall("why does the gate stick?", frame="world")
        apart.outcome(decision_id=found.decision_id, signal=0.3 * (asked % 2))
    tuned = life.ask(
        "tune", frame="world", parameters=["top_k"], place_cost=0.9, evaluations=20, seed=1
    )
    assert tuned.is_better
    life.ask("tune", frame="world", parameters=["weights"], place_cost=0.0, evaluations=4)


def _looked_back(life: Life, ids: list[str], decision: str) -> None:
    life.ask("backtest", policies={"small": {"top_k": 2}, "same": {}}, objective="hit")
    receipt = life.ask("receipt", decision_id=decision)
    life.ask("verify_receipt", receipt=receipt.to_dict(), replay=True)
    life.ask("verify_receipt", receipt={**receipt.to_dict(), "recipe": "forged"})
    life.ask("verify_receipt", receipt={**receipt.to_dict(), "version": 7})
    life.later(300)
    life.ask("curate")
    life.ask("policy")
    life.ask("adopt_policy", policy={"name": "wide", "degree_cap": 20})
    life.ask("curate")
    life.ask("end_session")
    life.ask("block", block_id=ids[0])
    life.ask("blocks", tag="yard", limit=2)
    life.ask("blocks", status="archived", as_of="hour:5")
    life.ask("history", of=ids[0])
    life.ask("log", after=3, limit=5)
    life.ask("timeline", bins=4)
    life.ask("decisions", order="worst", limit=2)
    life.ask("ask_again", decision_id=decision)
    life.ask("decisions", of=ids[0], text="gate")
    life.ask("trajectory", block_id=ids[0], points=3)
    life.ask("subgraph", block_ids=ids[:2], limit=5)
    life.ask("diff", before="0", after="now", limit=3)
    life.ask("diff", before=decision)
    life.ask("diff", before="20")
    life.ask("status")
    life.ask("status", as_of=f"decision:{decision}")
    head = life.memory.status().version
    life.ask("revert", from_version=4, to_version=head, dry_run=True)
    life.ask("revert", from_version=head - 6, to_version=head, reason="too much")
    life.ask("revert", from_version=4, to_version=20, dry_run=True)
    _traced(life, ids, decision)
    life.ask("verify")


def _traced(life: Life, ids: list[str], decision: str) -> None:
    everything = {"actor": [*{each.actor for each in life.memory.log(limit=1000)}]}
    life.ask("descent", selector={"block": ids[0]}, limit=3)
    life.ask("descent", selector=everything, limit=1000, as_of=f"decision:{decision}")
    life.ask("what_if", decision_id=decision, without={"block": ids[:2]})
    life.ask("replay_all", without={"block": ids[:2]}, upto=40)
    head = life.memory.status().version
    life.ask("quarantine", selector={"block": ids[0]}, reason="a trial")
    life.ask("quarantine", selector={"block": ids[0]}, reason="again")
    life.ask("blocks", status="quarantined")
    life.ask("diff", before=head)
    held = life.memory.status().version
    life.ask("quarantine", selector={"block": ids[0]}, release=True)
    life.ask("diff", before=held)
    life.ask("revert_source", selector={"block": ids[1]}, reason="a trial")


def _copied(life: Life) -> None:
    life.ask("checkpoint")
    life.ask("checkpoints")
    life.ask("drop_checkpoints")
    life.ask("fork", space="other", version=12)
    life.ask("re_extract", extractor="none", space="again")
    life.ask("adopt_extraction", space="again")
    life.ask("adopt_extraction", space="again")
    where = life.folder / "life.jsonl"
    life.keep("export", life.memory.export(where))
    copied = SyncMemory.import_space(where, life.folder / "copy.db", space="copy")
    life.keep("import_space", copied)
    life.keep("reembed", life.memory.reembed(PlaneEmbedder("other plane")))


def _erased(life: Life, ids: list[str], decision: str) -> None:
    life.ask("forget", block_id=ids[3], reason="old")
    life.ask("forget", block_id=ids[3])
    life.ask("erase", block_ids=[ids[0]])
    life.ask("block", block_id=ids[0])
    life.ask("replay", decision_id=decision)
    life.ask("explain", decision_id=decision)
    life.ask("replay_all")
    life.ask("forget_many", where={"category": "knowledge"}, reason="old", dry_run=True)
    life.ask("forget_many", where={"category": "knowledge"}, reason="old")
    life.ask("erase_many", where={"category": "message"}, dry_run=True)
    life.ask("erase_many", where={"category": "message"})
    life.ask("log", limit=1000)
    life.ask("erase_space", confirm="default")
