"""Every rule is run by a test, and every test of rows has a rule."""

from __future__ import annotations

import re
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest

from mnemic.specs.rules import TABLES, parse, rows, rules

WORKED_CASES = {
    *(1, 2, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 31, 36, 38, 39, 42, 43, 44, 46, 47, 49),
    *(51, 52, 53, 54, 56, 59, 62, 70, 71, 72, 73, 74, 75),
}
"""Elfmem's worked cases that are rows: unchanged, corrected or contradicted."""
TESTS = Path(__file__).parents[1]


def bound_rules() -> Counter[str]:
    """Return how many tests of this folder run the rows of each rule."""
    calls = re.compile(r'parametrize\("row", rows\("([\w.-]+)"\)')
    sources = (path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("test_*.py")))
    return Counter(name for source in sources for name in calls.findall(source))


def test_every_rule_is_run_by_one_test_and_every_such_test_has_a_rule() -> None:
    assert bound_rules() == Counter(list(rules()))


def test_every_table_file_is_read() -> None:
    found = {file.name for file in resources.files("mnemic.specs").iterdir()}
    assert {name for name in found if name.endswith(".toml")} == {f"{one}.toml" for one in TABLES}


def test_every_kept_worked_case_of_the_peer_is_a_row() -> None:
    named = re.compile(r"elfmem cases? (\d+)(?: and (\d+))?")
    sources = [row.source for rule in rules().values() for row in rule.rows]
    found = {
        int(case) for source in sources for cases in named.findall(source) for case in cases if case
    }
    assert sorted(WORKED_CASES - found) == []


def test_a_rule_that_is_not_written_down_has_no_rows() -> None:
    with pytest.raises(KeyError):
        rows("edges.wishful-thinking")


GOOD = """
[rule]
says = "Something holds."
source = "somewhere"
[[rule.row]]
id = "one"
source = "somewhere"
why = "Because."
given = { x = 1 }
then = { y = 2 }
"""


def test_a_table_reads_as_rules_with_rows() -> None:
    (rule,) = parse("table", GOOD)
    (row,) = rule.rows
    assert (rule.id, row.id, row.given, row.then) == (
        "table.rule",
        "table.rule/one",
        {"x": 1},
        {"y": 2},
    )


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ('id = "one"\n', ""),
        ('why = "Because."\n', ""),
        ('why = "Because."', 'why = " "'),
        ('source = "somewhere"\nwhy', "why"),
        ("then = { y = 2 }", "then = {}"),
        ("then = { y = 2 }", "then = { y = 2 }\nwhen = 3"),
        ('says = "Something holds."\n', ""),
        (GOOD[GOOD.index("[[") :], ""),
        ("then = { y = 2 }\n", "then = { y = 2 }\n" + GOOD[GOOD.index("[[") :]),
    ],
    ids=[
        "row without an id",
        "row without a reason",
        "row with an empty reason",
        "row without a source",
        "row without a result",
        "unknown key",
        "rule that says nothing",
        "rule without a row",
        "two rows of one id",
    ],
)
def test_a_table_with_a_gap_is_refused(line: str, instead: str) -> None:
    assert line in GOOD
    with pytest.raises(ValueError, match=r"rule|row"):
        parse("table", GOOD.replace(line, instead))


@pytest.mark.parametrize(
    ("digits", "said", "nanos", "agrees"),
    [
        ("", 0.189, 189_000_000, True),
        ("", 0.189, 188_946_621, False),
        ("digits = 3", 0.189, 188_946_621, True),
        ("digits = 3", 0.188, 188_946_621, False),
        ("digits = 3", 0.19, 189_500_000, True),
        ("digits = 0", 322, 321_887_582_487, True),
    ],
)
def test_a_number_is_compared_to_the_digits_of_its_source(
    digits: str, said: float, nanos: int, *, agrees: bool
) -> None:
    text = GOOD.replace("then = { y = 2 }", f"{digits}\nthen = {{ y = {said} }}")
    assert parse("table", text)[0].rows[0].tells("y", nanos) is agrees
