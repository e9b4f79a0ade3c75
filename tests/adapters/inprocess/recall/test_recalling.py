"""recall: returned blocks, their order and signals, and the effects of a recall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import ScoredBlock

Open: TypeAlias = Callable[..., SyncMemory]

SIZE = 16
WEIGHTS = {
    "relevance": 0.40,
    "recency": 0.25,
    "usefulness": 0.20,
    "confidence": 0.10,
    "frequency": 0.05,
}


def axis(place: int) -> tuple[float, ...]:
    return tuple(float(n == place) for n in range(SIZE))


APART = ScriptedEmbedder({"ask": axis(0), **{f"b{n}": axis(n) for n in range(SIZE)}}, SIZE)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


def nano(value: float) -> int:
    return round(value * 1_000_000_000)


def recombined(block: ScoredBlock) -> float:
    """Return the score that the shown signals and weights add up to, in exact arithmetic."""
    total = sum(nano(part.weight) * nano(part.value) for part in block.contributions)
    return (total + 500_000_000) // 1_000_000_000 / 1_000_000_000


def signals(block: ScoredBlock) -> dict[str, float]:
    return {part.signal: part.value for part in block.contributions}


# --- the score ----------------------------------------------------------------------------------


def test_a_score_is_the_weighted_sum_of_the_signals_it_shows(opened: Open) -> None:
    memory = opened(embedder=APART)
    for n, age in enumerate(["2025-12-18", "unknown", "2030-01-01", None]):
        memory.learn(f"b{n}", created_at=age, confidence=n / 4)
    first = memory.recall("ask", frame="attention", top_k=10).blocks
    memory.outcome([first[0].id], 1.0)
    for block in memory.recall("ask", frame="attention", top_k=10).blocks:
        assert {part.signal: part.weight for part in block.contributions} == WEIGHTS
        assert block.score == block.composite_score == recombined(block)
        parts = sum(part.contribution for part in block.contributions)
        assert parts == pytest.approx(block.score, abs=5e-9)
        for part in block.contributions:
            assert part.contribution == pytest.approx(part.value * part.weight, abs=1e-9)


@pytest.mark.parametrize(
    ("created_at", "recency"),
    [
        (None, 1.0),
        ("2026-01-01", 1.0),
        ("2025-12-18", 0.496585304),
        ("2025-12-18T02:00:00+02:00", 0.496585304),
        ("2025-12-31T12:00:00", 0.975309912),
        ("2026-03-01", 1.0),
        ("unknown", 0.5),
        ("1970-01-01", 0.0),
    ],
)
def test_recency_is_by_age_in_days(opened: Open, created_at: str | None, recency: float) -> None:
    memory = opened(embedder=APART)
    memory.learn("b0", created_at=created_at)
    (block,) = memory.recall("ask", frame="attention").blocks
    assert block.recency_score == signals(block)["recency"] == recency


def test_recency_follows_the_wall_clock_even_without_sessions(
    opened: Open, clock: ManualClock
) -> None:
    memory = opened(embedder=APART)
    memory.learn("b0")
    clock.advance(days=14)
    assert memory.recall("ask", frame="attention").blocks[0].recency_score == 0.496585304


def test_usefulness_confidence_and_frequency_come_from_the_block(opened: Open) -> None:
    memory = opened(embedder=APART)
    block = memory.learn("b0", confidence=0.3).block_id
    fresh = memory.recall("ask", frame="attention").blocks[0]
    assert (fresh.usefulness_score, fresh.confidence_score, fresh.frequency_score) == (0.5, 0.3, 0)
    memory.outcome([block], 1.0)
    memory.outcome([block], 0.0, weight=2.0)
    used = memory.recall("ask", frame="attention").blocks[0]
    assert (used.usefulness_score, used.confidence_score, used.frequency_score) == (
        0.375,
        0.3,
        0.02,
    )


def test_frequency_is_full_at_fifty_retrievals(opened: Open) -> None:
    memory = opened(embedder=APART)
    memory.learn("b0")
    seen = [memory.recall("ask", frame="attention").blocks[0].frequency_score for _ in range(52)]
    assert seen[:3] == [0.0, 0.02, 0.04]
    assert seen[-3:] == [0.98, 1.0, 1.0]


def test_relevance_does_not_dominate_the_sum_of_other_signals(opened: Open) -> None:
    said = {"ask": axis(0), "hit": axis(0), "miss": with_cosine(axis(0), 0.05, axis=1)}
    memory = opened(embedder=ScriptedEmbedder(said, SIZE))
    memory.learn("hit", created_at="1970-01-01", confidence=0.0)
    miss = memory.learn("miss", confidence=1.0).block_id
    memory.consolidate()
    memory.outcome([miss], 1.0, weight=10)
    best, worst = memory.recall("ask", frame="attention").blocks
    assert (best.content, worst.relevance_score > 0.9) == ("miss", True)


def test_the_better_match_comes_first_when_all_else_is_equal(opened: Open) -> None:
    said = {"ask": axis(0)}
    said |= {f"b{n}": with_cosine(axis(0), 0.9 - n / 10, axis=n + 1) for n in range(6)}
    memory = opened(embedder=ScriptedEmbedder(said, SIZE))
    for n in (3, 0, 5, 1, 4, 2):
        memory.learn(f"b{n}", category="message", thread=f"apart {n}")
    found = memory.recall("ask", frame="attention", top_k=6).blocks
    assert [block.content for block in found] == [f"b{n}" for n in range(6)]
    relevances = [block.relevance_score for block in found]
    assert relevances == sorted(relevances, reverse=True)
    assert all(0.0 <= value <= 1.0 for value in relevances)


def test_lexical_search_finds_blocks_that_vectors_miss(opened: Open) -> None:
    said = {"gate code": axis(0), "the gate code is four": axis(5), "noise": axis(6)}
    memory = opened(embedder=ScriptedEmbedder(said, SIZE))
    wanted = memory.learn("the gate code is four").block_id
    memory.learn("noise")
    (block,) = memory.recall("gate code").blocks
    assert (block.id, block.cosine_score) == (wanted, 0.0)
    assert block.lexical_score > 0.0


# --- how many and in which order ----------------------------------------------------------------


def test_equal_scores_are_ordered_by_id(opened: Open) -> None:
    said = {text: axis(0) for text in ["ask", *"abcdefgh"]}
    # The block learned first had rarer words, and nothing to be typical of.
    policy = Policy(
        relevance_rarity=0.0, relevance_lexical=0.49, relevance_nearby=0.0, relevance_distinct=0.0
    )
    memory = opened(embedder=ScriptedEmbedder(said, SIZE), policy=policy)
    blocks = [memory.learn(text, category="message").block_id for text in "abcdefgh"]
    found = memory.recall("ask", frame="attention", top_k=8)
    assert len({block.score for block in found.blocks}) == 1
    assert found.block_ids == tuple(sorted(blocks))
    assert (
        memory.recall("ask", frame="attention", top_k=3, record=False).block_ids
        == tuple(sorted(blocks))[:3]
    )


def test_five_blocks_are_returned_by_default(opened: Open) -> None:
    memory = opened(embedder=APART)
    for n in range(9):
        memory.learn(f"b{n}")
    assert len(memory.recall().blocks) == 5
    assert len(memory.recall(top_k=7).blocks) == 7
    assert len(memory.recall(top_k=1000).blocks) == 9
    scores = [block.score for block in memory.recall(top_k=9).blocks]
    assert scores == sorted(scores, reverse=True)


def test_up_to_twenty_blocks_dropped_by_the_limit_are_listed(opened: Open) -> None:
    said = {f"b{n}": tuple(float(n == place) for place in range(30)) for n in range(30)}
    memory = opened(embedder=ScriptedEmbedder(said, 30))
    blocks = [memory.learn(text).block_id for text in said]
    everything = [block.id for block in memory.recall(top_k=100, record=False).blocks]
    assert sorted(everything) == sorted(blocks)
    found = memory.recall(top_k=3)
    assert list(found.block_ids) == everything[:3]
    assert [each.id for each in found.dropped] == everything[3:23]
    assert {each.reason for each in found.dropped} == {"top_k"}


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"top_k": 0}, "field-refused"),
    ({"top_k": -1}, "field-refused"),
    ({"top_k": 1001}, "field-refused"),
    ({"top_k": True}, "field-refused"),
    ({"top_k": 2.0}, "field-refused"),
    ({"token_budget": 0}, "field-refused"),
    ({"token_budget": "many"}, "field-refused"),
    ({"query": 7}, "field-refused"),
    ({"query": "q" * 32_769}, "field-refused"),
    ({"query": "\ud800"}, "field-refused"),
    ({"frame": "dream"}, "frame-unknown"),
    ({"frame": ["self"]}, "frame-unknown"),
]


@pytest.mark.parametrize(("given", "code"), REFUSALS, ids=str)
def test_an_invalid_recall_is_refused_and_leaves_no_trace(
    opened: Open, given: dict[str, Any], code: str
) -> None:
    memory = opened(embedder=APART)
    memory.learn("b0")
    before = memory.status()
    asked: dict[str, Any] = {"query": "ask", **given}
    assert refused(lambda: memory.recall(**asked)) == code
    assert memory.status() == before
    view = memory.as_of(version=before.version)
    assert refused(lambda: view.recall(**asked)) == code


# --- one hop ------------------------------------------------------------------------------------


def test_a_neighbour_is_reached_by_an_edge_with_its_own_relevance(opened: Open) -> None:
    memory = opened(embedder=APART)
    hit, friend, stranger = (memory.learn(f"b{n}").block_id for n in (0, 5, 6))
    assert memory.recall("ask", frame="attention", record=False).block_ids == (hit,)
    memory.connect(friend, hit, "supports")
    first, second = memory.recall("ask", frame="attention", record=False).blocks
    assert (first.id, first.was_expanded, first.expanded_via) == (hit, False, None)
    assert (second.id, second.was_expanded, second.expanded_via) == (friend, True, hit)
    assert second.relevance_score < 0.05
    assert second.score == recombined(second)
    memory.connect(friend, stranger)
    assert (
        len(memory.recall("ask", frame="attention", record=False).blocks) == 2
    )  # one hop, not two


def test_a_neighbour_is_reached_by_its_strongest_edge(opened: Open, clock: ManualClock) -> None:
    said = {"ask": axis(0), "strong": axis(0), "weak": with_cosine(axis(0), 0.8, axis=1)}
    said["friend"] = axis(5)
    memory = opened(embedder=ScriptedEmbedder(said, SIZE), policy=Policy(idle_gap_hours=1e4))
    memory.start_session()
    strong, weak, friend = (memory.learn(text).block_id for text in said if text != "ask")
    memory.consolidate()
    memory.outcome([friend, strong], 0.9)
    clock.advance(hours=100)
    memory.connect(friend, weak, weight=0.5)
    found = {
        block.id: block.expanded_via
        for block in memory.recall("ask", frame="attention", record=False).blocks
    }
    assert found[friend] == weak  # .72 faded to .44


def test_a_contradiction_is_shown_as_counterpoint_and_not_as_support(opened: Open) -> None:
    memory = opened(embedder=APART)
    hit, against = (memory.learn(f"b{n}").block_id for n in (0, 5))
    memory.consolidate()
    memory.connect(against, hit, "contradicts")
    found = memory.recall("ask", frame="attention", record=False)
    assert found.block_ids == (hit,)
    assert [block.id for block in found.counterpoints] == [against]
    assert found.counterpoints == (memory.block(against),)
    assert "b5" in found.text
    memory.forget(against)
    assert memory.recall("ask", frame="attention", record=False).counterpoints == ()


def test_an_expired_block_is_no_counterpoint(opened: Open, clock: ManualClock) -> None:
    memory = opened(embedder=APART)
    hit = memory.learn("b0").block_id
    against = memory.learn("b5", expires_at="2026-01-02").block_id
    memory.consolidate()
    memory.connect(against, hit, "contradicts")
    assert len(memory.recall("ask", frame="attention", record=False).counterpoints) == 1
    clock.advance(days=1)
    assert memory.recall("ask", frame="attention", record=False).counterpoints == ()


# --- without a question, without anything -------------------------------------------------------


def test_without_a_question_the_other_weights_rescale_to_one(opened: Open) -> None:
    memory = opened(embedder=APART)
    memory.learn("b0", created_at="2025-12-18")
    memory.learn("b1", confidence=0.1)
    for asked in (None, "", "   \n"):
        found = memory.recall(asked, frame="attention", record=False)
        assert found.query is None
        for block in found.blocks:
            weights = {part.signal: part.weight for part in block.contributions}
            assert weights == {
                "recency": 0.416666667,
                "usefulness": 0.333333333,
                "confidence": 0.166666667,
                "frequency": 0.083333333,
            }
            assert block.score == recombined(block)


def test_an_empty_memory_answers_with_nothing(opened: Open) -> None:
    memory = opened(embedder=APART)
    found = memory.recall("ask", frame="attention")
    assert (found.blocks, found.dropped, found.counterpoints) == ((), (), ())
    assert (found.verdict, found.answerable, str(found)) == ("no", 0.0, "Recalled 0 blocks.")
    assert found.text == "Nothing in memory bears on this."
    assert memory.replay(str(found.decision_id)).outcome == "reproduced"


def test_a_recall_without_matches_is_answered_and_recorded(opened: Open) -> None:
    memory = opened(embedder=APART)
    memory.learn("b5")
    assert memory.recall("ask", frame="attention").blocks == ()


# --- effects of a recall ------------------------------------------------------------------------


def test_a_recorded_recall_counts_one_retrieval_per_returned_block(opened: Open) -> None:
    memory = opened(embedder=APART)
    blocks = [memory.learn(f"b{n}").block_id for n in range(3)]
    found = memory.recall(top_k=2)
    counts = {block: memory.block(block).retrievals for block in blocks}
    assert counts == {block: int(block in found.block_ids) for block in blocks}
    assert found.decision_id == f"d{memory.status().version}"
    assert memory.status().decisions == 1


def test_retrieval_alone_changes_no_confidence_usefulness_or_reinforcement(
    opened: Open, clock: ManualClock
) -> None:
    memory = opened(embedder=APART)
    memory.start_session()
    block = memory.learn("b0").block_id
    memory.consolidate()
    before = memory.block(block)
    clock.advance(minutes=30)
    memory.recall("ask", frame="attention")
    after = memory.block(block)
    assert (after.confidence, after.usefulness, after.evidence) == (
        before.confidence,
        before.usefulness,
        before.evidence,
    )
    assert (after.last_reinforced_hour, after.reinforcements) == (0.0, 1)
    assert after.recency < before.recency


def test_an_unrecorded_recall_changes_nothing(opened: Open) -> None:
    memory = opened(embedder=APART)
    memory.start_session()
    blocks = [memory.learn(f"b{n}").block_id for n in range(3)]
    memory.consolidate()
    before = memory.status(), [memory.block(block) for block in blocks]
    found = memory.recall("ask", frame="attention", record=False)
    assert found.decision_id is None
    assert (memory.status(), [memory.block(block) for block in blocks]) == before
    assert memory.recall("ask", frame="attention", record=False) == found


def test_a_read_only_memory_recalls_without_recording(opened: Open) -> None:
    memory = opened(embedder=APART)
    block = memory.learn("b0").block_id
    memory.consolidate()
    reader = opened(embedder=APART, read_only=True)
    assert reader.recall("ask").block_ids == (block,)
    assert reader.recall("ask").decision_id is None


def test_a_block_is_not_recalled_from_its_expiry_on(opened: Open, clock: ManualClock) -> None:
    memory = opened(embedder=APART)
    block = memory.learn("b0", expires_at="2026-01-02").block_id
    memory.consolidate()
    clock.advance(days=1, microseconds=-1)
    assert memory.recall("ask", frame="attention", record=False).block_ids == (block,)
    clock.advance(microseconds=1)
    assert memory.recall("ask", frame="attention", record=False).block_ids == ()
    assert memory.recall(record=False).block_ids == ()
    assert memory.block(block).status == "active"
    memory.curate()
    assert (memory.block(block).status, memory.block(block).archive_reason) == (
        "archived",
        "expired",
    )


def test_archived_blocks_are_never_recalled(opened: Open) -> None:
    memory = opened(embedder=APART)
    kept, gone = (memory.learn(f"b{n}").block_id for n in (0, 1))
    memory.consolidate()
    memory.connect(kept, gone)
    memory.forget(gone)
    assert memory.recall("ask", frame="attention", record=False).block_ids == (kept,)
    assert memory.recall(record=False).block_ids == (kept,)
