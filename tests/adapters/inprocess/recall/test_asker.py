"""Who asks: questions in the first person, and the roles of messages."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import FieldRefused
from tests.adapters.inprocess.conftest import Open

SAID = "the shed key hangs by the door"
WHERE = "where did I put the shed key?"


def told(memory: SyncMemory, **given: Any) -> str:
    return memory.learn(SAID, category="message", thread="t", **given).block_id


def first(memory: SyncMemory, **given: Any) -> str:
    return memory.recall(WHERE, **given).block_ids[0]


def test_a_named_asker_means_texts_of_that_name(memory: SyncMemory) -> None:
    ann, ben = told(memory, author="Ann"), told(memory, author="Ben")
    assert [first(memory, asked_by=name) for name in ("Ann", "Ben")] == [ann, ben]


def test_the_user_of_the_scope_asks_unless_another_is_named(opened: Open) -> None:
    ann = opened(scope={"user": "Ann"})
    mine, theirs = told(ann, author="Ann"), told(ann, author="Ben")
    assert first(ann) == mine
    assert first(ann, asked_by="Ben") == theirs
    assert first(ann.as_of(version=ann.status().version)) == mine  # type: ignore[arg-type]


def test_a_decision_is_replayed_with_its_asker(memory: SyncMemory) -> None:
    told(memory, role="assistant")
    mine = told(memory, role="user")
    answer = memory.recall(WHERE, asked_by="user")
    best = memory.explain(str(answer.decision_id)).blocks[0]
    parts = {part.signal: part.contribution for part in best.relevance_parts}
    assert (best.block_id, parts["asker"]) == (mine, 0.09)
    replayed = memory.replay(str(answer.decision_id))
    assert (replayed.outcome, replayed.recombines) == ("reproduced", True)
    other = memory.recall(WHERE, asked_by="assistant", record=False)
    assert other.block_ids[0] != mine


def test_a_repeated_command_asks_for_the_same_person(memory: SyncMemory) -> None:
    told(memory, author="Ann")
    once = memory.recall(WHERE, asked_by="Ann", command_id="c")
    assert memory.recall(WHERE, asked_by="Ann", command_id="c") == once


def test_a_line_names_the_role_of_a_message_without_an_author(memory: SyncMemory) -> None:
    told(memory, role="assistant", created_at="2026-03-01")
    assert memory.recall(WHERE).text.endswith(f", by assistant, 2026-03-01] {SAID}")


@pytest.mark.parametrize("role", ["User", "gardener", "", 7])
def test_an_unknown_role_is_refused(memory: SyncMemory, role: Any) -> None:
    with pytest.raises(FieldRefused) as refused:
        told(memory, role=role)
    assert refused.value.facts["field"] == "role"


def test_what_each_side_said_is_a_block_of_its_own(memory: SyncMemory) -> None:
    both = [memory.learn("The pump runs.", role=role) for role in ("user", "assistant")]
    assert [each.action for each in both] == ["created", "created"]
    assert not memory.consolidate().superseded
