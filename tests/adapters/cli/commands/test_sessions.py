"""Sessions over many commands: time passes from one to the next."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.conftest import Shell


@pytest.fixture
def session(shell: Shell) -> str:
    """A session that was begun."""
    started: str = shell("session", "start", "--json").document["session_id"]
    return started


def moments(shell: Shell) -> Iterator[dict[str, Any]]:
    """Yield the events of the log."""
    return map(json.loads, shell("log", "--after", "1", "--json").out.splitlines())


def test_a_started_session_is_printed_for_a_shell_and_explained_to_people(shell: Shell) -> None:
    started = shell("session", "start", "--actor", "ines")
    (session,) = shell("status", "--json").document["open_sessions"]
    assert (started.exit, started.out) == (0, f"{session}\n")
    began = f"Session {session[:8]} started at 0.00 active hours."
    assert started.err.splitlines() == [
        f"{began} Continue it with --session and --actor ines, or",
        f"export MNEMIC_SESSION={session}",
    ]


def test_commands_that_name_a_session_are_part_of_it(shell: Shell, session: str) -> None:
    named = ("--session", session)
    assert shell("learn", "Ines moved the demo.", *named).exit == 0
    assert shell("recall", "demo", *named).exit == 0
    assert shell("learn", "Said outside.").exit == 0
    assert shell("session", "end", *named).out.startswith(f"Session {session[:8]} ended at ")
    assert [(each["kind"], each["session_id"]) for each in moments(shell)] == [
        ("session-started", session),
        ("block-learned", session),
        ("embedder-adopted", session),
        ("blocks-promoted", session),
        ("recall-recorded", session),
        ("block-learned", None),
        ("blocks-promoted", session),
        ("session-ended", session),
    ]


def test_time_passes_between_the_commands_of_a_session(shell: Shell, session: str) -> None:
    named = ("--session", session)
    assert shell("learn", "Ines moved the demo.", *named).exit == 0
    assert shell("session", "end", *named, "--json").document["hour"] > 0.0


def test_the_environment_may_name_it(
    shell: Shell, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_SESSION", session)
    assert shell("learn", "Ines moved the demo.").exit == 0
    assert [each["session_id"] for each in moments(shell)] == [session, session]
    assert shell("session", "end").exit == 0


def test_files_are_ingested_in_the_session_that_is_named(
    shell: Shell, session: str, notes: Path
) -> None:
    answer = shell("ingest", str(notes), "--session", session, "--json")
    assert (answer.exit, answer.document["sessions"], answer.document["promoted"]) == (0, 0, 3)
    assert {each["session_id"] for each in moments(shell)} == {session}


def test_an_ended_session_is_refused_with_a_recovery(shell: Shell, session: str) -> None:
    assert shell("session", "end", "--session", session).exit == 0
    failed = shell("learn", "Too late.", "--session", session, "--json")
    assert (failed.exit, failed.error["code"]) == (1, "session-state")
    assert failed.error["recovery"].startswith("Leave out --session, or begin one:")
    assert shell("blocks", "--json").document["items"] == []


def test_a_shell_is_told_to_forget_the_session_that_it_has_ended(
    shell: Shell, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_SESSION", session)
    ended = shell("session", "end")
    assert ended.out.startswith(f"Session {session[:8]} ended at ")
    assert ended.err == "unset MNEMIC_SESSION\n"


@pytest.mark.parametrize("question", [("recall", "demo"), ("reference", "demo")])
def test_one_may_ask_with_an_ended_session_in_the_environment(
    shell: Shell, session: str, question: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell("learn", "Ines moved the demo.", "--session", session).exit == 0
    assert shell("session", "end", "--session", session).exit == 0
    monkeypatch.setenv("MNEMIC_SESSION", session)
    asked = shell(*question)
    assert (asked.exit, "Ines moved" in asked.out) == (0, True)
    assert asked.err.startswith(f"warning no session {session!r} is open: ")
    assert asked.err.endswith("Run `unset MNEMIC_SESSION`.\n")
    assert list(moments(shell))[-1]["session_id"] is None
    told = shell("learn", "Too late.", "--json").error
    assert (told["code"], told["recovery"][:26]) == ("session-state", "Run `unset MNEMIC_SESSION`")
    assert shell(*question, "--session", session, "--json").error["code"] == "session-state"


def test_an_empty_variable_names_no_session(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_SESSION", "")
    assert shell("learn", "Ines moved the demo.").exit == 0


def test_the_last_sessions_are_listed_with_those_that_are_open(shell: Shell, session: str) -> None:
    second = shell("session", "start", "--json").document["session_id"]
    assert shell("session", "end", "--session", session).exit == 0
    listed = shell("session", "list", "--json").document["sessions"]
    assert [(each["session_id"], each["ended"]) for each in listed] == [
        (session, True),
        (second, False),
    ]
    last = shell("session", "list", "--limit", "1").out
    assert (session[:8] in last, second[:8] in last, "not ended" in last) == (False, True, True)
    assert shell("session", "list", "--limit", "0", "--json").error["field"] == "limit"


def test_before_the_first_session_there_is_none_to_list(noted: Shell) -> None:
    assert noted("--space", "new", "learn", "Something.").exit == 0
    assert noted("--space", "new", "session", "list").out == "There was no session yet.\n"


def test_the_session_of_another_actor_is_refused(shell: Shell, session: str) -> None:
    failed = shell("learn", "Mine.", "--session", session, "--actor", "ines", "--json")
    assert (failed.exit, failed.error["code"]) == (1, "session-state")


def test_reading_commands_ignore_an_ended_session(shell: Shell, session: str) -> None:
    assert shell("session", "end", "--session", session).exit == 0
    assert shell("status", "--session", session).exit == 0


def test_ending_without_a_session_lists_the_open_ones(shell: Shell, session: str) -> None:
    failed = shell("session", "end", "--json")
    assert (failed.exit, failed.error["code"]) == (1, "session-state")
    assert failed.error["recovery"].endswith(f"open: {session}.")


def test_a_start_and_an_end_are_repeated_by_their_ids(shell: Shell) -> None:
    first = shell("session", "start", "--command-id", "begin", "--json").document
    assert shell("session", "start", "--command-id", "begin", "--json").document == first
    end = ("session", "end", "--session", first["session_id"], "--command-id", "stop", "--json")
    ended = shell(*end)
    assert (ended.exit, ended.document["action"]) == (0, "ended")
    assert shell(*end).document == ended.document
    assert [each["kind"] for each in moments(shell)] == ["session-started", "session-ended"]


def test_another_session_may_begin_though_one_is_named(shell: Shell, session: str) -> None:
    other = shell("session", "start", "--session", session, "--json").document["session_id"]
    assert set(shell("status", "--json").document["open_sessions"]) == {session, other}
