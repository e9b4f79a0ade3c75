from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.errors import VectorRefused
from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import NANO, Integers
from mnemic.projections.storage.order import ranked
from mnemic.projections.vectors.index import ROUGH, VectorIndex
from mnemic.projections.vectors.local_rows import LocalRows

# Few directions and small numbers, so that equal cosines are the rule.
COARSE = st.lists(st.integers(-2, 2), min_size=3, max_size=3).map(
    lambda components: vectors.quantise(components, dimension=3)
)
CORPORA = st.lists(COARSE, min_size=1, max_size=40)
CHUNKS = st.sampled_from([1, 4, 30, 2**20])
"""Components worked on at a time: from a row at a time to everything at once."""


def corpus(count: int, dimension: int) -> list[Vector]:
    """Return vectors that are the same on every machine and in every release of numpy."""
    rows, columns = np.arange(1, count + 1)[:, None], np.arange(1, dimension + 1)
    components = rows * 7919 * columns % 8191 * (rows + columns) % 2003 - 1001
    return [vectors.quantise(row, dimension=dimension) for row in components]


def index_of(
    stored: list[Vector],
    chunk_components: int = 2**20,
    *,
    thawed: int = 0,
) -> VectorIndex:
    """Return an index in which row and ordinal are the same number.

    Args:
        stored: Its vectors.
        chunk_components: How many are worked on at a time.
        thawed: How many of the rows come from a checkpoint.
    """
    rows = LocalRows(chunk_components=chunk_components)
    index = VectorIndex(rows)
    if thawed:
        index = VectorIndex.thawed(index_of(stored[:thawed]).frozen(), rows)
    for block, vector in enumerate(stored[thawed:], start=len(stored[:thawed])):
        index.append(block, vector)
    return index


def ids_of(stored: list[Vector]) -> list[str]:
    """Return ids whose order has nothing to do with that of the ordinals."""
    return [hashlib.sha256(bytes([block])).hexdigest()[:16] for block in range(len(stored))]


def rows(*numbers: int) -> Integers:
    return np.array(numbers, dtype=np.int64)


# --- growth ----------------------------------------------------------------------------------


def test_rows_are_numbered_in_the_order_of_appending() -> None:
    first, second = corpus(2, 4)
    index = VectorIndex()
    assert (index.rows, index.dimension, index.block_of.tolist()) == (0, 0, [])
    assert [index.append(7, first), index.append(3, second)] == [0, 1]
    assert (index.rows, index.dimension, index.block_of.tolist()) == (2, 4, [7, 3])
    assert index.vector(1).tolist() == second.tolist()
    assert index.squared_norms.tolist() == [vectors.squared_norm(v) for v in (first, second)]


@given(CORPORA, COARSE, st.integers(0, 40))
def test_vectors_added_together_are_those_added_one_by_one(
    stored: list[Vector], query: Vector, cut: int
) -> None:
    blocks, packed = list(range(len(stored))), list(map(vectors.pack, stored))
    index, plain = VectorIndex(), index_of(stored)
    for some in (slice(cut), slice(cut, None)):
        index.extend(blocks[some], packed[some])
    assert index.block_of.tolist() == plain.block_of.tolist()
    assert index.squared_norms.tolist() == plain.squared_norms.tolist()
    assert index.cosines(query).tolist() == plain.cosines(query).tolist()


def test_the_first_vectors_added_together_must_be_of_one_size() -> None:
    index = VectorIndex()
    with pytest.raises(VectorRefused):
        index.extend([0, 1], [vectors.pack(corpus(1, size)[0]) for size in (3, 4)])
    assert (index.rows, index.dimension) == (1, 3)


def test_a_returned_view_keeps_its_contents_while_the_index_grows() -> None:
    stored = corpus(200, 4)
    index = index_of(stored[:60])
    blocks, norms = index.block_of, index.squared_norms
    expected = blocks.tolist(), norms.tolist()
    for vector in stored[60:]:
        index.append(0, vector)
    assert (blocks.tolist(), norms.tolist()) == expected
    assert [index.vector(row).tolist() for row in range(200)] == [v.tolist() for v in stored]


def test_a_returned_view_is_read_only() -> None:
    index = index_of(corpus(2, 4))
    assert not index.block_of.flags.writeable
    assert not index.squared_norms.flags.writeable


