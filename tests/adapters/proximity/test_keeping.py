"""When graphs are made, asked and thrown away, and how decisions made with them are replayed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.inprocess import SyncMemory, records
from mnemic.adapters.inprocess.space import Space
from mnemic.adapters.proximity.keeper import GraphKeeper, Graphs
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import RecallRecorded
from mnemic.kernel.results import RecallResult
from mnemic.projections.proximity import Costs

Open: TypeAlias = Callable[..., SyncMemory]

SMALL = Graphs(always=True, least=8, sizes=(8, 32))
QUESTION = "the lamp of keeper 7"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    with ExitStack() as stack:

        def handle(**host: Any) -> SyncMemory:
            host.setdefault("retriever", SMALL)
            path = host.pop("path", tmp_path / "agent.db")
            return stack.enter_context(
                SyncMemory.open(
                    path,
                    clock=ManualClock(),
                    embedder=HashEmbedder(),
                    entropy=SeededEntropy("graphs"),
                    synchronous="normal",
                    **host,
                )
            )

        yield handle


def space_of(memory: SyncMemory) -> Space:
    return memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def graphs_of(memory: SyncMemory) -> GraphKeeper:
    graphs = space_of(memory).graphs
    assert graphs is not None
    return graphs


def learned(memory: SyncMemory, first: int, end: int) -> list[str]:
    for number in range(first, end):
        memory.learn(f"keeper {number} trims the lamp of tower {number % 9} at dusk")
    memory.consolidate()
    return list(memory.recall(QUESTION, top_k=200, record=False).block_ids)


def warmed(memory: SyncMemory) -> None:
    """Ask often enough that graphs are made, and wait for them."""
    memory.recall(QUESTION, record=False)
    memory.recall(QUESTION, record=False)
    graphs_of(memory).finish()


def decision(memory: SyncMemory, result: RecallResult) -> RecallRecorded:
    return records.decision(space_of(memory), str(result.decision_id))[1]


def files(tmp_path: Path) -> list[str]:
    found = (tmp_path / "agent.db.checkpoints").glob("*")
    return sorted(name.split("-r")[1][:21] for name in (each.name for each in found))


def retrievers(memory: SyncMemory) -> str:
    return decision(memory, memory.recall(QUESTION)).retriever


# --- asking -------------------------------------------------------------------------------------


def test_a_decision_names_its_retriever_and_what_that_came_upon(opened: Open) -> None:
    memory = opened()
    learned(memory, 0, 50)
    warmed(memory)
    event = decision(memory, memory.recall(QUESTION))
    assert event.retriever == "ann"
    assert len(event.near) == 50
    assert {row.block for row in event.answer.rows} <= set(event.near)


def test_decisions_of_graphs_that_miss_nothing_equal_exact_ones(opened: Open) -> None:
    memory = opened()
    learned(memory, 0, 50)
    exact = memory.recall(QUESTION, record=False)
    warmed(memory)
    assert memory.recall(QUESTION, record=False) == exact


def test_decisions_are_replayed_without_any_graph(opened: Open) -> None:
    memory = opened()
    learned(memory, 0, 50)
    warmed(memory)
    results = [memory.recall(f"keeper {number} at dusk") for number in range(6)]
    assert {decision(memory, each).retriever for each in results} == {"ann"}
    learned(memory, 50, 70)
    for host in ({"retriever": "exact"}, {"retriever": SMALL}):
        again = opened(read_only=True, **host)
        assert again.replay_all().reproduced == 6
        assert [again.replay(str(each.decision_id)).outcome for each in results] == [
            "reproduced"
        ] * 6


def test_the_first_question_of_a_space_is_answered_exactly_and_begins_nothing(
    opened: Open,
) -> None:
    memory = opened()
    memory.learn_many([f"keeper {number}" for number in range(20)])
    memory.consolidate()
    assert retrievers(memory) == "exact"
    graphs_of(memory).finish()
    assert retrievers(memory) == "exact"  # it has begun; the next one finds it
    graphs_of(memory).finish()
    assert retrievers(memory) == "ann"


def test_what_is_asked_of_the_past_is_answered_exactly(opened: Open) -> None:
    memory = opened()
    learned(memory, 0, 50)
    warmed(memory)
    version = memory.status().version
    now = memory.recall(QUESTION, record=False)
    learned(memory, 50, 60)
    then = memory.as_of(version=version).recall(QUESTION)
    assert (then.block_ids, then.digest) == (now.block_ids, now.digest)


@pytest.mark.parametrize("retriever", ["auto", "exact", "ann"])
def test_a_small_memory_is_searched_exactly_whatever_is_asked_for(
    opened: Open, retriever: str
) -> None:
    memory = opened(retriever=retriever)
    learned(memory, 0, 20)
    warmed(memory)
    assert retrievers(memory) == "exact"


def test_graphs_that_take_longer_than_looking_at_all_are_not_made(opened: Open) -> None:
    dear = Graphs(least=8, sizes=(8, 32), costs=Costs(row=1, search=1_000_000))
    memory = opened(retriever=dear)
    learned(memory, 0, 50)
    warmed(memory)
    assert retrievers(memory) == "exact"


def test_graphs_that_are_the_quicker_way_are_made_and_asked(opened: Open) -> None:
    cheap = Graphs(least=8, sizes=(8, 32), costs=Costs(row=1_000, search=1))
    memory = opened(retriever=cheap)
    learned(memory, 0, 50)
    warmed(memory)
    assert retrievers(memory) == "ann"


@pytest.mark.parametrize("retriever", ["fast", None, 3])
def test_a_retriever_that_is_none_is_refused(opened: Open, retriever: object) -> None:
    with pytest.raises(FieldRefused, match="retriever must be"):
        opened(retriever=retriever)


@pytest.mark.parametrize("sizes", [(0, 8), (8, 4), (8, 20)])
def test_sizes_that_do_not_fit_are_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(FieldRefused, match="multiple"):
        Graphs(sizes=sizes)


# --- files --------------------------------------------------------------------------------------


def test_graphs_stand_beside_checkpoints_and_large_ones_replace_small_ones(
    opened: Open, tmp_path: Path
) -> None:
    memory = opened()
    learned(memory, 0, 28)
    warmed(memory)
    small = ["0000000000-0000000008", "0000000008-0000000016", "0000000016-0000000024"]
    assert files(tmp_path) == small
    learned(memory, 28, 44)
    warmed(memory)
    assert files(tmp_path) == ["0000000000-0000000032", "0000000032-0000000040"]


def test_graphs_are_taken_up_from_their_files(opened: Open, tmp_path: Path) -> None:
    memory = opened()
    learned(memory, 0, 50)
    warmed(memory)
    before = {each: each.stat().st_mtime_ns for each in tmp_path.rglob("*.graph")}
    again = opened()
    warmed(again)
    assert retrievers(again) == "ann"
    assert before == {each: each.stat().st_mtime_ns for each in tmp_path.rglob("*.graph")}


@pytest.mark.parametrize("place", [0, 20, 60, -1])
def test_a_damaged_file_is_built_again(opened: Open, tmp_path: Path, place: int) -> None:
    memory = opened()
    learned(memory, 0, 50)
    warmed(memory)
    whole = {each: each.read_bytes() for each in tmp_path.rglob("*.graph")}
    for file, stored in whole.items():
        damaged = bytearray(stored)
        damaged[place] ^= 1
        file.write_bytes(damaged)
    again = opened()
    warmed(again)
    assert retrievers(again) == "ann"
    assert whole == {each: each.read_bytes() for each in tmp_path.rglob("*.graph")}


def test_a_torn_file_is_built_again(opened: Open, tmp_path: Path) -> None:
    memory = opened()
    learned(memory, 0, 50)
    warmed(memory)
    for file in tmp_path.rglob("*.graph"):
        file.write_bytes(file.read_bytes()[:10])
    again = opened()
    warmed(again)
    assert retrievers(again) == "ann"


def test_reading_only_writes_no_file(opened: Open, tmp_path: Path) -> None:
    learned(opened(), 0, 50)
    before = sorted(tmp_path.rglob("*.graph"))
    memory = opened(read_only=True)
    warmed(memory)
    assert sorted(tmp_path.rglob("*.graph")) == before == []


# --- going --------------------------------------------------------------------------------------


def test_erasing_takes_every_graph_along(opened: Open, tmp_path: Path) -> None:
    memory = opened()
    blocks = learned(memory, 0, 50)
    warmed(memory)
    assert files(tmp_path)
    memory.erase(blocks[0])
    assert files(tmp_path) == []
    assert retrievers(memory) == "exact"
    warmed(memory)
    assert retrievers(memory) == "ann"
    assert blocks[0] not in memory.recall(QUESTION, record=False).block_ids


def test_what_another_handle_erases_is_not_found_here(opened: Open) -> None:
    memory = opened()
    blocks = learned(memory, 0, 50)
    warmed(memory)
    opened().erase(blocks[0])
    assert blocks[0] not in memory.recall(QUESTION, top_k=200, record=False).block_ids


def test_another_embedder_takes_other_graphs(opened: Open) -> None:
    memory = opened()
    learned(memory, 0, 50)
    warmed(memory)
    memory.reembed(HashEmbedder(dimension=32))
    assert retrievers(memory) == "exact"
    warmed(memory)
    assert retrievers(memory) == "ann"


def test_without_the_library_there_is_one_warning_and_the_exact_search(opened: Open) -> None:
    memory = opened()
    learned(memory, 0, 50)
    space, graphs = space_of(memory), graphs_of(memory)
    space.graphs = GraphKeeper(
        SMALL,
        guard=space.guard,
        index=graphs._index,  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        refusal=lambda: "hnswlib does not run on this processor (signal 4)",
    )
    with pytest.warns(RuntimeWarning, match="exact search serves: hnswlib") as said:  # noqa: PT031
        warmed(memory)
        assert retrievers(memory) == "exact"
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert retrievers(memory) == "exact"
