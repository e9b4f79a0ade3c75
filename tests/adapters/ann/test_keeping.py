"""When graphs are built, used and discarded, and how decisions made with them are replayed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from attrs import evolve

from mnemic.adapters.ann.graphs import Graphs
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.results import Search
from mnemic.projections.retrieval.approximate_search import Costs
from tests.adapters.ann.memories import (
    QUESTION,
    SMALL,
    Open,
    decision,
    files,
    graphs_of,
    learned,
    retrievers,
    warmed,
)

POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


# --- asking -------------------------------------------------------------------------------------


def test_a_decision_names_its_retriever_and_candidates(opened: Open) -> None:
    memory = opened()
    learned(memory, 0, 50)
    warmed(memory)
    event = decision(memory, memory.recall(QUESTION))
    assert event.retriever == "ann"
    assert len(event.near) == 50
    assert {row.block for row in event.answer.rows} <= set(event.near)


def test_decisions_with_perfect_graphs_equal_exact_ones(opened: Open) -> None:
    memory = opened()
    learned(memory, 0, 50)
    exact = memory.recall(QUESTION, record=False)
    warmed(memory)
    assert memory.recall(QUESTION, record=False) == evolve(exact, retriever="ann")


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


def test_the_first_query_is_answered_exactly_and_builds_nothing(
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


def test_queries_of_the_past_are_answered_exactly(opened: Open) -> None:
    memory = opened()
    learned(memory, 0, 50)
    warmed(memory)
    version = memory.status().version
    now = memory.recall(QUESTION, record=False)
    learned(memory, 50, 60)
    then = memory.as_of(version=version).recall(QUESTION)
    assert (then.block_ids, then.digest) == (now.block_ids, now.digest)


@pytest.mark.parametrize("retriever", ["auto", "exact", "ann"])
def test_a_small_memory_is_always_searched_exactly(opened: Open, retriever: str) -> None:
    memory = opened(retriever=retriever)
    learned(memory, 0, 20)
    warmed(memory)
    assert retrievers(memory) == "exact"


def test_graphs_slower_than_a_scan_are_not_built(opened: Open) -> None:
    dear = Graphs(least=8, sizes=(8, 32), costs=Costs(row=1, search=1_000_000))
    memory = opened(retriever=dear)
    learned(memory, 0, 50)
    warmed(memory)
    assert retrievers(memory) == "exact"


def test_graphs_faster_than_a_scan_are_built_and_used(opened: Open) -> None:
    cheap = Graphs(least=8, sizes=(8, 32), costs=Costs(row=1_000, search=1))
    memory = opened(retriever=cheap)
    learned(memory, 0, 50)
    warmed(memory)
    assert retrievers(memory) == "ann"


@pytest.mark.parametrize("retriever", ["fast", None, 3])
def test_an_unknown_retriever_is_refused(opened: Open, retriever: object) -> None:
    with pytest.raises(FieldRefused, match="retriever must be"):
        opened(retriever=retriever)


@pytest.mark.parametrize("sizes", [(0, 8), (8, 4), (8, 20)])
def test_sizes_that_do_not_fit_are_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(FieldRefused, match="multiple"):
        Graphs(sizes=sizes)


# --- saying so ----------------------------------------------------------------------------------


def test_status_reports_the_kind_of_search(opened: Open) -> None:
    memory = opened()
    assert memory.status().search == Search(retriever="ann")
    learned(memory, 0, 50)
    assert memory.status().search == Search(retriever="ann", vectors=50)
    warmed(memory)
    found = Search(retriever="ann", vectors=50, graphs=3, covered=48, stored=3)
    assert memory.status().search == found
    assert found.summary == "approximate: 3 graphs over 48 of 50 vectors, 2 exactly"
    assert memory.as_of(version=9).status().search is None


def test_status_without_graphs_reports_those_in_files(opened: Open) -> None:
    learned(opened(), 0, 50)
    warmed(opened())
    found = Search(retriever="exact", vectors=50, stored=3)
    assert opened(retriever="exact").status().search == found
    assert found.summary == "exact, over 50 vectors; 3 graphs in files"
    assert opened(retriever=Graphs()).status().search == evolve(found, retriever="auto")


def test_answers_and_explanations_name_an_approximate_search(opened: Open) -> None:
    memory = opened()
    learned(memory, 0, 50)
    exact = memory.recall(QUESTION)
    warmed(memory)
    approximate = memory.recall(QUESTION)
    assert (exact.retriever, approximate.retriever) == ("exact", "ann")
    assert "by approximate search" in approximate.summary
    before, after = (memory.explain(str(each.decision_id)) for each in (exact, approximate))
    assert (before.retriever, before.near) == ("exact", None)
    assert (after.retriever, after.near) == ("ann", 50)
    assert "; an approximate search found 50; " in after.summary


def test_why_not_mentions_an_approximate_search(opened: Open) -> None:
    memory = opened()
    memory.adopt_policy(evolve(memory.policy, candidates=1, top_k=1))
    learned(memory, 0, 400)
    exact = memory.recall(QUESTION)
    warmed(memory)
    approximate = memory.recall(QUESTION)
    near = decision(memory, approximate).near
    other = next(
        each
        for number, each in enumerate(memory.blocks(limit=400).items)
        if number not in near and each.id not in exact.block_ids
    )
    said = "The search for near vectors was approximate and missed it."
    assert said in memory.why_not(str(approximate.decision_id), other.id).detail
    assert said not in memory.why_not(str(exact.decision_id), other.id).detail


# --- files --------------------------------------------------------------------------------------


def test_graphs_are_stored_with_checkpoints_and_large_ones_replace_small_ones(
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


def test_graphs_are_loaded_from_their_files(opened: Open, tmp_path: Path) -> None:
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


def test_a_file_under_the_name_of_another_is_built_again(opened: Open, tmp_path: Path) -> None:
    memory = opened()
    learned(memory, 0, 32)
    warmed(memory)
    (file,) = tmp_path.rglob("*.graph")
    whole = file.read_bytes()
    memory.reembed(HashEmbedder(dimension=32))
    warmed(memory)
    (other,) = tmp_path.rglob("*.graph")
    assert other != file
    other.write_bytes(whole)
    again = opened(embedder=HashEmbedder(dimension=32))
    warmed(again)
    assert retrievers(again) == "ann"
    assert other.read_bytes() != whole


@POSIX
def test_graph_files_have_the_permissions_of_the_store(opened: Open, tmp_path: Path) -> None:
    memory = opened()
    (tmp_path / "agent.db").chmod(0o640)
    learned(memory, 0, 50)
    warmed(memory)
    folder, file = tmp_path / "agent.db.checkpoints", next(tmp_path.rglob("*.graph"))
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, file)] == [0o750, 0o640]


def test_an_unwritable_folder_is_reported_once_and_graphs_still_work(
    opened: Open, tmp_path: Path
) -> None:
    (tmp_path / "agent.db.checkpoints").write_text("no folder")
    memory = opened()
    learned(memory, 0, 50)
    with pytest.warns(RuntimeWarning, match="built anew whenever") as said:  # noqa: PT031
        warmed(memory)
        assert retrievers(memory) == "ann"
    assert len(said) == 1
    assert retrievers(memory) == "ann"
    status = memory.status()
    assert status.search == Search(retriever="ann", vectors=50, graphs=3, covered=48)
    assert [each for each in status.alerts if "graphs" in each] == list(graphs_of(memory).alerts)


def test_without_building_graphs_are_loaded_by_the_first_query(opened: Open) -> None:
    memory = opened()
    learned(memory, 0, 50)
    warmed(memory)
    again = opened(retriever=Graphs(always=True, least=1, builds=False))
    result = again.recall(QUESTION, record=False)
    assert result == memory.recall(QUESTION, record=False)
    assert result.retriever == "ann"


def test_without_building_and_files_search_is_exact(opened: Open, tmp_path: Path) -> None:
    learned(opened(), 0, 50)
    again = opened(retriever=Graphs(always=True, least=1, builds=False))
    warmed(again)
    assert retrievers(again) == "exact"
    assert not list(tmp_path.rglob("*.graph"))


def test_reading_only_writes_no_file(opened: Open, tmp_path: Path) -> None:
    learned(opened(), 0, 50)
    before = sorted(tmp_path.rglob("*.graph"))
    memory = opened(read_only=True)
    warmed(memory)
    assert sorted(tmp_path.rglob("*.graph")) == before == []


# --- going --------------------------------------------------------------------------------------


def test_an_erasure_discards_every_graph(opened: Open, tmp_path: Path) -> None:
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


def test_a_block_erased_through_another_handle_is_not_found(opened: Open) -> None:
    memory = opened()
    blocks = learned(memory, 0, 50)
    warmed(memory)
    opened().erase(blocks[0])
    assert blocks[0] not in memory.recall(QUESTION, top_k=200, record=False).block_ids


def test_another_embedder_uses_other_graphs(opened: Open) -> None:
    memory = opened()
    learned(memory, 0, 50)
    warmed(memory)
    memory.reembed(HashEmbedder(dimension=32))
    assert retrievers(memory) == "exact"
    warmed(memory)
    assert retrievers(memory) == "ann"
