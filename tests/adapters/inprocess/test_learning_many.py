"""learn_many: one transaction, and a refusal for each that cannot be learned."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import MnemicError


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


def test_a_batch_learns_what_it_can_and_refuses_the_rest_one_by_one(memory: SyncMemory) -> None:
    known = memory.learn("known already").block_id
    batch = memory.learn_many(
        [
            "first",
            {"content": "second", "tags": ["t"], "category": "fact"},
            "",
            "KNOWN already",
            {"content": "third", "colour": "red"},
            {"tags": ["no words"]},
            7,  # type: ignore[list-item]
            "First",
            {"content": "fourth", "tags": None},
            "fifth",
        ]
    )
    assert [(each.position, each.code) for each in batch.refused] == [
        (2, "content-empty"),
        (4, "field-refused"),
        (5, "field-refused"),
        (6, "field-refused"),
        (8, "tags-refused"),
    ]
    assert all(each.recovery for each in batch.refused)
    assert [(each.action, each.version) for each in batch.results] == [
        ("created", 3),
        ("created", 4),
        ("duplicate", 2),
        ("duplicate", 3),
        ("created", 5),
    ]
    assert batch.results[2].block_id == known
    assert batch.results[3].block_id == batch.results[0].block_id
    assert (batch.created, memory.status().version, memory.status().inbox) == (3, 5, 4)
    assert str(batch) == "Learned: 3 created, 2 known, 5 refused."


def test_a_batch_is_one_transaction(memory: SyncMemory) -> None:
    memory.learn_many([str(n) for n in range(20)])
    moments = memory.log(after=1)
    assert [moment.version for moment in moments] == list(range(2, 22))
    assert len({(moment.hour, moment.recorded_at) for moment in moments}) == 1


def test_a_batch_may_bring_an_archived_block_back_only_once(memory: SyncMemory) -> None:
    block = memory.learn("back and forth").block_id
    memory.forget(block)
    batch = memory.learn_many(["back and forth", "BACK and forth"])
    assert [(each.block_id, each.action) for each in batch.results] == [
        (block, "reactivated"),
        (block, "duplicate"),
    ]


def test_a_batch_has_a_limit(memory: SyncMemory) -> None:
    before = memory.status()
    assert refused(lambda: memory.learn_many(["x"] * 10_001)) == "field-refused"
    assert refused(lambda: memory.learn_many("one text")) == "field-refused"
    assert refused(lambda: memory.learn_many({"content": "one lesson"})) == "field-refused"
    assert refused(lambda: memory.learn_many(None)) == "field-refused"  # type: ignore[arg-type]
    assert memory.status() == before


def test_tags_that_can_be_read_only_once_are_read_once(memory: SyncMemory) -> None:
    one = memory.learn("one", tags=(tag for tag in ("a", "b")))
    (two,) = memory.learn_many([{"content": "two", "tags": iter(["c"])}]).results
    assert memory.block(one.block_id).tags == ("a", "b")
    assert memory.block(two.block_id).tags == ("c",)
