"""A wrong edge is removed, and is not formed again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.model.identity import BlockId, short
from mnemic.kernel.results import DisconnectResult
from tests.scenarios.conftest import Learn, Open

Ends = tuple[BlockId, BlockId]


@pytest.fixture
def memory(opened: Open, near: Callable[..., ScriptedEmbedder]) -> SyncMemory:
    return opened(embedder=near(["bank", "shore"], shore=0.85))


@pytest.fixture
def ends(memory: SyncMemory, learn: Learn) -> Ends:
    """Two unrelated blocks that share a word, and are connected for it."""
    bank, shore = learn(memory, "bank", "shore")
    assert [edge.relation for edge in memory.edges(bank)] == ["similar"]
    return bank, shore


def test_the_result_names_the_removed_edge_and_the_log_the_reason(
    memory: SyncMemory, ends: Ends
) -> None:
    bank, shore = ends
    weight = memory.edges(bank)[0].weight
    assert memory.disconnect(bank, shore, reason="one word, two senses") == DisconnectResult(
        source_id=bank,
        target_id=shore,
        action="removed",
        removed_relation="similar",
        removed_weight=weight,
    )
    last = memory.history(of=bank)[-1]
    assert last.kind == "edge-disconnected"
    assert last.detail == f"{short(bank)} -similar-> {short(shore)}: one word, two senses"
    assert memory.disconnect(bank, shore).action == "not_found"


def test_guard_relation_spares_an_assertion_that_replaced_a_found_edge(
    memory: SyncMemory, ends: Ends
) -> None:
    memory.connect(*ends, "contradicts", if_exists="update")
    kept = memory.disconnect(*ends, guard_relation="similar")
    assert (kept.action, kept.removed_relation) == ("guarded", None)
    assert [edge.relation for edge in memory.edges(ends[0])] == ["contradicts"]


def test_a_disconnected_pair_gets_no_automatic_edge(memory: SyncMemory, ends: Ends) -> None:
    memory.disconnect(*ends)
    memory.consolidate(relink=True)
    memory.outcome(ends, 1.0)
    for _ in range(4):
        with memory.session():
            assert set(memory.recall("bank").block_ids) == set(ends)
    assert memory.edges(ends[0]) == ()


def test_a_disconnected_pair_is_not_suggested(memory: SyncMemory, ends: Ends) -> None:
    memory.disconnect(*ends)
    assert memory.recall("bank", suggest=True).suggested_connections == ()


def test_connecting_a_disconnected_pair_lifts_the_bar(memory: SyncMemory, ends: Ends) -> None:
    memory.disconnect(*ends)
    made = memory.connect(*ends, "elaborates")
    assert (made.action, len(memory.edges(ends[0]))) == ("created", 1)
