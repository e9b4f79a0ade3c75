"""Distinct values, compared with numpy's own function."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.projections.storage.sorted_arrays import distinct


@given(values=st.lists(st.integers(-5, 5), max_size=40))
def test_distinct_values_and_their_first_places_are_those_of_numpy(values: list[int]) -> None:
    found = distinct(np.array(values, dtype=np.int64))
    expected = np.unique(np.array(values, dtype=np.int64), return_index=True)
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]
