from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.projections.storage.order import kth_greatest, ranked, ranked_within, reached_by

IDS = ["d", "b", "e", "a", "c", "f"]
# Few groups and values, so that ties within a group and across groups are the rule.
ENTRIES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 5)), max_size=25)


def columns(entries: list[tuple[int, int, int]]) -> tuple[Integers, Integers, Integers]:
    groups, values, blocks = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    return groups, values, blocks


@given(ENTRIES, st.integers(1, 6))
def test_the_best_come_first_and_equals_by_id(entries: list[tuple[int, int, int]], k: int) -> None:
    _, values, blocks = columns(entries)
    order = ranked(values, blocks, IDS, k=k).tolist()
    answer = [(-entries[at][1], IDS[entries[at][2]]) for at in order]
    assert answer == sorted((-value, IDS[block]) for _, value, block in entries)[:k]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=400), st.data())
def test_the_kth_greatest_is_that_of_a_sorted_list(values: list[int], data: st.DataObject) -> None:
    k, array = data.draw(st.integers(1, len(values))), np.array(values, dtype=np.int64)
    assert kth_greatest(array, k) == sorted(values, reverse=True)[k - 1]
    assert array.tolist() == values
    assert np.count_nonzero(array >= reached_by(array, k)) >= k


@given(ENTRIES, st.integers(1, 6))
def test_each_group_is_ranked_as_if_it_were_alone(
    entries: list[tuple[int, int, int]], k: int
) -> None:
    groups, values, blocks = columns(entries)
    together = ranked_within(groups, values, blocks, IDS, k=k)
    alone = [
        places[ranked(values[places], blocks[places], IDS, k=k)].tolist()
        for places in (np.flatnonzero(groups == group) for group in range(4))
    ]
    assert together.tolist() == [position for order in alone for position in order]