def test_a_vector_of_another_size_or_kind_is_refused_and_changes_nothing() -> None:
    index = index_of(corpus(2, 4))
    floats: Any = np.zeros(4)
    for wrong in (corpus(1, 5)[0], floats, np.zeros((1, 4), dtype=np.int16)):
        with pytest.raises(VectorRefused, match="int16 vectors of size 4"):
            index.append(9, wrong)
        with pytest.raises(VectorRefused, match="int16 vectors of size 4"):
            index.cosines(wrong)
        with pytest.raises(VectorRefused, match="int16 vectors of size 4"):
            index.rough_cosines(wrong, rows(0))
        with pytest.raises(VectorRefused, match="int16 vectors of size 4"):
            list(index.pairs([wrong], rows(0), floor=0))
    assert index.rows == 2


def test_a_vector_too_long_to_multiply_exactly_is_refused() -> None:
    index = VectorIndex()
    with pytest.raises(VectorRefused, match="would not multiply exactly") as refusal:
        index.append(0, np.array([4096, 1], dtype=np.int16))
    assert refusal.value.facts == {"squared_norm": 4096 * 4096 + 1}
    assert index.append(0, np.array([4096, 0, 0], dtype=np.int16)) == 0


@pytest.mark.parametrize("row", [-1, 2])
def test_a_row_that_does_not_exist_is_an_error(row: int) -> None:
    index = index_of(corpus(2, 4))
    query = index.vector(0)
    with pytest.raises(IndexError, match="of an index with 2"):
        index.vector(row)
    with pytest.raises(IndexError, match="of an index with 2"):
        index.cosines(query, rows(0, row))
    with pytest.raises(IndexError, match="of an index with 2"):
        index.rough_cosines(query, rows(0, row))
    with pytest.raises(IndexError, match="of an index with 2"):
        list(index.pairs([query], rows(0, row), floor=0))


def test_an_empty_index_answers_with_nothing() -> None:
    index, query = VectorIndex(), corpus(1, 4)[0]
    assert index.cosines(query).tolist() == []
    assert index.cosines(query, rows()).tolist() == []
    assert [part.tolist() for part in index.top(query, None, 3, ids=[])] == [[], []]
    assert list(index.pairs([], rows(), floor=0)) == []


# --- search ----------------------------------------------------------------------------------


@st.composite
def indexes(draw: st.DrawFn, stored: list[Vector]) -> VectorIndex:
    """Draw an index of *stored*: part of it from a checkpoint."""
    chunk, thawed = draw(CHUNKS), draw(st.integers(0, len(stored)))
    return index_of(stored, chunk, thawed=thawed)


@given(CORPORA, COARSE, st.data())
def test_cosines_are_those_of_each_pair_however_they_are_computed(
    stored: list[Vector], query: Vector, data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.sampled_from(range(len(stored)))))
    index = data.draw(indexes(stored))
    first, end = sorted(data.draw(st.tuples(*[st.integers(0, len(stored))] * 2)))
    expected = [int(query.astype(int) @ vector) for vector in stored[first:end]]
    assert index.products_within(query, first, end).tolist() == expected
    assert index.stretch(first, end).tolist() == [vector.tolist() for vector in stored[first:end]]
    expected = [vectors.cosine(query, vector) for vector in stored]
    assert index.cosines(query).tolist() == expected
    assert index.cosines(query, rows(*chosen)).tolist() == [expected[row] for row in chosen]


FINE = st.lists(st.floats(-1, 1, width=16), min_size=9, max_size=9).map(
    lambda components: vectors.quantise(components, dimension=9)
)


