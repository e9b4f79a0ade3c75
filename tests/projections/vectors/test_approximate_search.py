from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.projections.retrieval.approximate_search import (
    Bools,
    Costs,
    Floats,
    Ints,
    Segment,
    Span,
    crossover,
    joined,
    nearest,
    spans,
)
from mnemic.projections.vectors.index import VectorIndex

COARSE = st.lists(st.integers(-3, 3), min_size=3, max_size=3).map(
    lambda components: vectors.quantise(components, dimension=3)
)


@frozen
class Exhaustive:
    """A graph that finds every row."""

    rows: Floats

    def nearest(self, query: Floats, count: int) -> tuple[Ints, Floats] | None:
        dots = self.rows @ query
        order = np.argsort(-dots, kind="stable")[:count]
        return order, dots[order]


class Lost:
    """A graph that never finds any row."""

    def nearest(self, query: Floats, count: int) -> tuple[Ints, Floats] | None:
        del query, count
        return None


def index_of(stored: Sequence[Vector]) -> VectorIndex:
    index = VectorIndex()
    for block, vector in enumerate(stored):
        index.append(block, vector)
    return index


def segments_of(index: VectorIndex, *covered: Span) -> tuple[Segment, ...]:
    return tuple(
        Segment(span=each, graph=Exhaustive(index.stretch(*each).astype(np.float32)))
        for each in covered
    )


def everything(rows: Ints) -> Bools:
    return np.ones(len(rows), dtype=np.bool_)


# --- coverage ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (0, []),
        (1, []),
        (2, [(0, 2)]),
        (7, [(0, 2), (2, 4), (4, 6)]),
        (8, [(0, 8)]),
        (19, [(0, 8), (8, 16), (16, 18)]),
    ],
)
def test_large_ranges_come_before_small_ones(rows: int, expected: list[tuple[int, int]]) -> None:
    assert spans(rows, (2, 8)) == tuple(Span(*each) for each in expected)


@given(st.integers(0, 500), st.integers(1, 9), st.integers(1, 6))
def test_fewer_rows_than_a_small_range_have_no_graph(rows: int, small: int, times: int) -> None:
    found = spans(rows, (small, small * times))
    ends = [0, *(each.end for each in found)]
    assert [each.first for each in found] == ends[:-1]
    assert 0 <= rows - ends[-1] < small


def test_a_large_graph_replaces_the_small_ones_it_covers() -> None:
    graph = Lost()
    small = [Segment(span=Span(first, first + 2), graph=graph) for first in (0, 2, 4, 8)]
    large = Segment(span=Span(0, 8), graph=graph)
    assert joined(small, large) == (large, small[3])
    assert joined([small[0], small[2]], small[1]) == tuple(small[:3])


def test_crossover_is_where_graphs_take_half_the_time() -> None:
    sizes = (1_000, 4_000)
    assert crossover(Costs(row=10, search=10_000), sizes) == 4_000
    assert crossover(Costs(row=10, search=1_000), sizes) == 1_500
    assert crossover(Costs(row=10, search=0), sizes) == 1_000


# --- search ---------------------------------------------------------------------------------


@given(
    st.lists(COARSE, min_size=1, max_size=30),
    COARSE,
    st.tuples(st.integers(1, 6), st.integers(1, 12)),
    st.sets(st.integers(0, 29)),
)
def test_exhaustive_graphs_find_what_the_exact_search_does(
    stored: list[Vector], query: Vector, asked: tuple[int, int], dead: set[int]
) -> None:
    wanted, count = asked
    index = index_of(stored)
    alive = np.array([row for row in range(index.rows) if row not in dead], dtype=np.int64)
    found = nearest(
        index,
        segments_of(index, *spans(index.rows, (3, 6))),
        query,
        wanted,
        count=count,
        counts=lambda rows: np.isin(rows, alive),
    )
    if found is not None:  # None if rows that were not returned may be better
        expected = np.sort(index.cosines(query, alive))[::-1][:wanted]
        assert index.cosines(query, found).tolist() == expected.tolist()


@given(st.lists(COARSE, min_size=1, max_size=30), COARSE, st.integers(1, 6))
def test_graphs_asked_for_all_rows_always_answer(
    stored: list[Vector], query: Vector, wanted: int
) -> None:
    index = index_of(stored)
    covered = segments_of(index, *spans(index.rows, (3, 6)))
    found = nearest(index, covered, query, wanted, count=6, counts=everything)
    assert found is not None
    assert len(found) == min(wanted, index.rows)


def test_dead_nearest_rows_fall_back_to_the_exact_search() -> None:
    stored = [vectors.quantise([9, near], dimension=2) for near in (1, 2, 3, 4)]
    index = index_of(stored)
    covered = segments_of(index, Span(0, 4))

    def old(rows: Ints) -> Bools:
        return rows >= 2

    def found(count: int) -> Ints | None:
        return nearest(index, covered, stored[0], 1, count=count, counts=old)

    assert found(2) is None
    answer = found(3)
    assert answer is not None
    assert answer.tolist() == [2]


def test_rows_outside_all_graphs_are_searched_too() -> None:
    stored = [vectors.quantise([9, near], dimension=2) for near in (1, 5, 2, 6, 3)]
    index = index_of(stored)
    covered = segments_of(index, Span(1, 2), Span(3, 4))
    found = nearest(index, covered, stored[0], 3, count=1, counts=everything)
    assert found is not None
    assert found.tolist() == [0, 2, 4]


def test_an_unreachable_graph_falls_back_to_the_exact_search() -> None:
    index = index_of([vectors.quantise([1, 0], dimension=2)])
    lost = Segment(span=Span(0, 1), graph=Lost())
    query = vectors.quantise([1, 0], dimension=2)
    assert nearest(index, [lost], query, 1, count=1, counts=everything) is None
