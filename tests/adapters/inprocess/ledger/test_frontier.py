from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mnemic.adapters.analysts.absent import NoAnalyst
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import DecisionNotFound, FieldRefused

TEXTS = ("The harbour light failed.", "A harbour pilot waits.", "The pilot reads charts.")


@pytest.fixture
def memory() -> Iterator[SyncMemory]:
    opened = SyncMemory.open(
        ":memory:", embedder=HashEmbedder(), clock=ManualClock(), analyst=NoAnalyst()
    )
    with opened as memory:
        for text in TEXTS:
            memory.learn(text)
        memory.consolidate()
        yield memory


def ids(frontier: Any) -> list[tuple[str, ...]]:
    return [each.block_ids for each in frontier.candidates]


def test_a_frontier_reads_and_writes_nothing(memory: SyncMemory) -> None:
    before = memory.status().version
    assert len(memory.frontier(size="any").candidates) == 3
    assert memory.status().version == before


def test_a_frontier_converts_to_plain_values_and_a_summary(memory: SyncMemory) -> None:
    frontier = memory.frontier()
    answer = json.loads(json.dumps(frontier.to_dict()))
    assert answer["candidates"][0]["composition_question"].startswith("What changes if")
    assert frontier.summary.startswith("2 candidates at version")
    assert memory.frontier(tags="nowhere").summary.endswith("filtered.")


@pytest.mark.parametrize(
    "arguments",
    [
        {"mode": "fancy"},
        {"limit": 0},
        {"limit": 1001},
        {"limit": True},
        {"size": 1},
        {"size": 5},
        {"size": "all"},
        {"size": True},
        {"mode": "classic", "size": 3},
        {"tags": [3]},
        {"tags": ["x"] * 101},
        {"tags": 7},
    ],
    ids=str,
)
def test_an_invalid_request_for_the_frontier_is_refused(
    memory: SyncMemory, arguments: dict[str, Any]
) -> None:
    with pytest.raises(FieldRefused):
        memory.frontier(**arguments)


def test_the_frontier_at_a_decision_excludes_later_facts_and_lists_calibration_separately(
    memory: SyncMemory,
) -> None:
    decision = memory.recall("harbour").decision_id
    then = memory.frontier(decision=decision)
    pair = ids(then)[0]
    composed = memory.compose(pair)
    memory.label(composed.composition_id, "accepted")
    memory.learn("A second harbour pilot waits too.")
    memory.consolidate()
    again = memory.frontier(decision=decision)
    assert again.candidates == then.candidates
    assert then.calibration == ()
    assert [(each.block_ids, each.labels, each.rank) for each in again.calibration] == [
        (pair, ("accepted",), 1)
    ]
    assert pair not in ids(memory.frontier())


def test_a_view_of_the_past_has_a_frontier_and_no_later_decision(memory: SyncMemory) -> None:
    then = memory.as_of(version=memory.status().version)
    decision = memory.recall("harbour").decision_id
    assert ids(then.frontier()) == ids(memory.frontier())
    with pytest.raises(DecisionNotFound):
        then.frontier(decision=decision)
    with pytest.raises(DecisionNotFound):
        memory.frontier(decision="d0")


def test_mode_classic_matches_composed_graph(memory: SyncMemory) -> None:
    frontier = memory.frontier(mode="classic")
    assert frontier.mode == "classic"
    assert {type(each).__name__ for each in frontier.candidates} == {"ClassicCandidate"}


@pytest.mark.anyio
async def test_the_frontier_is_available_to_async_hosts() -> None:
    async with Memory.open(
        ":memory:", embedder=HashEmbedder(), clock=ManualClock(), analyst=NoAnalyst()
    ) as memory:
        for text in TEXTS:
            await memory.learn(text)
        await memory.consolidate()
        assert len((await memory.frontier()).candidates) == 2
        view = await memory.as_of(version=(await memory.status()).version)
        assert len((await view.frontier(size=3)).candidates) == 1
