"""explain and why_not: the reasons of a past decision, exact to the nano-unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import BlockNotFound, DecisionNotFound, FieldRefused
from mnemic.kernel.policy import Frame, Policy
from mnemic.kernel.results import RecallResult

Open = Callable[..., SyncMemory]

SIZE = 16
ASK = "where is the gate code"


def axis(number: int) -> list[float]:
    return [float(place == number) for place in range(SIZE)]


def scripted(**texts: Sequence[float]) -> ScriptedEmbedder:
    said = {ASK: axis(0), **{text.replace("_", " "): vector for text, vector in texts.items()}}
    return ScriptedEmbedder(said, SIZE)


NEAR = with_cosine(axis(0), 0.8, axis=1)


def decided(found: RecallResult) -> str:
    assert found.decision_id is not None
    return found.decision_id


def stage(memory: SyncMemory, found: RecallResult, block: str) -> str:
    return memory.why_not(decided(found), block).stage


# --- explain ------------------------------------------------------------------------------------


def test_an_explanation_shows_what_the_answer_showed(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0), gate=NEAR, noise=axis(5)))
    memory.learn_many([{"content": "gate code"}, {"content": "gate"}, {"content": "noise"}])
    found = memory.recall(ASK)
    why = memory.explain(decided(found))
    assert [block.block_id for block in why.blocks] == list(found.block_ids)
    assert [block.contributions for block in why.blocks] == [b.contributions for b in found.blocks]
    assert [block.relevance_parts for block in why.blocks] == [
        block.relevance_parts for block in found.blocks
    ]
    assert [block.rank for block in why.blocks] == [1, 2]
    assert [block.candidate_rank for block in why.blocks] == [1, 2]
    assert (why.candidates, why.sealed, why.query) == (2, False, ASK)


def test_contributions_add_up_to_the_score(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0), gate=NEAR))
    memory.learn_many([{"content": "gate code"}, {"content": "gate"}])
    for block in memory.explain(decided(memory.recall(ASK))).blocks:
        total = sum(each.contribution for each in block.contributions)
        assert total == pytest.approx(block.score, abs=5e-9)


def test_a_neighbour_names_its_edge_as_it_was(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0), friend=axis(7)))
    hit, friend = (memory.learn(text).block_id for text in ("gate code", "friend"))
    memory.consolidate()
    memory.connect(friend, hit, "supports", note="they share a door")
    found = memory.recall(ASK)
    memory.connect(friend, hit, "elaborates", if_exists="update")
    (block,) = memory.explain(decided(found), friend).blocks
    assert block.edge is not None
    assert (block.edge.relation, block.edge.note) == ("supports", "they share a door")
    assert {block.edge.source_id, block.edge.target_id} == {hit, friend}


def test_the_events_behind_a_block_end_with_the_decision(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0)))
    hit = memory.learn("gate code").block_id
    found = memory.recall(ASK)
    memory.outcome([hit], 0.9)
    (block,) = memory.explain(decided(found)).blocks
    assert [moment.kind for moment in block.history] == ["block-learned", "blocks-promoted"]


def test_a_guaranteed_block_says_so(opened: Open) -> None:
    memory = opened()
    memory.learn("I keep promises", tags=["self/constitutional"])
    (block,) = memory.explain(decided(memory.recall(frame="self"))).blocks
    assert block.guaranteed
    assert block.relevance_parts == ()


def test_explaining_an_unreturned_block_points_to_why_not(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0), noise=axis(5)))
    memory.learn("gate code")
    noise = memory.learn("noise").block_id
    with pytest.raises(FieldRefused) as refused:
        memory.explain(decided(memory.recall(ASK)), noise)
    assert "why_not()" in refused.value.recovery


def test_an_unknown_decision_is_refused(opened: Open) -> None:
    memory = opened()
    with pytest.raises(DecisionNotFound):
        memory.explain("d7")
    with pytest.raises(DecisionNotFound):
        memory.why_not("d7", "0" * 16)


def test_a_sealed_decision_is_explained_by_what_was_stored(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0), gate=NEAR))
    hit, other = (memory.learn(text).block_id for text in ("gate code", "gate"))
    found = memory.recall(ASK)
    memory.erase(other)
    why = memory.explain(decided(found))
    assert (why.sealed, why.candidates) == (True, None)
    assert why.blocks[0].contributions == found.blocks[0].contributions
    assert why.blocks[0].candidate_rank is None
    assert {block.content for block in why.blocks} == {"gate code", "[erased]"}
    assert stage(memory, found, hit) == "returned"


# --- why_not ------------------------------------------------------------------------------------


def test_a_returned_block_says_its_rank(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0)))
    hit = memory.learn("gate code").block_id
    found = memory.recall(ASK)
    reason = memory.why_not(decided(found), hit)
    assert (reason.stage, reason.rank, reason.score) == ("returned", 1, found.blocks[0].score)


def test_a_block_learned_later_is_not_learned_at_the_decision(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0), gate=NEAR))
    memory.learn("gate code")
    found = memory.recall(ASK)
    late = memory.learn("gate").block_id
    assert stage(memory, found, late) == "not-learned"


def test_an_unknown_block_is_refused(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0)))
    memory.learn("gate code")
    found = memory.recall(ASK)
    with pytest.raises(BlockNotFound):
        memory.why_not(decided(found), "f" * 16)


def test_a_block_in_the_inbox_at_the_decision_is_reported_so(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0)), policy=Policy(auto_consolidate=False))
    block = memory.learn("gate code").block_id
    found = memory.recall(ASK)
    memory.consolidate()
    assert stage(memory, found, block) == "inbox"


def test_an_archived_block_is_reported_with_the_reason(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0)))
    block = memory.learn("gate code").block_id
    memory.consolidate()
    memory.forget(block, "wrong gate")
    reason = memory.why_not(decided(memory.recall(ASK)), block)
    assert (reason.stage, reason.detail) == ("archived", "It was archived: forgotten.")


def test_a_superseded_block_names_its_successor(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0), gate=NEAR))
    old = memory.learn("gate code").block_id
    memory.consolidate()
    new = memory.revise(old, "gate", "moved").block_id
    found = memory.recall(ASK)
    reason = memory.why_not(decided(found), old)
    assert (reason.stage, reason.successor_id) == ("superseded", new)
    assert [(each.id, each.reason, each.superseded_by) for each in found.dropped] == [
        (old, "superseded", new)
    ]


def test_an_expired_block_is_reported_so(opened: Open, clock: ManualClock) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0)))
    block = memory.learn("gate code", expires_at="2026-01-02").block_id
    memory.consolidate()
    clock.advance(hours=24 * 400)
    assert stage(memory, memory.recall(ASK), block) == "expired"


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ({"tags": "harbour"}, "where tags"),
        ({"category": "message"}, "where category"),
        ({"since": "2031-01-01"}, "where since"),
        ({"until": "2001-01-01"}, "where until"),
        ({"author": "Ann"}, "where author"),
        ({"thread": "t"}, "where thread"),
        ({"metadata": {"page": 1}}, "where metadata"),
    ],
)
def test_a_filter_is_named_by_its_condition(
    opened: Open, where: dict[str, object], condition: str
) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0)))
    block = memory.learn("gate code").block_id
    reason = memory.why_not(decided(memory.recall(ASK, where=where)), block)
    assert (reason.stage, condition in reason.detail) == ("filter", True)


def test_a_frame_is_named_by_its_condition(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0)))
    block = memory.learn("gate code", tags=["self/goal"]).block_id
    reason = memory.why_not(decided(memory.recall(ASK, frame="world")), block)
    assert (reason.stage, "frame never_tags" in reason.detail) == ("filter", True)


def test_a_guaranteed_block_excluded_by_a_filter_is_reported(opened: Open) -> None:
    memory = opened()
    promised = memory.learn("I keep promises", tags=["self/constitutional"]).block_id
    found = memory.recall(frame="self", where={"category": "message"})
    assert [(each.id, each.reason, each.score) for each in found.dropped] == [
        (promised, "filter", None)
    ]


def test_a_block_without_a_match_is_no_candidate(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0), noise=axis(5)))
    memory.learn("gate code")
    noise = memory.learn("noise").block_id
    reason = memory.why_not(decided(memory.recall(ASK)), noise)
    assert reason.stage == "candidates"
    assert "lexical 0.000" in reason.detail


def test_a_block_ranked_too_low_reports_the_gap(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0), gate=NEAR))
    memory.learn_many([{"content": "gate code"}, {"content": "gate"}])
    found = memory.recall(ASK, top_k=1)
    (dropped,) = found.dropped
    reason = memory.why_not(decided(found), dropped.id)
    assert (reason.stage, reason.rank, reason.score) == ("top_k", 2, dropped.score)
    assert reason.score_needed == found.blocks[0].score
    assert sum(each.contribution for each in reason.contributions) == pytest.approx(
        dropped.score, abs=5e-9
    )


def test_a_block_over_the_token_budget_is_reported(opened: Open) -> None:
    long = " ".join(["gate"] * 200)
    memory = opened(embedder=ScriptedEmbedder({ASK: axis(0), "gate code": NEAR, long: NEAR}, SIZE))
    memory.learn("gate code")
    block = memory.learn(long).block_id
    found = memory.recall(ASK, token_budget=60)
    reason = memory.why_not(decided(found), block)
    assert (reason.stage, reason.score_needed) == ("token_budget", None)
    assert [each.reason for each in found.dropped] == ["token_budget"]


def test_the_places_of_guaranteed_blocks_cannot_be_won_by_score(opened: Open) -> None:
    frame = Frame(name="vow", relevance=1.0, always_tags=("vow",))
    policy = Policy(frames=(*Policy().frames, frame))
    memory = opened(embedder=scripted(gate_code=axis(0), vow=axis(9)), policy=policy)
    memory.learn("vow", tags=["vow"])
    block = memory.learn("gate code").block_id
    found = memory.recall(ASK, frame="vow", top_k=1)
    reason = memory.why_not(decided(found), block)
    assert (reason.stage, reason.rank) == ("top_k", 1)
    assert "guarantees" in reason.detail


def test_a_sealed_decision_cannot_be_searched_again(opened: Open) -> None:
    texts = scripted(gate_code=axis(0), gate=NEAR, noise=axis(5))
    memory = opened(embedder=texts)
    memory.learn("gate code")
    gate, noise = (memory.learn(text).block_id for text in ("gate", "noise"))
    found = memory.recall(ASK)
    memory.erase(gate)
    assert stage(memory, found, noise) == "sealed"


def test_explaining_writes_nothing(opened: Open) -> None:
    memory = opened(embedder=scripted(gate_code=axis(0), noise=axis(5)))
    memory.learn("gate code")
    noise = memory.learn("noise").block_id
    found = memory.recall(ASK)
    before = memory.status().version
    memory.explain(decided(found))
    memory.why_not(decided(found), noise)
    assert memory.status().version == before
