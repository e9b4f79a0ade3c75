"""The rows of ledger.toml: the tool described by seed 003, case by case."""

from __future__ import annotations

import re

import pytest

from mnemic.projections.frontier.outcomes import adjustment, signal
from mnemic.projections.frontier.terms import most_specific, passes
from mnemic.projections.lexical.content_terms import terms
from mnemic.specs.rules import Row, rows, table
from tests.specs.rules.ledger_rows import played

CASES = {*range(1, 15), 16, 19, *range(21, 24), *range(25, 34), 46}
"""Cases of the reference's section 7 about the ledger, the frontier and ``bounty_mode``."""


def test_every_case_of_the_reference_is_a_row() -> None:
    named = re.compile(r"composed-graph cases? (\d+)(?: and (\d+))?")
    sources = [row.source for rule in table("ledger") for row in rule.rows]
    found = {
        int(case) for source in sources for cases in named.findall(source) for case in cases if case
    }
    assert found == CASES


@pytest.mark.parametrize("row", rows("ledger.ledger"), ids=str)
def test_the_ledger_keeps_compositions_and_labels(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("ledger.arguments"), ids=str)
def test_the_tool_accepts_and_refuses_what_its_clients_expect(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("ledger.terms"), ids=str)
def test_shared_terms_are_the_most_specific_words_of_both(row: Row) -> None:
    shared = terms(row.given["one"]) & terms(row.given["other"])
    assert list(most_specific(shared)) == row.then["shared"]


@pytest.mark.parametrize("row", rows("ledger.tag-filter"), ids=str)
def test_tags_pass_a_filter_by_themselves_or_their_namespace(row: Row) -> None:
    assert passes(row.given["tags"], row.given["wanted"]) is row.then["passes"]


@pytest.mark.parametrize("row", rows("ledger.adjustment"), ids=str)
def test_labels_adjust_a_score_as_a_set(row: Row) -> None:
    assert row.tells("adjustment", adjustment(row.given["labels"]))


@pytest.mark.parametrize("row", rows("ledger.signal"), ids=str)
def test_labels_are_summarised_in_one_signal(row: Row) -> None:
    assert signal(row.given["labels"]) == row.then["signal"]


@pytest.mark.parametrize("row", rows("ledger.never-composed"), ids=str)
def test_never_composed_pairs_are_scored_as_in_the_reference(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("ledger.bounty-mode"), ids=str)
def test_lanes_show_the_outcomes_of_compositions(row: Row) -> None:
    played(row)
