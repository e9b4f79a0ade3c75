"""What the rules find in a text, and above all what they ignore."""

from __future__ import annotations

import pytest

from mnemic.adapters.analysts.absent import NoAnalyst
from mnemic.adapters.analysts.rules import RulesAnalyst
from mnemic.kernel.ports import Analysis, Passage


def read(passage: Passage) -> Analysis:
    (found,) = RulesAnalyst().analyse([passage])
    return found


def tags(content: str, **known: object) -> tuple[str, ...]:
    return read(Passage(content=content, **known)).tags  # type: ignore[arg-type]


def test_there_is_one_analysis_per_passage_in_order() -> None:
    passages = [Passage(content=content) for content in ("plain", "for #ann", "plain again")]
    assert RulesAnalyst().analyse(passages) == [Analysis(), Analysis(tags=("ann",)), Analysis()]


def test_the_absent_analyst_returns_empty_analyses() -> None:
    assert list(NoAnalyst().analyse([Passage(content="#tag")] * 2)) == [Analysis()] * 2


# --- hashtags -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Oil the crane #harbour", ("harbour",)),
        ("#Harbour: oil the #Crane, (#crane!)", ("crane", "harbour")),
        ("filed under #to-do and #q3_plan.", ("q3_plan", "to-do")),
        ("der #Küche wegen", ("küche",)),
        ("a dangling #dash- is trimmed", ("dash",)),
        (" ".join(f"#tag{n:02}" for n in range(20)), tuple(f"tag{n:02}" for n in range(8))),
    ],
)
def test_an_inline_hashtag_is_a_tag_in_lower_case(content: str, expected: tuple[str, ...]) -> None:
    assert tags(content) == expected


@pytest.mark.parametrize(
    "content",
    [
        "# Heading",
        "## Heading",
        "##Heading",
        "see #42 and PR#hot",
        "in C# code or F#code",
        "the colour is #fff, #a1b2c3 or #A1B2C3D4",
        "https://example.org/page#section and /docs/#anchor",
        "href=\"#top\" or '#top'",
        "&#x27; &#nbsp;",
        "#include <stdio.h>\n#define X 1\n#ifdef Y",
        "`#inline` and ```\n#fenced\n```",
        "``` #never closed",
        "#!/bin/sh",
        "#self/value is a path",
        "#key=value #call()",
        "a-#dashed and x.#dotted",
        "#a",
        f"#{'long' * 20}",
    ],
)
def test_what_only_looks_like_a_hashtag_is_none(content: str) -> None:
    assert tags(content) == ()


def test_a_declared_tag_is_not_found_again() -> None:
    assert tags("#Harbour and #crane", tags=("HARBOUR",)) == ("crane",)


def test_hashtags_count_whoever_wrote_them() -> None:
    assert tags("oil it #crane", author="Ann", category="message", source="web") == ("crane",)


# --- principles ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "tag"),
    [
        ("I must never send mail without being asked.", "self/constraint"),
        ("I must always name my source.", "self/constraint"),
        ("i am not allowed to spend money", "self/constraint"),
        ("I refuse to guess a dose.", "self/constraint"),
        ("My first rule is to ask before deleting.", "self/constraint"),
        ("One of my limits is the county border.", "self/constraint"),
        ("I value plain words over clever ones.", "self/value"),
        ("I deeply believe in second opinions.", "self/value"),
        ("My guiding principle is that doubt is written down.", "self/value"),
        ("My values are honesty and calm.", "self/value"),
        ("One of my core values is patience.", "self/value"),
        ("My long-term goal is a river without surprises.", "self/goal"),
        ("My  purpose\nis to warn in time.", "self/goal"),
        ("One of my goals is fewer false alarms.", "self/goal"),
        ("I strive to answer within a minute.", "self/goal"),
    ],
)
def test_a_principle_stated_in_so_many_words_gets_its_tag(content: str, tag: str) -> None:
    assert read(Passage(content=content)) == Analysis(tags=(tag,))


@pytest.mark.parametrize(
    "content",
    [
        "I must remember to buy oil.",
        "I never saw the gate open.",
        "I will always have Paris.",
        "Ann said: I must never be late.",
        '"I value silence," wrote Bob.',
        "My goalkeeper is late.",
        "My rule is?",
        "Do I value speed?",
        "The team's goal is a green build.",
        "I valued his advice.",
        "In the end my goal is irrelevant.",
        "My goal is simple. " + "But the story that goes with it is long. " * 8,
    ],
)
def test_a_vague_principle_gets_no_tag(content: str) -> None:
    assert tags(content) == ()


@pytest.mark.parametrize(
    "known",
    [
        {"author": "Ann"},
        {"category": "message"},
        {"source": "web"},
        {"source": "ingest"},
        {"source": "user"},
        {"source": "tool"},
    ],
)
def test_a_principle_of_another_speaker_gets_no_tag(known: dict[str, str]) -> None:
    assert tags("I must never tell.", **known) == ()


@pytest.mark.parametrize("declared", ["self/goal", "self/constitutional", "self/else", "Self/Goal"])
def test_a_declared_self_tag_is_not_supplemented(declared: str) -> None:
    assert tags("I must never tell.", tags=(declared,)) == ()


def test_a_principle_may_have_hashtags() -> None:
    assert tags("I value #calm.") == ("calm", "self/value")


# --- summaries ----------------------------------------------------------------------------------

FIRST = "The gate at the harbour opens at six in the morning."
SECOND = "It closes at nine, except in a storm, when the duty officer decides."


def summary(content: str) -> str | None:
    return read(Passage(content=content)).summary


def test_a_short_text_needs_no_summary() -> None:
    assert summary("word " * 120) is None


def test_a_long_text_is_summed_up_by_its_first_sentences() -> None:
    assert summary(f"{FIRST}\n\n{SECOND} {'And so on, for a while. ' * 30}") == (
        f"{FIRST} {SECOND} And so on, for a while. And so on, for a while. And so on, for a while."
    )


@pytest.mark.parametrize("end", ["!", "?", "…", '."', ".)"])
def test_a_sentence_ends_in_many_ways(end: str) -> None:
    sentence = f"The gate at the harbour opens at six in the morning{end}"
    assert summary(f"{sentence} {'and on ' * 100}") == sentence


def test_a_long_first_sentence_is_cut_between_words() -> None:
    assert summary("harbour, " * 100) == "harbour, " * 21 + "harbour…"


def test_an_abbreviation_is_no_summary() -> None:
    found = summary("Dr. " + "Weir " * 150)
    assert found == "Dr. " + "Weir " * 38 + "Weir…"


def test_a_number_with_a_point_ends_no_sentence() -> None:
    assert (summary(f"{FIRST} The level was 1.07 " + "metres and " * 60) or "").startswith(FIRST)


def test_one_endless_word_is_cut_anyway() -> None:
    assert summary("x" * 1000) == "x" * 199 + "…"


def test_white_space_has_no_summary() -> None:
    assert summary(" " * 5000 + "end") is None
