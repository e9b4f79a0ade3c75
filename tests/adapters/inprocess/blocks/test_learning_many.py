"""learn_many: one transaction, and a refusal for each invalid lesson."""

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


def test_a_batch_learns_valid_lessons_and_refuses_others_individually(memory: SyncMemory) -> None:
    known = memory.learn("known already").block_id
    batch = memory.learn_many(
        [
            "first",
            {"content": "second", "tags": ["t"], "category": "fact"},
            "",
            " known already ",
            {"content": "third", "colour": "red"},
            {"tags": ["no words"]},
            7,  # type: ignore[list-item]
            "first\n",
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
        ("restated", 5),
        ("restated", 6),
        ("created", 7),
    ]
    assert batch.results[2].block_id == known
    assert batch.results[3].block_id == batch.results[0].block_id
    assert (batch.created, memory.status().version, memory.status().inbox) == (3, 7, 4)
    assert str(batch).startswith("Learned: 3 created, 2 known, 5 refused (#2 content-empty: ")
    assert str(batch).endswith("; and 2 more).")


def test_a_batch_is_one_transaction(memory: SyncMemory) -> None:
    memory.learn_many([str(n) for n in range(20)])
    moments = memory.log(after=1)
    assert [moment.version for moment in moments] == list(range(2, 22))
    assert len({(moment.hour, moment.recorded_at) for moment in moments}) == 1


def test_a_batch_may_bring_an_archived_block_back_only_once(memory: SyncMemory) -> None:
    block = memory.learn("back and forth").block_id
    memory.forget(block)
    batch = memory.learn_many(["back and forth", "back and forth "])
    assert [(each.block_id, each.action) for each in batch.results] == [
        (block, "reactivated"),
        (block, "restated"),
    ]


def test_each_lesson_of_a_batch_is_decided_on_what_its_predecessors_left(
    memory: SyncMemory,
) -> None:
    dates = ["2026-01-03", "2026-01-05", "2026-01-04", "unknown"]
    batch = memory.learn_many([{"content": "dated", "created_at": date} for date in dates])
    (block,) = {each.block_id for each in batch.results}
    again = memory.learn_many(
        [{"content": "dated", "created_at": date} for date in ("2026-01-09", "2026-01-08")]
    )
    assert [(each.action, each.version) for each in batch.results] == [
        ("created", 2),
        ("restated", 3),
        ("duplicate", 2),
        ("restated", 4),
    ]
    found = memory.as_of(version=4).block(block)
    assert (found.created_at, found.said_version) == ("2026-01-05T00:00:00+00:00", 4)
    assert [(each.action, each.version) for each in again.results] == [
        ("restated", 5),
        ("duplicate", 2),
    ]
    assert memory.block(block).created_at == "2026-01-09T00:00:00+00:00"


def test_messages_of_a_batch_are_as_many_as_were_said(memory: SyncMemory) -> None:
    yes = {"content": "yes", "category": "message", "thread": "t"}
    batch = memory.learn_many([yes, yes, {**yes, "metadata": {"turn": 9}}])
    assert len({each.block_id for each in batch.results}) == batch.created == 3


def test_a_message_after_a_batch_that_brought_blocks_back_is_another_message(
    memory: SyncMemory,
) -> None:
    memory.forget(memory.learn("back and forth").block_id)
    yes = {"content": "yes", "category": "message"}
    memory.learn_many(["back and forth", yes])
    assert memory.learn("yes", category="message").action == "created"


def test_a_batch_has_a_limit(memory: SyncMemory) -> None:
    before = memory.status()
    assert refused(lambda: memory.learn_many(["x"] * 10_001)) == "field-refused"
    assert refused(lambda: memory.learn_many("one text")) == "field-refused"
    assert refused(lambda: memory.learn_many({"content": "one lesson"})) == "field-refused"
    assert refused(lambda: memory.learn_many(None)) == "field-refused"  # type: ignore[arg-type]
    assert memory.status() == before


def test_one_shot_tags_are_read_once(memory: SyncMemory) -> None:
    one = memory.learn("one", tags=(tag for tag in ("a", "b")))
    (two,) = memory.learn_many([{"content": "two", "tags": iter(["c"])}]).results
    assert memory.block(one.block_id).tags == ("a", "b")
    assert memory.block(two.block_id).tags == ("c",)
