"""The text of an answer: cited, in order, and never over its budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.model.tokens import EstimatedTokens
from mnemic.kernel.results import RecallResult, ScoredBlock

Open: TypeAlias = Callable[..., SyncMemory]


class Words:
    """A token counter that counts words."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


LENGTHS = (60, 300, 20, 900, 150, 40, 500, 80)


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    memory = opened(embedder=HashEmbedder(512))
    for n, length in enumerate(LENGTHS):
        memory.learn(f"note {n} on the harbour: ".ljust(length, "abcdefgh "[n]), author=f"Ann {n}")
    memory.consolidate()
    return memory


def fits(found: RecallResult, count: Callable[[str], int]) -> bool:
    return found.tokens == count(found.text) <= found.token_budget


@pytest.mark.parametrize("budget", [1, 10, 11, 25, 40, 41, 99, 150, 400, 1000])
def test_the_text_is_never_over_its_budget(memory: SyncMemory, budget: int) -> None:
    found = memory.recall("harbour notes", top_k=20, token_budget=budget, record=False)
    assert found.token_budget == budget
    assert fits(found, EstimatedTokens().count)
    assert {each.reason for each in found.dropped} <= {"token_budget"}
    everything = {block.id for block in memory.blocks().items}
    assert {*found.block_ids, *(each.id for each in found.dropped)} == everything


@pytest.mark.parametrize("budget", [1, 8, 13, 20, 33, 60])
def test_the_hosts_token_counter_is_used(opened: Open, budget: int) -> None:
    memory = opened(tokens=Words())
    for n in range(5):
        memory.learn(f"harbour {'word ' * n * 3}{n}")
    found = memory.recall("harbour", top_k=20, token_budget=budget, record=False)
    assert fits(found, Words().count)
    assert all(block.tokens == Words().count(line) for block, line in lines(found))


def lines(found: RecallResult) -> list[tuple[ScoredBlock, str]]:
    return list(zip(found.blocks, found.text.splitlines()[1:], strict=True))


def test_counterpoints_are_within_the_budget_too(memory: SyncMemory) -> None:
    first, second, *_ = memory.recall("harbour notes", record=False).block_ids
    memory.connect(first, second, "contradicts")
    for budget in (20, 40, 60, 100, 200, 400):
        found = memory.recall("harbour notes", top_k=1, token_budget=budget, record=False)
        assert fits(found, EstimatedTokens().count)


def test_blocks_that_do_not_fit_are_listed_as_dropped(memory: SyncMemory) -> None:
    everything = memory.recall("harbour notes", top_k=20, token_budget=5000, record=False)
    found = memory.recall("harbour notes", top_k=20, token_budget=300, record=False)
    left_out = [block for block in everything.blocks if block.id not in found.block_ids]
    assert 0 < len(left_out) < len(everything.blocks)
    assert [(each.id, each.score, each.reason) for each in found.dropped] == [
        (block.id, block.score, "token_budget") for block in left_out
    ]


def test_each_line_cites_its_block_author_and_date(opened: Open) -> None:
    memory = opened()
    one = memory.learn(
        "The harbour\n  closes\tat nine", author="Ann", created_at="2025-11-02T23:00Z"
    )
    two = memory.learn("The harbour opens at six", created_at="unknown")
    three = memory.learn("The harbour has a light", created_at="2025-01-01T23:30:00-05:00")
    found = memory.recall("harbour", record=False)
    wanted = {
        one.block_id: f"[{one.block_id[:8]}, by Ann, 2025-11-02] "
        r"The harbour\n  closes\tat nine",
        two.block_id: f"[{two.block_id[:8]}] The harbour opens at six",
        three.block_id: f"[{three.block_id[:8]}, 2025-01-02] The harbour has a light",
    }
    assert found.text.splitlines()[1:] == [wanted[block] for block in found.block_ids]
    assert {block.id: block.content for block in found.blocks}[one.block_id] == (
        "The harbour\n  closes\tat nine"
    )


def test_an_answer_converts_to_plain_values(memory: SyncMemory) -> None:
    found = memory.recall("harbour notes", top_k=2)
    plain = found.to_dict()
    assert plain["block_ids"] == list(found.block_ids)
    assert plain["blocks"][0]["composite_score"] == found.blocks[0].score
    assert plain["dropped"][0]["reason"] == "top_k"
    assert str(found) == f"Recalled 2 blocks: {', '.join(b[:8] for b in found.block_ids)}."
