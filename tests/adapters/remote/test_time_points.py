"""Points of the past as one text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.remote.time_points import KINDS, point
from mnemic.kernel.errors import FieldRefused


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("hour:12.5", {"hour": 12.5}),
        ("hour:0", {"hour": 0.0}),
        ("version:901", {"version": 901}),
        ("version:000", {"version": 0}),
        ("at:2026-03-01T12:00:00Z", {"at": "2026-03-01T12:00:00Z"}),
        ("decision:d45", {"decision": "d45"}),
    ],
)
def test_a_text_names_a_time_point(word: str, found: dict[str, Any]) -> None:
    assert point(word) == found


def test_ages_may_be_evaluated_at_another_instant() -> None:
    assert point("version:3", "2026-03-01") == {"version": 3, "now": "2026-03-01"}


OTHERS = (
    *("", "now", "d45", ":1", "Hour:1", "year:3", 12),
    *("hour:", "hour:x", "version:-1", "version:1.5", "version:٣", "version:1234567890123456"),
)
WORDS = st.one_of(st.text(), st.builds("{}:{}".format, st.sampled_from(KINDS), st.text()))


@pytest.mark.parametrize("word", OTHERS)
def test_any_other_text_is_refused(word: str) -> None:
    with pytest.raises(FieldRefused) as caught:
        point(word)
    assert (caught.value.facts, caught.value.recovery) == (
        {"field": "as_of"},
        "Give hour:12.5, version:901, at:2026-03-01T12:00:00Z or decision:d45.",
    )


@given(word=WORDS)
def test_any_input_is_a_time_point_or_refused(word: str) -> None:
    try:
        found = point(word)
    except FieldRefused:
        return
    assert list(found) == [word.partition(":")[0]]
