"""revert: one event that undoes a range of the log, and names the conflicts it left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import SpaceErased, ViewReadOnly
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import RevertConflict

Open = Callable[..., SyncMemory]
FACTS = ("the lamp burns oil", "gulls nest on the roof", "fog comes from the north")


@pytest.fixture
def ids(memory: SyncMemory) -> list[BlockId]:
    """Three blocks without edges, promoted at one hour."""
    memory.start_session()
    learned = [say(memory, place) for place in range(len(FACTS))]
    memory.consolidate()
    return learned


def say(memory: SyncMemory, place: int) -> BlockId:
    """Learn one of the facts, under the same id each time."""
    turn = {"turn": place}
    return memory.learn(FACTS[place], category="message", metadata=turn).block_id


def head(memory: SyncMemory) -> int:
    return memory.status().version


def after(memory: SyncMemory, *calls: Callable[[], Any]) -> tuple[int, int]:
    """Run some operations, and return the range of the log that they wrote."""
    first = head(memory) + 1
    for call in calls:
        call()
    return first, head(memory)


def state(memory: SyncMemory, ids: list[BlockId]) -> list[Any]:
    """Return everything that a revert may restore, as queries show it."""
    return [
        [memory.block(block) for block in ids],
        [memory.edges(block) for block in ids],
        memory.pending_connections(),
        memory.ledger(),
        memory.policy.id,
    ]


# --- restored facts -----------------------------------------------------------------------------


def test_reverting_a_session_restores_the_state_before_it(
    memory: SyncMemory, ids: list[BlockId]
) -> None:
    lamp, gulls, fog = ids
    memory.connect(lamp, gulls, "supports", note="at night")
    lane = memory.compose([lamp, fog]).composition_id
    before = state(memory, ids)
    stretch = after(
        memory,
        lambda: memory.connect(lamp, gulls, weight=0.2, if_exists="update"),
        lambda: memory.connect(gulls, fog, "elaborates"),
        lambda: memory.outcome([lamp, fog], 0.9),
        lambda: memory.outcome([gulls], 0.0),
        lambda: memory.rezone(fog, "vetted"),
        lambda: memory.label(lane, "dead_end"),
        lambda: memory.adopt_policy(Policy(name="wild", degree_cap=2)),
        lambda: memory.forget(gulls),
        lambda: memory.disconnect(lamp, fog),
    )
    assert state(memory, ids) != before
    result = memory.revert(*stretch, reason="a bad evening")
    assert state(memory, ids) == before
    assert (result.action, result.version, result.conflicts) == ("reverted", head(memory), ())
    assert result.summary == (
        f"Reverted versions {stretch[0]} to {stretch[1]}: 3 blocks put back, 1 edge put back, "
        "1 bar put back, 1 label retracted, the policy put back."
    )


def test_learned_blocks_are_forgotten_with_their_edges(
    memory: SyncMemory, ids: list[BlockId]
) -> None:
    edges = memory.edges(ids[0])
    first, last = after(
        memory,
        lambda: memory.learn_many(["the lamp burns tar", "pitch is cheap"]),
        memory.consolidate,
        lambda: memory.connect(ids[0], memory.recall("tar", record=False).block_ids[0]),
    )
    result = memory.revert(first, last)
    poison = [memory.block(block) for block in result.forgotten]
    assert [(block.status, block.archive_reason, block.evidence) for block in poison] == [
        ("archived", "forgotten", 0.0)
    ] * 2
    assert memory.edges(ids[0]) == edges
    assert memory.status().active == len(ids)


@pytest.mark.usefixtures("ids")
def test_promoted_blocks_return_to_their_place_in_the_inbox(memory: SyncMemory) -> None:
    early = memory.learn("one early note").block_id
    stretch = after(memory, memory.consolidate)
    late = memory.learn("one late note").block_id
    assert memory.revert(*stretch).restored == (early,)
    waiting = [block.id for block in memory.blocks(status="inbox").items]
    assert waiting == [early, late]
    assert memory.consolidate(1).promoted == 1
    assert memory.block(early).status == "active"


def test_a_supersession_is_undone_on_both_sides(memory: SyncMemory, ids: list[BlockId]) -> None:
    lamp, gulls, _ = ids
    memory.connect(lamp, gulls, "supports")
    memory.outcome([lamp], 1.0)
    before = state(memory, ids)
    revised: list[BlockId] = []

    def revise() -> None:
        revised.append(memory.revise(lamp, "the lamp burns gas", "new lamp").block_id)

    stretch = after(memory, revise, memory.consolidate)
    memory.revert(*stretch)
    assert state(memory, ids) == before
    assert memory.block(revised[0]).archive_reason == "forgotten"
    assert memory.block(revised[0]).evidence == 0.0


def test_a_pending_connection_is_cancelled_or_waits_again(
    memory: SyncMemory, ids: list[BlockId]
) -> None:
    lamp, gulls, fog = ids
    memory.adopt_policy(Policy(name="narrow", degree_cap=1))
    memory.connect(lamp, gulls, "supports")
    memory.connect(lamp, fog, "elaborates")
    (waiting,) = memory.pending_connections()
    again = after(memory, lambda: memory.disconnect(lamp, fog))
    assert memory.pending_connections() == ()
    assert memory.revert(*again).pending_restored == (tuple(sorted((lamp, fog))),)
    assert memory.pending_connections() == (waiting,)
    stretch = after(memory, lambda: memory.connect(gulls, fog, "supports"))
    assert len(memory.pending_connections()) == 2
    assert memory.revert(*stretch).pending_removed == (tuple(sorted((gulls, fog))),)
    assert memory.pending_connections() == (waiting,)


def test_a_label_counts_again_when_its_retraction_is_reverted(
    memory: SyncMemory, ids: list[BlockId]
) -> None:
    lane = memory.compose(ids).composition_id
    label = memory.label(lane, "accepted").label_id
    stretch = after(memory, lambda: memory.retract_label(label))
    version = head(memory)
    assert memory.revert(*stretch).labels_restored == (label,)
    assert [each.label for each in memory.composition(lane).labels] == ["accepted"]
    assert memory.as_of(version=version).composition(lane).labels == ()
    assert memory.retract_label(label).action == "retracted"


def test_decay_continues_over_a_revert(
    memory: SyncMemory, ids: list[BlockId], clock: ManualClock
) -> None:
    before = memory.block(ids[0])
    stretch = after(memory, lambda: memory.outcome([ids[0]], 1.0))
    clock.advance(minutes=30)
    memory.revert(*stretch)
    now = memory.block(ids[0])
    assert now.last_reinforced_hour == before.last_reinforced_hour
    assert now.recency < before.recency


# --- conflicts and history ----------------------------------------------------------------------


def test_facts_changed_by_later_events_are_left_as_conflicts(
    memory: SyncMemory, ids: list[BlockId]
) -> None:
    lamp, gulls, fog = ids
    first, last = after(
        memory,
        lambda: memory.connect(lamp, gulls, "supports"),
        lambda: memory.connect(gulls, fog, "supports"),
        lambda: memory.rezone(lamp, "vetted"),
    )
    memory.connect(lamp, gulls)
    edge = head(memory)
    memory.rezone(lamp, "trusted again")
    zone = head(memory)
    result = memory.revert(first, last)
    ends: tuple[str, ...] = tuple(sorted((lamp, gulls)))
    assert result.conflicts == (
        RevertConflict(
            what="life",
            of=(lamp,),
            why="touched",
            version=zone,
            detail=f"version {zone} changed it since",
        ),
        RevertConflict(
            what="edge",
            of=ends,
            why="touched",
            version=edge,
            detail=f"version {edge} changed it since",
        ),
    )
    assert result.edges_removed == (tuple(sorted((gulls, fog))),)
    assert memory.block(lamp).zone == "trusted again"
    assert [edge.reinforcement_count for edge in memory.edges(lamp)] == [1]


@pytest.mark.parametrize(
    "said", ["outcome", "connect"], ids=["scored by an outcome", "that was connected"]
)
def test_a_learned_block_stays_if_it_was_judged_or_connected_since(
    memory: SyncMemory, ids: list[BlockId], said: str
) -> None:
    first, last = after(memory, lambda: memory.learn("pitch is cheap"), memory.consolidate)
    (pitch,) = {block.id for block in memory.blocks().items} - {*ids}
    if said == "outcome":
        memory.outcome([pitch], 0.7)
    else:
        memory.connect(pitch, ids[0], "supports")
    result = memory.revert(first, last)
    assert [(each.what, each.of, each.version) for each in result.conflicts][:1] == [
        ("life", (pitch,), head(memory))
    ]
    assert (result.action, memory.block(pitch).status) == ("nothing", "active")


def test_a_retrieval_is_no_conflict_for_a_block(memory: SyncMemory, ids: list[BlockId]) -> None:
    first, last = after(memory, lambda: memory.learn("pitch is cheap"), memory.consolidate)
    assert memory.recall("pitch").block_ids
    result = memory.revert(first, last)
    assert len(result.forgotten) == 1
    assert (
        memory.recall("pitch", record=False).block_ids
        == memory.recall("pitch", record=False, top_k=len(ids)).block_ids
    )


def test_an_edge_used_by_a_recall_is_no_conflict_for_its_ends(
    memory: SyncMemory, ids: list[BlockId]
) -> None:
    def badly() -> None:
        tide = memory.learn("the tide turns at noon", category="message").block_id
        memory.consolidate()
        memory.connect(tide, ids[0], "supports")

    before = state(memory, ids)
    stretch = after(memory, badly)
    memory.end_session()
    memory.start_session()
    memory.recall("lamp oil, noon tide")
    assert [edge.reinforcement_count for edge in memory.edges(ids[0])] == [1]
    result = memory.revert(*stretch)
    assert (len(result.forgotten), result.conflicts) == (1, ())
    assert state(memory, ids)[1:] == before[1:]


def test_an_edge_without_room_is_not_restored(memory: SyncMemory, ids: list[BlockId]) -> None:
    lamp, gulls, fog = ids
    memory.adopt_policy(Policy(name="narrow", degree_cap=1))
    memory.connect(lamp, gulls, "supports")
    stretch = after(memory, lambda: memory.disconnect(lamp, gulls))
    memory.connect(lamp, fog, "supports")
    result = memory.revert(*stretch)
    assert [(each.what, each.why) for each in result.conflicts] == [("edge", "no-room")]
    assert result.bars_lifted == (tuple(sorted((lamp, gulls))),)
    assert [edge.target_id for edge in memory.edges(lamp)] == [fog]


def test_erased_text_is_not_restored(memory: SyncMemory, ids: list[BlockId]) -> None:
    stretch = after(memory, lambda: memory.erase(ids[0]))
    result = memory.revert(*stretch)
    assert [(each.what, each.of, each.why) for each in result.conflicts] == [
        ("life", (ids[0],), "erased")
    ]
    assert (result.action, result.kept) == ("nothing", {"block-erased": 1})
    assert memory.block(ids[0]).content is None


def test_history_stays_and_is_counted(memory: SyncMemory, ids: list[BlockId]) -> None:
    decision = ""

    def recall() -> None:
        nonlocal decision
        decision = memory.recall("lamp").decision_id or ""

    stretch = after(
        memory,
        memory.end_session,
        memory.start_session,
        recall,
        lambda: memory.compose(ids),
    )
    result = memory.revert(*stretch)
    assert result.kept == {
        "blocks-composed": 1,
        "recall-recorded": 1,
        "session-ended": 1,
        "session-started": 1,
    }
    assert result.uses == tuple(sorted(memory.replay(decision).recall.block_ids))  # type: ignore[union-attr]
    assert memory.replay(decision).outcome == "reproduced"
    assert len(memory.ledger()) == 1


def test_a_block_without_a_vector_of_the_new_embedder_is_not_restored(
    memory: SyncMemory, ids: list[BlockId]
) -> None:
    stretch = after(memory, lambda: memory.forget(ids[0]))
    memory.reembed(HashEmbedder(24))
    result = memory.revert(*stretch)
    assert [(each.what, each.why) for each in result.conflicts] == [("life", "no-vector")]
    assert say(memory, 0) == ids[0]
    memory.consolidate()
    assert memory.block(ids[0]).status == "active"


def test_a_block_active_throughout_keeps_its_new_vector(
    memory: SyncMemory, ids: list[BlockId]
) -> None:
    stretch = after(memory, lambda: memory.rezone(ids[0], "vetted"))
    memory.reembed(HashEmbedder(24))
    before = memory.recall("lamp oil", record=False)
    assert memory.revert(*stretch).restored == (ids[0],)
    after_it = memory.recall("lamp oil", record=False)
    assert {each.id: each.cosine_score for each in after_it.blocks} == {
        each.id: each.cosine_score for each in before.blocks
    }


# --- the event ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("ids")
def test_nothing_to_revert_writes_nothing(memory: SyncMemory) -> None:
    before = head(memory)
    result = memory.revert(before, before)
    assert (result.action, result.version) == ("reverted", before + 1)
    again = memory.revert(before, before)
    assert (again.action, again.version, head(memory)) == ("nothing", None, before + 1)
    assert again.summary == f"Nothing to revert in versions {before} to {before}."


def test_a_dry_run_reports_the_same_and_writes_nothing(
    memory: SyncMemory, ids: list[BlockId]
) -> None:
    stretch = after(memory, lambda: memory.connect(ids[0], ids[1]), lambda: memory.forget(ids[2]))
    before = head(memory)
    answer = memory.revert(*stretch, dry_run=True)
    assert (answer.action, answer.version, head(memory)) == ("dry_run", None, before)
    done = memory.revert(*stretch)
    assert {**answer.to_dict(), "action": "", "version": 0} == {
        **done.to_dict(),
        "action": "",
        "version": 0,
    }


def test_a_revert_can_be_reverted(memory: SyncMemory, ids: list[BlockId]) -> None:
    lane = memory.compose(ids).composition_id
    stretch = after(
        memory,
        lambda: memory.connect(ids[0], ids[1], "supports"),
        lambda: memory.learn("pitch is cheap"),
        memory.consolidate,
        lambda: memory.outcome([ids[0]], 1.0),
        lambda: memory.label(lane, "helpful"),
        lambda: memory.adopt_policy(Policy(name="other")),
    )
    everything = [block.id for block in memory.blocks().items]
    before = state(memory, everything)
    reverted = memory.revert(*stretch).version
    assert reverted is not None
    assert state(memory, everything) != before
    assert memory.revert(reverted, reverted).conflicts == ()
    assert state(memory, everything) == before


def test_it_is_one_event_with_its_reason_in_the_log(memory: SyncMemory, ids: list[BlockId]) -> None:
    version = memory.revert(*after(memory, lambda: memory.forget(ids[0])), reason=" slip ").version
    (answer,) = memory.log(after=head(memory) - 1)
    assert (answer.version, answer.kind, answer.detail) == (
        version,
        "reverted",
        f"versions {head(memory) - 1} to {head(memory) - 1}: slip",
    )
    assert answer in memory.history(of=ids[0])


@pytest.mark.usefixtures("ids")
def test_views_of_the_past_are_unaffected_by_a_revert(memory: SyncMemory) -> None:
    stretch = after(
        memory, lambda: memory.learn("pitch is cheap"), memory.consolidate, lambda: None
    )
    before = memory.as_of(version=stretch[1])
    answer = [before.status(), before.blocks(), before.recall("pitch")]
    memory.revert(*stretch)
    then = memory.as_of(version=stretch[1])
    assert [then.status(), then.blocks(), then.recall("pitch")] == answer


@pytest.mark.usefixtures("ids")
def test_another_handle_and_a_later_opening_see_the_same(
    memory: SyncMemory, opened: Open, store: MemoryStore
) -> None:
    other = opened(store)
    memory.revert(*after(memory, lambda: memory.learn("pitch"), memory.consolidate))
    everything = [block.id for block in memory.blocks().items]
    assert state(other, everything) == state(memory, everything)
    assert state(opened(store), everything) == state(memory, everything)
    assert memory.verify().sound


def test_a_repeated_revert_gets_the_first_answer(memory: SyncMemory, ids: list[BlockId]) -> None:
    stretch = after(memory, lambda: memory.forget(ids[0]))
    first = memory.revert(*stretch, command_id="once")
    memory.forget(ids[0])
    assert memory.revert(*stretch, command_id="once") == first
    assert memory.block(ids[0]).status == "archived"


def test_a_read_only_memory_allows_only_a_dry_run(
    memory: SyncMemory, opened: Open, ids: list[BlockId]
) -> None:
    stretch = after(memory, lambda: memory.forget(ids[0]))
    reader = opened(read_only=True)
    assert reader.revert(*stretch, dry_run=True).restored == (ids[0],)
    with pytest.raises(ViewReadOnly):
        reader.revert(*stretch)


@pytest.mark.usefixtures("ids")
def test_an_erased_space_refuses_a_revert(memory: SyncMemory) -> None:
    memory.erase_space("default")
    with pytest.raises(SpaceErased):
        memory.revert(1, 2)
    with pytest.raises(SpaceErased):
        memory.revert(1, 2, dry_run=True)


def test_erasing_removes_text_from_an_earlier_revert(
    memory: SyncMemory, ids: list[BlockId]
) -> None:
    memory.revert(*after(memory, lambda: memory.forget(ids[0])))
    memory.erase(ids[0])
    assert memory.block(ids[0]).content is None
    assert memory.verify().sound


@pytest.mark.anyio
async def test_an_async_host_reverts_and_compares(store: MemoryStore) -> None:
    async with Memory.open(store, embedder=HashEmbedder(), clock=ManualClock()) as memory:
        await memory.learn(FACTS[0])
        version = (await memory.status()).version
        assert (await memory.diff(version - 1)).totals["learned"] == 1
        assert (await memory.revert(version, version)).action == "reverted"
        assert (await memory.timeline(bins=1)).kinds["reverted"] == 1
