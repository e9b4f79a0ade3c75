"""Chat logs of several programs come apart into messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.importers import InputRefused
from mnemic.adapters.importers.chat_logs import is_chatlog, sitting
from mnemic.adapters.importers.parsed_items import Item, Labels, Source

SOURCE = Source(name="old/chat.txt", thread="chat.txt")
KEYS = ("author", "created_at", "content")

BRACKETS = """\
[2024-03-01, 10:15] Ann: hello
[2024-03-01, 10:16] Bo: first line
second line

after a gap
[2024-03-02, 09:00] Ann: bye: for now
"""
DASHES = """\
13/02/2024, 22:01 - Messages are end-to-end encrypted.
13/02/2024, 22:02 - Ann: hello
14/02/2024, 22:03 - Bo: hi
"""
NAMES = """\
Ann: hello
Bo: hi
 goes on
Ann: bye
Bo: bye
"""
HEADS = """\
Ann Lee  10:15 AM
hello
Note: not a name
Bo  10:16 AM
hi
"""


def said(text: str) -> list[tuple[Any, ...]]:
    lessons = [item.lesson or {} for item in sitting(SOURCE, text).items]
    return [tuple(lesson.get(key) for key in KEYS) for lesson in lessons]


def test_a_message_keeps_its_author_date_thread_and_place() -> None:
    first, *_ = sitting(SOURCE, BRACKETS, Labels(tags=("chat",))).items
    assert first == Item(
        place="old/chat.txt:1",
        lesson={
            "source": "ingest",
            "category": "message",
            "thread": "chat.txt",
            "author": "Ann",
            "created_at": "2024-03-01T10:15:00",
            "content": "hello",
            "tags": ["chat"],
        },
    )


def test_lines_that_begin_no_message_go_on_with_the_last() -> None:
    assert said(BRACKETS) == [
        ("Ann", "2024-03-01T10:15:00", "hello"),
        ("Bo", "2024-03-01T10:16:00", "first line\nsecond line\n\nafter a gap"),
        ("Ann", "2024-03-02T09:00:00", "bye: for now"),
    ]


def test_a_notice_of_the_messenger_has_no_author() -> None:
    assert said(DASHES) == [
        (None, "2024-02-13T22:01:00", "Messages are end-to-end encrypted."),
        ("Ann", "2024-02-13T22:02:00", "hello"),
        ("Bo", "2024-02-14T22:03:00", "hi"),
    ]


def test_names_alone_make_messages_of_unknown_age() -> None:
    assert said(NAMES) == [
        ("Ann", "unknown", "hello"),
        ("Bo", "unknown", "hi\n goes on"),
        ("Ann", "unknown", "bye"),
        ("Bo", "unknown", "bye"),
    ]


def test_a_time_without_a_date_is_no_date() -> None:
    assert said(HEADS) == [
        ("Ann Lee", "unknown", "hello\nNote: not a name"),
        ("Bo", "unknown", "hi"),
    ]


def test_a_label_gives_an_undated_log_its_date() -> None:
    first, *_ = sitting(SOURCE, NAMES, Labels(created_at="2024-01-01")).items
    assert (first.lesson or {})["created_at"] == "2024-01-01"


def test_a_day_that_never_was_counts_as_unknown() -> None:
    (item,) = sitting(SOURCE, "31/02/2024, 10:15 - Ann: hello").items
    assert (item.undated, (item.lesson or {})["created_at"]) == (True, "unknown")


def test_marks_of_writing_direction_and_narrow_spaces_do_no_harm() -> None:
    assert said("\u200e[3/13/24, 10:15:07\u202fPM] Ann: \u200ehello") == [
        ("Ann", "2024-03-13T22:15:07", "hello")
    ]


def test_words_before_the_first_message_are_kept() -> None:
    assert said("A title\n[2024-03-01, 10:15] Ann: hello")[0] == (None, "unknown", "A title")


def test_dates_that_leave_it_open_are_refused_unless_the_reader_tells() -> None:
    text = "01/02/2024, 22:02 - Ann: hello"
    with pytest.raises(InputRefused):
        sitting(SOURCE, text)
    (item,) = sitting(SOURCE, text, date_order="mdy").items
    assert (item.lesson or {})["created_at"] == "2024-01-02T22:02:00"


@pytest.mark.parametrize("text", [BRACKETS, DASHES, NAMES, HEADS])
def test_a_chat_log_looks_like_one(text: str) -> None:
    assert is_chatlog(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Note: buy milk.\n\nNote: and bread.\n",
        "A list: one\nAnother: two\nA third: three",
        "[see below] Ann: hello",
        "2024-03-01\nAnn: hello",
        "Dear Ann,\n\nBo: was here. Ann: was not.\n",
        "https://example.org\nhttps://example.com",
    ],
)
def test_prose_does_not_look_like_a_chat_log(text: str) -> None:
    assert not is_chatlog(text)


@given(
    st.lists(
        st.tuples(st.sampled_from(["Ann", "Bo Lee", "张伟"]), st.text("ab :.-[]\n", min_size=1)),
        min_size=1,
    )
)
def test_no_word_of_a_dated_log_is_lost(turns: list[tuple[str, str]]) -> None:
    text = "\n".join(f"[2024-03-01, 10:15] {author}: {words}" for author, words in turns)
    assert [(author, "".join((words or "").split())) for author, _, words in said(text)] == [
        (author, "".join(words.split())) for author, words in turns
    ]
