"""The nearest rows of a vector index: exact, with ties in the order of ids."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.kernel.errors import VectorRefused
from mnemic.kernel.model.vectors import Vector, cosine, quantise
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.vectors.local_rows import LocalRows

SIZES = (1, 3, 17, 256)
IDS = tuple(sha256(bytes([block])).hexdigest()[:16] for block in range(256))
"""Ids by ordinal, in an order that is independent of the ordinals."""

_Coarse = st.lists(st.integers(-2, 2), min_size=3, max_size=3).map(
    lambda components: quantise(components, dimension=3)
)
"""Few directions, so that equal cosines are frequent; includes the zero vector of erased texts."""
CORPORA = st.lists(_Coarse, min_size=1, max_size=40)
QUESTIONS = _Coarse
COUNTS = st.integers(1, 50)


def every_index(test: Any) -> Any:
    """Let a property test run in every class that inherits it."""
    quiet = [HealthCheck.differing_executors, HealthCheck.too_slow]
    return settings(deadline=None, suppress_health_check=quiet)(test)


class TestVectorIndex:
    """The guarantees of an exact index: no nearer row is missing from a result."""

    def index(self) -> VectorIndex:
        """Return an empty index; the first vector determines its dimension."""
        return VectorIndex()

    def filled(self, stored: list[Vector]) -> VectorIndex:
        """Return an index in which the row equals the ordinal."""
        index = self.index()
        for block, vector in enumerate(stored):
            index.append(block, vector)
        return index

    def test_rows_are_numbered_in_the_order_of_appending(self) -> None:
        index = self.index()
        assert [index.append(9 - block, vector) for block, vector in enumerate(spread(5, 4))] == [
            *range(5)
        ]

    @pytest.mark.parametrize("dimension", SIZES)
    def test_a_vector_is_nearest_to_itself(self, dimension: int) -> None:
        stored = spread(9, dimension)
        index = self.filled(stored)
        for row, vector in enumerate(stored):
            assert found_by(index, vector, None, 9) == exact_search(stored, vector, range(9), 9)
            assert found_by(index, vector, [row], 1) == [(row, cosine(vector, vector))]

    @every_index
    @given(CORPORA, QUESTIONS, COUNTS)
    def test_the_top_equals_an_exact_search(
        self, stored: list[Vector], query: Vector, k: int
    ) -> None:
        expected = exact_search(stored, query, range(len(stored)), k)
        assert found_by(self.filled(stored), query, None, k) == expected

    @every_index
    @given(CORPORA, QUESTIONS, COUNTS, st.data())
    def test_rows_outside_the_selection_are_not_returned(
        self, stored: list[Vector], query: Vector, k: int, data: st.DataObject
    ) -> None:
        alive = data.draw(st.lists(st.sampled_from(range(len(stored))), unique=True))
        expected = exact_search(stored, query, alive, k)
        assert found_by(self.filled(stored), query, alive, k) == expected

    @every_index
    @given(CORPORA, QUESTIONS, COUNTS, st.data())
    def test_later_rows_do_not_change_a_search_of_earlier_rows(
        self, stored: list[Vector], query: Vector, k: int, data: st.DataObject
    ) -> None:
        earlier = data.draw(st.integers(1, len(stored)))
        index = self.filled(stored[:earlier])
        before = found_by(index, query, None, k)
        for block, vector in enumerate(stored[earlier:], start=earlier):
            index.append(block, vector)
        assert found_by(index, query, range(earlier), k) == before
        assert before == exact_search(stored[:earlier], query, range(earlier), k)

    def test_equal_vectors_are_ordered_by_id(self) -> None:
        vector = spread(1, 4)[0]
        found = found_by(self.filled([vector] * 20), vector, None, 7)
        assert found == exact_search([vector] * 20, vector, range(20), 7)
        assert [IDS[row] for row, _ in found] == sorted(IDS[:20])[:7]

    def test_ties_are_ordered_by_block_id_and_not_by_row(self) -> None:
        vector, index = spread(1, 4)[0], self.index()
        for block in (3, 1, 2, 0):
            index.append(block, vector)
        found = [row for row, _ in found_by(index, vector, None, 4)]
        assert [IDS[(3, 1, 2, 0)[row]] for row in found] == sorted(IDS[:4])

    def test_an_appended_vector_is_copied(self) -> None:
        first, other = spread(2, 4)
        mine, index = first.copy(), self.index()
        index.append(0, mine)
        mine[:] = other
        assert found_by(index, first, None, 1) == [(0, cosine(first, first))]

    def test_an_erased_vector_has_cosine_zero(self) -> None:
        stored = spread(3, 4)
        gone = quantise([0.0] * 4, dimension=4)
        index = self.filled([*stored, gone])
        assert found_by(index, stored[0], [3], 1) == [(3, 0)]
        assert found_by(index, gone, None, 4) == exact_search([*stored, gone], gone, range(4), 4)

    def test_an_empty_index_or_selection_returns_nothing(self) -> None:
        query = spread(1, 4)[0]
        assert found_by(self.index(), query, None, 3) == []
        assert found_by(self.filled(spread(3, 4)), query, [], 3) == []

    def test_a_row_that_does_not_exist_is_an_error(self) -> None:
        stored = spread(2, 4)
        for row in (-1, 2):
            with pytest.raises(IndexError):
                found_by(self.filled(stored), stored[0], [0, row], 2)

    def test_a_top_of_zero_rows_is_an_error(self) -> None:
        stored = spread(2, 4)
        with pytest.raises(ValueError, match="at least 1"):
            found_by(self.filled(stored), stored[0], None, 0)

    def test_a_vector_of_another_size_is_refused_and_changes_nothing(self) -> None:
        stored, wrong = spread(2, 4), spread(1, 5)[0]
        index = self.filled(stored)
        with pytest.raises(VectorRefused):
            index.append(2, wrong)
        with pytest.raises(VectorRefused):
            found_by(index, wrong, None, 1)
        assert found_by(index, stored[0], None, 9) == exact_search(stored, stored[0], range(2), 9)


class TestVectorIndexInSmallChunks(TestVectorIndex):
    def index(self) -> VectorIndex:
        return VectorIndex(LocalRows(chunk_components=4))


def spread(count: int, dimension: int) -> list[Vector]:
    """Return vectors in many directions, the same on every machine."""
    rows, columns = np.arange(1, count + 1)[:, None], np.arange(1, dimension + 1)
    components = rows * 7919 * columns % 8191 * (rows + columns) % 2003 - 1001
    return [quantise(row, dimension=dimension) for row in components]


def found_by(index: VectorIndex, query: Vector, rows: Any, k: int) -> list[tuple[int, int]]:
    """Return the rows that *index* finds and their cosines, best first."""
    among = None if rows is None else np.array([*rows], dtype=np.int64)
    found, cosines = index.top(query, among, k, ids=IDS)
    return list(zip(found.tolist(), cosines.tolist(), strict=True))


def exact_search(stored: list[Vector], query: Vector, rows: Any, k: int) -> list[tuple[int, int]]:
    """Return the same by comparing every row."""
    found = [(row, cosine(query, stored[row])) for row in rows]
    return sorted(found, key=lambda each: (-each[1], IDS[each[0]]))[:k]
