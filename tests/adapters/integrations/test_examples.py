"""The examples of docs/integrations.md run, each by itself, and print what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, constant, outputs

PAGE = (DOCS / "integrations.md").read_text(encoding="utf-8")
SECTIONS = {
    section.partition("\n")[0]: section
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
}
NEEDED = {
    "Google ADK: a memory service": "google.adk",
    "Microsoft Agent Framework": "agent_framework",
}
"""Packages that only the extra of an integration installs, by heading."""
LINES_MAX = 12


@pytest.mark.parametrize("heading", SECTIONS)
def test_an_example_prints_what_the_page_shows(
    heading: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if heading in NEEDED:
        pytest.importorskip(NEEDED[heading], reason=f"the extra for {heading!r} is not installed")
    monkeypatch.chdir(tmp_path)
    shown = list(outputs(SECTIONS[heading], lambda: "".join(capsys.readouterr())))
    assert shown
    for output in shown:
        assert constant(output.printed) == constant(output.expected)


def test_examples_are_short() -> None:
    codes = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(codes) >= len(SECTIONS)
    for code in codes:
        assert len([line for line in code.splitlines() if line.strip()]) <= LINES_MAX, code
