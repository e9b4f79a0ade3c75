"""composed_graph: behaviour of a whole memory, in addition to the rows of specs/ledger.toml."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import ComposedGraphRefused
from mnemic.kernel.policy import Policy

Open: TypeAlias = Callable[..., SyncMemory]


@pytest.fixture
def blocks(memory: SyncMemory) -> list[str]:
    found: list[str] = [memory.learn(f"oracle {name}").block_id for name in ("one", "two", "six")]
    memory.consolidate()
    return found


def pairs(answer: dict[str, Any]) -> set[frozenset[str]]:
    return {frozenset((pair["firstId"], pair["secondId"])) for pair in answer["candidates"]}


@pytest.mark.usefixtures("blocks")
def test_pending_blocks_are_consolidated_first(memory: SyncMemory) -> None:
    late = memory.learn("oracle seven").block_id
    assert any(late in pair for pair in pairs(memory.composed_graph("never_composed")))
    assert memory.block(late).status == "active"


def test_pending_blocks_are_left_if_the_policy_disables_auto_consolidation(opened: Open) -> None:
    memory = opened(policy=Policy(auto_consolidate=False))
    for name in ("one", "two"):
        memory.learn(f"oracle {name}")
    before = memory.status().version
    assert memory.composed_graph("never_composed") == {"action": "never_composed", "candidates": []}
    assert memory.status().version == before


def test_reads_write_nothing_and_work_read_only(
    opened: Open, store: MemoryStore, memory: SyncMemory, blocks: list[str]
) -> None:
    memory.compose(blocks[:2], composition_id="lane")
    before = memory.status().version
    reader = opened(store, read_only=True)
    for action in ("recent", "get", "memory", "neighbors", "never_composed", "bounty_mode"):
        asked: dict[str, Any] = {"event_id": "lane", "memory_id": blocks[0]}
        assert reader.composed_graph(action, **asked) == memory.composed_graph(action, **asked)
    assert memory.status().version == before


def test_a_repeated_label_is_answered_as_it_was(memory: SyncMemory, blocks: list[str]) -> None:
    memory.compose(blocks, composition_id="lane")
    asked: dict[str, Any] = {"event_id": "lane", "outcome_type": "helpful", "command_id": "once"}
    first = memory.composed_graph("label", **asked)
    memory.retract_label(first["outcome"]["id"])
    assert memory.composed_graph("label", **asked) == first
    assert memory.composed_graph("get", event_id="lane")["outcomes"] == []


def test_times_are_in_rfc_3339(memory: SyncMemory, blocks: list[str], clock: ManualClock) -> None:
    memory.compose(blocks[:1], composition_id="lane")
    clock.advance(microseconds=1)
    label = memory.composed_graph("label", event_id="lane", outcome_type="helpful")
    (event,) = memory.composed_graph("recent")["events"]
    assert event["createdAt"] == "2026-01-01T00:00:00+00:00"
    assert label["outcome"]["labeledAt"] == "2026-01-01T00:00:00.000001+00:00"


@pytest.mark.usefixtures("blocks")
def test_the_weirdest_are_the_first_three(memory: SyncMemory) -> None:
    memory.learn("oracle seven")
    answer = memory.composed_graph("bounty_mode")
    assert len(answer["neverComposedLanes"]) == 6
    assert answer["topWeirdCombinations"] == answer["neverComposedLanes"][:3]


def test_both_modes_ask_about_the_same_pairs_in_the_same_fields(
    memory: SyncMemory, blocks: list[str]
) -> None:
    classic = memory.composed_graph("never_composed")
    ours = memory.composed_graph("never_composed", mode="default")
    assert (
        pairs(classic)
        == pairs(ours)
        == {frozenset(pair) for pair in (blocks[:2], blocks[1:], blocks[::2])}
    )
    assert {*ours["candidates"][0]} - {*classic["candidates"][0]} == {"cap", "limitedBy"}


def test_a_long_preview_is_cut_at_160_bytes_between_letters(memory: SyncMemory) -> None:
    memory.learn("oracle\n" + "é" * 200)
    memory.learn("oracle two")
    (pair,) = memory.composed_graph("never_composed")["candidates"]
    assert {pair["firstPreview"], pair["secondPreview"]} == {
        "oracle two",
        "oracle " + "é" * 76 + "...",
    }


def test_a_refusal_has_the_tools_message_and_a_recovery(memory: SyncMemory) -> None:
    with pytest.raises(ComposedGraphRefused) as refused:
        memory.composed_graph("get")
    assert refused.value.to_dict() == {
        "code": "composed-graph-refused",
        "detail": "event_id is required for get",
        "recovery": "Call guide('composed_graph') for its actions and what each needs.",
        "field": "event_id",
    }
