"""What a file is, by its name or by how it begins."""

from __future__ import annotations

import pytest

from mnemic.adapters.importers import InputRefused
from mnemic.adapters.importers.formats import File, Format

MESSAGE = b'{"role": "user", "content": "a"}'
MEMORY = b'{"content": "a", "author": "Ann"}'


@pytest.mark.parametrize(
    ("suffix", "data", "found"),
    [
        (".md", b"[2024-03-01, 10:15] Ann: hello", "markdown"),
        (".markdown", MEMORY, "markdown"),
        (".txt", b"A text.", "text"),
        (".txt", b"[2024-03-01, 10:15] Ann: hello", "chatlog"),
        (".txt", b"\xff\xfe", "text"),
        (".txt", MESSAGE, "messages"),
        ("", b"A text.", "text"),
        ("", MEMORY, "lines"),
        ("", b"{broken\n" + MEMORY, "lines"),
        ("", b"{broken\n" + MESSAGE, "messages"),
        ("", b"{no json} at all", "text"),
        ("", b"[1, 2]", "text"),
        (".jsonl", b"broken", "lines"),
        (".jsonl", MEMORY + b"\n" + MESSAGE, "lines"),
        (".jsonl", MESSAGE + b"\n" + MEMORY, "messages"),
        (".jsonl", b'{"messages": [' + MESSAGE + b"]}\n", "messages"),
        (".json", b"[\n" + MEMORY + b"\n]", "lines"),
        (".json", b"[" + MESSAGE + b"]", "messages"),
        (".json", b'{"mapping":\n{}}', "messages"),
        (".json", b'{"conversations":\n[]}', "conversations"),
        ("", b'{"conversations": []}', "conversations"),
    ],
)
def test_the_format_is_detected_by_name_and_beginning(
    suffix: str, data: bytes, found: Format
) -> None:
    assert File("input", data, suffix).format() == found


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"content": ', "input is not JSON: Expecting value: line 1 column 13 (char 12)"),
        (b"17", "input holds no object"),
        (b"[]", "input holds no object"),
    ],
)
def test_a_json_file_that_holds_no_object_is_refused_once(data: bytes, message: str) -> None:
    with pytest.raises(InputRefused) as refused:
        File("input", data, ".json").format()
    assert refused.value.message == message


def test_text_ends_its_lines_with_line_feeds_only() -> None:
    assert File("input", b"a\r\nb\rc\n").text() == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("naïve".encode("latin-1"), "input is not UTF-8: byte 3 is 0xef"),
        ("a".encode("utf-16"), "input is not UTF-8: byte 1 is 0xff"),
        ("naï".encode()[:-1], "input is not UTF-8: byte 3 is 0xc3"),
    ],
)
def test_another_encoding_is_refused_and_the_byte_named(data: bytes, message: str) -> None:
    with pytest.raises(InputRefused) as refused:
        File("input", data).text()
    assert (refused.value.message, refused.value.recovery) == (
        message,
        "Convert the file to UTF-8.",
    )


@pytest.mark.parametrize(
    ("data", "places"),
    [
        (b"[" + MEMORY + b",\n" + MEMORY + b"]", ["input"]),
        (b"{\n" + MEMORY[1:], ["input"]),
        (MEMORY, ["input:1"]),
        (MEMORY + b"\n\nbroken", ["input:1", "input:3"]),
        (b"broken\n" + MEMORY, ["input:1", "input:2"]),
    ],
)
def test_lines_are_documents_unless_the_whole_is_one(data: bytes, places: list[str]) -> None:
    assert [line.place for line in File("input", data).documents()] == places
