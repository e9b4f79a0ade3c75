"""Large arrays are mapped separately and behave like all other arrays."""

from __future__ import annotations

import numpy as np
import pytest

from mnemic.projections.storage.growable_array import grown
from mnemic.projections.storage.mapped_arrays import PAGED_FROM, zeros


@pytest.mark.parametrize("rows", [0, 1, PAGED_FROM // 16 - 1, PAGED_FROM // 16, PAGED_FROM])
def test_zeros_are_zeros_of_any_size(rows: int) -> None:
    found = zeros((rows, 2), np.int64)
    assert (found.shape, found.dtype, int(found.sum())) == ((rows, 2), np.dtype(np.int64), 0)
    found += 1
    assert int(found.sum()) == 2 * rows


def test_an_array_that_grows_leaves_the_old_one_as_it_was() -> None:
    before = np.arange(PAGED_FROM, dtype=np.int32)
    after = grown(before, PAGED_FROM + 1, fill=-1)
    after[0] = 7
    assert (len(after), int(before[0]), int(after[PAGED_FROM])) == (2 * PAGED_FROM, 0, -1)
    assert after[1:PAGED_FROM].tolist() == before[1:].tolist()
