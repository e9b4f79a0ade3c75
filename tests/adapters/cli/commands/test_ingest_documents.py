"""Ingestion of documents and chats, and early refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from mnemic.adapters.cli.commands import ingest
from mnemic.adapters.importers.dates import DateOrder
from mnemic.adapters.importers.formats import Format

Shell = Callable[..., Any]

GUIDE = """\
---
date: 2024-03-01
tags: harbour
---
# Guide

The gate opens at high tide.

## Signals

A red light means wait.
"""
CHAT = "13/02/2024, 22:02 - Ann: hello\n13/02/2024, 22:03 - Bo: I sold the boat.\n"
WRITTEN_DATE = "Write it like 2026-03-02T09:04:00+00:00, or leave it out."


def written(path: Path, text: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def learned(shell: Shell, *keys: str) -> list[list[Any]]:
    blocks = shell("blocks", "--json").document["items"]
    return [[block[key] for key in keys] for block in blocks]


def test_a_document_is_learned_by_sections(shell: Shell, tmp_path: Path) -> None:
    answer = shell(
        "ingest", written(tmp_path / "guide.md", GUIDE), "--author", "Ines", "--tag", "x"
    )
    assert (answer.exit, answer.out.splitlines()[0]) == (0, "Learned in 1 session: 2 new.")
    keys = ("content", "author", "thread", "created_at", "tags", "metadata")
    common = ["Ines", "guide.md", "2024-03-01T00:00:00+00:00", ["harbour", "x"]]
    assert learned(shell, *keys) == [
        ["# Guide\n\nThe gate opens at high tide.", *common, {"heading": "Guide"}],
        ["## Signals\n\nA red light means wait.", *common, {"heading": "Guide > Signals"}],
    ]


def test_a_chat_is_learned_by_messages(shell: Shell, tmp_path: Path) -> None:
    chat = written(tmp_path / "chat.txt", CHAT)
    assert shell("ingest", chat, "--thread", "boats").exit == 0
    assert learned(shell, "content", "author", "category", "thread", "created_at") == [
        ["hello", "Ann", "message", "boats", "2024-02-13T22:02:00+00:00"],
        ["I sold the boat.", "Bo", "message", "boats", "2024-02-13T22:03:00+00:00"],
    ]


def test_a_folder_is_learned_file_by_file_and_known_the_second_time(
    shell: Shell, tmp_path: Path
) -> None:
    written(tmp_path / "all/guide.md", GUIDE)
    written(tmp_path / "all/chat.txt", CHAT)
    written(tmp_path / "all/empty.txt", "\n")
    first = shell("ingest", str(tmp_path / "all"), "--json").document
    assert [first[key] for key in ("files", "sessions", "created", "duplicates")] == [3, 2, 4, 0]
    again = shell("ingest", str(tmp_path / "all"), "--json").document
    assert [again[key] for key in ("created", "duplicates", "refused")] == [0, 4, []]


@pytest.mark.parametrize(
    ("name", "text", "options", "recovery"),
    [
        ("empty.md", "", (), "Name files that are not empty."),
        ("chat.txt", CHAT.replace("13", "12"), (), "Pass --date-order dmy or --date-order mdy."),
        ("a.json", "{", (), "Correct the file, or give its --format."),
        ("a.txt", "Text.", ("--conversation", "c1"), "Leave out --conversation."),
        ("a.txt", "Text.", ("--created-at", "soon"), WRITTEN_DATE),
    ],
)
def test_what_cannot_be_read_is_refused_before_anything_is_made(
    shell: Shell, tmp_path: Path, *, name: str, text: str, options: tuple[str, ...], recovery: str
) -> None:
    answer = shell("ingest", written(tmp_path / name, text), *options, "--json")
    assert (answer.exit, answer.error["recovery"]) == (1, recovery)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_bytes_that_are_not_text_are_reported(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes("naïve".encode("latin-1"))
    answer = shell("ingest", str(path), "--json")
    assert answer.error["detail"] == f"{path} is not UTF-8: byte 3 is 0xef"


BROKEN: dict[str, tuple[bytes, str]] = {
    "binary.txt": (b"a\0b", "is binary: byte 2 is 0x00"),
    "broken.json": (b'{"a":', "is not JSON: Expecting value: line 1 column 6 (char 5)"),
    "disguised.txt": (b"<!DOCTYPE html><p>a", "is HTML, which mnemic does not read"),
    "latin.txt": ("naïve".encode("latin-1"), "is not UTF-8: byte 3 is 0xef"),
    "page.html": (b"<p>a</p>", "is HTML, which mnemic does not read"),
    "report.pdf": (b"%PDF-1.4", "is PDF, which mnemic does not read"),
    "wide.txt": ("a".encode("utf-16"), "is not UTF-8 but UTF-16"),
}
"""Files that cannot be learned, and why."""


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder with two files that can be learned, and others."""
    folder = tmp_path / "all"
    written(folder / "a.md", "The gate opens at six.")
    written(folder / "z.txt", "Rain on Tuesday.")
    written(folder / "empty.md", " \n")
    for name, (data, _) in BROKEN.items():
        (folder / name).write_bytes(data)
    for name in ("a.png", "b.png", "LICENSE", ".hidden.md"):
        (folder / name).write_bytes(b"\x89PNG")
    return folder


