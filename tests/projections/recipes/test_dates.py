from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.projections.retrieval.recipes.dates import (
    Dates,
    Day,
    closeness,
    named,
    named_in,
)
from mnemic.specs.reference import dates as reference

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONG_AGO_US, FAR_US = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The first and the last microsecond that a date can have."""
INSTANTS = st.lists(st.integers(LONG_AGO_US, FAR_US), max_size=4) | st.lists(
    st.integers(1_672_000_000_000_000, 1_705_000_000_000_000), max_size=9
)
"""At any time, or within about a year."""


@pytest.mark.parametrize(
    ("text", "days", "years"),
    [
        ("on 7 May", [(5, 7)], []),
        ("on May 7", [(5, 7)], []),
        ("on the 7th of May, 2023", [(5, 7)], [2023]),
        ("May 7th, 2023", [(5, 7)], [2023]),
        ("in May 2023", [(5, None)], [2023]),
        ("Sept. 21 and 3 October", [(9, 21), (10, 3)], []),
        ("21ST OF SEPTEMBER", [(9, 21)], []),
        ("on 2023-05-07", [(5, 7)], [2023]),
        ("between 2022-12-31 and 2023-01-01", [(12, 31), (1, 1)], [2022, 2023]),
        ("in 1999 or 2001", [], [1999, 2001]),
        ("in May or June", [(5, None), (6, None)], []),
        ("she may come", [], []),
        ("she may come on May 3", [(5, 3)], []),
        ("Maybe the marching band", [], []),
        ("room 20231, 12023 apples, 1812", [], []),
        ("at 7", [], []),
        ("", [], []),
    ],
)
def test_dates_are_read_in_many_spellings(
    text: str, days: list[tuple[int, int | None]], years: list[int]
) -> None:
    assert named(text) == Dates(tuple(Day(*each) for each in days), tuple(years))
    assert reference.named_dates(text) == reference.NamedDates(days=tuple(days), years=tuple(years))


PIECES = (
    *("May", "may", "MAY", "june", "Sept", "sept.", "Oct", "dec", "7", "7th", "31st", "21TH", "0"),
    *("2023", "1999", "2023-05-07", "2023-5-7", "12-2023-05-07-1", "of", "the", "and", ",", "-"),
    *("\u017fept", "x7", "7x", "_may", "3.7", "March\n"),
)


@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from((" ", "  ", "", ". ", "\t")))),
    INSTANTS,
)
def test_closeness_equals_the_plain_reference(
    pieces: list[tuple[str, str]], created_us: list[int]
) -> None:
    text = "".join(piece + gap for piece, gap in pieces)
    asked = reference.named_dates(text)
    assert named(text) == Dates(tuple(Day(*each) for each in asked.days), asked.years)
    ages = np.array([*created_us, UNKNOWN], dtype=np.int64)
    expected = [*(reference.closeness(text, us) for us in created_us), 0]
    assert closeness(named(text), ages).tolist() == expected


ABROAD = (
    *("mai", "Mai", "mayo", "août", "marzo", "März", "may", "de", "er", "1er", "7", "07", "31"),
    *("7º", "2023", "1999", "7.5.2023", "7/5/2023", "7.5-2023", "2023-05-07", "12023"),
    *("2023年", "5月", "7日", "2023년", "5월", "7일", "123年", "年", "月", "x7"),
)


@given(
    st.sampled_from(("de", "fr", "es", "pt", "it", "nl", "en", "sv")),
    st.lists(st.tuples(st.sampled_from(ABROAD), st.sampled_from((" ", "  ", "", ". ", ".", "-")))),
)
def test_dates_in_other_languages_equal_the_plain_reference(
    language: str, pieces: list[tuple[str, str]]
) -> None:
    text = "".join(piece + gap for piece, gap in pieces)
    found, expected = named_in(text, language), reference.named_in(text, language)
    assert sorted(map(str, found.days)) == sorted(str(Day(*each)) for each in expected.days)
    assert sorted(found.years) == sorted(expected.years)


def test_a_long_question_full_of_digits_is_parsed_fast() -> None:
    assert len(named_in("5月7日, " * 4000 + "1" * 20_000, "de").days) == 4000


@pytest.mark.parametrize("month", range(1, 13))
def test_every_month_is_close_to_itself_and_to_no_other(month: int) -> None:
    instants = [_us(datetime(2024, each, 29, tzinfo=UTC)) for each in range(1, 13)]
    name = datetime(2024, month, 1, tzinfo=UTC).strftime("%B")
    found = closeness(named(f"in {name} 2024"), np.array(instants, dtype=np.int64)).tolist()
    assert found == [500_000_000 if each == month else 0 for each in range(1, 13)]


def test_a_long_question_full_of_months_is_parsed_fast() -> None:
    assert len(named("1 May, " * 4000).days) == 4000


def _us(moment: datetime) -> int:
    return round((moment - EPOCH).total_seconds()) * 1_000_000
