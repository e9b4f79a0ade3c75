from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import EmbedderMismatch, FieldRefused, VectorRefused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.policy import Policy

OLD, NEW = HashEmbedder(32), HashEmbedder(64)
QUESTION = "what does note 3 say about oil?"
SMALL_CHUNKS = Policy(consolidate_chunk=4)


class StoppingEmbedder:
    """Wraps an embedder and fails after a given number of calls."""

    def __init__(self, behind: HashEmbedder, times: int) -> None:
        self._behind = behind
        self._left = times

    @property
    def identity(self) -> EmbedderIdentity:
        return self._behind.identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating]:
        self._left -= 1
        if self._left < 0:
            raise RuntimeError("out of paper")
        return self._behind.embed(texts)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def memory(store: MemoryStore) -> Iterator[SyncMemory]:
    clock = ManualClock()
    with SyncMemory.open(store, embedder=OLD, policy=SMALL_CHUNKS, clock=clock) as opened:
        opened.learn_many([f"note {number} is about oil and lamp {number}" for number in range(10)])
        opened.consolidate()
        yield opened


def test_a_second_embedder_is_refused_with_a_remedy(memory: SyncMemory, store: MemoryStore) -> None:
    with pytest.raises(EmbedderMismatch) as refused:
        SyncMemory.open(store, embedder=NEW)
    assert refused.value.code == "embedder-mismatch"
    assert "reembed()" in refused.value.recovery
    assert memory.verify().sound


def test_reembedding_moves_the_space_and_reports_progress(memory: SyncMemory) -> None:
    steps: list[tuple[int, int]] = []
    result = memory.reembed(NEW, progress=lambda done, todo: steps.append((done, todo)))
    assert (result.staged, result.embedder) == (10, NEW.identity.name)
    assert steps == [(4, 10), (8, 10), (10, 10)]
    assert memory.status().embedder == NEW.identity.name
    assert memory.reembed(NEW).staged == 0


def test_decisions_under_both_embedders_are_reproduced(
    memory: SyncMemory, store: MemoryStore
) -> None:
    before = memory.recall(QUESTION)
    memory.reembed(NEW)
    after = memory.recall(QUESTION)
    assert before.decision_id is not None
    assert after.decision_id is not None
    with SyncMemory.open(store, embedder=NEW) as again:
        assert again.replay(before.decision_id).outcome == "reproduced"
        assert again.replay(after.decision_id).outcome == "reproduced"


def test_the_old_embedder_is_used_until_the_new_one_is_adopted(memory: SyncMemory) -> None:
    before = memory.recall(QUESTION, record=False)
    with pytest.raises(VectorRefused):
        memory.reembed(StoppingEmbedder(NEW, times=2))
    assert memory.recall(QUESTION, record=False).digest == before.digest
    assert memory.status().embedder == OLD.identity.name


def test_a_stopped_reembedding_resumes_where_it_was(memory: SyncMemory) -> None:
    with pytest.raises(VectorRefused):
        memory.reembed(StoppingEmbedder(NEW, times=2))
    assert memory.reembed(NEW).staged == 2


def test_a_block_promoted_meanwhile_is_embedded_too(memory: SyncMemory) -> None:
    with pytest.raises(VectorRefused):
        memory.reembed(StoppingEmbedder(NEW, times=1))
    memory.learn("a late note about the tide")
    memory.consolidate()
    assert memory.reembed(NEW).staged == 7
    assert memory.recall("tide", record=False).blocks[0].content == "a late note about the tide"


def test_another_handle_resumes_from_staged_vectors(memory: SyncMemory, store: MemoryStore) -> None:
    with pytest.raises(VectorRefused):
        memory.reembed(StoppingEmbedder(NEW, times=2))
    memory.close()
    with SyncMemory.open(store, embedder=OLD) as again:
        assert again.reembed(NEW).staged == 2
        assert again.status().embedder == NEW.identity.name


def test_every_block_is_reachable_after_any_chunk(memory: SyncMemory) -> None:
    asked: list[tuple[int, str | None]] = []

    def ask(done: int, _: int) -> None:
        found = memory.recall(f"lamp {done - 1}", top_k=1, record=False)
        asked.append((done, found.blocks[0].content))

    memory.reembed(NEW, progress=ask)
    assert asked == [
        (done, f"note {done - 1} is about oil and lamp {done - 1}") for done in (4, 8, 10)
    ]


