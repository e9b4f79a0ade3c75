"""An agent refers to a block that was archived meanwhile."""

from __future__ import annotations

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import BlockNotActive, BlockNotFound
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from tests.scenarios.conftest import Learn, Open

FADED = "The blue folder holds the warranty papers of the espresso machine"
YOUNG = "The espresso machine leaks at the back"


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    return opened(policy=Policy(idle_gap_hours=1000.0))


@pytest.fixture
def blocks(memory: SyncMemory, learn: Learn, clock: ManualClock) -> tuple[BlockId, BlockId]:
    """Return a block archived by a sweep, and an active one."""
    memory.start_session()
    (faded,) = learn(memory, FADED)
    clock.advance(hours=300)
    (young,) = learn(memory, YOUNG)
    assert memory.curate().archived == 1
    return faded, young


def test_archived_blocks_are_distinguished_from_unknown_ones(
    memory: SyncMemory, blocks: tuple[BlockId, BlockId]
) -> None:
    faded, young = blocks
    with pytest.raises(BlockNotActive) as archived:
        memory.connect(young, faded, "supports")
    with pytest.raises(BlockNotFound) as unknown:
        memory.connect(young, "0" * 16, "supports")
    assert (archived.value.code, unknown.value.code) == ("block-not-active", "block-not-found")
    assert "learn the content again" in archived.value.recovery
    assert "recall()" in unknown.value.recovery
    assert (memory.edges(young), memory.block(faded).archive_reason) == ((), "decayed")


def test_an_archived_block_is_not_recalled_nor_revived_by_connecting(
    memory: SyncMemory, blocks: tuple[BlockId, BlockId]
) -> None:
    faded, young = blocks
    assert memory.recall("espresso machine warranty").block_ids == (young,)
    assert memory.block(faded).status == "archived"


def test_learning_an_archived_text_again_reactivates_its_id(
    memory: SyncMemory, blocks: tuple[BlockId, BlockId]
) -> None:
    faded, young = blocks
    again = memory.learn(FADED)
    assert (again.block_id, again.action) == (faded, "reactivated")
    made = memory.connect(faded, young, "supports", if_exists="update")
    memory.consolidate()
    assert (made.action, memory.block(faded).status) == ("created", "active")
    assert set(memory.recall("espresso machine warranty").block_ids) == {faded, young}
