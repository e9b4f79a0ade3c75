"""An outcome edge gets a relation from the agent."""

from __future__ import annotations

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import EdgeExists
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.results import Edge
from tests.scenarios.conftest import Learn

ADVICE = "Offer a replacement before a refund"
PRACTICE = "Customers who were called back stay loyal"


@pytest.fixture
def ends(memory: SyncMemory, learn: Learn) -> tuple[BlockId, BlockId]:
    advice, practice = learn(memory, ADVICE, PRACTICE)
    done = memory.outcome([advice, practice], 0.9)
    assert (done.edges_created, [edge.weight for edge in memory.edges(advice)]) == (1, [0.72])
    return advice, practice


def test_the_relation_is_replaced_and_the_earned_weight_stays(
    memory: SyncMemory, ends: tuple[BlockId, BlockId]
) -> None:
    advice, practice = ends
    made = memory.connect(
        practice, advice, "supports", note="the call is what made it work", if_exists="update"
    )
    assert (made.action, made.relation, made.weight) == ("updated", "supports", 0.72)
    assert memory.edges(advice) == (
        Edge(
            source_id=practice,
            target_id=advice,
            relation="supports",
            weight=0.72,
            effective_weight=0.72,
            origin="agent",
            anchor_hour=0.0,
            note="the call is what made it work",
        ),
    )


def test_a_later_success_confirms_the_new_relation(
    memory: SyncMemory, ends: tuple[BlockId, BlockId]
) -> None:
    memory.connect(*ends, "supports", if_exists="update")
    done = memory.outcome(ends, 1.0)
    (edge,) = memory.edges(ends[0])
    assert (done.edges_created, done.edges_confirmed) == (0, 1)
    assert (edge.relation, edge.weight, edge.reinforcement_count) == ("supports", 0.72, 1)


def test_by_default_the_edge_is_reinforced_and_ignored_arguments_are_reported(
    memory: SyncMemory, ends: tuple[BlockId, BlockId]
) -> None:
    made = memory.connect(*ends, "supports", note="lost?")
    assert (made.action, made.relation) == ("reinforced", "outcome")
    assert made.weight == pytest.approx(0.82, abs=1e-9)
    assert len(made.warnings) == 2
    with pytest.raises(EdgeExists):
        memory.connect(*ends, "supports", if_exists="error")
