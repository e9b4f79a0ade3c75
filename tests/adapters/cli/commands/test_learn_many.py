"""learn-many: a transaction in a file of JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.adapters.cli.conftest import Shell

LINES = """{"content": "Ines moved the demo.", "tags": ["demo"]}
"The invoice is paid."

{"content": ""}
{"content": "Cut off in the mid
[1]
{"colour": "red"}
"""


def learned(shell: Shell, tmp_path: Path, *more: str) -> Any:
    path = tmp_path / "lessons.jsonl"
    path.write_text(LINES, encoding="utf-8")
    return shell("learn-many", str(path), *more)


def test_valid_lines_are_learned_and_others_reported(shell: Shell, tmp_path: Path) -> None:
    answer = learned(shell, tmp_path)
    assert answer.exit == 1
    assert answer.out.startswith("Learned: 2 created, 4 refused (#2 content-empty: content is ")
    assert [line.partition(":")[0] for line in answer.err.splitlines()] == [
        "warning line 4",
        "warning line 5",
        "warning line 6",
        "warning line 7",
    ]


def test_the_document_is_that_of_the_operation(shell: Shell, tmp_path: Path) -> None:
    document = learned(shell, tmp_path, "--json").document
    assert [each["action"] for each in document["results"]] == ["created", "created"]
    assert [(each["position"], each["code"]) for each in document["refused"]] == [
        (2, "content-empty"),
        (3, "field-refused"),
        (4, "field-refused"),
        (5, "field-refused"),
    ]


def test_the_default_source_is_the_command_line(shell: Shell, tmp_path: Path) -> None:
    learned(shell, tmp_path)
    blocks = shell("blocks", "--json").document["items"]
    assert [(block["source"], block["tags"]) for block in blocks] == [
        ("cli", ["demo"]),
        ("cli", []),
    ]


def test_a_file_that_is_not_there_makes_no_store(shell: Shell, store: Path) -> None:
    assert shell("learn-many", "nothing.jsonl").exit == 5
    assert not store.exists()
