"""Files come apart into sittings of items; nothing in them can stop the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.importers import (
    InputRefused,
    InputUnreadable,
    Item,
    Labels,
    Reading,
    files,
    read,
)
from mnemic.adapters.importers.formats import Format


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "input"
    path.write_bytes(data)
    return path


def items(path: Path) -> list[Item]:
    return [item for sitting in read(path) for item in sitting.items]


def refusals(path: Path) -> list[str]:
    return [item.refusal.message for item in items(path) if item.refusal is not None]


def test_each_line_is_an_item_with_its_place(tmp_path: Path) -> None:
    path = written(tmp_path, b'{"content": "a"}\n\n  \n{"content": "b", "tags": ["t"]}')
    assert items(path) == [
        Item(place=f"{path}:1", lesson={"source": "ingest", "content": "a"}),
        Item(place=f"{path}:4", lesson={"source": "ingest", "content": "b", "tags": ["t"]}),
    ]


def test_a_file_of_lines_is_one_sitting_with_a_size(tmp_path: Path) -> None:
    (sitting,) = read(written(tmp_path, b'{"content": "a"}\n{"content": "b"}\n'))
    assert sitting.size >= len(list(sitting.items)) == 2


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_has_no_items(tmp_path: Path, data: bytes) -> None:
    assert items(written(tmp_path, data)) == []


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = written(tmp_path, b'\xef\xbb\xbf{"content": "a"}\r\n{"content": "b"}\r\n')
    assert [item.lesson for item in items(path)] == [
        {"source": "ingest", "content": "a"},
        {"source": "ingest", "content": "b"},
    ]


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    path = written(tmp_path, '{"content": "a\u2028b\x85c"}\n'.encode())
    assert [item.lesson for item in items(path)] == [
        {"source": "ingest", "content": "a\u2028b\x85c"}
    ]


def test_a_source_of_its_own_is_kept_and_nulls_are_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, b'{"content": "a", "source": "web", "author": null}')
    assert [item.lesson for item in items(path)] == [{"content": "a", "source": "web"}]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"nonsense", "not JSON: Expecting value at character 1 of the line"),
        (b"[1, 2]", "expected an object, got list"),
        (b"null", "expected an object, got NoneType"),
        (b'{"tags": []}', "the object has no 'content'"),
        (b'{"content": "a", "colour": 1, "shape": 2}', "unknown 'colour', 'shape'"),
        (b'{"content": "\xff"}', "not UTF-8: byte 14 of the line"),
        (b"[" * 100_000, "not JSON: maximum recursion depth exceeded"),
    ],
)
def test_a_line_that_says_nothing_to_learn_is_refused(
    tmp_path: Path, line: bytes, message: str
) -> None:
    answer = refusals(written(tmp_path, b'{"content": "a"}\n' + line + b'\n{"content": "b"}'))
    assert [each[: len(message)] for each in answer] == [message]


@pytest.mark.parametrize("date", ["yesterday", "", 17, True, ["2026"], "99999-01-01", "0000-00-00"])
def test_a_date_that_cannot_be_read_counts_as_unknown(tmp_path: Path, date: Any) -> None:
    path = written(tmp_path, json.dumps({"content": "a", "created_at": date}).encode())
    (item,) = items(path)
    assert item.undated
    assert item.lesson == {"source": "ingest", "content": "a", "created_at": "unknown"}


@pytest.mark.parametrize("date", ["2026-04-01", "2026-04-01T08:00:00+02:00", "unknown"])
def test_a_date_that_can_be_read_is_kept(tmp_path: Path, date: str) -> None:
    path = written(tmp_path, json.dumps({"content": "a", "created_at": date}).encode())
    (item,) = items(path)
    assert not item.undated
    assert item.lesson == {"source": "ingest", "content": "a", "created_at": date}


TURNS = [
    {"id": "D1:1", "session": 1, "at": "2023-05-08T13:56:00", "speaker": "Ada", "text": "Hello."},
    {"id": "D1:2", "session": 1, "at": "then", "speaker": "Bo", "text": "Hi."},
    {"id": "D2:1", "session": 2, "speaker": "Ada", "text": "Again."},
]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_conversation_has_a_sitting_per_session(tmp_path: Path, indent: int | None) -> None:
    document = {"note": "", "conversations": [{"id": "c1", "turns": TURNS, "questions": [1]}]}
    path = written(tmp_path, json.dumps(document, indent=indent).encode())
    first, second = read(path)
    assert [(each.name, each.size) for each in (first, second)] == [("c1/1", 2), ("c1/2", 1)]
    assert list(first.items) == [
        Item(
            place=f"{path}: c1/1 D1:1",
            lesson={
                "source": "ingest",
                "content": "Hello.",
                "category": "message",
                "author": "Ada",
                "thread": "c1/1",
                "created_at": "2023-05-08T13:56:00",
                "metadata": {"turn": "D1:1"},
            },
        ),
        Item(
            place=f"{path}: c1/1 D1:2",
            lesson={
                "source": "ingest",
                "content": "Hi.",
                "category": "message",
                "author": "Bo",
                "thread": "c1/1",
                "created_at": "unknown",
                "metadata": {"turn": "D1:2"},
            },
            undated=True,
        ),
    ]
    (undated,) = second.items
    assert undated.lesson is not None
    assert (undated.lesson["created_at"], undated.undated) == ("unknown", False)


def test_a_turn_without_text_is_refused_and_the_others_go_on(tmp_path: Path) -> None:
    turns = [{"id": "D1:1"}, "nothing", {"text": "Said."}]
    path = written(tmp_path, json.dumps({"conversations": [{"id": "c1", "turns": turns}]}).encode())
    assert refusals(path) == ["a turn without 'text'", "a turn without 'text'"]
    assert len(items(path)) == 3


@pytest.mark.parametrize(
    "document",
    [
        {"conversations": 5},
        {"conversations": [5]},
        {"conversations": [{"id": "c1"}]},
        {"conversations": [{"id": 5, "turns": []}]},
    ],
)
def test_a_conversation_file_of_another_shape_is_refused(tmp_path: Path, document: Any) -> None:
    with pytest.raises(InputRefused):
        read(written(tmp_path, json.dumps(document).encode()))


def test_a_conversation_of_lines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputRefused):
        read(written(tmp_path, b'{"content": "a"}'), Reading(conversation="c1"))


def test_a_file_that_is_not_there_or_is_a_folder_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(InputUnreadable):
            read(path)


def test_a_list_of_memories_is_read_as_its_lines_would_be(tmp_path: Path) -> None:
    path = written(tmp_path, b'[\n{"content": "a"},\n{"tags": []}]')
    good, refused = items(path)
    assert good == Item(place=f"{path}: 1", lesson={"source": "ingest", "content": "a"})
    assert (refused.place, refused.refusal is None) == (f"{path}: 2", False)


def test_labels_say_what_a_line_does_not_and_add_their_tags(tmp_path: Path) -> None:
    labels = Labels(
        thread="t", author="Ann", category="note", created_at="2024-03-01", tags=("x", "y")
    )
    path = written(tmp_path, b'{"content": "a", "author": "Bo", "tags": ["y"]}\n{"content": "b"}')
    (sitting,) = read(path, Reading(labels=labels))
    common = {"source": "ingest", "thread": "t", "category": "note", "created_at": "2024-03-01"}
    assert [item.lesson for item in sitting.items] == [
        {**common, "content": "a", "author": "Bo", "tags": ["y", "x"]},
        {**common, "content": "b", "author": "Ann", "tags": ["x", "y"]},
    ]


@pytest.mark.parametrize(
    ("kind", "contents"),
    [
        ("text", ["Ann: # hello\nBo: hi"]),
        ("markdown", ["Ann: # hello\nBo: hi"]),
        ("chatlog", ["# hello", "hi"]),
        ("lines", []),
    ],
)
def test_a_format_that_is_given_is_not_doubted(
    tmp_path: Path, kind: Format, contents: list[str]
) -> None:
    (sitting,) = read(written(tmp_path, b"Ann: # hello\r\nBo: hi"), Reading(format=kind))
    learned = [item.lesson for item in sitting.items if item.lesson is not None]
    assert [lesson["content"] for lesson in learned] == contents


def test_the_short_name_of_a_file_is_the_thread_of_its_text(tmp_path: Path) -> None:
    path = written(tmp_path, b"A text.")
    threads = [
        (item.lesson or {})["thread"]
        for called in (None, "sub/input", "long/" * 50)
        for sitting in read(path, called=called)
        for item in sitting.items
    ]
    assert threads == ["input", "sub/input", "long/" * 40]


def test_a_folder_gives_its_files_in_order_and_passes_over_hidden_and_other_ones(
    tmp_path: Path,
) -> None:
    for name in ("b.txt", "a/z.MD", "a/y.jsonl", "c.png", ".git/x.txt", "a/.hidden.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    assert files(tmp_path) == [
        (tmp_path / "a/y.jsonl", "a/y.jsonl"),
        (tmp_path / "a/z.MD", "a/z.MD"),
        (tmp_path / "b.txt", "b.txt"),
    ]


def test_a_folder_of_nothing_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputUnreadable):
        files(tmp_path)
