"""The drill prints what docs/poisoning.md quotes, and the same every time."""

from __future__ import annotations

import re
from pathlib import Path

import poisoned_mailbox
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "poisoning.md"


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> str:
    poisoned_mailbox.main()
    return capsys.readouterr().out


def test_the_page_quotes_the_output_in_order(output: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    quoted = "".join(re.findall(r"```text\n(.*?)```", page, re.DOTALL)).splitlines()
    assert len(quoted) >= 14
    places = [output.index(line) for line in quoted]
    assert places == sorted(places)


def test_the_answer_is_poisoned_and_then_right(output: str) -> None:
    poisoned, quarantined, reverted = re.findall(
        r"(?:Tuesday|Quarantined|Reverted): Where (.*)", output
    )
    assert "account 4711" in poisoned
    assert "4711" not in quarantined
    assert reverted.endswith(poisoned_mailbox.RULES[0])


def test_the_calls_of_the_page_are_those_of_the_drill(output: str) -> None:
    assert output
    program = Path(poisoned_mailbox.__file__).read_text(encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    assert re.search(r"TUESDAY = {.*}", program).group() in page  # type: ignore[union-attr]
    for call in re.findall(r"^    memory\.(\w+)\(", page, re.MULTILINE):
        assert f"memory.{call}(" in program


def test_the_output_is_the_same_every_time(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    poisoned_mailbox.main()
    assert capsys.readouterr().out == output
