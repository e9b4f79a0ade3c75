"""The command dump: Markdown, JSON lines and CSV, on the terminal or in a file."""

from __future__ import annotations

import csv
import errno
import json
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import dumps
from tests.adapters.cli.conftest import Shell


def test_the_default_is_markdown_and_json_lines_with_json(shell: Shell) -> None:
    shell("learn", "the gate is shut")
    block = shell("blocks", "--json").document["items"][0]
    assert shell("dump").out.splitlines()[:3] == [
        "## Waiting in the inbox",
        "",
        "- the gate is shut  ",
    ]
    assert json.loads(shell("dump", "--json").out) == block


def test_a_file_has_the_format_that_its_name_ends_in(shell: Shell, tmp_path: Path) -> None:
    shell("learn", "the gate, shut", "--tag", "gate")
    shell("learn", "the crane is loud")
    file = tmp_path / "memory.csv"
    assert shell("dump", str(file), "--tag", "gate").exit == 0
    (row,) = csv.DictReader(StringIO(file.read_text(encoding="utf-8")))
    assert row["content"] == "the gate, shut"
    again = shell("dump", str(file))
    assert (again.exit, "field-refused" in again.err) == (1, True)
    assert [each.name for each in tmp_path.iterdir() if "csv" in each.name] == ["memory.csv"]


def test_a_dump_that_fails_leaves_no_part_of_a_file(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Iterable[Any]) -> Iterator[str]:
        yield "a part"
        raise OSError(errno.ENOSPC, "No space left on device")

    shell("learn", "the gate is shut")
    monkeypatch.setitem(dumps.FORMATS, "markdown", broken)
    failed = shell("dump", str(tmp_path / "memory.md"), "--json")
    assert (failed.exit, failed.error["code"]) == (5, "store-full")
    assert not (tmp_path / "memory.md").exists()


def test_a_day_before_the_memory_is_refused(shell: Shell) -> None:
    shell("learn", "the gate is shut")
    refused = shell("dump", "--at", "2020-01-01")
    assert (refused.exit, refused.out) == (1, "")
    assert "no event was recorded at or before 2020-01-0" in refused.err
