"""The code on the pages runs, and prints what the pages show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCS, constant, outputs

PAGES = (
    "embedding.md",
    "tutorial.md",
    "index.md",
    "first-day.md",
    "how-to/asking.md",
    "how-to/backups.md",
    "how-to/bad-answer.md",
    "how-to/command-line.md",
    "how-to/compositions.md",
    "how-to/encryption.md",
    "how-to/forgetting.md",
    "how-to/importing.md",
    "how-to/looking-back.md",
    "how-to/own-adapters.md",
    "how-to/relations.md",
    "how-to/results.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_prints_what_the_page_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(DOCS.parent / "examples")
    monkeypatch.delenv("COLUMNS", raising=False)
    text = (DOCS / page).read_text(encoding="utf-8")
    shown = [
        (output.source, constant(output.expected), constant(output.printed))
        for output in outputs(text, lambda: "".join(capsys.readouterr()))
    ]
    assert shown
    assert [(source, expected) for source, expected, _ in shown] == [
        (source, printed) for source, _, printed in shown
    ]
