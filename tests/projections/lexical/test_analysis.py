from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.errors import RecipeRetired
from mnemic.projections.lexical.analysis import ANALYSER, analyser, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("who is it, and where?", []),
        ("The ponies weren't running", ["poni", "run"]),
        ("RUNNING runs Run", ["run", "run", "run"]),
        ("Python 3.11, not v3.9.", ["python", "3.11", "v3.9"]),
        ("1,000,000 of 1,234.50 in 1,2", ["1000000", "1234.50", "1", "2"]),
        ("well-known snake_case either/or", ["well", "known", "snake", "case", "either"]),
        ("at 2023-05-08T13:56", ["2023", "05", "08t13", "56"]),
        ("https://example.org/guide.html", ["https", "exampl", "org", "guid", "html"]),
        ("Caroline's dogs' o'neill", ["carolin", "dog", "o'neil"]),
        ("I’m sure they’ve won, haven’t they", ["sure", "won"]),
        ("the US in May", ["us", "may"]),
        ("ﬁne NAÏVE x²", ["fine", "naïv", "x2"]),
        ("東京 tower カナ", ["東", "京", "tower", "カ", "ナ"]),
        ("🙂 -- … \x00 \ud800", []),
    ],
)
def test_a_text_has_these_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_stems_are_those_that_the_recipe_was_released_with() -> None:
    """A stemmer that moved would change old decisions: PyStemmer 3.0 still said "intern" here."""
    words = (
        "generously conditional relational ponies skies dying lying evening news innings "
        "proceed succeeding earring herring happily enjoyed replacement adoption organization "
        "international university universe communism importance ties cries agreed feed hoping "
        "hopped controlling electricity past passed analyses"
    )
    stems = (
        "generous condit relat poni sky die lie evening news inning "
        "proceed succeed earring herring happili enjoy replac adopt organiz "
        "internat universiti univers communism import tie cri agre feed hope "
        "hop control electr past pass analys"
    )
    assert terms(words) == stems.split()


def test_the_current_recipe_is_found_by_its_name() -> None:
    assert analyser(ANALYSER)("Running to the ponies") == ["run", "poni"]


def test_an_unknown_recipe_is_retired() -> None:
    with pytest.raises(RecipeRetired, match="'english-0'") as refused:
        analyser("english-0")
    assert refused.value.to_dict() == {
        "code": "recipe-retired",
        "detail": "no analyser is called 'english-0'; this release carries english-1",
        "recovery": "Replay with a release of mnemic that still carries this recipe.",
        "recipe": "english-0",
    }


@given(st.text())
def test_composed_and_decomposed_spellings_have_the_same_terms(text: str) -> None:
    assert terms(unicodedata.normalize("NFD", text)) == terms(unicodedata.normalize("NFC", text))


@given(st.text(st.characters(max_codepoint=127)), st.text(st.characters(max_codepoint=127)))
def test_terms_of_two_lines_are_the_terms_of_each(first: str, second: str) -> None:
    assert terms(f"{first}\n{second}") == terms(first) + terms(second)
