"""what-if, backtest and policy: from a bad answer to other numbers, on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.kernel.policy import DEFAULT

Shell = Callable[..., Any]


@pytest.fixture
def asked(told: Shell) -> tuple[Shell, str]:
    """A command line whose store holds one recall with an outcome, and the recall's id."""
    found = told("recall", "When is the demo?", "--json").document
    assert told("outcome", "--decision", found["decision_id"], "--signal", "0.9").exit == 0
    return told, found["decision_id"]


@pytest.fixture
def single(tmp_path: Path) -> Path:
    """A policy of one answer at a time, as a file that says only that."""
    path = tmp_path / "single.json"
    path.write_text('{"top_k": 1}', encoding="utf-8")
    return path


def test_what_if_shows_both_answers_side_by_side(asked: tuple[Shell, str], single: Path) -> None:
    shell, decision = asked
    ran = shell("what-if", decision, "--policy", str(single))
    assert ran.exit == 0
    assert f"{decision} with another policy: 0 entered, 2 left, 0 moved;" in ran.out
    assert "Ines moved the demo to Thursday." in ran.out
    told = shell("what-if", decision, "--policy", str(single), "--json").document
    assert len(told["answer"]["blocks"]) == 1
    assert [move["change"] for move in told["moves"]] == ["stayed", "left", "left"]


def test_what_if_takes_another_question_frame_and_limit(asked: tuple[Shell, str]) -> None:
    shell, decision = asked
    told = shell(
        "what-if", decision, "--query", "gauge", "--frame", "world", "--top-k", "1", "--json"
    ).document
    assert told["supposed"] == ["query", "frame", "top_k"]
    assert told["answer"]["blocks"][0]["content"] == "Gauge 17 resends after 60 seconds."


def test_what_if_of_nothing_is_refused_with_a_way_on(asked: tuple[Shell, str]) -> None:
    shell, decision = asked
    ran = shell("what-if", decision, "--json")
    assert (ran.exit, ran.error["code"]) == (1, "field-refused")
    assert "policy, query, frame and top_k" in ran.error["recovery"]


def test_a_backtest_leads_to_adopting_what_it_justified(
    asked: tuple[Shell, str], single: Path
) -> None:
    shell, _ = asked
    ran = shell("backtest", str(single))
    assert ran.exit == 0
    assert "1 decisions answered again, 1 judged within 24 active hours" in ran.out
    assert "single" in ran.out
    assert "One step, not a life" in ran.out
    told = shell("backtest", str(single), "--objective", "reward", "--json").document
    assert [score["name"] for score in told["scores"]] == ["recorded", "single"]
    assert told["scores"][1]["reward"]["mean"] == 0.9
    adopted = shell("policy", "adopt", str(single))
    assert adopted.exit == 0
    assert adopted.out.startswith("Adopted single (")
    assert len(shell("recall", "When is the demo?", "--json").document["blocks"]) == 1
    again = shell("policy", "adopt", str(single), "--json").document
    assert (again["changed"], again["policy_id"]) == (False, told["scores"][1]["policy_id"])


def test_a_backtest_draws(asked: tuple[Shell, str], single: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    shell, _ = asked
    drawn = tmp_path / "single.svg"
    assert shell("backtest", str(single), "--plot", str(drawn)).exit == 0
    assert "active hours" in drawn.read_text(encoding="utf-8") or drawn.stat().st_size > 0


def test_a_stretch_of_hours_can_be_named(asked: tuple[Shell, str], single: Path) -> None:
    shell, _ = asked
    told = shell("backtest", str(single), "--from", "5", "--to", "6", "--json").document
    assert told["decisions"] == 0


def test_the_policy_in_force_is_shown_and_adopting_it_changes_nothing(
    told: Shell, tmp_path: Path
) -> None:
    shown = told("policy").out
    assert json.loads(shown) == json.loads(DEFAULT.body)
    assert told("policy", "--json").document == json.loads(DEFAULT.body)
    file = tmp_path / "same.json"
    file.write_text(shown, encoding="utf-8")
    ran = told("policy", "adopt", str(file), "--json")
    assert ran.document == {
        "policy_id": DEFAULT.id,
        "name": "mnemic-1",
        "before": DEFAULT.id,
        "changed": False,
    }


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("not json", "policy-refused"),
        ("[1, 2]", "policy-refused"),
        ('{"topk": 3}', "policy-refused"),
        ('{"top_k": -3}', "policy-refused"),
    ],
)
def test_a_file_that_holds_no_policy_is_refused(
    told: Shell, tmp_path: Path, content: str, code: str
) -> None:
    file = tmp_path / "odd.json"
    file.write_text(content, encoding="utf-8")
    for command in (("policy", "adopt"), ("backtest",)):
        ran = told(*command, str(file), "--json")
        assert (ran.exit, ran.error["code"]) == (1, code)
        assert ran.error["recovery"]


def test_a_file_that_is_not_there_is_unavailable(told: Shell, tmp_path: Path) -> None:
    ran = told("policy", "adopt", str(tmp_path / "gone.json"), "--json")
    assert (ran.exit, ran.error["code"]) == (5, "input-unreadable")
    assert told("policy", "adopt", "--json").error["recovery"] == (
        "Name a file: mnemic policy adopt FILE."
    )


def test_two_files_of_one_name_are_refused(told: Shell, single: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    twin = tmp_path / "other" / single.name
    twin.write_text("{}", encoding="utf-8")
    ran = told("backtest", str(single), str(twin), "--json")
    assert (ran.exit, ran.error["code"]) == (1, "field-refused")


def test_a_recall_can_explore(told: Shell) -> None:
    found = told("recall", "demo", "--top-k", "1", "--explore", "1", "--json").document
    assert found["propensity"] == pytest.approx(1 / 3, abs=1e-9)
    assert told("recall", "demo", "--explore", "0.5", "--no-record", "--json").exit == 1
