from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import NANO, Integers
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.vectors.nearby_pairs import Neighbourhood
from mnemic.projections.vectors.neighbour_cache import NeighbourCache

# Few directions, so that equal vectors and equal cosines are the rule.
COARSE = st.lists(st.integers(-2, 2), min_size=3, max_size=3).map(
    lambda components: vectors.quantise(components, dimension=3)
)
CORPORA = st.lists(COARSE, min_size=1, max_size=30)
FLOORS = st.sampled_from([0, 300_000_000, 900_000_000, NANO])


def index_of(stored: list[Vector]) -> VectorIndex:
    index = VectorIndex()
    for block, vector in enumerate(stored):
        index.append(block, vector)
    return index


def rows(numbers: list[int]) -> Integers:
    return np.array(numbers, dtype=np.int64)


def pairs_in(
    where: Neighbourhood, queries: list[Vector], chosen: Integers, floor: int
) -> list[tuple[int, int, int]]:
    return sorted(
        pair
        for pairs in where.pairs(queries, chosen, floor=floor)
        for pair in zip(
            pairs.queries.tolist(), pairs.rows.tolist(), pairs.cosines.tolist(), strict=True
        )
    )


@given(CORPORA, CORPORA, FLOORS, st.data())
def test_the_cache_answers_like_the_index(
    stored: list[Vector], later: list[Vector], floor: int, data: st.DataObject
) -> None:
    index, met = index_of(stored), data.draw(st.lists(COARSE, min_size=1, max_size=8))
    before = st.lists(st.sampled_from(range(len(stored))), unique=True)
    most = data.draw(st.sampled_from([0, 3, 2**21]))
    meeting = NeighbourCache(index, met, rows(data.draw(before)), floor=floor, pairs_max=most)
    for vector in later:
        index.append(7, vector)

    everything = range(len(stored) + len(later))
    chosen = rows(data.draw(st.lists(st.sampled_from(everything), unique=True)))
    asked = data.draw(st.lists(st.sampled_from([*met, met[0], stored[0]]), max_size=10))
    least = data.draw(FLOORS)
    assert pairs_in(meeting, asked, chosen, least) == pairs_in(index, asked, chosen, least)


def test_the_cache_shows_the_current_index() -> None:
    first, second = (vectors.quantise(each, dimension=2) for each in ([1, 0], [3, 4]))
    index = index_of([first])
    meeting = NeighbourCache(index, [second], rows([0]), floor=0)
    index.append(7, second)
    assert (meeting.rows, meeting.block_of.tolist()) == (2, [0, 7])
    assert meeting.vector(1).tolist() == second.tolist()
    expected = [(0, 0, vectors.cosine(first, second)), (0, 1, NANO)]
    assert pairs_in(meeting, [second], rows([0, 1]), 0) == expected


def test_vectors_near_to_many_rows_are_returned_in_parts() -> None:
    east = vectors.quantise([1, 0], dimension=2)
    index = index_of([east] * 300)
    everything = np.arange(300)
    asked = [east] * 400
    found = list(
        NeighbourCache(index, asked, everything, floor=0).pairs(asked, everything, floor=0)
    )
    assert len(found) > 1
    assert sum(len(pairs.rows) for pairs in found) == 300 * 400
