from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest

from mnemic.kernel import events as happened
from mnemic.kernel.decision import first_of
from mnemic.kernel.decisions.connecting import Assertion, decide_connect
from mnemic.kernel.decisions.curating import decide_curate
from mnemic.kernel.decisions.feedback import Feedback, decide_outcome
from mnemic.kernel.decisions.promotion import Candidate, decide_promotion
from mnemic.kernel.errors import Refused
from mnemic.kernel.events import Event, Recorded
from mnemic.kernel.model.blocks import STATUSES
from mnemic.kernel.model.edges import NO_ANCHOR
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.model.texts import BlockText, Embedding
from mnemic.kernel.model.vectors import Vector, pack
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO, nano
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.results import CurateResult
from mnemic.kernel.scoring.decay import tier_rate
from mnemic.kernel.timestamps import Instant
from mnemic.projections.state.apply import apply
from mnemic.projections.state.snapshots import VersionSnapshot
from mnemic.projections.state.state import State
from mnemic.projections.view import View, live
from mnemic.specs.reference import scoring as reference
from mnemic.specs.reference.decisions import expected_outcome
from mnemic.specs.reference.degree_cap import PlainRoom
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import PlainEdge
from mnemic.specs.reference.upkeep import expected_curate
from mnemic.specs.rules import Row, rows
from mnemic.specs.strategies.vectors import at_cosine

ONE, TWO = BlockId("1" * 16), BlockId("2" * 16)
EMBEDDER = happened.EmbedderIdentity(name="plane", dimension=4)
EXPIRES_US = 1000
FIRST, SECOND = at_cosine(0.0)


class Worlds:
    """One log, applied to the columns and to the reference."""

    def __init__(self) -> None:
        self.columns, self.plain = State(), PlainState()
        self.happen(happened.EmbedderAdopted(embedder=EMBEDDER))

    def happen(self, event: Event, *, hour: int = 0) -> None:
        recorded = Recorded(
            version=self.plain.version + 1,
            active_us=hour * MICROS_PER_HOUR,
            recorded_us=0,
            command_id=CommandId("c"),
            event=event,
        )
        apply(self.columns, recorded)
        self.plain.apply(recorded)

    def learn(
        self, block: BlockId, *, tags: Sequence[str] = (), category: str = "knowledge"
    ) -> None:
        text = BlockText(of=(block,), content=f"content of {block}", tags=tuple(sorted(tags)))
        self.happen(
            happened.BlockLearned(
                block_id=block, text=text, category=category, expires_at_us=EXPIRES_US
            )
        )

    def promote(self, block: BlockId, vector: Vector, *, hour: int = 0) -> None:
        facts = self.plain.blocks[block]
        promotion = happened.Promotion(
            block_id=block,
            vector=Embedding(of=(block,), packed=pack(vector)),
            rate=tier_rate(facts.tags, facts.category, DEFAULT),
        )
        self.happen(happened.BlocksPromoted(promotions=(promotion,)), hour=hour)

    def slow_down(self, row: Row, *blocks: BlockId, hour: int = 0) -> None:
        """Give *blocks* the penalised rate of a row, if it has one."""
        if "rate" in row.given:
            penalties = tuple(
                happened.Penalty(block_id=block, rate=nano(row.given["rate"])) for block in blocks
            )
            self.happen(
                happened.OutcomeRecorded(block_ids=blocks, signal=0, penalties=penalties), hour=hour
            )

    def put(self, edge: PlainEdge) -> None:
        """Add an edge without an event."""
        self.plain.put_edge(edge)
        self.columns.graph.link(
            self.plain.blocks[edge.source].number,
            self.plain.blocks[edge.target].number,
            self.plain.version,
            relation=edge.relation,
            origin=edge.origin,
            weight=edge.weight,
            anchor_us=int(NO_ANCHOR) if edge.anchor_us is None else edge.anchor_us,
            count=edge.count,
        )

    def view(self, *, hour: int = 0, instant_us: int = 0) -> View:
        return live(self.columns, active_us=hour * MICROS_PER_HOUR, instant_us=instant_us)


