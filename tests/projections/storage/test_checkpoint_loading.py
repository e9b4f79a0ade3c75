"""Freezing and thawing: a replay that is interrupted anywhere gives the same state."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.kernel.events import Recorded
from mnemic.kernel.model.texts import ERASED, BlockText, Remark
from mnemic.projections.blocks.retrieval_counts import RetrievalCounts
from mnemic.projections.blocks.review_history import ReviewHistory
from mnemic.projections.graph.adjacency import LATE_MAX, Pairs
from mnemic.projections.graph.staging import Refreshed, Staged, Staging
from mnemic.projections.state.checkpoint import freeze, thaw
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.storage.array_bundle import (
    STEP,
    ArrayBundle,
    listed,
    numbered,
    packed,
    unpacked_ids,
)
from mnemic.projections.storage.columns import Interner, VersionedTable
from mnemic.projections.storage.event_columns import UNSORTED_MAX, EventColumns, grouped
from mnemic.projections.storage.grouped_writes import GroupedWrites
from mnemic.projections.storage.growable_array import GrowableArray
from mnemic.projections.storage.payloads import CACHED_MAX, Payloads
from mnemic.projections.storage.versioned_maps import VersionedMap
from mnemic.projections.view import as_of, live
from tests.agreement.snapshots import (
    clock_of_columns,
    envelopes_of_columns,
    state_of_view,
)
from tests.projections.histories import logs

Kept = dict[str, tuple[str, tuple[int, ...], bytes]]
SHARES = st.lists(st.floats(min_value=0.0, max_value=1.0), min_size=1, max_size=3).map(sorted)


def kept(parts: Mapping[str, NDArray[Any]]) -> Kept:
    """Return parts as values that can be compared, byte for byte."""
    return {name: (part.dtype.str, part.shape, part.tobytes()) for name, part in parts.items()}


def read_only(parts: ArrayBundle) -> ArrayBundle:
    """Return parts as a file would give them: read-only copies."""
    copies = {name: part.copy() for name, part in parts.items()}
    for copy in copies.values():
        copy.flags.writeable = False
    return copies


def answers(state: State, version: int) -> dict[str, Any]:
    return state_of_view(as_of(state, version))


def live_answers(state: State) -> dict[str, Any]:
    return state_of_view(live(state, active_us=state.timeline.clock.active_us, instant_us=0))


@given(log=logs(), shares=SHARES)
def test_settling_during_a_replay_changes_nothing(log: list[Recorded], shares: list[float]) -> None:
    whole, state = rebuild(State(), log), State()
    for cut in (round(share * len(log)) for share in shares):
        rebuild(state, log[state.version + 1 : cut])
        state.settle()
        assert live_answers(state) == live_answers(rebuild(State(), log[:cut]))
        state.settle()
    rebuild(state, log[state.version + 1 :])
    assert kept(freeze(state)) == kept(freeze(whole))
    assert live_answers(state) == live_answers(whole)


def test_a_number_too_large_for_its_column_is_not_truncated_in_a_batch() -> None:
    table, none = VersionedTable(a=np.int32), np.zeros(1, dtype=np.int64)
    with pytest.raises(OverflowError, match="int32 cannot hold 4294967296"):
        table.extend(GroupedWrites(none), none, [none + 2**32])


def test_a_thawed_table_takes_a_batch_that_only_closes_rows() -> None:
    table = VersionedTable(a=np.int64)
    table.put(0, 0, (5,))
    table.put(1, 1, (6,))
    thawed = VersionedTable.thawed(read_only(table.frozen()), {"a": np.int64})
    none, closing = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)
    thawed.extend(GroupedWrites(none), none + 2, [none], puts_row=closing)
    table.close(0, 2)
    assert kept(thawed.frozen()) == kept(table.frozen())
    assert thawed.head.tolist() == [-1, 1]


@given(log=logs(), shares=SHARES, looks=st.integers(min_value=0, max_value=2))
def test_an_interrupted_replay_continues_from_its_checkpoint(
    log: list[Recorded], shares: list[float], looks: int
) -> None:
    whole, state, frozen = rebuild(State(), log), State(), []
    for cut in (round(share * len(log)) for share in shares):
        rebuild(state, log[state.version + 1 : cut])
        parts = freeze(state)
        assert kept(parts) == kept(freeze(rebuild(State(), log[:cut])))
        frozen.append((parts, kept(parts)))
        state = thaw(read_only(parts))
        for version in range(cut - 1, -1, -3)[
            :looks
        ]:  # some of it is computed before the replay continues
            answers(state, version)
    rebuild(state, log[state.version + 1 :])
    assert kept(freeze(state)) == kept(freeze(whole))
    assert [kept(parts) for parts, _ in frozen] == [before for _, before in frozen]
    assert live_answers(state) == live_answers(whole)
    assert clock_of_columns(state) == clock_of_columns(whole)
    assert envelopes_of_columns(state) == envelopes_of_columns(whole)


@given(log=logs())
def test_a_thawed_state_equals_the_frozen_one_at_every_version(
    log: list[Recorded],
) -> None:
    state = rebuild(State(), log)
    thawed = thaw(read_only(freeze(state)))
    assert live_answers(thawed) == live_answers(state)
    versions = range(0, len(log), max(1, len(log) // 12))
    assert [answers(thawed, version) for version in versions] == [
        answers(state, version) for version in versions
    ]


def test_an_empty_state_thaws_to_an_empty_one() -> None:
    parts = freeze(State())
    assert kept(freeze(thaw(read_only(parts)))) == kept(parts)


# --- columns ----------------------------------------------------------------------------------


def test_a_thawed_growable_array_can_be_appended_to() -> None:
    series = GrowableArray(np.int32)
    for value in (3, 1):
        series.append(value)
    first = read_only({"values": series.values})["values"]
    thawed = GrowableArray.thawed(first)
    thawed.append(4)
    assert (thawed.values.tolist(), first.tolist(), len(thawed)) == ([3, 1, 4], [3, 1], 3)


COLUMNS: dict[str, type[np.generic]] = {"weight": np.int64, "note": np.int32}


def table() -> VersionedTable:
    """Four keys: one with a current row, one closed, one never used, and the last."""
    versions = VersionedTable(**COLUMNS)
    versions.put(0, 1, (10, 11))
    versions.put(1, 1, (20, 21))
    versions.put(3, 2, (30, 31))
    versions.close(1, 3)
    versions.put(0, 4, (12, 13))
    return versions


def test_a_thawed_table_has_the_rows_of_every_version() -> None:
    frozen, thawed = table(), VersionedTable.thawed(read_only(table().frozen()), COLUMNS)
    assert thawed.head.tolist() == frozen.head.tolist() == [3, -1, -1, 2]
    for version in range(6):
        assert thawed.rows_at(version, 4).tolist() == frozen.rows_at(version, 4).tolist()
    assert [thawed.row(key) for key in range(5)] == [3, -1, -1, 2, -1]
    assert thawed.values(0) == (12, 13)
    assert thawed.touched(1).tolist() == [1, 3]


def test_rows_closed_later_do_not_change_parts_frozen_before() -> None:
    versions = table()
    parts = versions.frozen()
    before = kept(parts)
    thawed = VersionedTable.thawed(parts, COLUMNS)
    for each in (versions, thawed):
        each.close(0, 5)
        each.put(1, 5, (22, 23))
    assert kept(thawed.frozen()) == kept(versions.frozen())
    assert kept(parts) == before


def test_names_keep_their_numbers() -> None:
    names = Interner.thawed(Interner("similar", "supports").words)
    assert [names.number(word) for word in ("supports", "new", "similar")] == [1, 2, 0]
    assert (names.known("unheard"), list(names)) == (-1, ["similar", "supports", "new"])


# --- event columns ----------------------------------------------------------------------------

NOTED: dict[str, type[np.generic]] = {"key": np.int32, "value": np.int64}


@given(keys=st.lists(st.integers(min_value=0, max_value=6), max_size=30))
def test_places_are_grouped_by_their_keys(keys: list[int]) -> None:
    places, ends = grouped(np.array(keys, dtype=np.int32))
    groups = [places[first:last].tolist() for first, last in pairwise(ends.tolist())]
    expected = [
        [place for place, each in enumerate(keys) if each == key]
        for key in range(max(keys, default=-1) + 1)
    ]
    assert groups == expected


def test_event_columns_find_rows_added_before_and_after_sorting() -> None:
    journal = EventColumns(**NOTED)
    for value in range(UNSORTED_MAX + 5):
        journal.append((value % 3, value))
    expected = [(value,) for value in range(1, UNSORTED_MAX + 5, 3)]
    assert journal.about(1) == expected
    journal.append((1, -1))
    journal.append((7, -2))
    thawed = EventColumns.thawed(read_only(journal.frozen()), NOTED)
    for each in (journal, thawed):
        each.append((1, -3))
        assert each.about(1) == [*expected, (-1,), (-3,)]
        assert (each.about(7), each.about(8), each.about(-1)) == ([(-2,)], [], [])
        assert (each.row(1), each.row(len(each) - 1)) == ((1, 1), (1, -3))


# --- maps -------------------------------------------------------------------------------------


def test_a_thawed_map_keeps_the_order_of_puts() -> None:
    ledger: VersionedMap[int] = VersionedMap()
    for key, version, value in (("a", 0, 1), ("b", 0, 2), ("a", 1, 3)):
        ledger.put(key, version, value)
    parts = ledger.frozen()
    before = kept(parts)
    thawed: VersionedMap[int] = VersionedMap.thawed(read_only(parts))
    for each in (ledger, thawed):
        each.drop("b", 2)
        each.drop("never", 2)
        assert each.at(2) == {"a": 3}
        each.put("b", 3, 4)
    assert list(thawed.current.items()) == [("a", 3), ("b", 4)]
    assert [thawed.at(version) for version in range(4)] == [
        {"a": 1, "b": 2},
        {"b": 2, "a": 3},
        {"a": 3},
        {"a": 3, "b": 4},
    ]
    assert thawed.touched(lambda key: key == "b").tolist() == [0, 3, 2]
    assert thawed.since("b") == 3
    assert thawed.trails(2, 2, 3, lambda value: value) == {"b": [(0, 2), (2, None), (3, 4)]}
    assert kept(thawed.frozen()) == kept(ledger.frozen())
    assert kept(parts) == before


def test_a_thawed_pair_keeps_the_sessions_it_was_staged_in() -> None:
    staging = Staging()
    staging.stage((0, 1), 0, "s1")
    staging.stage((0, 2), 1, "s1")
    staging.stage((0, 1), 2, "s2")
    thawed = Staging.thawed(read_only(staging.frozen()))
    for each in (staging, thawed):
        each.drop((0, 2), 3)
        each.stage((0, 1), 4, "s3")
        each.stage((0, 2), 5, "s3")
    assert thawed.current == {(0, 1): Staged(("s1", "s2", "s3"), 4), (0, 2): Staged(("s3",), 5)}
    assert thawed.at(2) == {(0, 2): Staged(("s1",), 1), (0, 1): Staged(("s1", "s2"), 2)}
    assert thawed.of(2) == [(0, 2)]
    assert kept(thawed.frozen()) == kept(staging.frozen())


def test_an_edge_use_in_a_session_survives_thawing() -> None:
    refreshed = Refreshed()
    refreshed.note((0, 1), "s1", 3)
    thawed = Refreshed.thawed(read_only(refreshed.frozen()))
    for each in (refreshed, thawed):
        each.note((0, 1), "s1", 5)
        each.note((0, 1), "s2", 6)
    assert [thawed.by((0, 1), "s1", version) for version in (2, 3)] == [False, True]
    assert thawed.at(6) == {(0, 1): ["s1", "s2"]}
    assert kept(thawed.frozen()) == kept(refreshed.frozen())


def test_retrieval_counts_and_reviews_continue_after_thawing() -> None:
    returns, reviews = RetrievalCounts(), ReviewHistory()
    returns.note_each([1], "task", 3)
    reviews.note(1, 3, 30, 3)
    reviews.put_back(1, 4, 2)
    later, counted = (
        RetrievalCounts.thawed(read_only(returns.frozen())),
        ReviewHistory.thawed(read_only(reviews.frozen())),
    )
    assert later.counts(1, 9) == {"task": 1}
    assert [counted.of(1, version) for version in (3, 4)] == [[(3, 30, 3)], []]
    for some in (returns, later):
        some.note_each([1], "self", 5)
    for others in (reviews, counted):
        others.note(1, 5, 50, 1)
    assert later.counts(1, 5) == {"self": 1, "task": 1}
    assert counted.of(1, 5) == [(5, 50, 1)]
    assert kept(later.frozen()) == kept(returns.frozen())
    assert kept(counted.frozen()) == kept(reviews.frozen())


# --- payloads and pairs -----------------------------------------------------------------------


def test_payloads_are_decoded_on_demand() -> None:
    full = BlockText(
        content="é\x00🧠", tags=("a", "b"), author="Ann", thread="", metadata='{"a":1}', of=("b1",)
    )
    texts = Payloads(BlockText)
    for text in (full, ERASED, BlockText(content="")):
        texts.append(text)
    thawed = Payloads.thawed(read_only(texts.frozen()), BlockText)
    thawed.append(ERASED)
    assert (thawed[0], thawed[-1]) == (full, ERASED)
    assert list(thawed.since(1)) == [ERASED, BlockText(content=""), ERASED]
    assert (len(thawed), list(thawed)) == (4, [full, ERASED, BlockText(content=""), ERASED])
    with pytest.raises(IndexError):
        thawed[4]
    texts.append(ERASED)
    assert kept(thawed.frozen()) == kept(texts.frozen())


def test_encoded_payloads_decode_to_the_original() -> None:
    said = [BlockText(content=f"{number}", tags=("a",)) for number in range(3 * CACHED_MAX)]
    texts = Payloads(BlockText)
    for text in said:
        texts.append(text)
    parts = read_only(texts.frozen())
    texts.append(ERASED)
    assert [texts[place] for place in range(len(texts))] == [*said, ERASED]
    assert list(Payloads.thawed(parts, BlockText)) == said


@given(st.integers(0, 3 * STEP))
def test_long_lists_are_decoded_step_by_step(length: int) -> None:
    ids = [f"{number:016x}" for number in range(length)]
    assert unpacked_ids(packed(ids)) == ids
    assert numbered(ids) == {name: place for place, name in enumerate(ids)}
    assert listed(np.arange(length)) == list(range(length))


def test_a_note_keeps_its_blocks_after_thawing() -> None:
    notes = Payloads(Remark)
    notes.append(Remark(text="why", of=("b1", "b2")))
    assert list(Payloads.thawed(notes.frozen(), Remark)) == [Remark(text="why", of=("b1", "b2"))]


def test_a_pair_has_one_number_before_and_after_thawing() -> None:
    pairs = Pairs()
    for _ in range(4):
        pairs.incident.add_block()
    assert [pairs.number(a, b) for a, b in ((2, 1), (0, 2), (1, 2))] == [0, 1, 0]
    parts = read_only({"low": pairs.low, "high": pairs.high})
    thawed = Pairs.thawed(parts["low"], parts["high"], 4)
    thawed.incident.add_block()
    assert [thawed.number(a, b) for a, b in ((2, 0), (4, 2), (2, 1))] == [1, 2, 0]
    assert (thawed.get((0, 1)), thawed.get((2, 4)), len(thawed)) == (None, 2, 3)
    assert [thawed.incident[block] for block in range(5)] == [[1], [0], [0, 1, 2], [], [2]]
    assert thawed.incident.of(np.array([1, 4, 3])).tolist() == [0, 2]
    with pytest.raises(KeyError):
        thawed[0, 3]


def test_pairs_keep_their_numbers_however_many_there_are() -> None:
    pairs, blocks = Pairs(), 150
    for _ in range(blocks):
        pairs.incident.add_block()
    wanted = list(combinations(range(blocks), 2))
    assert len(wanted) > 2 * LATE_MAX
    assert [pairs.number(high, low) for low, high in wanted] == list(range(len(wanted)))
    of_seven = [number for number, ends in enumerate(wanted) if 7 in ends]
    assert pairs.incident[7] == of_seven == pairs.incident.of(np.array([7])).tolist()
    assert [pairs[ends] for ends in wanted] == list(range(len(wanted)))
