"""The demo runs without a terminal, tells its story, and fails if a replay does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from attrs import evolve

from mnemic.kernel.model.identity import DecisionId
from mnemic.kernel.results import ReplayResult, Verification

EXAMPLES = Path(__file__).parents[2] / "examples"

REPRODUCED = ReplayResult(
    decision_id=DecisionId("d9"),
    outcome="reproduced",
    version=8,
    hour=1.0,
    recorded_digest="00",
    replayed_digest="00",
    recombines=True,
)
SOUND = Verification(events=10, head="00", sound=True)

ExitCode = Callable[[list[ReplayResult], Verification], int]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def output(folder: Path) -> str:
    """What the demo prints, as one line."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / "fortnight.py", folder], capture_output=True, check=True
    )
    assert done.stderr == b""
    return " ".join(done.stdout.decode().split())


@pytest.fixture
def exit_code(monkeypatch: pytest.MonkeyPatch) -> ExitCode:
    monkeypatch.syspath_prepend(EXAMPLES)
    found: ExitCode = import_module("fortnight_story").exit_code
    return found


@pytest.mark.parametrize(
    "sentence",
    [
        "160 memories, 18 questions, 12 outcomes and 5 corrections in 12 sessions.",
        "(away) 02 Apr 10:42 4 d 21 h 0.00 h",
        "11 Apr Curated: ",
        "As of active hour 1 (version 17) against today",
        "superseded on 01 Apr by",
        "learned since, on 11 Apr",
        "outranked, now #",
        "usefulness +0.045",
        "But mind:",
        "Had the 119 hours on the wall counted",
        "18 of 18 recorded answers reproduced",
        "Sound: ",
        "Look around: mnemic --db",
    ],
)
def test_the_output_contains(output: str, sentence: str) -> None:
    assert sentence in output


def test_the_answer_to_the_question_follows_its_corrections(output: str) -> None:
    answers = ("waits 30 s", "waits 60 s for", "waits 60 s plus a random 0 to 20 s")
    story = output[output.index("each time it was asked") :]
    places = [story.index(answer) for answer in answers]
    assert places == sorted(places)


def test_without_a_terminal_there_are_no_colours(output: str) -> None:
    assert "\x1b" not in output


def test_only_the_store_and_its_side_files_are_left(output: str, folder: Path) -> None:
    assert output
    assert {path.name for path in folder.iterdir()} == {
        "fortnight.db",
        "fortnight.db.heads",
    }


def test_a_replay_that_differs_or_a_damaged_log_is_a_failure(exit_code: ExitCode) -> None:
    differs = evolve(REPRODUCED, outcome="differs")
    damaged = evolve(SOUND, sound=False)
    assert exit_code([REPRODUCED], SOUND) == 0
    assert exit_code([REPRODUCED, differs], SOUND) == 1
    assert exit_code([REPRODUCED], damaged) == 1
