"""Passages: how a long text is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.passages import REST, WORDS, passages
from mnemic.projections.lexical.analysis import terms
from mnemic.specs.reference.threads import cut

PIECES = (
    *("word", "a.b", "End.", 'End."', "Why?", "Oh!)", "well…", "...", "'", '"', "3.14"),
    *("日本語", "です。", "はい！", "。", "word。next", "\n", "\n\n", "\t", "\u00a0", "\u3000"),
)


def sizes(text: str) -> list[int]:
    return [len(each.split()) for each in passages(text)]


def said(words: int, end: str = ".") -> str:
    """Return a sentence."""
    return " ".join(["word"] * (words - 1) + [f"last{end}"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (said(60), [60]),
        (f"{said(40)} {said(20)}", [60]),
        (f"{said(40)} {said(21)}", [40, 21]),
        (f"{said(50)} {said(14)}", [64]),
        (f"{said(50)} {said(15)}", [50, 15]),
        (f"{said(50, '')} {said(15)}", [60 + 5]),
        (f"{said(30, '')}\n{said(40)}", [30, 40]),
        (said(150), [60, 60, 30]),
        (f"{said(10)} {said(130)}", [10, 60, 70]),
    ],
)
def test_sentences_are_packed_up_to_sixty_words(text: str, expected: list[int]) -> None:
    assert sizes(text) == expected


@pytest.mark.parametrize("text", ["", " \n ", "short  text\n", said(60)])
def test_a_text_of_one_passage_is_returned_as_it_is(text: str) -> None:
    assert passages(text) == [text]


def test_signs_of_scripts_without_spaces_count_as_words() -> None:
    found = passages("日本語です。" * 20)
    assert [len(each.replace(" ", "")) for each in found] == [60, 60]


def test_no_space_comes_between_characters_that_are_written_without() -> None:
    assert {each.count("日本語です") for each in passages("日本語です。" * 20)} == {10}


@given(st.lists(st.sampled_from(PIECES), max_size=300), st.sampled_from(("", " ", " ")))
def test_nothing_is_lost_and_no_passage_is_too_long(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    found = passages(text)
    assert [terms(each) for each in found] == [terms(each) for each in cut(text)]
    assert [term for each in found for term in terms(each)] == terms(text)
    if len(found) > 1:
        assert all(len(cut(each)) == 1 for each in found[:-1])
        assert all(1 <= len(each.split()) < WORDS + REST for each in found)
