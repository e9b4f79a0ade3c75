from __future__ import annotations

import numpy as np
import pytest

from mnemic.adapters.ann.hnsw import HnswGraph, Misfit, Unwanted
from mnemic.kernel.model.vectors import quantise
from mnemic.projections.storage.array_bundle import ArrayBundle, packed
from mnemic.projections.vectors.local_rows import Stored


def rows_of(count: int, dimension: int = 16, seed: int = 1) -> Stored:
    drawn = np.random.default_rng(seed).standard_normal((count, dimension))
    return np.stack([quantise(row, dimension=dimension) for row in drawn])


ROWS = rows_of(600)
QUERY = rows_of(1, seed=2)[0].astype(np.float32)


@pytest.fixture(scope="module")
def parts() -> ArrayBundle:
    return HnswGraph.built(ROWS).parts()


def test_products_are_exact_and_the_nearest_come_first() -> None:
    found = HnswGraph.built(ROWS).nearest(QUERY, 600)
    assert found is not None
    places, products = found
    assert sorted(places.tolist()) == list(range(600))
    assert products.tolist() == (ROWS @ QUERY)[places].tolist()
    assert products.tolist() == sorted(products.tolist(), reverse=True)


def test_a_graph_is_built_the_same_way_every_time(parts: ArrayBundle) -> None:
    again = HnswGraph.built(ROWS).parts()
    assert {name: part.tolist() for name, part in again.items()} == {
        name: part.tolist() for name, part in parts.items()
    }


def test_a_graph_is_restored_from_its_links_and_the_vectors(parts: ArrayBundle) -> None:
    restored = HnswGraph.restored(parts, ROWS)
    found, expected = restored.nearest(QUERY, 20), HnswGraph.built(ROWS).nearest(QUERY, 20)
    assert found is not None
    assert expected is not None
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]
    again = restored.parts()
    assert {name: part.tolist() for name, part in again.items()} == {
        name: part.tolist() for name, part in parts.items()
    }


def test_the_arrays_of_a_graph_hold_no_vector(parts: ArrayBundle) -> None:
    stored = b"".join(part.tobytes() for part in parts.values())
    assert ROWS[7].astype(np.float32).tobytes() not in stored
    assert len(stored) < ROWS.nbytes * 6


@pytest.mark.parametrize(
    "damage",
    [
        {"entry": packed([600, 2])},
        {"entry": packed([-1, 2])},
        {"entry": packed([0, 99])},
        {"entry": packed("nowhere")},
        {"levels": np.full(600, 1, dtype=np.int32)},
        {"levels": np.zeros(599, dtype=np.int32)},
        {"lowest": np.full((600, 132), 255, dtype=np.uint8)},
        {"lowest": np.zeros((5, 132), dtype=np.uint8)},
        {"upper": np.zeros(3, dtype=np.uint8)},
    ],
)
def test_links_that_lead_nowhere_never_reach_the_library(
    parts: ArrayBundle, damage: ArrayBundle
) -> None:
    with pytest.raises(Misfit):
        HnswGraph.restored({**parts, **damage}, ROWS)


def test_a_link_above_a_row_is_refused(parts: ArrayBundle) -> None:
    upper = parts["upper"].copy().view(np.uint32)
    ground = int(np.flatnonzero(parts["levels"] == 0)[0])
    upper[0], upper[1] = 1, ground
    with pytest.raises(Misfit, match="above a row"):
        HnswGraph.restored({**parts, "upper": upper.view(np.uint8)}, ROWS)


def test_links_of_fewer_vectors_are_refused(parts: ArrayBundle) -> None:
    with pytest.raises(Misfit):
        HnswGraph.restored(parts, ROWS[:500])


def test_an_unwanted_graph_is_not_finished() -> None:
    with pytest.raises(Unwanted):
        HnswGraph.built(ROWS, wanted=lambda: False)


def test_a_query_of_another_size_never_reaches_the_library() -> None:
    with pytest.raises(ValueError, match="600 rows"):
        HnswGraph.built(ROWS).nearest(QUERY[:8], 3)
