"""consolidate: the inbox empties in order, chunk by chunk, whatever the models do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder, ScriptedEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Analysis
from mnemic.kernel.results import ConsolidateResult

Open: TypeAlias = Callable[..., SyncMemory]


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


class RecordingEmbedder:
    """The hash embedder, which records all texts and fails on request."""

    identity = HashEmbedder().identity

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails_at: str | None = None

    def embed(self, texts: Sequence[str]) -> Any:
        if self.fails_at in texts:
            raise ConnectionError("the model is away")
        self.asked.extend(texts)
        return HashEmbedder().embed(texts)


class FixedEmbedder:
    """An embedder with fixed answers."""

    identity = HashEmbedder(4).identity

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def embed(self, texts: object) -> Any:  # noqa: ARG002 - that is the point
        return self._answer


class FixedAnalyst:
    """An analyst with fixed answers."""

    name = "telling"

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def analyse(self, passages: object) -> Any:  # noqa: ARG002 - that is the point
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def learn(memory: SyncMemory, *texts: str) -> list[BlockId]:
    return [memory.learn(text).block_id for text in texts]


def statuses(memory: SyncMemory, blocks: Sequence[str]) -> list[str]:
    return [memory.block(block).status for block in blocks]


# --- order and chunks ---------------------------------------------------------------------------


def test_promotion_makes_a_block_active_and_reinforces_it_once(
    opened: Open, clock: ManualClock
) -> None:
    memory = opened()
    memory.start_session()
    (block,) = learn(memory, "words")
    clock.advance(minutes=30)
    assert memory.consolidate() == ConsolidateResult(promoted=1, chunks=1)
    active = memory.block(block)
    assert (active.status, active.reinforcements, active.last_reinforced_hour) == ("active", 1, 0.5)
    assert (active.decay_rate, active.recency) == (0.01, 1.0)


def test_an_empty_inbox_needs_no_model_and_writes_nothing(opened: Open) -> None:
    memory = opened(embedder=FixedEmbedder(None))
    before = memory.status()
    assert memory.consolidate() == ConsolidateResult()
    assert str(memory.consolidate()) == "Nothing to consolidate."
    assert memory.status() == before


def test_the_limit_promotes_first_in_first_out(memory: SyncMemory) -> None:
    blocks = learn(memory, "alpha", "bravo", "charlie", "delta")
    assert memory.consolidate(limit=3).inbox_remaining == 1
    assert statuses(memory, blocks) == ["active"] * 3 + ["inbox"]
    assert memory.consolidate(limit=0) == ConsolidateResult(inbox_remaining=1)
    assert memory.consolidate(limit=99).promoted == 1


def test_a_reactivated_block_goes_to_the_end_of_the_queue(memory: SyncMemory) -> None:
    first, second = learn(memory, "alpha", "bravo")
    memory.forget(first)
    memory.learn("alpha")
    memory.consolidate(limit=1)
    assert statuses(memory, [first, second]) == ["inbox", "active"]


@pytest.mark.parametrize("limit", [-1, True, 1.5, "all"])
def test_an_invalid_limit_is_refused(memory: SyncMemory, limit: Any) -> None:
    assert refused(lambda: memory.consolidate(limit)) == "field-refused"


def test_chunks_commit_one_by_one_and_report_progress(opened: Open) -> None:
    memory = opened(policy=Policy(consolidate_chunk=3))
    learn(memory, "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf")
    seen: list[tuple[int, int]] = []
    done = memory.consolidate(progress=lambda so_far, to_do: seen.append((so_far, to_do)))
    assert (done.promoted, done.chunks, done.inbox_remaining) == (7, 3, 0)
    assert seen == [(3, 7), (6, 7), (7, 7)]
    kinds = [moment.kind for moment in memory.log(after=8)]
    assert kinds == ["embedder-adopted", "blocks-promoted", "blocks-promoted", "blocks-promoted"]


def test_committed_chunks_stay_when_a_later_chunk_fails(opened: Open) -> None:
    embedder = RecordingEmbedder()
    memory = opened(embedder=embedder, policy=Policy(consolidate_chunk=2))
    blocks = learn(memory, "alpha", "bravo", "charlie", "delta", "echo")
    embedder.fails_at = "delta"
    assert refused(memory.consolidate) == "vector-refused"
    assert statuses(memory, blocks) == ["active", "active", "inbox", "inbox", "inbox"]
    embedder.fails_at = None
    assert memory.consolidate().promoted == 3
    assert statuses(memory, blocks) == ["active"] * 5


# --- the embedder -------------------------------------------------------------------------------


def test_every_text_is_embedded_once(opened: Open) -> None:
    embedder = RecordingEmbedder()
    memory = opened(embedder=embedder, policy=Policy(consolidate_chunk=4))
    texts = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"]
    learn(memory, *texts)
    memory.consolidate()
    learn(memory, "golf")
    memory.consolidate()
    assert embedder.asked == [*texts, "golf"]


def test_every_text_is_embedded_once_in_a_storm_of_duplicates_too(opened: Open) -> None:
    embedder = RecordingEmbedder()
    memory = opened(embedder=embedder)
    texts = [f"storm{'!' * n}" for n in range(12)]
    learn(memory, *texts)
    done = memory.consolidate()
    assert (done.promoted, len(done.superseded)) == (12, 11)
    assert sorted(embedder.asked) == sorted(texts)


BROKEN = {
    "a NaN": [[float("nan"), 0, 0, 0]] * 2,
    "an infinity": [[float("inf"), 0, 0, 0]] * 2,
    "one number short": [[1.0, 0.0, 0.0]] * 2,
    "one number more": [[1.0, 0.0, 0.0, 0.0, 0.0]] * 2,
    "a vector short": [[1.0, 0.0, 0.0, 0.0]],
    "a vector more": [[1.0, 0.0, 0.0, 0.0]] * 3,
    "one flat list": [1.0, 0.0, 0.0, 0.0],
    "ragged rows": [[1.0, 0.0, 0.0, 0.0], [1.0]],
    "words": [["a", "b", "c", "d"]] * 2,
    "nothing": None,
    "complex numbers": np.ones((2, 4), dtype=np.complex128),
    "a good one, then a NaN": [[1.0, 0.0, 0.0, 0.0], [0.0, float("nan"), 0.0, 0.0]],
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_embedder_leaves_the_inbox_as_it_was(opened: Open, answer: object) -> None:
    memory = opened(embedder=FixedEmbedder(answer))
    blocks = learn(memory, "alpha", "bravo")
    before = memory.status()
    assert refused(memory.consolidate) == "vector-refused"
    assert memory.status() == before
    assert statuses(memory, blocks) == ["inbox", "inbox"]
    memory.close()
    working = opened(embedder=HashEmbedder(4))
    assert working.consolidate().promoted == 2


def test_a_zero_vector_is_near_to_nothing(opened: Open) -> None:
    memory = opened(embedder=ScriptedEmbedder({"a": (0.0, 0.0), "b": (0.0, 0.0)}, 2))
    learn(memory, "a", "b")
    assert memory.consolidate() == ConsolidateResult(promoted=2, chunks=1)


def test_a_second_embedder_is_refused_when_opening_and_when_promoting(opened: Open) -> None:
    memory = opened(embedder=HashEmbedder(8))
    late = opened(embedder=HashEmbedder(16))
    learn(memory, "alpha")
    memory.consolidate()
    assert refused(lambda: opened(embedder=HashEmbedder(16))) == "embedder-mismatch"
    learn(late, "bravo")
    assert refused(late.consolidate) == "embedder-mismatch"
    assert refused(lambda: late.recall("bravo")) == "embedder-mismatch"
    assert memory.status().inbox == 1


# --- the analyst --------------------------------------------------------------------------------


def test_an_analyst_adds_tags_and_a_summary(opened: Open) -> None:
    analysis = Analysis(tags=("self/goal", "ops"), alignment=0.7, summary="in short")
    memory = opened(analyst=FixedAnalyst([analysis]))
    block = memory.learn("a long story", tags=["story", "ops"]).block_id
    assert memory.consolidate().analyses_failed == 0
    active = memory.block(block)
    assert (active.tags, active.summary_text) == (("ops", "self/goal", "story"), "in short")
    assert active.decay_rate == 0.001


FAILURES = {
    "it raises": TimeoutError("too slow"),
    "it gives one too few": [Analysis()],
    "it gives one too many": [Analysis()] * 3,
    "it gives nothing": None,
    "it gives words": ["a", "b"],
    "its tags are no texts": [Analysis(tags=(1, 2)), Analysis(tags=(None,))],  # type: ignore[arg-type]
    "its tags are one text": [Analysis(tags="ab"), Analysis(tags="cd")],  # type: ignore[arg-type]
    "its tags are too long": [Analysis(tags=("t" * 129,))] * 2,
    "its tags are blank": [Analysis(tags=(" ",))] * 2,
    "its tags are too many": [Analysis(tags=tuple(map(str, range(65))))] * 2,
    "its tags cannot be stored": [Analysis(tags=("\ud800",))] * 2,
    "its alignment is NaN": [Analysis(alignment=float("nan"))] * 2,
    "its alignment is above one": [Analysis(alignment=1.5)] * 2,
    "its alignment is a word": [Analysis(alignment="high")] * 2,  # type: ignore[arg-type]
    "its summary is a number": [Analysis(summary=7)] * 2,  # type: ignore[arg-type]
    "its summary cannot be stored": [Analysis(summary="\ud800")] * 2,
    "its summary is endless": [Analysis(summary="s" * 200_001)] * 2,
}


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES.keys())
def test_a_failing_analyst_degrades_to_none_and_that_is_recorded(
    opened: Open, answer: object
) -> None:
    memory = opened(analyst=FixedAnalyst(answer))
    blocks = learn(memory, "alpha", "bravo")
    done = memory.consolidate()
    assert (done.promoted, done.analyses_failed) == (2, 2)
    found = [memory.block(block) for block in blocks]
    assert [(block.status, block.tags, block.summary_text) for block in found] == [
        ("active", (), None)
    ] * 2


def test_one_bad_analysis_does_not_spoil_the_others(opened: Open) -> None:
    good, bad = Analysis(tags=("fine",)), Analysis(alignment=2.0)
    memory = opened(analyst=FixedAnalyst([bad, good]))
    blocks = learn(memory, "alpha", "bravo")
    assert memory.consolidate().analyses_failed == 1
    assert [memory.block(block).tags for block in blocks] == [(), ("fine",)]


def test_inferred_tags_stop_at_the_limit_and_declared_ones_stay(opened: Open) -> None:
    declared = [f"a{n:02}" for n in range(63)]
    memory = opened(analyst=FixedAnalyst([Analysis(tags=("b1", "b2", "a00"))]))
    block = memory.learn("full of tags", tags=declared).block_id
    memory.consolidate()
    assert memory.block(block).tags == (*declared, "b1")


# --- decay tiers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tags", "category", "rate"),
    [
        ((), "knowledge", 0.01),
        (("self/constitutional",), "knowledge", 1e-5),
        (("self/constitutional", "self/goal"), "observation", 1e-5),
        (("self/value",), "observation", 1e-3),
        (("self/constraint",), "knowledge", 1e-3),
        (("self/goal",), "knowledge", 1e-3),
        (("self/goals",), "knowledge", 0.01),
        ((), "observation", 0.05),
        ((), "Observation", 0.01),
    ],
)
def test_the_first_matching_tier_decides_the_decay(
    memory: SyncMemory, tags: tuple[str, ...], category: str, rate: float
) -> None:
    block = memory.learn("words", tags=tags, category=category).block_id
    memory.consolidate()
    assert memory.block(block).decay_rate == rate


# --- automatic consolidation --------------------------------------------------------------------


def test_recall_finds_what_was_just_learned(memory: SyncMemory) -> None:
    (block,) = learn(memory, "fresh words")
    assert memory.recall("fresh").block_ids == (block,)
    assert memory.block(block).status == "active"


def test_the_end_of_a_session_consolidates_what_waits(memory: SyncMemory) -> None:
    memory.start_session()
    learn(memory, "pending")
    memory.end_session()
    assert (memory.status().inbox, memory.status().active) == (0, 1)
    assert [moment.kind for moment in memory.log(after=4)] == ["blocks-promoted", "session-ended"]


def test_without_auto_consolidation_blocks_wait_for_consolidate(opened: Open) -> None:
    memory = opened(policy=Policy(auto_consolidate=False))
    memory.start_session()
    (block,) = learn(memory, "fresh words")
    assert memory.recall("fresh").block_ids == ()
    memory.end_session()
    assert memory.status().inbox == 1
    memory.consolidate()
    assert memory.recall("fresh").block_ids == (block,)


def test_dream_is_an_alias_of_consolidate(memory: SyncMemory) -> None:
    learn(memory, "words")
    assert memory.dream() == ConsolidateResult(promoted=1, chunks=1)


def test_a_consolidation_repeated_after_its_revert_promotes_nothing(memory: SyncMemory) -> None:
    learn(memory, "one", "two")
    first = memory.consolidate(command_id="once")
    version = memory.status().version
    memory.revert(version, version)
    reverted = memory.status().version
    assert memory.consolidate(command_id="once") == first
    assert memory.status().version == reverted
