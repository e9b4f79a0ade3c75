"""Blocks that are related to some, against following one pair after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.projections.retrieval.recipes.related_blocks import RelatedBlocks
from mnemic.projections.storage.event_columns import grouped
from mnemic.projections.view.active_columns import EVERY

COUNT = 12
PLACES = st.integers(0, COUNT - 1)
PAIRS = st.lists(
    st.tuples(PLACES, PLACES).filter(lambda ends: ends[0] != ends[1]), max_size=15, unique=True
)


def followed(
    pairs: list[tuple[int, int]], at: set[int], eligible: set[int]
) -> tuple[list[int], list[tuple[int, int]]]:
    """Return what ``RelatedBlocks.closure`` does."""
    reached, counting = set(at), [ends for ends in pairs if eligible.issuperset(ends)]
    for _ in counting:
        for ends in counting:
            if not reached.isdisjoint(ends):
                reached.update(ends)
    return sorted(reached), [ends for ends in counting if reached.issuperset(ends)]


@given(PAIRS, st.sets(PLACES), st.sets(PLACES))
def test_related_blocks_are_those_that_pairs_lead_to(
    pairs: list[tuple[int, int]], at: set[int], others: set[int]
) -> None:
    eligible = at | others
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    related = RelatedBlocks(array, *grouped(array.ravel()))
    mask, counting = np.zeros(COUNT + 1, dtype=np.bool_), np.zeros(COUNT + 1, dtype=np.bool_)
    mask[[*at]], counting[[*eligible]] = True, True
    start = np.array(sorted(at), dtype=np.int64)
    for places, limit in ((eligible, counting), ({*range(COUNT)}, None)):
        found, held = related.closure(start, mask.copy(), limit)
        assert not isinstance(found, slice)
        assert ([*found.tolist()], [*map(tuple, held.tolist())]) == followed(pairs, at, places)


def test_all_blocks_are_related_by_all_pairs() -> None:
    array = np.array([(0, 1), (3, 2)], dtype=np.int64)
    related = RelatedBlocks(array, *grouped(array.ravel()))
    at, pairs = related.closure(EVERY, np.ones(COUNT + 1, dtype=np.bool_), None)
    assert at == EVERY
    assert pairs.tolist() == array.tolist()
