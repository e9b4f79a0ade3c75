"""The command line in this process: its exit code, and what it printed where."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from mnemic.adapters.cli import main
from mnemic.adapters.cli.serving.serve import LOGGERS

Shell = Callable[..., "Ran"]

NOTES = (
    {"content": "Ines moved the demo to Thursday.", "tags": ["demo"], "author": "Ines"},
    {"content": "The invoice of March is paid.", "category": "observation"},
    {"content": "Gauge 17 resends after 60 seconds.", "tags": ["gauge"], "author": "Tomasz"},
)


@frozen
class Ran:
    """What one command did."""

    exit: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What it printed with --json."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """What it reported with --json."""
        return json.loads(self.err)


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Use a fixed terminal width, and restore the loggers of a server afterwards."""
    monkeypatch.delenv("COLUMNS", raising=False)
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(each.handlers, each.propagate, each.level) for each in loggers]
    yield
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The path of the store of a test."""
    return tmp_path / "memory.db"


@pytest.fixture
def shell(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """Run a command on the store of the test."""
    # Not by --db: an option before the command takes as long to parse as all that follows.
    monkeypatch.setenv("MNEMIC_DB", str(store))

    def run(*tokens: str) -> Ran:
        exit_code = main(tokens)
        printed = capsys.readouterr()
        return Ran(exit_code, printed.out, printed.err)

    return run


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A file of three memories, as JSON lines."""
    path = tmp_path / "notes.jsonl"
    path.write_text("\n".join(map(json.dumps, NOTES)), encoding="utf-8")
    return path


@pytest.fixture
def noted(shell: Shell, notes: Path) -> Shell:
    """A command line whose store holds the three notes."""
    assert shell("ingest", str(notes)).exit == 0
    return shell
