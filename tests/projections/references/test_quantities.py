"""Numbers are parsed with their units, bounds and dates."""

from __future__ import annotations

import pytest

from mnemic.projections.references.quantities import read
from mnemic.projections.references.stems import stem


def amounts_in(sentence: str) -> list[tuple[str, float | None, float | None]]:
    """Return dimension and interval of every number in a sentence."""
    found = read(sentence.lower(), stem)
    return [
        (each.dimension, _plain(each.low), _plain(each.high))
        for each in (*found.amounts, *found.labels)
    ]


def _plain(bound: object) -> float | None:
    return None if bound is None else round(float(bound), 4)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sentence", "amounts"),
    [
        ("It waits 90 seconds.", [("time", 90, 90)]),
        ("It waits a minute and two hours.", [("time", 7200, 7200)]),
        ("It takes at most 5 minutes.", [("time", None, 300)]),
        ("It takes more than ten minutes.", [("time", 600, None)]),
        ("It takes about 10 s.", [("time", 8, 12)]),
        ("It takes between 5 and 10 minutes.", [("time", 300, 600)]),
        ("Keep it for three months.", [("time", 7_494_930, 8_283_870)]),
        ("It costs €1,200.", [("euro", 1200, 1200)]),
        ("It costs 1.5 million dollars.", [("dollar", 1_500_000, 1_500_000)]),
        ("Load is 80%.", [("percent", 80, 80)]),
        ("The plan includes 3 projects.", [("count:project", 3, 3)]),
        ("It listens on port 5432.", [("label:port", 5432, 5432)]),
        ("It needs Python 3.11.", [("label:python", 3.0011, 3.0011)]),
        ("The demo is on Friday.", [("weekday", 4, 4)]),
        ("It ends on 31 March 2026.", [("date", 20_260_331, 20_260_331)]),
        ("It ends on March 31.", [("date", 331, 331)]),
        ("It was 2026-03-31.", [("date", 20_260_331, 20_260_331)]),
        ("It began in 1998.", [("year", 1998, 1998)]),
        ("It begins at 9:30.", [("clock", 570, 570)]),
        ("It begins at 3 pm.", [("clock", 900, 900)]),
        ("It opens at six.", [("clock", 360, 360)]),
        ("One of them left.", []),
    ],
)
def test_a_number_is_an_interval_of_a_dimension(
    sentence: str, amounts: list[tuple[str, float | None, float | None]]
) -> None:
    assert amounts_in(sentence) == amounts


def test_a_number_in_a_name_is_a_label() -> None:
    found = read("gauge 17 in hall 3 resends after 60 seconds", stem)
    assert [each.said for each in found.amounts] == ["60 seconds"]
    assert [each.said for each in found.labels] == ["gauge 17", "hall 3"]


def test_a_date_without_a_year_fits_every_year() -> None:
    days = ("on 31 march", "on 31 march 2026", "on 31 march 2027", "on 1 april")
    dates = [read(day, stem).amounts[0] for day in days]
    assert [dates[0].meets(other) for other in dates] == [True, True, True, False]
    assert [dates[1].meets(other) for other in dates] == [True, True, False, False]
