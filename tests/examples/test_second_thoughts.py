"""The story of a bad answer is told to its end, and the same every time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import second_thoughts


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> str:
    second_thoughts.main()
    return capsys.readouterr().out


def test_from_the_bad_answer_to_a_better_policy(told: str) -> None:
    places = [
        told.index(sentence)
        for sentence in (
            "48 questions answered, 9 of them badly.",
            "3 dogs on the early crossing, and one must have been sick.",
            "Receipt for d216 of default: 1 block",
            "d216 confirmed by the log of default. Replayed: reproduced.",
            "in d216: top_k.",
            "The rule stood there: Dogs must be signed in two hours ahead",
            "seasoned: d216 with another policy: 1 entered, 1 left, 0 moved;",
            "One step, not a life",
            "Adopted: seasoned",
            "Reproduced d216 as of version 215",
        )
    ]
    assert places == sorted(places)


def test_after_second_thoughts_the_question_is_answered_by_the_rule(told: str) -> None:
    afterwards = told[told.index("Adopted: ") :]
    assert "Dogs must be signed in two hours ahead, with their vaccination card." in afterwards


def test_what_the_readme_quotes_is_what_it_tells(told: str) -> None:
    readme = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
    quoted = "".join(re.findall(r"```text\n(.*?)```", readme, re.DOTALL)).splitlines()
    assert len(quoted) >= 10
    assert [line for line in quoted if line.rstrip() not in told] == []


def test_the_story_is_the_same_every_time(told: str, capsys: pytest.CaptureFixture[str]) -> None:
    second_thoughts.main()
    assert capsys.readouterr().out == told