def test_other_operations_work_during_a_reembedding(memory: SyncMemory, store: MemoryStore) -> None:
    decisions: list[str] = []

    def live(done: int, _: int) -> None:
        with SyncMemory.open(store, embedder=OLD) as beside:
            beside.learn(f"a late note about tide {done}")
            beside.consolidate()
            beside.forget(beside.blocks(status="active").items[0].id)
            decisions.append(beside.recall(QUESTION).decision_id or "")

    def once(done: int, todo: int) -> None:
        if done <= 8:
            live(done, todo)

    memory.reembed(NEW, progress=once)
    assert memory.status().active == 10
    found = memory.recall("a late note about tide 8", top_k=1, record=False)
    assert found.blocks[0].content == "a late note about tide 8"
    assert [memory.replay(decision).outcome for decision in decisions] == ["reproduced"] * 2
    assert memory.verify().sound


def test_views_before_and_after_each_read_their_own_embedder(
    memory: SyncMemory, store: MemoryStore
) -> None:
    before = memory.status().version
    then = memory.as_of(version=before).recall(QUESTION)
    memory.reembed(NEW)
    after = memory.status().version
    assert memory.as_of(version=before).status().embedder == OLD.identity.name
    assert memory.as_of(version=after - 1).block(then.block_ids[0]).status == "active"
    assert memory.as_of(version=before).recall(QUESTION).digest == then.digest
    assert (
        memory.as_of(version=after).recall(QUESTION).digest
        == memory.recall(QUESTION, record=False).digest
    )
    with SyncMemory.open(store, read_only=True, embedder=NEW) as reader:
        assert reader.as_of(version=after).recall(QUESTION).block_ids
        assert reader.as_of(version=before).recall(None).block_ids


def test_a_question_about_the_past_needs_the_embedder_of_that_time(
    memory: SyncMemory, store: MemoryStore
) -> None:
    before = memory.status().version
    then = memory.as_of(version=before).recall(QUESTION)
    reference = memory.as_of(version=before).deep_reference(QUESTION)
    memory.reembed(NEW)
    with SyncMemory.open(store, embedder=NEW) as reader:
        with pytest.raises(EmbedderMismatch) as refused:
            reader.as_of(version=before).recall(QUESTION)
        assert f"{OLD.identity.name} to open(embedders=[...])" in refused.value.recovery
    others = [HashEmbedder(16), OLD]
    with SyncMemory.open(store, embedder=NEW, embedders=others) as reader:
        past = reader.as_of(version=before)
        assert past.recall(QUESTION).digest == then.digest
        assert past.deep_reference(QUESTION) == reference
        assert reader.recall(QUESTION).block_ids


@pytest.mark.parametrize("given", ["bundled", 7, [None], [object()]])
def test_what_is_no_list_of_embedders_is_refused(store: MemoryStore, given: Any) -> None:
    with pytest.raises(FieldRefused, match="embedder"):
        SyncMemory.open(store, embedders=given)


def test_a_shipped_embedder_of_the_past_is_found_by_its_identity(store: MemoryStore) -> None:
    with SyncMemory.open(store) as memory:
        memory.learn("the harbour gate opens at six")
        then = memory.recall("when does the gate open?", record=False)
        before = memory.status().version
        memory.reembed(NEW)
    with SyncMemory.open(store, embedder=NEW) as memory:
        past = memory.as_of(version=before)
        assert past.status().embedder == BundledEmbedder().identity.name
        assert past.recall("when does the gate open?").digest == then.digest


def test_every_decision_is_reproduced_after_moving_there_and_back(memory: SyncMemory) -> None:
    first = memory.recall(QUESTION)
    memory.reembed(NEW)
    second = memory.recall(QUESTION)
    memory.reembed(OLD)
    third = memory.recall(QUESTION)
    decisions = [each.decision_id or "" for each in (first, second, third)]
    assert [memory.replay(each).outcome for each in decisions] == ["reproduced"] * 3
    assert memory.recall(QUESTION, record=False).block_ids == first.block_ids


def test_a_stopped_reembedding_may_be_replaced_by_another(memory: SyncMemory) -> None:
    with pytest.raises(VectorRefused):
        memory.reembed(StoppingEmbedder(NEW, times=1))
    other = HashEmbedder(48)
    assert memory.reembed(other).staged == 10
    assert memory.recall(QUESTION, record=False).block_ids
    assert memory.reembed(NEW).staged == 6


def test_blocks_promoted_again_under_a_third_embedder_have_forgotten_their_earlier_vectors(
    memory: SyncMemory,
) -> None:
    memory.learn_many(["note 3 is about oil and a wick", "a wick burns oil"])
    learned = memory.status().version
    memory.consolidate()
    promoted = memory.status().version
    memory.reembed(NEW)
    memory.revert(learned + 1, promoted)
    memory.reembed(HashEmbedder(16))
    done = memory.consolidate()
    assert (done.promoted, done.inbox_remaining) == (2, 0)
    assert memory.verify().sound