@given(st.lists(FINE, min_size=2, max_size=90), FINE, st.data())
def test_rough_cosines_are_almost_right_and_their_sign_is(
    stored: list[Vector], query: Vector, data: st.DataObject
) -> None:
    half = index_of(stored[: len(stored) // 2])
    index = data.draw(st.sampled_from((half, VectorIndex.thawed(half.frozen()))))
    rest = stored[len(stored) // 2 :]
    if data.draw(st.booleans()):
        index.extend([0] * len(rest), [vectors.pack(vector) for vector in rest])
    else:
        for vector in rest:
            index.append(0, vector)
    chosen = rows(*data.draw(st.permutations(range(index.rows))))
    at_hand = data.draw(st.sampled_from((None, index.products([query], index.rows)[0])))
    rough = index.rough_cosines(query, chosen, products=at_hand)
    exact = index.cosines(query, chosen)
    assert np.abs(rough.astype(np.float64) - exact / NANO).max() <= ROUGH
    assert ((rough > 0) == (exact > 0)).all()


def test_rough_cosines_do_not_modify_given_products() -> None:
    index = index_of(corpus(9, 4))
    products = index.products([index.vector(0)], 9)[0]
    before = products.tolist()
    index.rough_cosines(index.vector(0), np.arange(9), products=products)
    assert products.tolist() == before


@given(CORPORA, COARSE, st.integers(1, 50), st.data())
def test_the_top_is_the_head_of_the_full_order_by_cosine_and_id(
    stored: list[Vector], query: Vector, k: int, data: st.DataObject
) -> None:
    alive = data.draw(st.lists(st.sampled_from(range(len(stored))), unique=True))
    ids = ids_of(stored)
    cosines = {row: vectors.cosine(query, stored[row]) for row in range(len(stored))}
    order = sorted(alive, key=lambda row: (-cosines[row], ids[row]))[:k]
    found, values = index_of(stored).top(query, rows(*alive), k, ids=ids)
    assert found.tolist() == order
    assert values.tolist() == [cosines[row] for row in order]


@given(CORPORA, COARSE, st.integers(1, 50))
def test_the_top_of_everything_is_the_top_of_all_rows(
    stored: list[Vector], query: Vector, k: int
) -> None:
    index, ids = index_of(stored), ids_of(stored)
    everything = index.top(query, None, k, ids=ids)
    all_rows = index.top(query, np.arange(len(stored)), k, ids=ids)
    assert [part.tolist() for part in everything] == [part.tolist() for part in all_rows]


def test_a_top_of_nothing_is_refused() -> None:
    index = index_of(corpus(2, 4))
    with pytest.raises(ValueError, match="at least 1"):
        index.top(index.vector(0), None, 0, ids=ids_of(corpus(2, 4)))


def test_only_ties_look_up_ids() -> None:
    values = np.array([5, 9, 5, 1], dtype=np.int64)
    assert ranked(values, rows(0, 1, 2, 3), {0: "b", 2: "a"}, k=3).tolist() == [1, 2, 0]
    assert ranked(values, rows(0, 1, 2, 3), {0: "b", 2: "a"}, k=2).tolist() == [1, 2]


@given(CORPORA, st.lists(COARSE, max_size=12), st.data())
def test_pairs_are_those_of_all_pairs_that_reach_the_floor(
    stored: list[Vector], queries: list[Vector], data: st.DataObject
) -> None:
    index = data.draw(indexes(stored))
    floor = data.draw(st.sampled_from([0, 1, 300_000_000, 500_000_000, NANO]))
    alive = data.draw(st.lists(st.sampled_from(range(len(stored))), unique=True))
    expected = [
        (position, row, vectors.cosine(query, stored[row]))
        for position, query in enumerate(queries)
        for row in alive
        if vectors.cosine(query, stored[row]) >= floor
    ]
    found = [
        pair
        for pairs in index.pairs(queries, rows(*alive), floor=floor)
        for pair in zip(
            pairs.queries.tolist(), pairs.rows.tolist(), pairs.cosines.tolist(), strict=True
        )
    ]
    assert sorted(found) == sorted(expected)


@given(CORPORA, COARSE, st.integers(-1, 1))
def test_a_pair_at_the_floor_counts_and_one_nano_unit_below_does_not(
    stored: list[Vector], query: Vector, offset: int
) -> None:
    cosine = vectors.cosine(query, stored[0])
    floor = max(0, cosine + offset)
    found = [
        p for pairs in index_of(stored).pairs([query], rows(0), floor=floor) for p in pairs.rows
    ]
    assert found == [0] * (cosine >= floor)


def test_more_queries_than_one_product_takes_are_all_answered() -> None:
    stored = corpus(300, 4)
    pairs = list(index_of(stored).pairs(stored, rows(5, 299), floor=NANO))
    found = {
        (q, r) for p in pairs for q, r in zip(p.queries.tolist(), p.rows.tolist(), strict=True)
    }
    assert {(5, 5), (299, 299)} <= found
    assert found == {
        (q, r) for q in range(300) for r in (5, 299) if vectors.cosine(stored[q], stored[r]) == NANO
    }


@pytest.mark.parametrize(
    ("dimension", "count"), [(3, 9), (256, 50), (256, 70), (1024, 40), (4096, 12)]
)
def test_single_threaded_products_are_those_of_each_pair(dimension: int, count: int) -> None:
    stored = corpus(100, dimension)
    queries = stored[-count:]
    found = {
        pair
        for pairs in index_of(stored).pairs(queries, np.arange(95), floor=0)
        for pair in zip(
            pairs.queries.tolist(), pairs.rows.tolist(), pairs.cosines.tolist(), strict=True
        )
    }
    cosines = {
        (query, row, vectors.cosine(queries[query], stored[row]))
        for query in range(count)
        for row in range(95)
    }
    assert found == {pair for pair in cosines if pair[2] >= 0}


def test_a_negative_floor_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        list(index_of(corpus(2, 4)).pairs([], rows(), floor=-1))


# --- exactness -------------------------------------------------------------------------------


def test_products_are_exact_at_the_largest_dimension_and_length() -> None:
    flat = vectors.quantise([1.0] * 4096, dimension=4096)
    steep = vectors.quantise([4095.0] + [1.0] * 4095, dimension=4096)
    index = index_of([flat, steep, *corpus(3, 4096)])
    for query in (flat, steep):
        expected = [vectors.cosine(query, index.vector(row)) for row in range(5)]
        assert index.cosines(query).tolist() == expected


@pytest.mark.parametrize("chunk", [96, 5000, 2**20])
@pytest.mark.parametrize("batch", [1, 7, 50])
def test_the_digest_is_the_same_for_every_shape_and_on_every_machine(
    chunk: int, batch: int
) -> None:
    stored = corpus(400, 96)
    index, queries = index_of(stored, chunk), stored[:50]
    answer = [
        (int(query) + start, int(row), int(cosine))
        for start in range(0, 50, batch)
        for pairs in index.pairs(queries[start : start + batch], np.arange(400), floor=0)
        for query, row, cosine in zip(pairs.queries, pairs.rows, pairs.cosines, strict=True)
    ]
    digest = hashlib.sha256(np.array(sorted(answer), dtype="<i8").tobytes()).hexdigest()
    assert digest[:16] == "0fdee00439737d49"


# --- pair by pair ----------------------------------------------------------------------------


@given(CORPORA, st.data())
def test_cosines_pair_by_pair_are_those_of_each_pair(
    stored: list[Vector], data: st.DataObject
) -> None:
    index, count = data.draw(indexes(stored)), len(stored)
    one, other = np.divmod(np.arange(count * count), count)
    expected = [vectors.cosine(a, b) for a in stored for b in stored]
    assert index.cosines_between(one, other).tolist() == expected


def test_pair_by_pair_a_row_has_to_exist() -> None:
    index = index_of(corpus(3, 4))
    with pytest.raises(IndexError, match="index with 3"):
        index.cosines_between(rows(0, 1), rows(2, 3))
    assert VectorIndex().cosines_between(rows(), rows()).tolist() == []


@given(stored=CORPORA, more=CORPORA, queries=st.lists(COARSE, min_size=1, max_size=5))
def test_kept_products_equal_new_ones_also_after_more_was_appended(
    stored: list[Vector], more: list[Vector], queries: list[Vector]
) -> None:
    index = index_of(stored)
    for query in queries:
        index.products_with_all(query)
    for block, vector in enumerate(more, start=len(stored)):
        index.append(block, vector)
    for query in queries:
        found = index.products_with_all(query)
        assert found.tolist() == index.products([query], index.rows)[0].tolist()
    again = index.products_with_all(queries[-1])
    assert np.shares_memory(again, index.products_with_all(queries[-1]))
    assert not again.flags.writeable


def test_products_are_not_kept_beyond_an_erasure() -> None:
    stored = corpus(9, 16)
    index = index_of(stored)
    assert index.products_with_all(stored[4])[4] != 0
    assert index.erased([4]).products_with_all(stored[4])[4] == 0
