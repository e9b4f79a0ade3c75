"""Rules of retention in the policy: what curate archives by them, and how it says so."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import attrs
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import PolicyRefused
from mnemic.kernel.policy import DEFAULT, Policy


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Generator[SyncMemory]:
    with SyncMemory.open(":memory:", embedder=HashEmbedder(8), clock=clock) as memory:
        yield memory


def keep(memory: SyncMemory, *rules: dict[str, Any]) -> None:
    memory.adopt_policy(attrs.evolve(DEFAULT, retention=rules))


def left(memory: SyncMemory) -> list[str | None]:
    """Return the texts of the blocks that are not archived, in the order of learning."""
    blocks = memory.blocks(limit=1000).items
    return [block.content for block in blocks if block.status != "archived"]


def test_a_policy_without_rules_has_the_bytes_that_it_had_before_there_were_any() -> None:
    assert "retention" not in DEFAULT.body
    assert Policy.parse(DEFAULT.body) == DEFAULT


def test_a_block_expires_by_the_calendar_when_it_was_last_said_that_long_ago(
    memory: SyncMemory, clock: ManualClock
) -> None:
    keep(memory, {"name": "chat", "where": {"category": "message"}, "ttl_days": 30})
    memory.learn("a note")
    memory.learn("the first message", category="message")
    memory.consolidate()
    clock.advance(days=29)
    memory.learn("the second message", category="message")
    assert memory.curate().archived == 0
    clock.advance(days=1)
    swept = memory.curate()
    assert (swept.archived, swept.by_rule) == (1, {"chat": 1})
    assert "1 archived (1 by chat)" in str(swept)
    assert left(memory) == ["a note", "the second message"]


def test_saying_it_again_renews_a_block(memory: SyncMemory, clock: ManualClock) -> None:
    keep(memory, {"name": "notes", "ttl_days": 30})
    memory.learn("the gate sticks")
    memory.consolidate()
    clock.advance(days=20)
    assert memory.learn("the gate sticks").action == "restated"
    clock.advance(days=20)
    assert memory.curate().archived == 0


def test_active_hours_pass_in_sessions_alone(memory: SyncMemory, clock: ManualClock) -> None:
    keep(memory, {"name": "idle", "ttl_active_hours": 2})
    with memory.session():
        memory.learn("the gate sticks")
    clock.advance(days=400)
    assert memory.curate().archived == 0
    with memory.session():
        for _ in range(3):
            clock.advance(hours=1)
            memory.recall("gate")
        assert memory.curate().by_rule == {"idle": 1}


def test_the_most_are_counted_for_each_user_and_the_latest_are_kept(memory: SyncMemory) -> None:
    keep(memory, {"name": "few", "where": {"tags": "chat"}, "most": 2, "per": "user"})
    for number in range(3):
        for user in ("ann", "ben"):
            memory.learn(f"{number} of {user}", tags=["chat"], scope={"user": user})
    memory.learn("a note of ann", scope={"user": "ann"})
    assert memory.curate().by_rule == {"few": 2}
    assert left(memory) == ["1 of ann", "1 of ben", "2 of ann", "2 of ben", "a note of ann"]


def test_the_first_rule_that_does_not_keep_a_block_archives_it(
    memory: SyncMemory, clock: ManualClock
) -> None:
    memory.learn("old page", source="web")
    clock.advance(days=10)
    memory.learn("new page", source="web")
    memory.learn("a note")
    keep(
        memory,
        {"name": "pages", "where": {"zone": "external"}, "ttl_days": 7},
        {"name": "all", "most": 1},
    )
    assert memory.curate().by_rule == {"pages": 1, "all": 1}
    assert left(memory) == ["a note"]


def test_constitutional_blocks_are_exempt_and_records_are_not(
    memory: SyncMemory, clock: ManualClock
) -> None:
    keep(memory, {"name": "all", "ttl_days": 1})
    memory.learn("I tell the truth", tags=["self/constitutional"])
    memory.learn("a record", key="people/ines")
    clock.advance(days=2)
    assert memory.curate().by_rule == {"all": 1}
    assert left(memory) == ["I tell the truth"]


def test_history_and_why_not_name_the_rule(memory: SyncMemory, clock: ManualClock) -> None:
    keep(memory, {"name": "chat", "ttl_days": 1})
    block = memory.learn("the gate sticks").block_id
    before = memory.recall("gate")
    clock.advance(days=2)
    memory.learn("a note")
    memory.curate()
    after = memory.recall("gate")
    assert before.decision_id is not None
    assert after.decision_id is not None
    assert memory.history(of=block)[-1].detail.endswith("expired by the retention rule 'chat'")
    (sweep,) = [each for each in memory.log(limit=1000) if each.kind == "curated"]
    assert sweep.detail == "1 archived (1 by 'chat'), 0 edges gone"
    found = memory.why_not(after.decision_id, block)
    assert (found.stage, found.detail) == (
        "archived",
        "It was archived: expired by the retention rule 'chat'.",
    )
    for decision in (before.decision_id, after.decision_id):
        assert memory.replay(decision).outcome == "reproduced"
    assert memory.as_of(decision=before.decision_id).block(block).status == "active"


def test_a_revert_of_the_sweep_restores_the_blocks(memory: SyncMemory, clock: ManualClock) -> None:
    keep(memory, {"name": "chat", "ttl_days": 1})
    memory.learn("the gate sticks")
    memory.consolidate()
    clock.advance(days=2)
    memory.curate()
    version = memory.status().version
    assert left(memory) == []
    memory.revert(version, version)
    assert left(memory) == ["the gate sticks"]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([{"name": "x"}], "limits nothing"),
        ([{"name": "x", "most": 1, "where": {"colour": "red"}}], "does not know 'colour'"),
        ([{"name": "x", "most": -1}], "whole number"),
        ([{"name": "x", "ttl_days": 0}], "ttl_days"),
        ([{"name": "x", "ttl_days": float("nan")}], "ttl_days"),
        ([{"name": "x", "most": 1, "per": "mood"}], "per must be"),
        ([{"name": "x", "most": 1}, {"name": "x", "most": 2}], "different names"),
        ([{"most": 1}], "name"),
        ([{"name": "x", "most": 1, "mood": 1}], "mood"),
        ({"name": "x", "most": 1}, "not a list"),
        ([7], "not a list"),
        (None, "not a list"),
    ],
)
def test_a_rule_that_cannot_be_carried_out_is_refused(
    memory: SyncMemory, rules: Any, message: str
) -> None:
    before = memory.status().version
    with pytest.raises(PolicyRefused, match=message):
        memory.adopt_policy(attrs.evolve(DEFAULT, retention=rules))
    assert memory.status().version == before


def test_conditions_of_a_newer_release_are_named() -> None:
    body = '{"retention": [{"name": "x", "most": 1, "where": {"any": [{"mood": 1}]}, "soon": 1}]}'
    assert Policy.newer_fields(body) == ("retention.soon", "retention.where.mood")
