"""A client's recalls: brief by default, complete on request, and never silently incomplete."""

from __future__ import annotations

import pytest

from mnemic.adapters.client import SyncMemory
from mnemic.kernel.errors import DetailLeftOut
from mnemic.kernel.results import CoreRecallResult, RecallResult, detailed

GATE = "angle 0: The gate sticks."


@pytest.fixture
def stocked(memory: SyncMemory) -> SyncMemory:
    memory.learn(GATE, tags=["yard"])
    memory.learn("angle 900: The oil is in the shed.")
    return memory


def test_a_recall_has_no_details_unless_requested(stocked: SyncMemory) -> None:
    core = stocked.recall(GATE, record=False)
    full = stocked.recall(GATE, record=False, detail="full")
    assert (type(core), type(full)) == (CoreRecallResult, RecallResult)
    assert core == detailed(full, "core") == stocked.recall(GATE, record=False, detail="core")
    assert full.blocks[0].contributions
    with pytest.raises(DetailLeftOut, match="contributions") as caught:
        core.blocks[0].contributions  # noqa: B018 - reading it is refused
    assert "detail='full'" in caught.value.recovery


def test_a_core_answer_is_enough_to_report_an_outcome(stocked: SyncMemory) -> None:
    answer = stocked.recall(GATE, top_k=1)
    assert stocked.last_recall_block_ids == answer.block_ids
    assert stocked.outcome(decision_id=answer.decision_id).updated == answer.block_ids
    assert stocked.replay(answer.decision_id or "").outcome == "reproduced"


def test_a_view_of_the_past_has_the_same_default(stocked: SyncMemory) -> None:
    now = stocked.recall(GATE, record=False)
    view = stocked.as_of(version=now.version)
    assert view.recall(GATE) == now
    assert view.recall(GATE, detail="full") == stocked.recall(GATE, record=False, detail="full")
