"""What holds for every text, and the agreement with the reference."""

from __future__ import annotations

import re
import sys
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic.kernel.statements import (
    Statement,
    extends,
    relation,
    same,
    sentence_keys,
    statement_key,
    tokens,
)
from mnemic.kernel.statements.vocabulary import MONTHS, NEGATORS
from mnemic.specs.reference import statements as reference
from tests.kernel.statement_texts import pairs, texts

SENTENCES = (
    "The pump waits 30 s before it starts.",
    "Ida Roth keeps 3 keys of the tower!",
    "We do not sell bread on Sunday.",
    "On Friday the crane lifts 1.2.3 and 45 tons",
    "No, Tom never left Graz.",
    "Der Zug 17 fährt nicht nach Ulm.",
    "El barco 8 no sale hoy.",
    "Le pont 4 n'est pas ouvert.",
    "船 12 不 在 港口。",
)
MANY = settings(max_examples=2 * settings().max_examples)


@MANY
@given(pairs())
@example(("the Σ US", "THE Σ US"))
def test_kernel_and_reference_agree(pair: tuple[str, str]) -> None:
    old, new = pair
    assert tokens(new) == tuple(reference.parsed(new).words)
    assert relation(old, new) == reference.relation(old, new)


@given(st.one_of(texts(), st.text(st.characters(), max_size=60)))
def test_any_text_is_parsed_and_the_same_as_itself(text: str) -> None:
    assert same(text, text) is bool(tokens(text))
    assert 0 <= statement_key(text) < 2**63
    assert all(token and not re.search(r"\s", token) for token in tokens(text))
    assert (relation(text, text) == "same") is bool(tokens(text))


@MANY
@given(pairs())
def test_keys_find_every_pair(pair: tuple[str, str]) -> None:
    old, new = pair
    assert same(old, new) is same(new, old)
    if same(old, new):
        assert statement_key(old) == statement_key(new)
    if extends(old, new):
        assert {*sentence_keys(old)} <= {*sentence_keys(new)}
        assert not extends(new, old)


@MANY
@given(pairs())
def test_a_parsed_text_is_compared_as_the_text(pair: tuple[str, str]) -> None:
    one, two = map(Statement.of, pair)
    assert relation(one, two) == relation(*pair)
    assert (one.key, one.sentence_keys) == (statement_key(pair[0]), sentence_keys(pair[0]))
    assert len(one.sentences) == len(one.sentence_keys)
    assert tuple(each for sentence in one.sentences for each in sentence) == tokens(pair[0])


def facts(text: str) -> Counter[str]:
    """Return the numbers, names and negators of *text*: what no successor may lose."""
    words = [word.strip("\"'`()[]{}.,;:!?…。、*") for word in text.split()]
    return Counter(
        word.lower()
        for word in words
        if word != "The" and (re.search("[0-9]|^[A-Z]", word) or word.lower() in NEGATORS)
    )


@given(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3),
    st.lists(st.sampled_from(SENTENCES), max_size=2),
    st.integers(0, 40),
    st.sampled_from(("", "1", "no", "Tom", "7", "nicht", "not", "Ida")),
)
def test_a_successor_has_every_number_name_and_negator(
    ours: list[str], more: list[str], at: int, put: str
) -> None:
    """A word is put in the place of another, or dropped; sentences are added."""
    old = " ".join(ours)
    words = old.split()
    words.pop(at % len(words))
    if put:
        words.insert(at % (len(words) + 1), put)
    new = " ".join([*words, *more])
    if same(old, new) or extends(old, new):
        assert facts(old) - facts(new) == Counter()


@pytest.mark.parametrize("month", sorted({*MONTHS.values()}))
def test_every_month_has_both_orders(month: str) -> None:
    assert same(f"The fair is on 3 {month}.", f"The fair is on {month} 3rd.")


def test_keys_depend_on_nothing_but_the_text() -> None:
    """Keys are kept in checkpoints: another process must compute the same."""
    assert statement_key("The ferry leaves at six.") == 5_708_092_868_560_754_894
    assert sentence_keys("Ida left. Tom stays.") == (
        statement_key("ida left"),
        statement_key("Tom stays!"),
    )
    assert statement_key(" ?! ") == 0


PATTERNS = (
    *("a ", "a. ", "A. B", ") ", "))))x", "((((x", "*a ", "**", "*a* ", "1,234 ", "a\n", "- a\n"),
    *(
        "\t",
        "　",
        "don't ",
        "船",
        "船.",
        "May 4 ",
        "...",
        "a...",
        "note that ",
        "İ",
        "the ",
        "'\"`",
    ),
    *("on Friday ", "a, ", "¿", "e.g. ", "  ", "x\n  ", "\u200e", "30s ", "A\n\n", "US us "),
)


def operations(text: str) -> int:
    """Return how many lines of Python the rules run for *text*."""
    count = 0

    def trace(*_: object) -> object:
        nonlocal count
        count += 1
        return trace

    statement = Statement.of(text)
    other = Statement.of(f"{text}. End of it")
    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        Statement.of(text)
        relation(statement, other)
        relation(other, statement)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_work_grows_with_the_length(pattern: str) -> None:
    short, long = (operations(pattern * count) for count in (60, 240))
    assert long < 6 * short
