"""Staged pairs at any version: the same pairs in the same order as in a log cut there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.model.identity import BlockId
from mnemic.projections.blocks.retrieval_counts import RetrievalCounts
from mnemic.projections.graph.staging import (
    Refreshed,
    Staged,
    Staging,
    order_of,
)
from mnemic.projections.storage.versioned_maps import VersionedMap

IDS = [BlockId(letter * 16) for letter in "dbac"]
"""By number; not in the order of the numbers."""

Ends = tuple[int, int]


def played(steps: list[list[tuple[str, Ends]]]) -> Staging:
    """Stage and drop pairs; each list of steps happens at one version."""
    staging = Staging()
    for version, together in enumerate(steps):
        for session, ends in together:
            if session:
                staging.stage(ends, version, session)
            else:
                staging.drop(ends, version)
    return staging


pairs = st.sampled_from([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
steps = st.lists(
    st.lists(st.tuples(st.sampled_from(("s1", "s2", "s3", "")), pairs), max_size=6), max_size=8
)


@given(happened=steps)
def test_staging_at_a_version_equals_that_of_a_log_cut_there(
    happened: list[list[tuple[str, Ends]]],
) -> None:
    whole = played(happened)
    for version in range(len(happened)):
        short = played(happened[: version + 1])
        then = whole.at(version)
        assert list(then.items()) == list(short.current.items())
        assert list(order_of(then, IDS)) == list(short.order(IDS))


@given(happened=steps)
def test_the_pairs_of_a_block_are_found_without_looking_at_others(
    happened: list[list[tuple[str, Ends]]],
) -> None:
    staging = played(happened)
    for block in range(len(IDS)):
        assert sorted(staging.of(block)) == sorted(
            ends for ends in staging.current if block in ends
        )


def test_pairs_are_evicted_by_sessions_then_age_then_id() -> None:
    staging = played(
        [
            [("s1", (0, 1)), ("s1", (2, 3))],
            [("s2", (0, 1)), ("s2", (0, 2))],
            [("s3", (1, 2)), ("s3", (1, 3)), ("s3", (0, 3))],
        ]
    )
    # By id block 2 comes first, then 1, 3 and 0.
    order = [(2, 3), (0, 2), (1, 2), (1, 3), (0, 3), (0, 1)]
    assert list(staging.order(IDS)) == [(ends, 2 if ends == (0, 1) else 1) for ends in order]


def test_a_dropped_pair_starts_again_from_zero() -> None:
    staging = played([[("s1", (0, 1))], [("", (0, 1))], [("s2", (0, 1))]])
    assert staging.current == {(0, 1): Staged(("s2",), 2)}
    assert (staging.at(1), staging.at(0)) == ({}, {(0, 1): Staged(("s1",), 0)})


def test_a_ledger_keeps_the_order_of_puts_that_share_a_version() -> None:
    ledger: VersionedMap[str] = VersionedMap()
    for key, version in (("a", 0), ("b", 0), ("b", 1), ("a", 1), ("c", 1), ("b", 2)):
        ledger.put(key, version, "here")
    assert [list(ledger.at(version)) for version in (0, 1, 2)] == [
        ["a", "b"],
        ["b", "a", "c"],
        ["a", "c", "b"],
    ]


def test_an_edge_is_known_to_be_used_from_its_first_use_on() -> None:
    refreshed = Refreshed()
    for session, version in (("s1", 3), ("s1", 5), ("s2", 7)):
        refreshed.note((0, 1), session, version)
    assert [refreshed.by((0, 1), "s1", version) for version in (2, 3, 9)] == [False, True, True]
    assert [refreshed.at(version) for version in (2, 3, 7)] == [
        {},
        {(0, 1): ["s1"]},
        {(0, 1): ["s1", "s2"]},
    ]


def test_retrievals_are_counted_by_frame_up_to_a_version() -> None:
    returns = RetrievalCounts()
    for version, frame in ((1, "task"), (4, "attention"), (4, "task"), (9, "task")):
        returns.note_each([0], frame, version)
    assert [returns.counts(0, version) for version in (0, 1, 4, 9)] == [
        {},
        {"task": 1},
        {"attention": 1, "task": 2},
        {"attention": 1, "task": 3},
    ]
    assert returns.counts(1, 9) == {}
