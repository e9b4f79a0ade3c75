"""A versioned map equals, at every version, a dict of that version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.projections.storage.columns import Trail
from mnemic.projections.storage.endings import RECENT_MAX
from mnemic.projections.storage.event_columns import EventColumns
from mnemic.projections.storage.versioned_maps import (
    Coding,
    Ends,
    Paired,
    Pairwise,
    VersionedMap,
)

Change: TypeAlias = tuple[str, int | None, int]
"""A key, its new value (None: it is dropped), and how many versions later."""

BY_PAIR: Coding[int] = Coding(
    lambda ends, value: (*ends, value), lambda plain: ((plain[0], plain[1]), plain[2])
)
KEYS = "abc"
CHANGES = st.lists(
    st.tuples(st.sampled_from(KEYS), st.none() | st.integers(0, 3), st.integers(0, 2)), max_size=30
)
SEEN: tuple[Callable[[int], Any], ...] = (
    lambda value: value,
    lambda value: value // 2,
    lambda value: value or None,
    lambda _: True,
)
"""Parts of a value of interest: all of it, some, none for one value, only its presence."""


class Plain:
    """The reference: one dict per version, in the order of the puts."""

    def __init__(self) -> None:
        self.worlds: list[dict[str, int]] = [{}]
        self.touched: set[tuple[str, int]] = set()

    def change(self, key: str, value: int | None, later: int) -> int:
        """Apply a change and return its version."""
        self.worlds += [dict(self.worlds[-1]) for _ in range(later)]
        world, version = self.worlds[-1], len(self.worlds) - 1
        if world.pop(key, None) is not None or value is not None:
            self.touched.add((key, version))
        if value is not None:
            world[key] = value
        return version

    def trail(self, key: str, version: int, seen: Callable[[int], Any]) -> Trail:
        answer = [
            seen(world[key]) if key in world else None for world in self.worlds[: version + 1]
        ]
        return [
            (at, now)
            for at, (before, now) in enumerate(zip([None, *answer], answer, strict=False))
            if now != before
        ]

    def trails(
        self, first: int, last: int, version: int, seen: Callable[[int], Any]
    ) -> dict[str, Trail]:
        changed = {key for key, at in self.touched if first <= at <= last}
        return {key: self.trail(key, version, seen) for key in changed}


def played(ledger: VersionedMap[int], plain: Plain, changes: Sequence[Change]) -> None:
    for key, value, later in changes:
        version = plain.change(key, value, later)
        if value is None:
            ledger.drop(key, version)
        else:
            ledger.put(key, version, value)


@given(before=CHANGES, after=CHANGES, asked=st.sampled_from(["before", "after"]))
def test_every_version_equals_a_dict_of_that_version(
    before: list[Change], after: list[Change], asked: str
) -> None:
    ledger, plain = VersionedMap[int](), Plain()
    played(ledger, plain, before)
    thawed: VersionedMap[int] = VersionedMap.thawed(ledger.frozen())
    if asked == "before":  # an entry may be decoded before the map is changed further, or after
        assert thawed.current == plain.worlds[-1]
    played(thawed, plain, after)
    worlds = plain.worlds
    assert list(thawed.current.items()) == list(worlds[-1].items())
    for version, world in enumerate(worlds):
        assert list(thawed.at(version).items()) == list(world.items())
    for key in KEYS:
        assert set(thawed.touched(key.__eq__).tolist()) == {
            at for name, at in plain.touched if name == key
        }


@given(
    before=CHANGES,
    after=CHANGES,
    points=st.tuples(*[st.integers(0, 60)] * 3),
    seen=st.sampled_from(SEEN),
)
def test_a_trail_has_every_step_of_the_keys_changed_in_a_range(
    before: list[Change],
    after: list[Change],
    points: tuple[int, int, int],
    seen: Callable[[int], Any],
) -> None:
    ledger, plain = VersionedMap[int](), Plain()
    played(ledger, plain, before)
    thawed: VersionedMap[int] = VersionedMap.thawed(ledger.frozen())
    played(thawed, plain, after)
    head = len(plain.worlds) - 1
    first, last, version = (min(point, head) for point in points)
    version = max(last, version)
    assert thawed.trails(first, last, version, seen) == plain.trails(first, last, version, seen)


def test_since_is_the_version_of_the_current_value() -> None:
    ledger: VersionedMap[int] = VersionedMap()
    for version, value in enumerate((1, 1, 2)):
        ledger.put("a", version, value)
    assert ledger.since("a") == 2
    ledger.drop("a", 3)
    ledger.put("a", 5, 2)
    assert ledger.since("a") == 5


PAIRS = st.tuples(st.integers(0, 4), st.integers(5, 8))
MATED = st.lists(st.tuples(PAIRS, st.booleans(), st.integers(0, 2)), max_size=30)


@given(changes=MATED, points=st.tuples(*[st.integers(0, 60)] * 2))
def test_pairs_are_found_by_block_as_if_every_row_were_read(
    changes: list[tuple[Ends, bool, int]], points: tuple[int, int]
) -> None:
    plain: VersionedMap[int] = VersionedMap(BY_PAIR)
    paired: Paired[int] = Paired(BY_PAIR)
    head = 0
    for place, (ends, stays, later) in enumerate(changes):
        head += later
        for mapping in (plain, paired):
            if stays:
                mapping.put(ends, head, place)
            else:
                mapping.drop(ends, head)
    thawed = Paired.thawed(paired.frozen(), BY_PAIR)
    first, last = sorted(min(point, head) for point in points)
    for mapping in (paired, thawed):
        assert mapping.trails(first, last, head, bool) == plain.trails(first, last, head, bool)
        for block in range(9):
            expected = plain.touched(partial(contains, block=block))
            assert mapping.touched_by(block).tolist() == expected.tolist()
            assert sorted(mapping.of(block)) == sorted(
                ends for ends in plain.current if block in ends
            )


def contains(ends: Ends, block: int) -> bool:
    return block in ends


# --- while another thread writes --------------------------------------------------------------


class AppendedMeanwhile(EventColumns):
    """The ends of the pairs of a map, to which a pair is added whenever one column is read."""

    def __init__(self, owner: Pairwise[int]) -> None:
        super().__init__(low=np.int32, high=np.int32)
        self._owner = owner

    def column(self, name: str) -> NDArray[Any]:
        found = super().column(name)
        added = len(self)
        self._owner.put((added, added + 1), added, 0)
        return found


class PairsAdded(Pairwise[int]):
    """A map of pairs that another thread adds to whenever it is read."""

    def __init__(self) -> None:
        super().__init__(BY_PAIR)
        assert (0, 0) not in self  # derives the keys, which the writer does before it adds any
        self._pairs = AppendedMeanwhile(self)


def test_the_versions_that_touched_a_block_are_found_while_pairs_are_added() -> None:
    pairs = PairsAdded()
    for version in range(3):
        pairs.put((version, version + 1), version, 0)
    assert pairs.touched_by(1).tolist() == [0, 1]


def test_a_thawed_map_of_pairs_is_changed_without_decoding_its_entries() -> None:
    pairs: Pairwise[int] = Pairwise(BY_PAIR)
    for number in range(5):
        pairs.put((number, number + 1), number, number)
    thawed = Pairwise.thawed(pairs.frozen(), Coding(BY_PAIR.write, _refused))
    for each in (pairs, thawed):
        each.put((2, 3), 6, 9)
        assert each.drop((0, 1), 7)
        assert not each.drop((0, 1), 8)
        assert (2, 3) in each
        assert (0, 1) not in each
    again: Pairwise[int] = Pairwise.thawed(thawed.frozen(), BY_PAIR)
    assert list(again.current.items()) == list(pairs.current.items())
    assert again.edition == pairs.edition


def _refused(plain: object) -> tuple[Ends, int]:
    raise AssertionError(plain)


def test_more_entries_dropped_at_one_version_than_endings_are_appended() -> None:
    mapping: VersionedMap[int] = VersionedMap()
    for key in range(RECENT_MAX + 9):
        mapping.put(key, 0, key)
    mapping.drop(0, 1)
    before = mapping.at(1)
    for key in range(1, RECENT_MAX + 5):
        mapping.drop(key, 2)
    assert mapping.moved(before, 1, 2) == mapping.at(2)


@given(
    changes=st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 2)), max_size=20),
    points=st.lists(st.integers(0, 20), min_size=2),
)
def test_content_moved_between_versions_equals_what_was_put_by_then(
    changes: list[tuple[int, bool, int]], points: list[int]
) -> None:
    mapping: VersionedMap[int] = VersionedMap()
    version = 0
    for key, is_put, later in changes:
        version += later
        if is_put:
            mapping.put(key, version, version)
        else:
            mapping.drop(key, version)
    for before, after in pairwise(points):
        content = mapping.at(before)
        moved = mapping.moved(content, before, after)
        assert list(moved.items()) == list(mapping.at(after).items())
        assert content == mapping.at(before)
