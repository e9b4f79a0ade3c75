"""An edge that should never have been is removed, and stays away."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.identity import BlockId, short
from mnemic.kernel.results import DisconnectResult
from tests.scenarios.conftest import Learn, Open

Ends = tuple[BlockId, BlockId]


@pytest.fixture
def memory(opened: Open, near: Callable[..., ScriptedEmbedder]) -> SyncMemory:
    return opened(embedder=near(["bank", "shore"], shore=0.85))


@pytest.fixture
def ends(memory: SyncMemory, learn: Learn) -> Ends:
    """Two blocks that share a word and no sense, and are tied for it."""
    bank, shore = learn(memory, "bank", "shore")
    assert [edge.relation for edge in memory.edges(bank)] == ["similar"]
    return bank, shore


def test_the_removal_tells_what_went_and_the_log_tells_why(memory: SyncMemory, ends: Ends) -> None:
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


def test_a_guard_spares_the_assertion_that_took_the_found_edges_place(
    memory: SyncMemory, ends: Ends
) -> None:
    memory.connect(*ends, "contradicts", if_exists="update")
    kept = memory.disconnect(*ends, guard_relation="similar")
    assert (kept.action, kept.removed_relation) == ("guarded", None)
    assert [edge.relation for edge in memory.edges(ends[0])] == ["contradicts"]


def test_neither_likeness_nor_success_nor_use_brings_it_back(
    memory: SyncMemory, ends: Ends
) -> None:
    memory.disconnect(*ends)
    memory.consolidate(relink=True)
    memory.outcome(ends, 1.0)
    for _ in range(4):
        with memory.session():
            assert set(memory.recall("bank").block_ids) == set(ends)
    assert memory.edges(ends[0]) == ()


def test_nor_is_it_suggested(memory: SyncMemory, ends: Ends) -> None:
    memory.disconnect(*ends)
    assert memory.recall("bank", suggest=True).suggested_connections == ()


def test_connecting_them_after_all_lifts_the_bar(memory: SyncMemory, ends: Ends) -> None:
    memory.disconnect(*ends)
    made = memory.connect(*ends, "elaborates")
    assert (made.action, len(memory.edges(ends[0]))) == ("created", 1)
