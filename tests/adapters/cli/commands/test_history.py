"""timeline, diff, revert and reembed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mnemic.adapters.cli.render.history import interval

Shell = Callable[..., Any]


def head(shell: Shell) -> int:
    version: int = shell("status", "--json").document["version"]
    return version


@pytest.fixture
def changed(noted: Shell) -> tuple[Shell, int]:
    """A store of three notes, and the version before a recall, an outcome and a revision."""
    before = head(noted)
    first = noted("recall", "When is the demo?", "--json").document
    noted("outcome", "--decision", first["decision_id"], "--signal", "1")
    noted("revise", first["block_ids"][0], "The demo is on Friday.")
    noted("consolidate")
    return noted, before


def test_a_timeline_is_drawn_with_bars(changed: tuple[Shell, int]) -> None:
    shell, _ = changed
    shown = shell("timeline", "--bins", "4")
    assert shown.exit == 0
    assert "█" in shown.out
    assert f"{head(shell) + 1} events in " in shown.out


def test_a_timeline_draws_no_empty_interval(changed: tuple[Shell, int]) -> None:
    shell, _ = changed
    bins = shell("timeline", "--bins", "200", "--json").document["bins"]
    full = [each for each in bins if each["events"]]
    assert 0 < len(full) < len(bins) == 200
    assert shell("timeline", "--bins", "200").out.count("█") >= len(full)
    drawn = [line for line in shell("timeline", "--bins", "200").out.splitlines() if "█" in line]
    assert len(drawn) == len(full)


def test_a_timeline_fits_into_a_terminal_of_eighty_columns(
    changed: tuple[Shell, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "…" not in changed[0]("timeline").out


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        (1200.0, 1250.5, "1200.00 - 1250.50"),
        (0.0, 0.004, "0.0000 - 0.0040"),
        (0.000002, 0.000004, "0.000002 - 0.000004"),
        (3.0, 3.0, "3.00 - 3.00"),
    ],
)
def test_short_intervals_are_shown_with_enough_digits(start: float, end: float, shown: str) -> None:
    assert interval(start, end) == shown


def test_a_timeline_as_json_is_that_of_the_memory(changed: tuple[Shell, int]) -> None:
    shell, _ = changed
    document = shell("timeline", "--bins", "3", "--json").document
    assert document["events"] == sum(document["kinds"].values()) == head(shell) + 1
    assert len(document["bins"]) == (3 if document["hour"] else 1)


def test_a_difference_names_what_is_new(changed: tuple[Shell, int]) -> None:
    shell, before = changed
    shown = shell("diff", str(before))
    assert shown.exit == 0
    for words in ("Learned 1", "The demo is on Friday.", "Superseded 1", "Ines moved the demo"):
        assert words in shown.out
    assert "1 decision, 1 outcome in between" in shown.out


def test_points_are_named_in_one_word(changed: tuple[Shell, int]) -> None:
    shell, before = changed
    decision = f"d{before + 1}"
    for points in ([decision], [decision, "now"], ["0h", "now"], [str(before), "2999-01-01"]):
        assert shell("diff", *points, "--json").exit == 0
    noted = shell("diff", decision, "--json").document
    assert noted["before"]["version"] == before


def test_lists_are_cut_and_say_so(noted: Shell) -> None:
    shown = noted("diff", "1", "--limit", "1")
    assert "… and 2 more" in shown.out


def test_an_empty_difference_is_reported(noted: Shell) -> None:
    assert "There are no differences." in noted("diff", "now").out


@pytest.mark.parametrize("points", [["5", "3"], ["soon"], ["d0"], ["3", "999"]])
def test_an_invalid_point_is_refused(noted: Shell, points: list[str]) -> None:
    refused = noted("diff", *points, "--json")
    assert (refused.exit, refused.error["code"]) == (
        1,
        {"5": "field-refused", "soon": "field-refused", "d0": "decision-not-found"}.get(
            points[0], "point-out-of-range"
        ),
    )


def test_a_revert_is_tried_first_and_then_done(changed: tuple[Shell, int]) -> None:
    shell, before = changed
    last = head(shell)
    tried = shell("revert", str(before + 1), str(last), "--dry-run")
    assert tried.out.startswith(f"Would revert versions {before + 1} to {last}: 1 block forgotten")
    assert head(shell) == last
    done = shell("revert", str(before + 1), str(last), "--reason", "wrong day")
    assert done.out.startswith(f"Reverted versions {before + 1} to {last}: 1 block forgotten")
    assert f"Written as version {last + 1}" in done.out
    assert "Stays, as history: 1 recall-recorded" in done.out
    first = shell("recall", "When is the demo?", "--json").document["blocks"][0]
    assert first["content"] == "Ines moved the demo to Thursday."


def test_a_revert_names_what_it_would_touch(changed: tuple[Shell, int]) -> None:
    shell, before = changed
    shown = shell("revert", str(before + 1), str(head(shell)), "--dry-run").out
    forgotten, back = shown.split("Forgotten 1\n")[1].split("Put back ")
    assert forgotten.endswith("The demo is on Friday.\n")
    assert "Ines moved the demo to Thursday." in back


def test_a_revert_shows_what_it_left(changed: tuple[Shell, int]) -> None:
    shell, before = changed
    scored = before + 2
    shown = shell("revert", str(scored), str(scored))
    assert "changed it since" in shown.out
    document = shell("revert", str(scored), str(scored), "--json").document
    assert {each["why"] for each in document["conflicts"]} == {"touched"}


def test_a_revert_out_of_range_is_refused(noted: Shell) -> None:
    refused = noted("revert", "0", "1", "--json")
    assert (refused.exit, refused.error["code"]) == (1, "point-out-of-range")


def test_the_past_has_a_timeline_too(changed: tuple[Shell, int]) -> None:
    shell, before = changed
    document = shell("as-of", "--version", str(before), "timeline", "--json").document
    assert (document["version"], document["events"]) == (before, before + 1)


def test_reembedding_with_the_model_in_force_changes_nothing(noted: Shell) -> None:
    before = head(noted)
    shown = noted("reembed", "bundled", "--json")
    assert (shown.exit, shown.document["staged"], head(noted)) == (0, 0, before)


def test_a_model_that_is_not_shipped_is_refused(noted: Shell) -> None:
    assert noted("reembed", "oracle").exit == 2
