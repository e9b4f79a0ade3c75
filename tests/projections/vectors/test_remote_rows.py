"""An index with remote vectors gives the same results as one with local vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.errors import LogCorrupt, VectorRefused
from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import NANO, Integers
from mnemic.kernel.ports import NearestRows
from mnemic.projections.vectors.index import ROUGH, VectorIndex
from mnemic.projections.vectors.mapped_rows import marks_of
from mnemic.specs.contracts import VectorIndexContract
from tests.projections.vectors.remote_store import InMemoryRemoteRows, RemoteIndex

COARSE = st.lists(st.integers(-2, 2), min_size=3, max_size=3).map(
    lambda components: vectors.quantise(components, dimension=3)
)
CORPORA = st.lists(COARSE, min_size=1, max_size=60)
FLOORS = st.sampled_from([0, 300_000_000, NANO])
CHUNKS = st.sampled_from([1, 4, 30, 2**20])
QUERY = vectors.quantise([1, 2, 2], dimension=3)


def spread(count: int) -> list[Vector]:
    """Return vectors that are all different."""
    return [vectors.quantise([1, row, row % 7], dimension=3) for row in range(count)]


def rows(*numbers: int) -> Integers:
    return np.array(numbers, dtype=np.int64)


def held(stored: list[Vector]) -> VectorIndex:
    index = VectorIndex()
    for block, vector in enumerate(stored):
        index.append(block, vector)
    return index


def remote_index(
    stored: list[Vector], *, multiplies: bool = True, chunk_components: int = 2**20
) -> tuple[RemoteIndex, InMemoryRemoteRows]:
    storage = InMemoryRemoteRows(multiplies=multiplies)
    index = RemoteIndex(storage, chunk_components=chunk_components)
    for block, vector in enumerate(stored):
        index.append(block, vector)
    return index, storage


def pairs(index: VectorIndex, queries: list[Vector], among: Integers, floor: int) -> list[Any]:
    return sorted(
        pair
        for found in index.pairs(queries, among, floor=floor)
        for pair in zip(
            found.queries.tolist(), found.rows.tolist(), found.cosines.tolist(), strict=True
        )
    )


class TestIndexWithRemoteProducts(VectorIndexContract):
    def index(self) -> NearestRows:
        return RemoteIndex(InMemoryRemoteRows())


class TestIndexWithVectorsFetchedInSmallChunks(VectorIndexContract):
    def index(self) -> NearestRows:
        return RemoteIndex(InMemoryRemoteRows(multiplies=False), chunk_components=4)


@given(
    stored=CORPORA,
    queries=st.lists(COARSE, min_size=1, max_size=12),
    chunk=CHUNKS,
    data=st.data(),
)
def test_remote_rows_give_the_same_results_as_local_rows(
    stored: list[Vector],
    queries: list[Vector],
    chunk: int,
    data: st.DataObject,
) -> None:
    multiplies, floor = data.draw(st.booleans()), data.draw(FLOORS)
    index, ours = (
        held(stored),
        remote_index(stored, multiplies=multiplies, chunk_components=chunk)[0],
    )
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
    plain, storage = remote_index(stored)
    index = VectorIndex.thawed({"block_of": rows()}, storage)
    packed = list(map(vectors.pack, stored))
    for some in (slice(cut), slice(cut, None)):
        index.extend(list(range(len(stored)))[some], packed[some])
    assert index.cosines(QUERY).tolist() == plain.cosines(QUERY).tolist()
    assert {name: part.tolist() for name, part in index.frozen().items()} == {
        name: part.tolist() for name, part in plain.frozen().items()
    }


def test_only_queries_about_many_rows_are_multiplied_remotely() -> None:
    index, storage = remote_index(spread(400))
    index.rough_cosines(QUERY, np.arange(400))
    assert (storage.multiplied, storage.fetched) == (1, 0)
    index.rough_cosines(QUERY, rows(3, 305))
    assert (storage.multiplied, storage.fetched) == (1, 2)


def test_rows_after_the_requested_ones_are_not_fetched() -> None:
    index, storage = remote_index(spread(400), multiplies=False)
    early = np.arange(30)
    assert (
        index.rough_cosines(QUERY, early).tolist()
        == held(spread(30)).rough_cosines(QUERY, early).tolist()
    )
    index.cosines(QUERY, early)
    assert storage.fetched == 60


def test_only_rows_that_matter_are_fetched() -> None:
    index, storage = remote_index(spread(400))
    index.cosines(QUERY, rows(3, 305))
    list(index.pairs([QUERY], rows(7, 300), floor=0))
    assert (storage.multiplied, storage.fetched) == (0, 4)


def test_a_row_of_zeros_is_never_fetched() -> None:
    index, storage = remote_index([vectors.quantise([0, 0, 0], dimension=3)] * 9)
    assert index.cosines(QUERY).tolist() == [0] * 9
    assert index.rough_cosines(QUERY, np.arange(9)).tolist() == [0.0] * 9
    assert index.vector(4).tolist() == [0, 0, 0]
    assert (storage.multiplied, storage.fetched) == (0, 0)


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
def test_a_vector_changed_remotely_is_an_error(
    ask: Callable[[VectorIndex], object],
) -> None:
    index, storage = remote_index(spread(40))
    first, second, third = storage.vectors[5].tolist()
    storage.vectors[5] = np.array([first, -second, third], dtype=np.int16)  # of the same length
    with pytest.raises(LogCorrupt, match="row 5 is not what was appended"):
        ask(index)


@ask
@pytest.mark.parametrize("multiplies", [True, False])
def test_a_missing_row_is_requested_once_more(
    ask: Callable[[VectorIndex], object], *, multiplies: bool
) -> None:
    index, storage = remote_index(spread(40), multiplies=multiplies)
    storage.late[5] = storage.vectors.pop(5)
    ask(index)
    assert 5 in storage.vectors


@ask
def test_a_missing_row_is_an_error(ask: Callable[[VectorIndex], object]) -> None:
    index, storage = remote_index(spread(40))
    del storage.vectors[5]
    with pytest.raises(LogCorrupt, match="row 5 is not what was appended"):
        ask(index)


def test_a_missing_row_is_an_error_in_remote_products() -> None:
    index, storage = remote_index(spread(40))
    del storage.vectors[5]
    with pytest.raises(LogCorrupt, match="row 5 is not what was appended"):
        index.rough_cosines(QUERY, np.arange(40))


def test_an_unexpected_row_is_an_error() -> None:
    index, storage = remote_index([*spread(5), vectors.quantise([0, 0, 0], dimension=3)])
    storage.vectors[5] = QUERY
    with pytest.raises(LogCorrupt, match="row 5 is not what was appended"):
        index.cosines(QUERY)


def test_a_query_of_another_dimension_is_refused_without_a_request() -> None:
    index, storage = remote_index(spread(9))
    with pytest.raises(VectorRefused):
        index.rough_cosines(vectors.quantise([1, 2], dimension=2), np.arange(9))
    assert (storage.multiplied, storage.fetched) == (0, 0)


def test_marks_distinguish_vectors_and_are_zero_for_zeros() -> None:
    stored = np.array([[1, 2], [2, 1], [1, 2], [0, 0], [0, 1]], dtype=np.int16)
    marks = marks_of(stored).tolist()
    assert marks[0] == marks[2]
    assert marks[3] == 0
    assert len(set(marks)) == 4


# --- freezing ------------------------------------------------------------------------------------


def test_frozen_parts_hold_only_the_marks_of_vectors() -> None:
    parts = remote_index(spread(40))[0].frozen()
    assert {name: (part.dtype.str, part.shape) for name, part in parts.items()} == {
        "marks": ("<u8", (40,)),
        "dimension": ("<i4", (1,)),
        "squared_norms": ("<i4", (40,)),
        "block_of": ("<i4", (40,)),
        "typicalities": ("<i4", (40,)),
    }


@pytest.mark.parametrize("of", ["here", "elsewhere"])
def test_an_index_thaws_from_local_and_from_remote_parts(of: str) -> None:
    stored = spread(60)
    whole, storage = remote_index(stored)
    frozen = held(stored[:40]) if of == "here" else remote_index(stored[:40])[0]
    index = VectorIndex.thawed(frozen.frozen(), storage)
    index.extend(list(range(40, 60)), list(map(vectors.pack, stored[40:])))
    assert index.is_elsewhere
    assert index.remote_count == 60
    assert index.cosines(QUERY).tolist() == whole.cosines(QUERY).tolist()
    assert index.block_of.tolist() == whole.block_of.tolist()


def test_remote_vectors_cannot_be_thawed_without_their_storage() -> None:
    with pytest.raises(ValueError, match="its vectors are stored elsewhere"):
        VectorIndex.thawed(remote_index(spread(4))[0].frozen())
