"""Progress of long work: a bar on standard error if that is a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from threading import Event

import pytest

from mnemic.adapters.cli.invocation import progress
from mnemic.adapters.cli.invocation.context import Invocation, Stream

LONG = 60.0
"""Seconds after which a bar that never appears fails the test."""


class Terminal(io.StringIO):
    """A terminal that notes that something was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = Event()

    def write(self, text: str) -> int:
        if text.strip():
            self.written.set()
        return super().write(text)


def run_on(terminal: io.StringIO, *, is_terminal: bool = True, as_json: bool = False) -> Invocation:
    """Return an invocation with this standard error."""
    err = Stream(file=terminal, force_terminal=is_terminal, width=60)
    return Invocation(path="memory.db", space="default", err=err, as_json=as_json)


def test_long_work_shows_a_bar_and_leaves_standard_output_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    terminal = Terminal()
    with run_on(terminal).progress("learning") as told:
        told(1, 2)
        assert terminal.written.wait(LONG)
        sys.stdout.write("an answer\n")
    assert "learning" in terminal.getvalue()
    assert capsys.readouterr().out == "an answer\n"


def test_short_work_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", LONG)
    terminal = Terminal()
    with run_on(terminal).progress("learning") as told:
        told(1, 2)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(("is_terminal", "as_json"), [(False, False), (True, True)])
def test_scripts_see_none(
    monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool, as_json: bool
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    terminal = Terminal()
    with run_on(terminal, is_terminal=is_terminal, as_json=as_json).progress("learning") as told:
        told(1, 2)
    assert terminal.getvalue() == ""


def test_an_error_ends_the_bar_before_it_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    terminal = Terminal()
    run = run_on(terminal)
    with suppress(KeyboardInterrupt), run.progress("learning"):
        assert terminal.written.wait(LONG)
        raise KeyboardInterrupt
    ended = terminal.getvalue()
    run.remark("what follows")
    assert "what follows" in terminal.getvalue().removeprefix(ended)
