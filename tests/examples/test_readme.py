"""What the README shows must run as it stands."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import anyio
import pytest

README = Path(__file__).parent.parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_tour_runs_and_tells_what_it_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[0], "README.md", "exec"), {})  # noqa: S102 - our own words
    told = capsys.readouterr().out
    then, now = told.index("30 s", told.index("60 s")), told.index("60 s")
    assert now < then
    assert "relevance" in told
    assert "top_k" in told
    assert "Reproduced d7" in told


def test_relations_are_told_as_they_come_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in (BLOCKS[0], BLOCKS[2]):
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102 - our own words
    told = capsys.readouterr().out
    assert "Created elaborates edge" in told
    assert "Edges: 1 created." in told
    assert "verify that these are the blocks you mean" in told
    assert "IF_EXISTS" in told.upper()


def test_the_ledger_is_shown_as_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in (BLOCKS[0], BLOCKS[3]):
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102 - our own words
    assert "needs_poc" in capsys.readouterr().out


def test_the_async_tour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "async def tour():\n" + textwrap.indent(BLOCKS[1], "    ")
    names: dict[str, object] = {}
    exec(compile(lines, "README.md", "exec"), names)  # noqa: S102 - our own words
    anyio.run(names["tour"])  # type: ignore[arg-type]
    assert (tmp_path / "agent.db").exists()
