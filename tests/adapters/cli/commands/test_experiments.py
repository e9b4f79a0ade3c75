"""what-if, backtest and policy: from a bad answer to other numbers, on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mnemic.adapters.cli.render import experiments
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.results import Backtest, Estimate, Gap, PolicyScore

Shell = Callable[..., Any]


@pytest.fixture
def asked(noted: Shell) -> tuple[Shell, str]:
    """A command line whose store holds one recall with an outcome, and the recall's id."""
    found = noted("recall", "When is the demo?", "--frame", "attention", "--json").document
    assert noted("outcome", "--decision", found["decision_id"], "--signal", "0.9").exit == 0
    return noted, found["decision_id"]


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
    noted = shell("what-if", decision, "--policy", str(single), "--json").document
    assert len(noted["answer"]["blocks"]) == 1
    assert [move["change"] for move in noted["moves"]] == ["stayed", "left", "left"]


def test_what_if_takes_another_question_frame_and_limit(asked: tuple[Shell, str]) -> None:
    shell, decision = asked
    noted = shell(
        "what-if", decision, "--query", "gauge", "--frame", "world", "--top-k", "1", "--json"
    ).document
    assert noted["supposed"] == ["query", "frame", "top_k"]
    assert noted["answer"]["blocks"][0]["content"] == "Gauge 17 resends after 60 seconds."


def test_what_if_without_a_change_is_refused_with_a_recovery(asked: tuple[Shell, str]) -> None:
    shell, decision = asked
    ran = shell("what-if", decision, "--json")
    assert (ran.exit, ran.error["code"]) == (1, "field-refused")
    assert "policy, query, frame, top_k or without" in ran.error["recovery"]


def test_a_backtest_leads_to_adopting_what_it_justified(
    asked: tuple[Shell, str], single: Path
) -> None:
    shell, _ = asked
    ran = shell("backtest", str(single))
    assert ran.exit == 0
    assert "1 decisions answered again, 1 judged within 24 active hours" in ran.out
    assert "single" in ran.out
    assert "Only one step is compared" in ran.out
    noted = shell("backtest", str(single), "--objective", "reward", "--json").document
    assert [score["name"] for score in noted["scores"]] == ["recorded", "single"]
    assert noted["scores"][1]["reward"]["mean"] == 0.9
    adopted = shell("policy", "adopt", str(single))
    assert adopted.exit == 0
    assert adopted.out.startswith("Adopted single (")
    assert len(shell("recall", "When is the demo?", "--json").document["blocks"]) == 1
    again = shell("policy", "adopt", str(single), "--json").document
    assert (again["changed"], again["policy_id"]) == (False, noted["scores"][1]["policy_id"])


