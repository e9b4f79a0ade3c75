from __future__ import annotations

import pytest

from mnemic.kernel.statements import relation, sentence_keys, statement_key, tokens
from mnemic.specs.reference import statements as reference
from mnemic.specs.rules import Row, rows


def holds(row: Row) -> None:
    """Check a row with the kernel and the reference, in both directions."""
    old, new = row.given["old"], row.given["new"]
    expected = None if row.then["relation"] == "none" else row.then["relation"]
    backwards = None if expected == "extends" else expected
    assert (relation(old, new), reference.relation(old, new)) == (expected, expected)
    if backwards is not None:
        assert (relation(new, old), reference.relation(new, old)) == (backwards, backwards)
    for text in (old, new):
        assert tokens(text) == tuple(reference.parsed(text).words)
    if expected == "same":
        assert statement_key(old) == statement_key(new) != 0
    if expected == "extends":
        assert {*sentence_keys(old)} < {*sentence_keys(new)}


@pytest.mark.parametrize("row", rows("same.format"), ids=str)
def test_format_makes_no_other_statement(row: Row) -> None:
    holds(row)


@pytest.mark.parametrize("row", rows("same.spelling"), ids=str)
def test_a_word_has_one_spelling(row: Row) -> None:
    holds(row)


@pytest.mark.parametrize("row", rows("same.order"), ids=str)
def test_an_adverbial_of_time_may_come_first_or_last(row: Row) -> None:
    holds(row)


@pytest.mark.parametrize("row", rows("same.words"), ids=str)
def test_every_word_counts(row: Row) -> None:
    holds(row)


@pytest.mark.parametrize("row", rows("same.case"), ids=str)
def test_case_counts_inside_a_sentence(row: Row) -> None:
    holds(row)


@pytest.mark.parametrize("row", rows("same.marks"), ids=str)
def test_marks_inside_a_text_count(row: Row) -> None:
    holds(row)


@pytest.mark.parametrize("row", rows("same.extension"), ids=str)
def test_a_text_with_all_sentences_of_another_and_more_extends_it(row: Row) -> None:
    holds(row)


@pytest.mark.parametrize("row", rows("same.relation"), ids=str)
def test_negators_opposites_and_values_contradict(row: Row) -> None:
    holds(row)
