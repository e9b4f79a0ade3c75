"""Snapshots are equal, whether found by a mask or updated from another version."""

from __future__ import annotations

from copy import copy
from itertools import cycle, islice, pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.projections.state.active_blocks import ActiveBlocks
from mnemic.projections.state.apply import apply
from mnemic.projections.state.replay import BatchReplay, rebuild
from mnemic.projections.state.snapshots import (
    COLUMNS_MAX,
    KEPT_MAX,
    SnapshotCache,
    VersionSnapshot,
)
from mnemic.projections.state.state import State
from mnemic.projections.storage.columns import VersionedTable
from mnemic.projections.view import as_of
from tests.agreement.agents import Command
from tests.agreement.log_checker import read
from tests.agreement.snapshots import state_of_view
from tests.agreement.test_laws import HISTORIES, SHARES, World

KEYS = 5
TABLES = ("life", "strength", "evidence", "uses", "edge_rows")
CHANGES = st.lists(
    st.tuples(st.integers(0, KEYS - 1), st.booleans(), st.integers(0, 2)), max_size=40
)
"""A key, whether a row is put or closed, and how many versions later."""


def changed(table: VersionedTable, changes: list[tuple[int, bool, int]], version: int = 0) -> int:
    """Write the changes and return the last version."""
    for key, is_put, later in changes:
        version += later
        if is_put:
            table.put(key, version, (version,))
        else:
            table.close(key, version)
    return version


def rows_of(standing: VersionSnapshot, name: str) -> dict[int, int]:
    """Return the current rows of a table by key; keys added later are left out."""
    rows = getattr(standing, name).rows.tolist()
    return {key: row for key, row in enumerate(rows) if row >= 0}


def uncached(state: State) -> State:
    """Return the same state, in which nothing is derived from another version."""
    other = copy(state)
    other.past = SnapshotCache()
    return other


def columns_of(present: ActiveBlocks) -> list[list[int]]:
    """Return all columns of the active blocks."""
    columns = present.numbers, present.texts, present.vectors, present.expiring
    return [column.tolist() for column in (*columns, np.flatnonzero(present.alive))]


@given(before=CHANGES, after=CHANGES, points=st.lists(st.integers(0, 90), min_size=2))
def test_updated_rows_equal_rows_found_by_a_mask(
    before: list[Any], after: list[Any], points: list[int]
) -> None:
    table = VersionedTable(value=np.int64)
    half = changed(table, [(key % (KEYS - 1), *rest) for key, *rest in before])
    rows = table.rows_at(0, KEYS)
    for first, last in pairwise((0, *points)):
        rows = table.moved(rows, first, last, KEYS)
        assert rows.tolist() == table.rows_at(last, KEYS).tolist()
    early = table.rows_at(half, KEYS - 1)
    answer = early.tolist()
    end = changed(table, after, half + 1)
    late = table.moved(early, half, end, KEYS)
    assert late.tolist() == table.rows_at(end, KEYS).tolist()
    assert early.tolist() == answer[: len(early)]
    back = table.moved(late, end, half, KEYS - 1)
    assert back[: KEYS - 1].tolist() == table.rows_at(half, KEYS)[: KEYS - 1].tolist()
    assert late.tolist() == table.rows_at(end, KEYS).tolist()
    assert table.moved(early, half, 0, KEYS).tolist() == table.rows_at(0, KEYS).tolist()


def test_unchanged_rows_are_the_same_object() -> None:
    table = VersionedTable(value=np.int64)
    table.put(0, 3, (1,))
    rows = table.rows_at(4, 1)
    assert table.moved(rows, 4, 9, 1) is rows
    assert table.moved(rows, 9, 4, 1) is rows
    table.put(0, 12, (2,))
    assert table.moved(rows, 9, 4, 1) is rows


@given(history=HISTORIES, shares=st.lists(SHARES, min_size=1, max_size=12))
def test_updated_snapshots_equal_those_of_a_fresh_replay(
    history: list[Command], shares: list[float]
) -> None:
    world = World().play(history)
    state, log = world.agent.space.state, read(world.log)
    for version in map(world.then, shares):
        fresh = rebuild(State(), log)
        assert state_of_view(as_of(state, version)) == state_of_view(as_of(fresh, version))
        masked, moved = VersionSnapshot(uncached(state), version), state.past.at(state, version)
        for name in TABLES:
            assert rows_of(moved, name) == rows_of(masked, name)
        assert columns_of(moved.present()) == columns_of(masked.present())


@given(history=HISTORIES)
def test_active_blocks_follow_the_head(history: list[Command]) -> None:
    log = read(World().play(history).log)
    state = State()
    for recorded in log:
        apply(state, recorded)
        moved, found = VersionSnapshot(state, None), VersionSnapshot(uncached(state), state.version)
        assert columns_of(moved.present()) == columns_of(found.present())


@given(history=HISTORIES, cuts=st.lists(st.integers(1, 20), min_size=1))
def test_active_blocks_follow_events_replayed_in_batches(
    history: list[Command], cuts: list[int]
) -> None:
    rest, state = iter(read(World().play(history).log)), State()
    for cut in cycle(cuts):
        events = list(islice(rest, cut))
        if not events:
            break
        replay = BatchReplay(state)
        replay.take(events)
        replay.settle()
        moved, found = VersionSnapshot(state, None), VersionSnapshot(uncached(state), state.version)
        assert columns_of(moved.present()) == columns_of(found.present())


@given(history=HISTORIES, shares=st.lists(SHARES, min_size=1, max_size=4))
def test_predecessors_are_those_of_the_version(history: list[Command], shares: list[float]) -> None:
    world = World().play(history)
    for version in map(world.then, shares):
        view = as_of(world.agent.space.state, version)
        known = view.known()
        successors = view.life.column("successor", known)
        for number in known.tolist():
            assert view.predecessors(number) == known[successors == number].tolist()


def test_a_step_back_shares_the_active_blocks() -> None:
    world = World()
    world.memory.learn("bees")
    world.memory.consolidate()
    world.memory.learn("and a cake")
    space = world.agent.space
    version = space.view().version
    later = as_of(space.state, version).present
    assert as_of(space.state, version - 1).present is later


def test_learning_does_not_change_the_active_blocks() -> None:
    world = World()
    world.memory.learn("bees")
    world.memory.consolidate()
    before = world.agent.space.view().present
    world.memory.learn("and a cake")
    assert world.agent.space.view().present is before


def test_only_the_most_recent_snapshots_are_cached() -> None:
    state, past = State(), SnapshotCache()
    kept = [past.at(state, version) for version in range(KEPT_MAX + 1)]
    assert past.at(state, KEPT_MAX) is kept[-1]
    assert past.at(state, 1) is kept[1]
    assert past.at(state, 0) is not kept[0]


def test_only_the_latest_of_them_and_the_published_one_keep_columns() -> None:
    world = World()
    world.memory.learn("bees")
    world.memory.consolidate()
    state = world.agent.space.state
    published = state.past.publish(state, state.version)
    used = [state.past.at(state, state.version - back) for back in range(1, COLUMNS_MAX + 2)]
    for each in (published, *used):
        state.past.keep(each)
        each.present()
        each.kept["column"] = each
    oldest, *latest = used
    assert (oldest.known_present, oldest.kept) == (None, {})
    assert published.known_present
    assert published.kept
    assert all(each.known_present and each.kept for each in latest)
    assert columns_of(oldest.present()) == columns_of(
        VersionSnapshot(uncached(state), oldest.version).present()
    )
