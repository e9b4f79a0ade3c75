"""The command ids of a log: every id that events carry is found, however they were added."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.projections.timeline import command_ids
from mnemic.projections.timeline.command_ids import CommandIds, is_like_generated

IDS = st.one_of(
    st.integers(0, 40).map("{:016x}".format), st.sampled_from(["learn-1", "learn-2", "ünique/3"])
)
BATCHES = st.lists(st.lists(IDS, min_size=1, max_size=30), min_size=1, max_size=8)


def commands(ids: list[str]) -> dict[str, list[tuple[int, int | None]]]:
    """Return what ``candidates`` returns for each id, if no two have one number."""
    firsts = [
        version for version, each in enumerate(ids) if version == 0 or each != ids[version - 1]
    ]
    found: dict[str, list[tuple[int, int | None]]] = {}
    for first, following in zip(firsts, [*firsts[1:], None], strict=True):
        found.setdefault(ids[first], []).append((first, following))
    return found


@given(batches=BATCHES, thaws=st.booleans(), looks=st.booleans())
def test_every_id_is_found_at_its_versions(
    batches: list[list[str]], *, thaws: bool, looks: bool
) -> None:
    said = [each for batch in batches for each in batch]
    found = CommandIds()
    for place, (batch, end) in enumerate(zip(batches, accumulate(map(len, batches)), strict=True)):
        first = end - len(batch)
        if place % 2:
            found.record_each(batch, first)
        else:
            for version, each in enumerate(batch, first):
                found.record(each, version)
        if looks:
            found.candidates(batch[0])
        if thaws:
            found = CommandIds.thawed(found.frozen())
    wanted = commands(said)
    assert {each: found.candidates(each) for each in wanted} == wanted
    assert found.candidates("never used") == []


def test_ids_are_found_by_the_sorted_numbers_and_after_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command_ids, "RECENT_MIN", 10)
    found = CommandIds()
    for version in range(1000):
        found.record(f"learn-{version}", version)
        if version % 7 == 0:
            assert found.candidates(f"learn-{version // 2}") == [
                (version // 2, version // 2 + 1 if version else None)
            ]
    assert found.candidates("learn-999") == [(999, None)]


@pytest.mark.parametrize(
    ("command_id", "expected"),
    [
        ("00c0ffee00c0ffee", True),
        ("00C0FFEE00C0FFEE", False),
        ("00c0ffee00c0ffe", False),
        ("00c0ffee00c0ffee\n", False),
        ("learn-1", False),
    ],
)
def test_generated_ids_have_sixteen_hexadecimal_digits(command_id: str, *, expected: bool) -> None:
    assert is_like_generated(command_id) is expected