class Told(View):
    """A view with a given cosine to the first block."""

    cosine = 0

    def near(
        self, vectors: Sequence[Vector], categories: Sequence[str], floor: int, *, most: int
    ) -> list[list[tuple[int, int]]]:
        assert len(vectors) == len(categories) == 1 <= most
        return [[(0, self.cosine)] if self.cosine >= floor else []]


@pytest.mark.parametrize("row", rows("lifecycle.near-duplicate"), ids=str)
def test_a_near_duplicate_is_noted_and_supersedes_nothing(row: Row) -> None:
    cosine, category = nano(row.given["cosine"]), row.given.get("category", "knowledge")
    worlds = Worlds()
    worlds.learn(ONE)
    worlds.promote(ONE, FIRST)
    worlds.learn(TWO, category=category)
    view = worlds.view()
    answer = Told(view.state, view.point, VersionSnapshot(view.state, None), is_latest=True)
    answer.cosine = cosine
    second = Candidate(number=1, vector=SECOND)
    chunk = decide_promotion(answer, [second], Instant(0, 0), embedder=EMBEDDER).result
    assert chunk.promotions[0].supersession is None
    noted = [pair.cosine for pair in chunk.near]
    verdict = row.then["verdict"]
    assert noted == ([cosine] if verdict == "noted" else [])
    assert verdict == reference.near_verdict(
        cosine,
        categories=(category, "knowledge"),
        policy=DEFAULT,
    )


@pytest.mark.parametrize("row", rows("lifecycle.status"), ids=str)
def test_a_block_goes_through_its_statuses(row: Row) -> None:
    worlds = Worlds()
    worlds.learn(TWO)
    for what in row.given["events"]:
        match what:
            case "learned":
                worlds.learn(ONE)
            case "promoted":
                worlds.promote(ONE, FIRST)
            case "superseded":
                handover = happened.Supersession(old=ONE, new=TWO)
                worlds.happen(happened.BlockSuperseded(supersession=handover))
            case "forgotten":
                worlds.happen(happened.BlockForgotten(block_id=ONE))
            case "erased":
                worlds.happen(happened.BlockErased(block_id=ONE))
            case reason:
                archival = happened.Archival(block_id=ONE, reason=reason)
                worlds.happen(happened.Curated(archived=(archival,)))
    block, said = worlds.plain.blocks[ONE], row.then
    assert (block.status, block.reason) == (said["status"], said.get("reason"))
    assert (block.successor is not None) is said.get("successor", False)
    assert (block.content is not None) is said.get("text", True)
    assert STATUSES[worlds.view().facts(1).status] == said["status"]


def sweep(view: View, at: Instant) -> happened.Curated | None:
    return first_of(decide_curate(view, at).events, happened.Curated)


@pytest.mark.parametrize("row", rows("lifecycle.archive"), ids=str)
def test_a_sweep_archives_decayed_and_expired_blocks(row: Row) -> None:
    worlds, hour = Worlds(), row.given["hours"]
    worlds.learn(ONE, tags=row.given.get("tags", ()))
    worlds.promote(ONE, FIRST)
    worlds.slow_down(row, ONE)
    wall_us = EXPIRES_US if row.given.get("expired", False) else EXPIRES_US - 1
    swept = sweep(
        worlds.view(hour=hour, instant_us=wall_us), Instant(hour * MICROS_PER_HOUR, wall_us)
    )
    archived = () if swept is None else swept.archived
    said = (happened.Archival(block_id=ONE, reason=row.then["reason"]),) if archived else ()
    assert archived == said
    assert bool(archived) is row.then["archived"]
    assert expected_curate(worlds.plain, hour * MICROS_PER_HOUR, wall_us) == swept


