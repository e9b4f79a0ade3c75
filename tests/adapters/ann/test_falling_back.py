"""Without graphs the exact search is used, with one warning."""

from __future__ import annotations

import warnings

import pytest
from attrs import evolve

from mnemic.adapters.ann.graphs import GraphBuilder, Graphs
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.results import Search
from tests.adapters.ann.memories import (
    SMALL,
    Open,
    graphs_of,
    learned,
    retrievers,
    space_of,
    warmed,
)

ILLEGAL = "hnswlib does not run on this processor (signal 4)"
UNKNOWN = "hnswlib is not installed"
WANTED = [SMALL, evolve(SMALL, always=False), evolve(SMALL, builds=False)]


def without_the_library(memory: SyncMemory, why: str, wanted: Graphs) -> None:
    """Let the memory find that the library cannot be used."""
    space, graphs = space_of(memory), graphs_of(memory)
    space.log_state.graphs = GraphBuilder(
        wanted,
        index=graphs._index,  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        folder=graphs._folder,  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        refusal=lambda: why,
    )


@pytest.mark.parametrize("why", [ILLEGAL, UNKNOWN])
@pytest.mark.parametrize("wanted", WANTED)
def test_without_the_library_there_is_one_warning_and_the_exact_search(
    opened: Open, why: str, wanted: Graphs
) -> None:
    memory = opened()
    learned(memory, 0, 50)
    without_the_library(memory, why, wanted)
    with pytest.warns(RuntimeWarning, match="exact search serves, no graph is made: hns") as said:  # noqa: PT031
        warmed(memory)
        assert retrievers(memory) == "exact"
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert retrievers(memory) == "exact"
    status = memory.status()
    retriever = "ann" if wanted.always else "auto"
    assert status.search == Search(retriever=retriever, vectors=50)
    assert status.alerts[-1] == f"exact search serves, no graph is made: {why}"