def test_a_folder_is_learned_past_files_that_cannot_be(shell: Shell, mixed: Path) -> None:
    answer = shell("ingest", str(mixed), "--json")
    document = answer.document
    assert (answer.exit, document["files"], document["created"]) == (1, 3 + len(BROKEN), 2)
    assert {each["place"]: each["detail"] for each in document["refused"]} == {
        str(mixed / name): detail for name, (_, detail) in BROKEN.items()
    }
    assert all(each["recovery"] for each in document["refused"])
    assert document["skipped"] == [
        {"place": str(mixed / "empty.md"), "reason": "empty"},
        {"place": str(mixed), "reason": "files of other kinds: 2 .png, 1 LICENSE"},
    ]


def test_what_was_not_learned_is_shown_with_its_remedy(shell: Shell, mixed: Path) -> None:
    shown = shell("ingest", str(mixed)).out
    assert f"{mixed / 'page.html'} input-refused: is HTML, which mnemic does not read\n" in shown
    assert shown.count("pandoc") == 1
    assert f"Skipped {mixed / 'empty.md'}: empty.\n" in shown
    assert f"Learned in 2 sessions: 2 new, {len(BROKEN)} refused.\n" in shown


def test_a_folder_of_which_nothing_can_be_read_makes_no_store(
    shell: Shell, mixed: Path, store: Path
) -> None:
    for name in ("a.md", "z.txt"):
        (mixed / name).unlink()
    assert shell("ingest", str(mixed)).exit == 1
    assert shell("ingest", str(mixed), "--dry-run", "--json").document["created"] == 0
    assert not store.exists()


def test_one_file_of_several_may_be_missing(shell: Shell, mixed: Path) -> None:
    answer = shell("ingest", str(mixed / "a.md"), str(mixed / "none.md"), "--json")
    assert (answer.exit, answer.document["created"]) == (1, 1)
    assert [each["code"] for each in answer.document["refused"]] == ["input-unreadable"]


def test_a_format_that_is_named_is_believed(shell: Shell, mixed: Path) -> None:
    assert shell("ingest", str(mixed / "page.html"), "--format", "text").exit == 0


def test_the_order_of_dates_may_be_given(shell: Shell, tmp_path: Path) -> None:
    chat = written(tmp_path / "chat.txt", CHAT.replace("13/02", "12/02"))
    assert shell("ingest", chat, "--date-order", "mdy").exit == 0
    assert learned(shell, "created_at")[0] == ["2024-12-02T22:02:00+00:00"]


def test_a_dry_run_shows_everything_and_makes_nothing(
    shell: Shell, store: Path, tmp_path: Path
) -> None:
    chat = written(tmp_path / "chat.txt", f"{CHAT}{CHAT}13/02/2024, 22:04 - Cy: \n")
    answer = shell("ingest", chat, "--dry-run", "--json")
    keys = ("files", "sittings", "created", "duplicates", "undated")
    # What is said twice in a chat was said twice.
    assert (answer.exit, [answer.document[key] for key in keys]) == (1, [1, 1, 4, 0, 0])
    assert answer.document["items"][0] == {
        "place": f"{chat}:1",
        "source": "ingest",
        "category": "message",
        "thread": "chat.txt",
        "author": "Ann",
        "created_at": "2024-02-13T22:02:00",
        "content": "hello",
        "metadata": {"turn": "1"},
    }
    assert [each["code"] for each in answer.document["refused"]] == ["content-empty"]
    assert not store.exists()


def test_a_dry_run_reads_as_a_table(shell: Shell, tmp_path: Path) -> None:
    answer = shell("ingest", written(tmp_path / "chat.txt", CHAT), "--dry-run")
    assert [word in answer.out for word in ("2024-02-13", "Bo", "hello")] == [True] * 3
    assert answer.out.endswith("An empty memory would learn: 2 new.\n")


def test_the_command_line_knows_every_format_and_order_of_dates() -> None:
    assert get_args(ingest.Format) == get_args(Format)
    assert get_args(ingest.DateOrder) == get_args(DateOrder)