@pytest.mark.parametrize("row", rows("lifecycle.sweep"), ids=str)
def test_a_sweep_removes_weak_and_decayed_edges(row: Row) -> None:
    worlds, given = Worlds(), row.given
    hour, anchored = given["hours"], given.get("anchored", True)
    for block, vector in ((ONE, FIRST), (TWO, SECOND)):
        worlds.learn(block)
        worlds.promote(block, vector, hour=hour)
    worlds.slow_down(row, ONE, TWO, hour=hour)
    edge = PlainEdge(
        source=ONE,
        target=TWO,
        relation="similar",
        weight=nano(given["weight"]),
        origin=given.get("origin", "similarity"),
        anchor_us=0 if anchored else None,
        count=given["count"],
    )
    worlds.put(edge)
    swept = sweep(worlds.view(hour=hour), Instant(hour * MICROS_PER_HOUR, 0))
    pruned, decayed = (swept.pruned, swept.decayed) if swept else ((), ())
    assert {"pruned": bool(pruned), "decayed": bool(decayed)} == {
        "pruned": row.then["fate"] == "pruned",
        "decayed": row.then["fate"] == "decayed",
    }
    assert expected_curate(worlds.plain, hour * MICROS_PER_HOUR, 0) == swept


@pytest.mark.parametrize("row", rows("lifecycle.hold"), ids=str)
def test_a_sweep_reinforces_constitutional_and_best_blocks(row: Row) -> None:
    worlds, now_us = Worlds(), row.given["idle_hours"] * MICROS_PER_HOUR
    count = row.given["others"] + row.given["constitutional"]
    for place in range(count):
        block = BlockId(f"{place:016d}")
        others = place < row.given["others"]
        worlds.learn(block, tags=() if others else ("self/constitutional",))
        worlds.promote(block, SECOND)
    swept = sweep(worlds.view(hour=row.given["idle_hours"]), Instant(now_us, 0))
    constitutional, others_kept = (swept.constitutional, swept.reinforced) if swept else ((), ())
    assert (len(constitutional), len(others_kept)) == (
        row.then["constitutional"],
        row.then["others"],
    )
    assert expected_curate(worlds.plain, now_us, 0) == swept


@pytest.mark.parametrize("row", rows("lifecycle.admission"), ids=str)
def test_a_sweep_admits_pending_connections(row: Row) -> None:
    weights, worlds = row.given["weights"], Worlds()
    policy = attrs.evolve(DEFAULT, degree_cap=row.given["room"] + 1)
    worlds.happen(happened.PolicyAdopted(policy_id=policy.id, body=policy.body))
    ids = [BlockId(f"{place:016d}") for place in range(len(weights) + 2)]
    for block in ids:
        worlds.learn(block)
        worlds.promote(block, SECOND)
    worlds.happen(
        happened.EdgeConnected(
            source=ids[0], target=ids[1], relation="supports", weight=nano(0.75), action="created"
        )
    )
    for place, weight in enumerate(weights):
        worlds.happen(
            happened.EdgeDeferred(
                source=ids[0], target=ids[place + 2], relation="supports", weight=nano(weight)
            )
        )
    swept = sweep(worlds.view(), Instant(0, 0))
    admitted = tuple(
        happened.Admission(source=ids[0], target=ids[place + 2]) for place in row.then["admitted"]
    )
    assert (swept.admitted if swept else ()) == admitted
    assert expected_curate(worlds.plain, 0, 0) == swept


