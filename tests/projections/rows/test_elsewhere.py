"""Whether an index holds its vectors or not: nobody who asks it can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel import vectors
from mnemic.kernel.arithmetic import NANO, Integers
from mnemic.kernel.errors import LogCorrupt, VectorRefused
from mnemic.kernel.ports import NearestRows
from mnemic.kernel.vectors import Vector
from mnemic.projections.index import ROUGH, VectorIndex
from mnemic.projections.rows.elsewhere import marks_of
from mnemic.specs.contracts import VectorIndexContract
from tests.projections.rows.shelves import Shelf, Shelved

COARSE = st.lists(st.integers(-2, 2), min_size=3, max_size=3).map(
    lambda components: vectors.quantise(components, dimension=3)
)
CORPORA = st.lists(COARSE, min_size=1, max_size=60)
FLOORS = st.sampled_from([0, 300_000_000, NANO])
CHUNKS = st.sampled_from([1, 4, 30, 2**20])
QUERY = vectors.quantise([1, 2, 2], dimension=3)


def spread(count: int) -> list[Vector]:
    """Return vectors of which no two are alike."""
    return [vectors.quantise([1, row, row % 7], dimension=3) for row in range(count)]


def rows(*numbers: int) -> Integers:
    return np.array(numbers, dtype=np.int64)


def held(stored: list[Vector]) -> VectorIndex:
    index = VectorIndex()
    for block, vector in enumerate(stored):
        index.append(block, vector)
    return index


def shelved(
    stored: list[Vector], *, multiplies: bool = True, chunk_components: int = 2**20
) -> tuple[Shelved, Shelf]:
    shelf = Shelf(multiplies=multiplies)
    index = Shelved(shelf, chunk_components=chunk_components)
    for block, vector in enumerate(stored):
        index.append(block, vector)
    return index, shelf


def pairs(index: VectorIndex, queries: list[Vector], among: Integers, floor: int) -> list[Any]:
    return sorted(
        pair
        for found in index.pairs(queries, among, floor=floor)
        for pair in zip(
            found.queries.tolist(), found.rows.tolist(), found.cosines.tolist(), strict=True
        )
    )


class TestIndexWhoseVectorsAreMultipliedElsewhere(VectorIndexContract):
    def index(self) -> NearestRows:
        return Shelved(Shelf())


class TestIndexWhoseVectorsAreFetchedInSmallChunks(VectorIndexContract):
    def index(self) -> NearestRows:
        return Shelved(Shelf(multiplies=False), chunk_components=4)


@given(
    stored=CORPORA,
    queries=st.lists(COARSE, min_size=1, max_size=12),
    chunk=CHUNKS,
    data=st.data(),
)
def test_it_answers_as_one_that_holds_them(
    stored: list[Vector],
    queries: list[Vector],
    chunk: int,
    data: st.DataObject,
) -> None:
    multiplies, floor = data.draw(st.booleans()), data.draw(FLOORS)
    index, ours = held(stored), shelved(stored, multiplies=multiplies, chunk_components=chunk)[0]
    some = rows(*data.draw(st.lists(st.sampled_from(range(len(stored))))))
    different, query = np.unique(some), queries[0]
    assert [each.tolist() for each in ours.vectors(some)] == [
        each.tolist() for each in index.vectors(some)
    ]
    assert ours.cosines(query).tolist() == index.cosines(query).tolist()
    assert ours.cosines(query, some).tolist() == index.cosines(query, some).tolist()
    rough, exact = ours.rough_cosines(query, some), index.cosines(query, some)
    assert (np.abs(rough.astype(np.float64) - exact / NANO) <= ROUGH).all()
    assert ((rough > 0) == (exact > 0)).all()
    between = index.cosines_between(some, some[::-1]).tolist()
    assert ours.cosines_between(some, some[::-1]).tolist() == between
    products = index.products(queries, len(stored))
    assert ours.products(queries, len(stored)).tolist() == products.tolist()
    assert pairs(ours, queries, different, floor) == pairs(index, queries, different, floor)


@given(stored=CORPORA, cut=st.integers(0, 60))
def test_vectors_added_together_are_those_added_one_by_one(stored: list[Vector], cut: int) -> None:
    plain, shelf = shelved(stored)
    index = VectorIndex.thawed({"block_of": rows()}, shelf)
    packed = list(map(vectors.pack, stored))
    for some in (slice(cut), slice(cut, None)):
        index.extend(list(range(len(stored)))[some], packed[some])
    assert index.cosines(QUERY).tolist() == plain.cosines(QUERY).tolist()
    assert {name: part.tolist() for name, part in index.frozen().items()} == {
        name: part.tolist() for name, part in plain.frozen().items()
    }


def test_a_question_about_many_is_multiplied_there_and_one_about_few_is_not() -> None:
    index, shelf = shelved(spread(400))
    index.rough_cosines(QUERY, np.arange(400))
    assert (shelf.multiplied, shelf.fetched) == (1, 0)
    index.rough_cosines(QUERY, rows(3, 305))
    assert (shelf.multiplied, shelf.fetched) == (1, 2)


def test_what_came_after_the_rows_that_are_asked_for_is_left_alone() -> None:
    index, shelf = shelved(spread(400), multiplies=False)
    early = np.arange(30)
    assert (
        index.rough_cosines(QUERY, early).tolist()
        == held(spread(30)).rough_cosines(QUERY, early).tolist()
    )
    index.cosines(QUERY, early)
    assert shelf.fetched == 60


def test_what_counts_is_fetched_and_no_more() -> None:
    index, shelf = shelved(spread(400))
    index.cosines(QUERY, rows(3, 305))
    list(index.pairs([QUERY], rows(7, 300), floor=0))
    assert (shelf.multiplied, shelf.fetched) == (0, 4)


def test_a_row_of_zeros_is_never_asked_for() -> None:
    index, shelf = shelved([vectors.quantise([0, 0, 0], dimension=3)] * 9)
    assert index.cosines(QUERY).tolist() == [0] * 9
    assert index.rough_cosines(QUERY, np.arange(9)).tolist() == [0.0] * 9
    assert index.vector(4).tolist() == [0, 0, 0]
    assert (shelf.multiplied, shelf.fetched) == (0, 0)


ASKING: dict[str, Callable[[VectorIndex], object]] = {
    "all": lambda index: index.cosines(QUERY),
    "some": lambda index: index.cosines(QUERY, rows(5)),
    "pairs": lambda index: list(index.pairs([QUERY], rows(5, 6), floor=0)),
    "pairs of all": lambda index: list(index.pairs([QUERY], np.arange(40), floor=0)),
    "between": lambda index: index.cosines_between(rows(5), rows(6)),
    "products": lambda index: index.products([QUERY], 40),
    "vector": lambda index: index.vector(5),
}
ask = pytest.mark.parametrize("ask", ASKING.values(), ids=ASKING)


@ask
def test_a_vector_that_was_changed_elsewhere_is_refused(
    ask: Callable[[VectorIndex], object],
) -> None:
    index, shelf = shelved(spread(40))
    first, second, third = shelf.vectors[5].tolist()
    shelf.vectors[5] = np.array([first, -second, third], dtype=np.int16)  # of the same length
    with pytest.raises(LogCorrupt, match="row 5 is not what was appended"):
        ask(index)


@ask
@pytest.mark.parametrize("multiplies", [True, False])
def test_a_row_that_is_not_there_is_asked_for_once_more(
    ask: Callable[[VectorIndex], object], *, multiplies: bool
) -> None:
    index, shelf = shelved(spread(40), multiplies=multiplies)
    shelf.late[5] = shelf.vectors.pop(5)
    ask(index)
    assert 5 in shelf.vectors


@ask
def test_a_row_that_stays_away_is_refused(ask: Callable[[VectorIndex], object]) -> None:
    index, shelf = shelved(spread(40))
    del shelf.vectors[5]
    with pytest.raises(LogCorrupt, match="row 5 is not what was appended"):
        ask(index)


def test_a_row_that_stays_away_is_missed_among_products_too() -> None:
    index, shelf = shelved(spread(40))
    del shelf.vectors[5]
    with pytest.raises(LogCorrupt, match="row 5 is not what was appended"):
        index.rough_cosines(QUERY, np.arange(40))


def test_a_row_that_should_not_be_there_is_refused() -> None:
    index, shelf = shelved([*spread(5), vectors.quantise([0, 0, 0], dimension=3)])
    shelf.vectors[5] = QUERY
    with pytest.raises(LogCorrupt, match="row 5 is not what was appended"):
        index.cosines(QUERY)


def test_a_question_of_another_size_is_refused_before_anybody_is_asked() -> None:
    index, shelf = shelved(spread(9))
    with pytest.raises(VectorRefused):
        index.rough_cosines(vectors.quantise([1, 2], dimension=2), np.arange(9))
    assert (shelf.multiplied, shelf.fetched) == (0, 0)


def test_marks_tell_vectors_apart_and_zeros_from_all() -> None:
    stored = np.array([[1, 2], [2, 1], [1, 2], [0, 0], [0, 1]], dtype=np.int16)
    marks = marks_of(stored).tolist()
    assert marks[0] == marks[2]
    assert marks[3] == 0
    assert len(set(marks)) == 4


# --- freezing ------------------------------------------------------------------------------------


def test_frozen_there_is_nothing_of_the_vectors_but_their_marks() -> None:
    parts = shelved(spread(40))[0].frozen()
    assert {name: (part.dtype.str, part.shape) for name, part in parts.items()} == {
        "marks": ("<u8", (40,)),
        "dimension": ("<i4", (1,)),
        "squared_norms": ("<i4", (40,)),
        "block_of": ("<i4", (40,)),
    }


@pytest.mark.parametrize("of", ["here", "elsewhere"])
def test_thawed_it_goes_on_whoever_froze_it(of: str) -> None:
    stored = spread(60)
    whole, shelf = shelved(stored)
    frozen = held(stored[:40]) if of == "here" else shelved(stored[:40])[0]
    index = VectorIndex.thawed(frozen.frozen(), shelf)
    index.extend(list(range(40, 60)), list(map(vectors.pack, stored[40:])))
    assert index.is_elsewhere
    assert index.standing == 60
    assert index.cosines(QUERY).tolist() == whole.cosines(QUERY).tolist()
    assert index.block_of.tolist() == whole.block_of.tolist()


def test_vectors_that_stand_elsewhere_cannot_be_thawed_without_them() -> None:
    with pytest.raises(ValueError, match="its vectors stand elsewhere"):
        VectorIndex.thawed(shelved(spread(4))[0].frozen())
