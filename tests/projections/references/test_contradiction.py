"""Contradictions are found by rules, with high recall and very few false positives."""

from __future__ import annotations

import tomllib
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.projections.references.claims import statement
from mnemic.projections.references.contradiction import clash, contradiction
from mnemic.projections.references.translation import anglicised

HERE = Path(__file__).parent


def pairs(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((HERE / name).read_text("utf-8"))["pair"]
    return found


MADE_WITH = pairs("contradictions.toml")
HELD_OUT = pairs("contradictions_held_out.toml")
ABROAD = pairs("contradictions_abroad.toml")


def rates(judged: list[dict[str, Any]]) -> tuple[float, float]:
    """Return precision and recall."""
    found = [pair for pair in judged if clash(pair["first"], pair["second"]) is not None]
    right = sum(pair["clash"] for pair in found)
    return right / len(found), right / sum(pair["clash"] for pair in judged)


def test_the_set_is_large_and_balanced() -> None:
    clashing = sum(pair["clash"] for pair in MADE_WITH)
    assert (len(MADE_WITH) >= 60, clashing >= 30) == (True, True)
    assert 0.4 < clashing / len(MADE_WITH) < 0.6
    assert len(HELD_OUT) == 30


def test_rules_have_high_precision_and_recall() -> None:
    precision, recall = rates(MADE_WITH)
    assert (precision >= 0.98, recall >= 0.98) == (True, True)


def test_rules_hold_on_held_out_pairs() -> None:
    assert rates(HELD_OUT) == (1.0, 0.75)


@pytest.mark.parametrize("pair", [*MADE_WITH, *HELD_OUT], ids=lambda pair: pair["first"][:30])
def test_the_result_is_symmetric(pair: dict[str, Any]) -> None:
    there, back = clash(pair["first"], pair["second"]), clash(pair["second"], pair["first"])
    assert (there is None) == (back is None)
    if there is not None and back is not None:
        assert (there.kind, there.strength) == (back.kind, back.strength)


@pytest.mark.parametrize("pair", [*MADE_WITH, *HELD_OUT], ids=lambda pair: pair["first"][:30])
def test_nothing_contradicts_itself(pair: dict[str, Any]) -> None:
    assert clash(pair["first"], pair["first"]) is None
    assert clash(pair["second"], pair["second"]) is None


def test_sentences_of_different_pairs_hardly_ever_clash() -> None:
    """Of some 10,000 unrelated pairs, the few that clash are variants of one fact."""
    texts = [statement(pair["first"]) for pair in (*MADE_WITH, *HELD_OUT)]
    found = [pair for pair in combinations(texts, 2) if contradiction(*pair) is not None]
    assert len(found) <= len(texts) * (len(texts) - 1) // 2 // 1000


def test_one_sentence_of_many_is_enough() -> None:
    first = "Ines runs the pilot. Gauge 17 resends after 60 seconds. It is grey."
    second = "The mast was painted.\nGauge 17 resends after 90 seconds."
    found = clash(first, second)
    assert found is not None
    assert (found.kind, found.detail) == ("amount", "60 seconds against 90 seconds")


def test_a_clash_names_the_conflicting_statements() -> None:
    details = {
        kind: found.detail
        for kind, pair in {
            "opposite": ("The board approved the merger.", "The board rejected the merger."),
            "negation": ("Nadia eats meat.", "Nadia never eats meat."),
            "order": ("Prefer tabs over spaces.", "Prefer spaces over tabs."),
            "value": ("Tomasz lives in Gdansk.", "Tomasz lives in Poznan."),
            "replaced": ("Our chat runs on Slack.", "We moved our chat from Slack to Matrix."),
        }.items()
        if (found := clash(*pair)) is not None and found.kind == kind
    }
    assert details == {
        "opposite": "approved and rejected are opposites",
        "negation": "nadia eats meat: once said, once denied",
        "order": "'tabs' and 'spaces' change places",
        "value": "gdansk against poznan",
        "replaced": "'slack' is gone or not to be used any more",
    }


def test_a_cosine_affects_the_strength_but_not_the_decision() -> None:
    first, second = "Nadia eats meat.", "Nadia never eats meat."
    bare, close = clash(first, second), clash(first, second, cosine=NANO // 2)
    assert bare is not None
    assert close is not None
    assert (bare.strength, close.strength) == (NANO, 750_000_000)
    assert clash(first, "The crane needs oil.", cosine=NANO) is None


@pytest.mark.parametrize("text", ["", " \n ", "...", "42", "\u200b", "x" * 10_000, "not " * 500])
def test_every_form_of_sentence_is_parsed(text: str) -> None:
    assert clash(text, "Nadia never eats meat.") is None


WORDS = """
    the gate kim'd they've we're isn't not never no from to over before after then than moved
    replaced by with instead of rather prefer use avoid is are deprecated left quit owner of marta
    lives in Oslo enabled disabled slower faster fast 17 60 seconds two hours at most at least
    about between 5 and 10 Friday Fridays 31 March 2026-03-31 in 1998 9:30 3 pm v2 3.11 port some
    if when unless , . ! ; : ' - € 80% one hundred 1,200 10-20 ’s 山 over
""".split()


@given(st.lists(st.sampled_from(WORDS), max_size=14), st.lists(st.sampled_from(WORDS), max_size=14))
def test_any_sentence_is_parsed(first: list[str], second: list[str]) -> None:
    one, two = " ".join(first), " ".join(second)
    assert (clash(one, two) is None) == (clash(two, one) is None)
    assert clash(one, one) is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_parsed(first: str, second: str) -> None:
    assert (clash(first, second) is None) == (clash(second, first) is None)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("the train costs 1.250 euro.", "the train costs 1.250 euro."),
        ("der zug kostet nicht mehr als 1.250,50 euro.", "the zug costs at most 1250.50 euro."),
        ("wir speichern die passwörter nicht.", "wir speichern the not passwörter."),
        ("l'orchestre n'a jamais joué le 7 mai", "the orchestre  has never joué the 7 may"),
        ("el tren sale a las 8 del lunes", "the tren sale at 8 of monday"),
        ("мы не спим", "мы не спим"),
    ],
)
def test_closed_class_words_of_other_languages_are_put_into_english(
    sentence: str, expected: str
) -> None:
    assert anglicised(sentence) == expected


@pytest.mark.parametrize("language", ["de", "fr", "es", "pt", "it", "nl"])
def test_contradictions_in_other_languages_are_found(language: str) -> None:
    own = [pair for pair in ABROAD if pair["language"] == language]
    precision, recall = rates(own)
    assert (precision >= 0.8, recall) == (True, 1.0)