@pytest.mark.parametrize("row", rows("lifecycle.outcome"), ids=str)
def test_an_outcome_is_evidence_with_further_effects_at_both_extremes(row: Row) -> None:
    worlds, signal = Worlds(), row.given["signal"]
    for block, vector in ((ONE, FIRST), (TWO, SECOND)):
        worlds.learn(block)
        worlds.promote(block, vector)
    ids = [TWO, ONE, *([ONE] if row.given.get("twice") else [])]
    decided = decide_outcome(
        worlds.view(hour=1), Feedback(block_ids=ids, signal=signal), Instant(MICROS_PER_HOUR, 0)
    )
    scored = first_of(decided.events, happened.OutcomeRecorded)
    assert scored is not None
    assert scored == expected_outcome(
        worlds.plain, ids, signal=nano(signal), weight=NANO, now_us=MICROS_PER_HOUR
    )
    worlds.happen(scored, hour=1)
    facts, edge = worlds.plain.blocks[ONE], worlds.plain.edges.get((ONE, TWO))
    assert (facts.reinforced_us == MICROS_PER_HOUR) is row.then["reinforced"]
    assert (edge is not None) is row.then["edge"]
    assert edge is None or row.tells("weight", edge.weight)
    assert row.tells("rate", facts.rate)
    assert "alpha" not in row.then or row.tells("alpha", facts.alpha)
    assert "beta" not in row.then or row.tells("beta", facts.beta)


@pytest.mark.parametrize("row", rows("lifecycle.outcome-refusal"), ids=str)
def test_an_invalid_outcome_is_refused(row: Row) -> None:
    worlds = Worlds()
    worlds.learn(ONE)
    worlds.promote(ONE, FIRST)
    report = Feedback(block_ids=[ONE], **row.given)
    with pytest.raises(Refused) as refused:
        decide_outcome(worlds.view(), report, Instant(0, 0))
    assert refused.value.code == row.then["code"]


@pytest.mark.parametrize("row", rows("lifecycle.displacement"), ids=str)
def test_at_the_cap_the_weakest_edge_of_the_lowest_class_is_displaced(row: Row) -> None:
    edges, worlds = row.given["edges"], Worlds()
    policy = attrs.evolve(DEFAULT, degree_cap=len(edges))
    worlds.happen(happened.PolicyAdopted(policy_id=policy.id, body=policy.body))
    ids = [BlockId(f"{place:016d}") for place in range(len(edges) + 2)]
    now = 300
    for block in ids:
        worlds.learn(block)
        worlds.promote(block, SECOND, hour=now)
    for place, (relation, origin, weight, idle) in enumerate(edges):
        worlds.put(
            PlainEdge(
                source=ids[0],
                target=ids[place + 1],
                relation=relation,
                weight=nano(weight),
                origin=origin,
                anchor_us=(now - idle) * MICROS_PER_HOUR,
            )
        )
    relation = row.given["relation"]
    decided = decide_connect(
        worlds.view(hour=now),
        Assertion(source=ids[0], target=ids[-1], relation=relation),
        Instant(now * MICROS_PER_HOUR, 0),
    )
    displaced = [(ids[0], ids[place + 1]) for place in row.then["displaced"]]
    assert decided.result.action == row.then["action"]
    made = first_of(decided.events, happened.EdgeConnected)
    assert list(made.displaced if made else ()) == displaced
    plain = PlainRoom(worlds.plain, now * MICROS_PER_HOUR).admit(ids[0], ids[-1], relation)
    assert plain == (displaced if decided.result.action == "created" else None)


@pytest.mark.parametrize("row", rows("lifecycle.curate-summary"), ids=str)
def test_a_sweep_reports_removals_and_advice(row: Row) -> None:
    pruned, decayed = row.given.get("pruned", 0), row.given.get("decayed", 0)
    left, admitted = row.given["left"], row.given.get("admitted", 0)
    summary = CurateResult(
        edges_pruned=pruned,
        edges_decayed=decayed,
        pending_admitted=admitted,
        total_edges_after=left + admitted,
    ).summary
    advice = row.then["advice"]
    assert [words for words in row.then["contains"] if words not in summary] == []
    assert ("consolidate(relink=True)" in summary) is (advice != "none")
    assert ("Tip" in summary) is (advice == "tip")
    assert reference.curate_advice(pruned=pruned, decayed=decayed, left=left) == advice
