"""What stands at a version is the same, whether found by a mask or moved on from an earlier one."""

from __future__ import annotations

from itertools import cycle, islice, pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.projections.batches.folding import Folding
from mnemic.projections.columns import Versions
from mnemic.projections.present import Present
from mnemic.projections.standing import KEPT_MAX, Past, Standing
from mnemic.projections.state import State
from mnemic.projections.views import as_of
from tests.agreement.agents import Command
from tests.agreement.snapshots import told_by_view
from tests.agreement.test_laws import HISTORIES, SHARES, World
from tests.agreement.witnesses import read

KEYS = 5
TABLES = ("life", "strength", "evidence", "uses", "edge_rows")
CHANGES = st.lists(
    st.tuples(st.integers(0, KEYS - 1), st.booleans(), st.integers(0, 2)), max_size=40
)
"""A key, whether a row is put or closed, and how many versions later."""


def changed(table: Versions, changes: list[tuple[int, bool, int]], version: int = 0) -> int:
    """Write the changes and return the last version."""
    for key, is_put, later in changes:
        version += later
        if is_put:
            table.put(key, version, (version,))
        else:
            table.close(key, version)
    return version


def rows_of(standing: Standing, name: str) -> dict[int, int]:
    """Return the standing rows of a table by key; one was found before there were more keys."""
    rows = getattr(standing, name).rows.tolist()
    return {key: row for key, row in enumerate(rows) if row >= 0}


def told_of(present: Present) -> list[list[int]]:
    """Return everything that is known of who is present."""
    columns = present.numbers, present.texts, present.vectors, present.expiring
    return [column.tolist() for column in (*columns, np.flatnonzero(present.alive))]


@given(before=CHANGES, after=CHANGES, points=st.lists(st.integers(0, 90), min_size=2))
def test_rows_moved_on_are_rows_found_by_a_mask(
    before: list[Any], after: list[Any], points: list[int]
) -> None:
    table = Versions(value=np.int64)
    half = changed(table, [(key % (KEYS - 1), *rest) for key, *rest in before])
    rows = table.standing(0, KEYS)
    for first, last in pairwise(sorted((0, *points))):
        rows = table.moved(rows, first, last, KEYS)
        assert rows.tolist() == table.standing(last, KEYS).tolist()
    early = table.standing(half, KEYS - 1)
    told = early.tolist()
    end = changed(table, after, half + 1)
    late = table.moved(early, half, end, KEYS)
    assert late.tolist() == table.standing(end, KEYS).tolist()
    assert early.tolist() == told[: len(early)]


def test_where_nothing_changed_the_rows_are_the_very_same() -> None:
    table = Versions(value=np.int64)
    table.put(0, 3, (1,))
    rows = table.standing(4, 1)
    assert table.moved(rows, 4, 9, 1) is rows


@given(history=HISTORIES, shares=st.lists(SHARES, min_size=1, max_size=12))
def test_a_view_moved_on_through_any_history_is_the_view_of_a_fresh_fold(
    history: list[Command], shares: list[float]
) -> None:
    world = World().play(history)
    state, log = world.agent.space.state, read(world.log)
    for version in map(world.then, shares):
        fresh = State().rebuild(log)
        assert told_by_view(as_of(state, version)) == told_by_view(as_of(fresh, version))
        masked, moved = Standing(state, version), state.past.at(state, version)
        for name in TABLES:
            assert rows_of(moved, name) == rows_of(masked, name)
        assert told_of(moved.present()) == told_of(masked.present())


@given(history=HISTORIES)
def test_who_is_present_moves_on_with_the_head(history: list[Command]) -> None:
    log = read(World().play(history).log)
    state = State()
    for recorded in log:
        state.apply(recorded)
        moved, found = Standing(state, None), Standing(state, state.version)
        assert told_of(moved.present()) == told_of(found.present())


@given(history=HISTORIES, cuts=st.lists(st.integers(1, 20), min_size=1))
def test_who_is_present_moves_on_over_many_events_folded_at_once(
    history: list[Command], cuts: list[int]
) -> None:
    rest, state = iter(read(World().play(history).log)), State()
    for cut in cycle(cuts):
        events = list(islice(rest, cut))
        if not events:
            break
        folding = Folding(state)
        folding.take(events)
        folding.settle()
        moved, found = Standing(state, None), Standing(state, state.version)
        assert told_of(moved.present()) == told_of(found.present())


@given(history=HISTORIES, shares=st.lists(SHARES, min_size=1, max_size=4))
def test_whom_a_block_succeeds_is_told_by_the_rows_of_the_version(
    history: list[Command], shares: list[float]
) -> None:
    world = World().play(history)
    for version in map(world.then, shares):
        view = as_of(world.agent.space.state, version)
        known = view.known()
        successors = view.life.column("successor", known)
        for number in known.tolist():
            assert view.predecessors(number) == known[successors == number].tolist()


def test_a_learning_leaves_who_is_present_as_it_was() -> None:
    world = World()
    world.memory.learn("bees")
    world.memory.consolidate()
    before = world.agent.space.live().present
    world.memory.learn("and a cake")
    assert world.agent.space.live().present is before


def test_the_versions_asked_for_last_are_kept_and_no_more() -> None:
    state, past = State(), Past()
    kept = [past.at(state, version) for version in range(KEPT_MAX + 1)]
    assert past.at(state, KEPT_MAX) is kept[-1]
    assert past.at(state, 1) is kept[1]
    assert past.at(state, 0) is not kept[0]
