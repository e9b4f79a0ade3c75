"""compose, label, retract_label and the queries of the ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import CommandIdReused, MnemicError
from mnemic.kernel.model.compositions import query_hash
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import ComposedNeighbour, ComposeResult

Open: TypeAlias = Callable[..., SyncMemory]

APART = Policy(edge_threshold=1.0)
"""Nothing is tied by itself."""


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    return opened(policy=APART)


@pytest.fixture
def blocks(memory: SyncMemory) -> list[BlockId]:
    """Three active blocks: one apple, two pears, three plums."""
    said = ("one apple", "two pears", "three plums")
    found = [memory.learn(words, tags=[words.split()[1]]).block_id for words in said]
    memory.consolidate()
    return found


def refused(call: Callable[..., object], *args: Any, **more: Any) -> str:
    with pytest.raises(MnemicError) as caught:
        call(*args, **more)
    assert caught.value.recovery
    return caught.value.code


def said(memory: Any, composition: str = "lane") -> list[str]:
    return [label.label for label in memory.composition(composition).labels]


# --- compose ------------------------------------------------------------------------------------


def test_a_composition_lists_its_members_and_their_roles(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    apple, pears, _ = blocks
    result = memory.compose(
        [apple, {"block_id": pears, "role": "contradicting", "trust": 0.5}],
        query="fruit?",
        confidence=0.75,
        composition_id="lane",
    )
    assert result == ComposeResult(
        composition_id=result.composition_id,
        action="created",
        version=memory.status().version,
        member_ids=(apple, pears),
    )
    assert memory.composition("lane").to_dict() == {
        "id": "lane",
        "version": result.version,
        "hour": 0.0,
        "created_at": "2026-01-01T00:00:00+00:00",
        "tool": "compose",
        "mode": "compose",
        "query": "fruit?",
        "query_hash": query_hash("fruit?"),
        "confidence": 0.75,
        "status": None,
        "output_preview": None,
        "metadata": None,
        "consume": "all",
        "members": [
            {
                "block_id": apple,
                "role": "primary",
                "rank": 0,
                "trust": None,
                "score": None,
                "preview": "one apple",
                "metadata": {"tags": ["apple"]},
            },
            {
                "block_id": pears,
                "role": "contradicting",
                "rank": 1,
                "trust": 0.5,
                "score": None,
                "preview": "two pears",
                "metadata": {"tags": ["pears"]},
            },
        ],
        "labels": [],
    }


def test_a_composition_without_an_id_gets_one_from_the_log(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    result = memory.compose(blocks)
    assert result.composition_id == f"c{result.version}"
    assert memory.composition(result.composition_id).version == result.version


def test_members_are_listed_by_rank(memory: SyncMemory, blocks: list[BlockId]) -> None:
    members = [
        {"block_id": block, "rank": rank} for rank, block in zip((2, 0, 1), blocks, strict=True)
    ]
    assert memory.compose(members).member_ids == (blocks[1], blocks[2], blocks[0])


def test_the_same_composition_is_a_duplicate_and_a_different_one_a_conflict(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    first = memory.compose(blocks[:2], composition_id="lane")
    memory.label("lane", "helpful")
    before = memory.status().version
    again = memory.compose(blocks[:2], composition_id="lane")
    assert (again.action, again.version) == ("duplicate", first.version)
    assert refused(memory.compose, blocks, composition_id="lane") == "composition-exists"
    assert memory.status().version == before
    assert said(memory) == ["helpful"]


def test_changed_tags_do_not_make_a_composition_different(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    memory.compose([blocks[0]], composition_id="lane")
    memory.forget(blocks[0], "eaten")
    memory.learn("one apple", tags=["fruit"])
    assert memory.compose([blocks[0]], composition_id="lane").action == "duplicate"
    assert memory.composition("lane").members[0].metadata == {"tags": ["apple"]}


@pytest.mark.parametrize(
    "members", [[], ["0" * 16], [{}], [{"block": "x"}], "abc", None, 7, [7]], ids=repr
)
def test_invalid_members_are_refused_and_leave_no_trace(memory: SyncMemory, members: Any) -> None:
    before = memory.status().version
    assert refused(memory.compose, members) in {"field-refused", "block-not-found"}
    assert memory.status().version == before


def test_inbox_and_archived_blocks_can_be_members(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    waiting = memory.learn("four figs").block_id
    memory.forget(blocks[0], "eaten")
    assert memory.compose([waiting, blocks[0]]).member_ids == (waiting, blocks[0])


def test_members_archived_later_stay(memory: SyncMemory, blocks: list[BlockId]) -> None:
    memory.compose(blocks, composition_id="lane")
    before = memory.composition("lane")
    memory.forget(blocks[1], "eaten")
    assert memory.composition("lane") == before


def test_an_erased_member_loses_its_text_and_stays_a_member(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    memory.compose(blocks, query="fruit?", composition_id="lane")
    memory.label("lane", "helpful", notes="ripe")
    memory.erase(blocks[1])
    found = memory.composition("lane")
    assert [(each.block_id, each.preview, each.metadata) for each in found.members] == [
        (blocks[0], "one apple", {"tags": ["apple"]}),
        (blocks[1], None, None),
        (blocks[2], "three plums", {"tags": ["plums"]}),
    ]
    assert (found.query, found.labels[0].notes) == ("fruit?", "ripe")
    assert memory.verify().sound


def test_erasing_the_space_leaves_no_text_of_compositions(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    memory.compose(blocks, query="fruit?", metadata={"n": 1}, composition_id="lane")
    memory.label("lane", "helpful", notes="ripe")
    memory.erase_space("default")
    found = memory.composition("lane")
    assert [each.block_id for each in found.members] == blocks
    assert {each.preview for each in found.members} == {None}
    assert (found.query, found.metadata, found.labels[0].notes) == (None, None, None)
    assert refused(memory.compose, blocks) == "space-erased"


# --- labels -------------------------------------------------------------------------------------


def test_labels_add_up_and_can_be_retracted(memory: SyncMemory, blocks: list[BlockId]) -> None:
    memory.compose(blocks, composition_id="lane")
    first = memory.label("lane", "helpful")
    memory.label("lane", "helpful", source="reviewer", confidence_delta=0.25)
    memory.label("lane", "dead_end")
    assert said(memory) == ["helpful", "helpful", "dead_end"]
    taken = memory.retract_label(first.label_id, reason="a slip")
    assert (taken.action, taken.label, taken.composition_id) == ("retracted", "helpful", "lane")
    assert said(memory) == ["helpful", "dead_end"]
    kept = memory.composition("lane").labels[0]
    assert (kept.source, kept.confidence_delta) == ("reviewer", 0.25)
    before = memory.status().version
    assert memory.retract_label(first.label_id).action == "unchanged"
    assert memory.status().version == before


def test_unknown_compositions_and_labels_are_refused(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    memory.compose(blocks, composition_id="lane")
    before = memory.status().version
    assert refused(memory.label, "nothing", "helpful") == "composition-not-found"
    assert refused(memory.label, "lane", "great") == "label-unsupported"
    assert refused(memory.retract_label, "l1") == "label-not-found"
    assert refused(memory.retract_label, "lane") == "label-not-found"
    assert refused(memory.composition, "nothing") == "composition-not-found"
    assert memory.status().version == before


# --- queries ------------------------------------------------------------------------------------


def test_the_ledger_lists_the_latest_first(memory: SyncMemory, blocks: list[BlockId]) -> None:
    apple, pears, plums = blocks
    for name, members in (("x", [apple, pears]), ("y", [pears]), ("z", [plums, apple])):
        memory.compose(members, composition_id=name)
    assert [each.id for each in memory.ledger()] == ["z", "y", "x"]
    assert [each.id for each in memory.ledger(limit=1)] == ["z"]
    assert [each.id for each in memory.ledger(of=pears)] == ["y", "x"]
    assert refused(memory.ledger, of="0" * 16) == "block-not-found"
    assert refused(memory.ledger, limit=0) == "field-refused"
    assert refused(memory.ledger, limit=1001) == "field-refused"


def test_neighbours_are_counted_by_composition(
    memory: SyncMemory, blocks: list[BlockId], clock: ManualClock
) -> None:
    apple, pears, plums = blocks
    memory.compose([apple, plums], composition_id="x")
    clock.advance(minutes=1)
    memory.compose([apple, pears, {"block_id": pears, "role": "related"}], composition_id="y")
    memory.compose([apple, plums], composition_id="z")
    assert memory.composed_with(apple) == (
        ComposedNeighbour(
            block_id=plums,
            composed_count=2,
            latest_id=memory.composition("z").id,
            latest_at="2026-01-01T00:01:00+00:00",
        ),
        ComposedNeighbour(
            block_id=pears,
            composed_count=1,
            latest_id=memory.composition("y").id,
            latest_at="2026-01-01T00:01:00+00:00",
        ),
    )
    assert memory.composed_with(apple, limit=1) == memory.composed_with(apple)[:1]


# --- outcome ------------------------------------------------------------------------------------


def test_an_outcome_of_a_composition_credits_each_member_once(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    apple, pears, _ = blocks
    memory.compose([apple, pears, {"block_id": pears, "role": "related"}], composition_id="lane")
    result = memory.outcome(composition_id="lane", signal=1.0)
    assert sorted(result.updated) == sorted([apple, pears])
    assert [memory.block(each).evidence for each in blocks] == [1.0, 1.0, 0.0]


def test_an_outcome_names_one_of_blocks_decision_and_composition(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    memory.compose(blocks, composition_id="lane")
    assert refused(memory.outcome, blocks, composition_id="lane") == "nothing-to-score"
    assert refused(memory.outcome, composition_id="nothing") == "composition-not-found"


def test_archived_members_are_refused_individually(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    memory.compose(blocks, composition_id="lane")
    memory.forget(blocks[0], "eaten")
    result = memory.outcome(composition_id="lane", signal=1.0)
    assert [(each.id, each.code) for each in result.refused] == [(blocks[0], "block-not-active")]
    assert sorted(result.updated) == sorted(blocks[1:])


# --- command ids --------------------------------------------------------------------------------


def test_a_repeated_command_is_answered_as_it_was_and_written_once(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    def calls() -> list[Any]:
        composed = memory.compose(blocks, command_id="compose")
        label = memory.label(composed.composition_id, "helpful", command_id="label")
        taken = memory.retract_label(label.label_id, command_id="retract")
        scored = memory.outcome(
            composition_id=composed.composition_id, signal=0.9, command_id="outcome"
        )
        return [composed, label, taken, scored]

    first, version = calls(), memory.status().version
    assert calls() == first
    assert memory.status().version == version
    with pytest.raises(CommandIdReused):
        memory.compose(blocks[:1], command_id="compose")


# --- the past, and other handles ----------------------------------------------------------------


def test_later_compositions_and_labels_do_not_change_an_earlier_view(
    memory: SyncMemory, blocks: list[BlockId]
) -> None:
    memory.compose(blocks, composition_id="lane")
    label = memory.label("lane", "helpful")
    version = memory.status().version
    view = memory.as_of(version=version)
    before = (view.composition("lane"), view.ledger(), view.composed_with(blocks[0]))
    memory.label("lane", "dead_end")
    memory.retract_label(label.label_id)
    memory.compose(blocks[:2])
    assert (view.composition("lane"), view.ledger(), view.composed_with(blocks[0])) == before
    fresh = memory.as_of(version=version)
    assert (fresh.composition("lane"), fresh.ledger(), fresh.composed_with(blocks[0])) == before
    earlier = memory.as_of(version=before[0].version - 1)
    assert (earlier.ledger(), refused(earlier.composition, "lane")) == ((), "composition-not-found")


def test_two_handles_share_one_ledger(opened: Open, path: Path) -> None:
    one, two = opened(path, policy=APART), opened(path)
    block = one.learn("one apple").block_id
    one.compose([block], composition_id="lane")
    label = two.label("lane", "helpful")
    one.label("lane", "submitted")
    assert said(two) == said(one) == ["helpful", "submitted"]
    assert two.compose([block], composition_id="lane").action == "duplicate"
    assert one.retract_label(label.label_id).action == "retracted"
    assert two.retract_label(label.label_id).action == "unchanged"
    assert two.composition("lane") == one.composition("lane")


def test_a_ledger_reads_the_same_after_opening_again(opened: Open, path: Path) -> None:
    with opened(path, policy=APART) as memory:
        block = memory.learn("one apple").block_id
        memory.compose([block], query="fruit?", metadata={"n": [1, 2]}, composition_id="lane")
        memory.label("lane", "helpful", notes="ripe", metadata={"by": "Ann"})
        found = memory.composition("lane")
    assert opened(path).composition("lane") == found


@pytest.mark.anyio
async def test_async_hosts_have_the_same_operations() -> None:
    async with Memory.open(":memory:") as memory:
        block = (await memory.learn("one apple")).block_id
        await memory.compose([block], composition_id="lane")
        label = await memory.label("lane", "helpful")
        assert [each.id for each in await memory.ledger(of=block)] == ["lane"]
        assert (await memory.composition("lane")).labels[0].label_id == label.label_id
        answer = await memory.composed_graph("get", event_id="lane")
        assert [each["id"] for each in answer["outcomes"]] == [label.label_id]
        assert (await memory.retract_label(label.label_id)).action == "retracted"
