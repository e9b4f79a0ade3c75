"""Grouped writes: a batch of writes leaves the same rows as the writes one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.projections.graph.adjacency import NUMBERING_SHARE, Pairs, join
from mnemic.projections.graph.pair_numbers import PairNumbers
from mnemic.projections.state.batch_tables import CARRIED, Writes
from mnemic.projections.storage.columns import VersionedTable
from mnemic.projections.storage.grouped_writes import GroupedWrites

COLUMNS: dict[str, type[np.generic]] = {"weight": np.int64, "count": np.int32}
KEYS = st.integers(min_value=0, max_value=4)
VALUES = st.one_of(st.none(), st.integers(min_value=-9, max_value=9))
WRITES = st.lists(st.tuples(KEYS, VALUES, st.integers(min_value=0, max_value=2)), max_size=12)
PAIRS = st.lists(st.tuples(KEYS, st.integers(min_value=5, max_value=8), st.booleans()), max_size=12)


def known() -> VersionedTable:
    """A table with rows of two of the keys, and a closed row of another."""
    table = VersionedTable(**COLUMNS)
    for key in (0, 1, 3):
        table.put(key, 0, (key, 2 * key))
    table.close(3, 1)
    return table


@given(batches=st.lists(WRITES, min_size=1, max_size=3))
def test_grouped_writes_leave_the_same_rows_as_single_writes(
    batches: list[list[tuple[int, int | None, int]]],
) -> None:
    plain, table, version = known(), known(), 1
    for batch in batches:
        waiting = Writes(table, counted=("count",))
        for key, weight, more in batch:
            version += 1
            values = {} if weight is None else {"weight": weight}
            if plain.row(key) < 0:
                for each in (plain, waiting):
                    each.put(key, version, (7, 0))
            for each in (plain, waiting):
                each.change(key, version, {"count": more}, **values)
        waiting.settle()
    answer = [
        {name: part.tolist() for name, part in each.frozen().items()} for each in (table, plain)
    ]
    assert answer[0] == answer[1]
    assert table.head.tolist() == plain.head.tolist()
    assert [table.row(key) for key in range(6)] == [plain.row(key) for key in range(6)]


@given(writes=WRITES.filter(len))
def test_a_gap_is_filled_from_the_last_value_of_its_key(
    writes: list[tuple[int, int | None, int]],
) -> None:
    runs = GroupedWrites(np.array([key for key, _, _ in writes]))
    values = np.array([CARRIED if value is None else value for _, value, _ in writes])
    stood = {key: 100 + key for key in runs.keys.tolist()}
    expected = []
    for key, value, _ in writes:
        stood[key] = stood[key] if value is None else value
        expected.append(stood[key])
    before = 100 + runs.keys
    assert runs.carried(values, runs.gaps(values != CARRIED), before).tolist() == expected


@given(batches=st.lists(st.sets(st.integers(min_value=0, max_value=90)), max_size=6))
def test_pair_numbers_finds_the_number_of_each_key(batches: list[set[int]]) -> None:
    numbering, numbers = PairNumbers(), dict[int, int]()
    for batch in batches:
        fresh = [key for key in batch if key not in numbers]
        numbering.add(np.array(fresh, dtype=np.int64))
        numbers.update(zip(fresh, range(len(numbers), len(numbers) + len(fresh)), strict=True))
        found = numbering.find(np.arange(91)).tolist()
        assert found == [numbers.get(key, -1) for key in range(91)]


@given(batches=st.lists(PAIRS, max_size=5), together=st.lists(st.booleans(), min_size=5))
def test_pairs_have_the_same_numbers_however_they_are_numbered(
    batches: list[list[tuple[int, int, bool]]], together: list[bool]
) -> None:
    pairs, plain = Pairs(), Pairs()
    for batch, at_once in zip(batches, together, strict=False):
        linked = [(low, high) for low, high, is_linked in batch if is_linked]
        for ends in linked:
            plain.numbered(ends)
        if at_once:
            joined = np.array([join(low, high) for low, high, _ in batch], dtype=np.int64)
            mask = np.array([is_linked for _, _, is_linked in batch], dtype=np.bool_)
            found = pairs.numbered_each(joined, mask).tolist()
            wanted = [plain.get((low, high)) for low, high, _ in batch]
            assert found == [-1 if each is None else each for each in wanted]
        else:
            for ends in linked:
                pairs.numbered(ends)
        for low in range(5):
            for high in range(5, 9):
                assert pairs.get((low, high)) == plain.get((low, high))
    assert pairs.low.tolist() == plain.low.tolist()
    assert pairs.high.tolist() == plain.high.tolist()


def test_a_few_of_very_many_pairs_are_numbered_without_sorting_all() -> None:
    pairs = Pairs()
    for high in range(1, 4 * NUMBERING_SHARE):
        pairs.numbered((0, high))
    known, fresh, unheard = join(0, 7), join(1, 2), join(1, 3)
    asked = np.array([fresh, known, unheard], dtype=np.int64)
    found = pairs.numbered_each(asked, np.array([True, True, False]))
    assert found.tolist() == [4 * NUMBERING_SHARE - 1, 6, -1]
