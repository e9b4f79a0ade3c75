"""recall(explore=...): a random draw for the last place, which a replay repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from mnemic.adapters.codec import Codec
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import CommandIdReused, FieldRefused
from mnemic.kernel.events import Exploration, RecallRecorded
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.results import RecallResult

Open: TypeAlias = Callable[..., SyncMemory]

FACTS = ("gate", "crane", "rope", "lamp", "bell", "buoy", "net", "sail", "oar", "keel")


class ScriptedDraws:
    """Entropy whose draws always explore and pick a given place of the pool; all else is seeded."""

    def __init__(self, who: float) -> None:
        self._who = who
        self._seeded = SeededEntropy("luck")

    def token(self, size: int) -> bytes:
        """Return bytes: for a draw, those that explore and pick the given place."""
        named = int(self._who * 2**64).to_bytes(8, "big")
        drawn = bytes(8) + named
        return drawn if self._is_draw(size) else self._seeded.token(size)

    drawing = False

    def _is_draw(self, size: int) -> bool:
        return self.drawing and size == 16


def harbour(opened: Open, who: float = 0.0, **host: Any) -> tuple[SyncMemory, ScriptedDraws]:
    """Return a memory of ten facts, with scripted draws."""
    luck = ScriptedDraws(who)
    memory = opened(entropy=luck, **host)
    for fact in FACTS:
        memory.learn(f"the harbour {fact}", tags=["harbour"])
    memory.consolidate()
    luck.drawing = True
    return memory, luck


def recorded(store: MemoryStore, found: RecallResult) -> RecallRecorded:
    version = int(str(found.decision_id)[1:])
    record, payloads = next(iter(store.log("default").read(version - 1, version)))
    event = Codec(SeededEntropy("reader")).decode(record, payloads).event
    assert isinstance(event, RecallRecorded)
    return event


def test_the_last_place_goes_to_one_of_those_next_in_line(opened: Open, store: MemoryStore) -> None:
    memory, _ = harbour(opened, who=0.5)
    greedy = memory.recall("harbour", record=False)
    found = memory.recall("harbour", explore=0.3)
    # Five places, ten blocks: six are in the pool for the last one, and half-way is the fourth.
    next_in_line = [dropped.id for dropped in greedy.dropped]
    assert found.block_ids == (*greedy.block_ids[:4], next_in_line[2])
    assert [block.was_explored for block in found.blocks] == [False] * 4 + [True]
    assert found.propensity == 0.05
    assert [(each.id, each.reason) for each in found.dropped] == [
        (greedy.block_ids[4], "explored"),
        *((block, "top_k") for block in next_in_line if block != next_in_line[2]),
    ]
    event = recorded(store, found)
    assert event.explored == Exploration(rate=300_000_000, pool=6, drawn=3)
    assert event.propensity == 50_000_000


def test_a_draw_without_a_change_is_recorded_too(opened: Open, store: MemoryStore) -> None:
    memory, _ = harbour(opened)
    greedy = memory.recall("harbour", record=False)
    found = memory.recall("harbour", explore=0.3)
    assert (found.block_ids, found.propensity) == (greedy.block_ids, 0.75)
    assert not any(block.was_explored for block in found.blocks)
    event = recorded(store, found)
    assert event.explored == Exploration(rate=300_000_000, pool=6, drawn=0)


def test_without_exploration_the_log_records_none(opened: Open, store: MemoryStore) -> None:
    memory, _ = harbour(opened)
    found = memory.recall("harbour", explore=0.0)
    event = recorded(store, found)
    assert (event.explored, event.propensity, found.propensity) == (None, NANO, 1.0)
    record, _ = next(iter(store.log("default").read(int(str(found.decision_id)[1:]) - 1)))
    assert b"explored" not in record.body
    assert b"propensity" not in record.body


def test_the_only_place_can_be_explored(opened: Open) -> None:
    memory, _ = harbour(opened, who=0.99)
    greedy = memory.recall("harbour", record=False, top_k=1)
    found = memory.recall("harbour", explore=1.0, top_k=1)
    assert found.block_ids == (greedy.dropped[-1].id,)
    assert (found.propensity, found.blocks[0].was_explored) == (0.1, True)


def test_only_the_runners_up_are_in_the_pool(opened: Open, store: MemoryStore) -> None:
    memory, _ = harbour(opened, who=0.99, policy=evolve(DEFAULT, name="few", runners_up=2))
    found = memory.recall("harbour", explore=1.0)
    event = recorded(store, found)
    assert event.explored == Exploration(rate=NANO, pool=3, drawn=2)


def test_a_drawn_block_that_does_not_fit_the_budget_is_left_out(
    opened: Open, store: MemoryStore
) -> None:
    memory, luck = harbour(opened, who=0.99)
    luck.drawing = False
    memory.learn("the harbour " + "and its long story " * 40)
    memory.consolidate()
    luck.drawing = True
    found = memory.recall("harbour", explore=1.0, token_budget=60, top_k=2)
    assert all(len(block.content) < 30 for block in found.blocks)
    event = recorded(store, found)
    assert event.explored is not None
    assert event.explored.pool == 9


def test_guaranteed_blocks_keep_their_places(opened: Open, store: MemoryStore) -> None:
    memory, luck = harbour(opened, who=0.99)
    luck.drawing = False
    memory.learn("never open the harbour gate in a storm", tags=["self/constitutional"])
    memory.learn("keep the harbour logbook", tags=["self/value"])
    memory.consolidate()
    luck.drawing = True
    found = memory.recall("harbour", frame="self", explore=1.0, top_k=1)
    assert [block.tags for block in found.blocks] == [("self/constitutional",)]
    assert recorded(store, found).explored is None


def test_an_empty_answer_has_nothing_to_explore(memory: SyncMemory) -> None:
    found = memory.recall("harbour", explore=1.0)
    assert (found.block_ids, found.propensity) == ((), 1.0)
    assert memory.replay(str(found.decision_id)).outcome == "reproduced"


@pytest.mark.parametrize("who", [0.0, 0.2, 0.5, 0.99])
def test_a_replay_repeats_the_recorded_draw(opened: Open, who: float) -> None:
    memory, luck = harbour(opened, who=who)
    found = memory.recall("harbour", explore=1.0)
    luck.drawing = False
    replayed = memory.replay(str(found.decision_id))
    assert (replayed.outcome, replayed.recall) == ("reproduced", found)


def test_a_repeated_command_gives_the_same_answer(opened: Open) -> None:
    memory, luck = harbour(opened, who=0.5)
    found = memory.recall("harbour", explore=1.0, command_id="once")
    luck.drawing = False
    assert memory.recall("harbour", explore=1.0, command_id="once") == found
    with pytest.raises(CommandIdReused):
        memory.recall("harbour", command_id="once")


def test_why_not_reports_a_place_given_away_by_exploration(opened: Open) -> None:
    memory, _ = harbour(opened, who=0.5)
    greedy = memory.recall("harbour", record=False)
    found = memory.recall("harbour", explore=1.0)
    answer = memory.why_not(str(found.decision_id), greedy.block_ids[4])
    assert (answer.stage, answer.rank) == ("explored", 5)
    assert "exploration gave the last place to another" in answer.detail
    explained = memory.explain(str(found.decision_id))
    assert [block.block_id for block in explained.blocks] == list(found.block_ids)


@pytest.mark.parametrize("explore", [-0.1, 1.1, "often", None, True, float("nan")])
def test_an_exploration_rate_outside_0_to_1_is_refused(memory: SyncMemory, explore: Any) -> None:
    with pytest.raises(FieldRefused) as caught:
        memory.recall("harbour", explore=explore)
    assert caught.value.facts == {"field": "explore"}


def test_unrecorded_recalls_do_not_explore(opened: Open, memory: SyncMemory) -> None:
    with pytest.raises(FieldRefused, match="explore"):
        memory.recall("harbour", explore=0.1, record=False)
    with pytest.raises(FieldRefused, match="explore"):
        opened(read_only=True).recall("harbour", explore=0.1)
