"""Graphs from the command line, which builds none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemic.adapters.ann.graphs import Graphs
from mnemic.adapters.cli import main
from mnemic.adapters.inprocess import SyncMemory
from tests.adapters.ann.memories import warmed

LESSONS = ["The lamp is trimmed at dusk.", "The tower has nine floors.", "Keeper 7 is ill.", "Fog."]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store for which a host has built graphs."""
    path = tmp_path / "memory.db"
    with SyncMemory.open(path, retriever=Graphs(always=True, least=2, sizes=(2, 4))) as memory:
        memory.learn_many(LESSONS)
        memory.consolidate()
        warmed(memory)
    return path


def test_the_command_line_loads_graphs_built_by_a_host(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--db", str(store), "recall", "the lamp"]
    found: dict[str, str] = {}
    for retriever in ("exact", "ann"):
        assert main([*asked, "--retriever", retriever]) == 0
        found[retriever] = capsys.readouterr().out
    said = " · near vectors by approximate search"
    assert said not in found["exact"]
    assert said in " ".join(found["ann"].split())


def test_a_decision_recorded_by_the_command_line_names_its_retriever(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--db", str(store), "--json", "--retriever=ann", "recall", "the lamp"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["retriever"] == "ann"
    assert main(["--db", str(store), "--json", "explain", result["decision_id"]]) == 0
    explained = json.loads(capsys.readouterr().out)
    assert (explained["retriever"], explained["near"]) == ("ann", len(LESSONS))