def test_a_backtest_draws(asked: tuple[Shell, str], single: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    shell, _ = asked
    drawn = tmp_path / "single.svg"
    assert shell("backtest", str(single), "--plot", str(drawn)).exit == 0
    assert "active hours" in drawn.read_text(encoding="utf-8") or drawn.stat().st_size > 0


def test_a_table_with_intervals_fits_into_eighty_columns() -> None:
    noted = Estimate(mean=0.5, low=0.25, high=1.0, floor=0.125, ceiling=0.875, decisions=9)
    gap = Gap(mean=-0.25, low=-0.5, high=0.0, decisions=9)
    scores = tuple(
        PolicyScore(
            name=name,
            policy_id=None,
            answered=9,
            unanswered=0,
            places=9,
            judged=9,
            ndcg=noted,
            hit=noted,
            reward=noted,
            ndcg_gap=gap,
            hit_gap=gap,
            reward_gap=gap,
            corrected=None,
            windows=(),
            digest="",
        )
        for name in ("recorded", "patient")
    )
    found = Backtest(
        objective="ndcg",
        horizon_hours=24.0,
        seed=0,
        from_hour=0.0,
        to_hour=9.0,
        decisions=9,
        judged=9,
        told_apart=9,
        sessions=9,
        explored=0,
        left_out={},
        scores=scores,
        caveats=(),
    )
    screen = Console(width=80, file=StringIO(), color_system=None)
    screen.print(*experiments.tested(found), sep="\n")
    shown = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert [line.split() for line in shown[1:2] + shown[-2:]] == [
        "policy ndcg hit reward ndcg gap bounds judged".split(),
        "patient 0.500 0.500 0.500 -0.250 0.125 100%".split(),
        "0.25-1.00 0.25-1.00 0.25-1.00 -0.500 to +0.000 to 0.875".split(),
    ]


@pytest.mark.parametrize("name", ["picture.txt", "picture"])
def test_what_cannot_be_drawn_is_refused_before_anything_is_computed(
    asked: tuple[Shell, str], single: Path, name: str
) -> None:
    ran = asked[0]("backtest", str(single), "--plot", name, "--json")
    assert (ran.exit, ran.out, ran.error["code"]) == (1, "", "field-refused")


def test_the_table_is_shown_when_the_picture_cannot_be_written(
    asked: tuple[Shell, str], single: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    ran = asked[0]("backtest", str(single), "--plot", str(tmp_path / "gone" / "x.png"))
    assert ran.exit == 5
    assert "1 judged within 24 active hours" in ran.out


def test_a_range_of_hours_can_be_named(asked: tuple[Shell, str], single: Path) -> None:
    shell, _ = asked
    noted = shell("backtest", str(single), "--from", "5", "--to", "6", "--json").document
    assert noted["decisions"] == 0


def test_the_policy_in_force_is_shown_and_adopting_it_changes_nothing(
    noted: Shell, tmp_path: Path
) -> None:
    shown = noted("policy").out
    assert json.loads(shown) == json.loads(DEFAULT.body)
    assert noted("policy", "--json").document == json.loads(DEFAULT.body)
    file = tmp_path / "same.json"
    file.write_text(shown, encoding="utf-8")
    ran = noted("policy", "adopt", str(file), "--json")
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
    noted: Shell, tmp_path: Path, content: str, code: str
) -> None:
    file = tmp_path / "odd.json"
    file.write_text(content, encoding="utf-8")
    for command in (("policy", "adopt"), ("backtest",)):
        ran = noted(*command, str(file), "--json")
        assert (ran.exit, ran.error["code"]) == (1, code)
        assert ran.error["recovery"]


def test_a_file_that_is_not_there_is_unavailable(noted: Shell, tmp_path: Path) -> None:
    ran = noted("policy", "adopt", str(tmp_path / "gone.json"), "--json")
    assert (ran.exit, ran.error["code"]) == (5, "input-unreadable")
    assert noted("policy", "adopt", "--json").error["recovery"] == (
        "Name a file: mnemic policy adopt FILE."
    )


def test_two_files_of_one_name_are_refused(noted: Shell, single: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    twin = tmp_path / "other" / single.name
    twin.write_text("{}", encoding="utf-8")
    ran = noted("backtest", str(single), str(twin), "--json")
    assert (ran.exit, ran.error["code"]) == (1, "field-refused")


def test_the_name_of_the_recorded_policy_is_reserved(noted: Shell, tmp_path: Path) -> None:
    (tmp_path / "recorded.json").write_text("{}", encoding="utf-8")
    ran = noted("backtest", str(tmp_path / "recorded.json"), "--json")
    assert (ran.exit, ran.error["recovery"]) == (
        1,
        "Rename the file: in the table that name is used for what was recorded.",
    )


def test_an_unknown_policy_field_is_named_with_the_known_ones(noted: Shell, tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    file.write_text('{"half_life": 5}', encoding="utf-8")
    assert noted("policy", "adopt", str(file)).err.splitlines() == [
        "error policy-refused: no policy has a field 'half_life'",
        "Correct its name; `mnemic policy` shows every field there is.",
    ]


def test_a_recall_can_explore(noted: Shell) -> None:
    found = noted(
        *("recall", "demo", "--frame", "attention"), "--top-k", "1", "--explore", "1", "--json"
    ).document
    assert found["propensity"] == pytest.approx(1 / 3, abs=1e-9)
    assert noted("recall", "demo", "--explore", "0.5", "--no-record", "--json").exit == 1
