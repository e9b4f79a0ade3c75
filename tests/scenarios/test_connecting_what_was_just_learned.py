"""A block is connected right after it is learned."""

from __future__ import annotations

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import BlockNotFound
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import Edge
from tests.scenarios.conftest import Learn, Open

RULE = "Prices are rounded up to the next five cents"
REASON = "Coins below five cents are no longer accepted at the till"


def test_the_last_block_learned_and_the_last_ones_recalled_are_remembered(
    memory: SyncMemory, learn: Learn
) -> None:
    (rule,) = learn(memory, RULE)
    memory.start_session()
    memory.recall("how are prices rounded", top_k=1)
    reason = memory.learn(REASON, tags=["till"]).block_id
    assert (memory.last_learned_block_id, memory.last_recall_block_ids) == (reason, (rule,))
    assert memory.session_block_ids == (rule, reason)
    made = memory.connect(
        memory.last_learned_block_id or "", memory.last_recall_block_ids[0], "elaborates"
    )
    assert (made.source_id, made.target_id, made.action) == (reason, rule, "created")


def test_a_block_in_the_inbox_can_be_connected_and_keeps_its_edge(
    opened: Open, learn: Learn
) -> None:
    memory = opened(policy=Policy(auto_consolidate=False))
    (rule,) = learn(memory, RULE)
    reason = memory.learn(REASON).block_id
    memory.connect(reason, rule, "elaborates", note="why the rule exists")
    existing = Edge(
        source_id=reason,
        target_id=rule,
        relation="elaborates",
        weight=0.7,
        effective_weight=0.7,
        origin="agent",
        anchor_hour=0.0,
        note="why the rule exists",
    )
    assert (memory.block(reason).status, memory.edges(rule)) == ("inbox", (existing,))
    memory.consolidate()
    assert (memory.block(reason).status, memory.edges(rule)) == ("active", (existing,))


def test_an_unknown_id_is_refused_with_a_recovery(memory: SyncMemory, learn: Learn) -> None:
    (rule,) = learn(memory, RULE)
    with pytest.raises(BlockNotFound) as refused:
        memory.connect("abcdef0123456789", rule)
    assert (refused.value.code, "recall()" in refused.value.recovery) == ("block-not-found", True)
    assert memory.edges(rule) == ()
