"""The code in the README runs as shown."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import anyio
import pytest

README = Path(__file__).parent.parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_tour_runs_and_prints_the_documented_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[0], "README.md", "exec"), {})  # noqa: S102 - our own words
    answer = capsys.readouterr().out
    then, now = answer.index("30 s", answer.index("60 s")), answer.index("60 s")
    assert now < then
    assert "relevance" in answer
    assert "yes 0.9" in answer
    assert "min_probability" in answer
    assert "Reproduced d7" in answer


def test_relations_print_the_documented_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in (BLOCKS[0], BLOCKS[2]):
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102 - our own words
    answer = capsys.readouterr().out
    assert "Created elaborates edge" in answer
    assert "Edges: 1 created." in answer
    assert "verify that these are the blocks you mean" in answer
    assert "IF_EXISTS" in answer.upper()


def test_the_ledger_example_runs(
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
