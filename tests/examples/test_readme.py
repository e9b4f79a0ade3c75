"""Every snippet of the README runs by itself and prints what the README shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import BLOCK, constant, outputs

PAGE = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = list(BLOCK.finditer(PAGE))
SNIPPETS = [block.start() for block in BLOCKS if block[1] in {"python", "console"}]
"""Where each snippet begins; it ends where the next one does."""


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_a_snippet_prints_what_the_page_shows(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    start, end = [*SNIPPETS, None][number : number + 2]
    found = list(outputs(PAGE[start:end], lambda: "".join(capsys.readouterr())))
    assert all(output.expected for output in found)
    assert [constant(output.printed) for output in found] == [
        constant(output.expected) for output in found
    ]


def test_snippets_are_found_and_the_page_is_short() -> None:
    assert len(SNIPPETS) == 3
    assert len(PAGE.splitlines()) <= 200
