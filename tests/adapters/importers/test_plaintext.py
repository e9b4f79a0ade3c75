"""Paragraphs of plain text are put together, or cut, and no character is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.importers.parsed_items import Item, Labels, Source
from mnemic.adapters.importers.passages import SIZE
from mnemic.adapters.importers.plaintext import sitting

SOURCE = Source(name="notes/diary.txt", thread="diary.txt")


def contents(text: str) -> list[str]:
    return [(item.lesson or {})["content"] for item in sitting(SOURCE, text).items]


def test_paragraphs_are_put_together_until_a_passage_is_full() -> None:
    long = "word " * 196 + "end."
    found = sitting(SOURCE, f"\nOne\ngoes on.\n\n\nTwo.\n\n{long}\n\nThree.\n", Labels(author="Bo"))
    derived = {"source": "ingest", "thread": "diary.txt", "author": "Bo"}
    assert list(found.items) == [
        Item(place="notes/diary.txt:2", lesson={**derived, "content": "One\ngoes on.\n\nTwo."}),
        Item(place="notes/diary.txt:8", lesson={**derived, "content": f"{long}\n\nThree."}),
    ]
    assert found.size == 2


def test_standard_input_has_no_thread() -> None:
    (item,) = sitting(Source(name="standard input"), "Text.").items
    assert item.lesson == {"source": "ingest", "content": "Text."}


def test_a_long_paragraph_is_cut_behind_a_sentence_else_at_a_space_else_anywhere() -> None:
    assert {each[-7:] for each in contents("It rained. " * 150 + "\n")} == {"rained."}
    assert {each[-4:] for each in contents("word " * 500)} == {"word"}
    assert [len(each) for each in contents("x" * 2_500)] == [SIZE, SIZE, 500]


def test_an_indentation_longer_than_a_passage_is_no_passage() -> None:
    assert contents(" " * 2_500 + "x") == ["x"]


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\n \t.!?a"), max_size=4_000))
def test_no_character_is_lost_and_no_passage_is_too_long(text: str) -> None:
    found = contents(text.replace("\r", "\n"))
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(0 < len(each) <= SIZE for each in found)
