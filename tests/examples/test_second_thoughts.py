"""The example prints its whole analysis, and the same every time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import second_thoughts


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> str:
    second_thoughts.main()
    return capsys.readouterr().out


def test_from_the_bad_answer_to_a_better_policy(output: str) -> None:
    places = [
        output.index(sentence)
        for sentence in (
            "48 questions answered, 15 of them badly.",
            "51 children ran from cabin to cabin at night.",
            "Receipt for d231 of default: 1 block",
            "d231 confirmed by the log of default. Replayed: reproduced.",
            "in d231: top_k.",
            "The rule was in memory: Children under six pay nothing",
            "seasoned: d231 with another policy: 1 entered, 1 left, 0 moved;",
            "Only one step is compared",
            "Adopted: seasoned",
            "Reproduced d231 as of version 230",
        )
    ]
    assert places == sorted(places)


def test_the_adopted_policy_answers_the_question_with_the_rule(output: str) -> None:
    afterwards = output[output.index("Adopted: ") :]
    assert "Children under six pay nothing; older ones pay half of a cabin." in afterwards


def test_the_readme_quotes_the_output(output: str) -> None:
    readme = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
    _, _, after = readme.partition("### A bad answer, taken apart\n")
    section, _, _ = after.partition("\n## ")
    quoted = "".join(re.findall(r"```text\n(.*?)```", section, re.DOTALL)).splitlines()
    assert len(quoted) >= 10
    assert [line for line in quoted if line.rstrip() not in output] == []


def test_the_output_is_the_same_every_time(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    second_thoughts.main()
    assert capsys.readouterr().out == output
