"""Ingestion of whole files: what is learned, refused, and reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Shell = Callable[..., Any]

FIELDS = ("id", "session", "at", "speaker", "text")
TURNS = (
    ("D1:1", 1, "2023-05-08T13:56:00", "Ada", "Hello."),
    ("D1:2", 1, "2023-05-08T13:57:00", "Bo", "I sold the boat."),
    ("D2:1", 2, "2023-06-01T08:00:00", "Ada", "A new boat?"),
)
TALK = {
    "conversations": [
        {"id": "c1", "turns": [dict(zip(FIELDS, turn, strict=True)) for turn in TURNS]},
        {"id": "c2", "turns": [{"id": "D1:1", "session": 1, "speaker": "Cy", "text": "Undated."}]},
    ]
}


def talk(tmp_path: Path) -> str:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(TALK, indent=1), encoding="utf-8")
    return str(path)


def lines(tmp_path: Path, *rows: str) -> str:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8", errors="surrogateescape")
    return str(path)


def test_lines_are_learned_and_promoted_in_one_session(shell: Shell, notes: Path) -> None:
    noted = shell("ingest", str(notes), "--json")
    assert (noted.exit, noted.err) == (0, "")
    counts = ("files", "sessions", "created", "promoted", "refused")
    assert [noted.document[key] for key in counts] == [1, 1, 3, 3, []]
    status = shell("status", "--json").document
    assert (status["active"], status["inbox"], status["open_sessions"]) == (3, 0, [])


def test_the_same_file_again_is_known_already(noted: Shell, notes: Path) -> None:
    again = noted("ingest", str(notes))
    assert (again.exit, again.out) == (0, "Learned in 1 session: 3 known already.\n")


def test_without_a_session_learning_takes_no_active_time(shell: Shell, notes: Path) -> None:
    noted = shell("ingest", str(notes), "--no-session", "--json").document
    assert (noted["sessions"], noted["promoted"], noted["hour"]) == (0, 3, 0.0)


def test_without_consolidation_everything_waits_in_the_inbox(shell: Shell, notes: Path) -> None:
    assert shell("ingest", str(notes), "--no-consolidate", "--json").document["promoted"] == 0
    assert shell("status", "--json").document["inbox"] == 3


def test_a_conversation_becomes_one_message_per_turn(shell: Shell, tmp_path: Path) -> None:
    noted = shell("ingest", talk(tmp_path), "--conversation", "c1", "--json").document
    assert (noted["sessions"], noted["created"]) == (2, 3)
    keys = ("content", "category", "author", "thread", "created_at", "metadata", "zone")
    block = shell("blocks", "--author", "Bo", "--json").document["items"][0]
    assert {key: block[key] for key in keys} == {
        "content": "I sold the boat.",
        "category": "message",
        "author": "Bo",
        "thread": "c1/1",
        "created_at": "2023-05-08T13:57:00+00:00",
        "metadata": {"turn": "D1:2"},
        "zone": "imported",
    }


def test_all_conversations_are_learned_if_none_is_named(shell: Shell, tmp_path: Path) -> None:
    noted = shell("ingest", talk(tmp_path), "--json").document
    assert (noted["sessions"], noted["created"]) == (3, 4)


def test_a_conversation_that_is_not_there_is_refused_before_anything_is_made(
    shell: Shell, store: Path, tmp_path: Path
) -> None:
    noted = shell("ingest", talk(tmp_path), "--conversation", "c9", "--json")
    assert (noted.exit, noted.error["code"]) == (1, "input-refused")
    assert noted.error["recovery"] == "Choose from c1, c2."
    assert not store.exists()


def test_a_line_that_cannot_be_learned_is_reported_and_the_others_are_learned(
    shell: Shell, tmp_path: Path
) -> None:
    rows = lines(
        tmp_path,
        '{"content": "A good one."}',
        "not json",
        '{"content": "  "}',
        "",
        '{"content": "Tagged.", "tags": 5}',
        '{"content": "Strange.", "colour": "red"}',
        '{"content": "\udcff"}',
        "[1]",
        '{"tags": []}',
        '{"content": "Another good one."}',
    )
    noted = shell("ingest", rows, "--json")
    assert noted.exit == 1
    assert noted.document["created"] == 2
    assert [(each["place"], each["code"]) for each in noted.document["refused"]] == [
        (f"{rows}:2", "input-refused"),
        (f"{rows}:3", "content-empty"),
        (f"{rows}:5", "tags-refused"),
        (f"{rows}:6", "input-refused"),
        (f"{rows}:7", "input-refused"),
        (f"{rows}:8", "input-refused"),
        (f"{rows}:9", "input-refused"),
    ]


def test_refusals_read_as_file_line_and_reason(shell: Shell, tmp_path: Path) -> None:
    rows = lines(tmp_path, '{"content": "A good one."}', '{"content": ""}')
    noted = " ".join(shell("ingest", rows).out.split())
    assert "rows.jsonl:2 content-empty: content is empty: ''" in noted
    assert noted.endswith("Learned in 1 session: 1 new, 1 refused. Consolidated: 1 promoted.")


def test_a_date_that_cannot_be_read_counts_as_unknown(shell: Shell, tmp_path: Path) -> None:
    rows = lines(
        tmp_path,
        '{"content": "Once.", "created_at": "long ago"}',
        '{"content": "Then.", "created_at": 17}',
        '{"content": "Dated.", "created_at": "2026-04-01"}',
    )
    noted = shell("ingest", rows, "--json")
    assert (noted.exit, noted.document["created"], noted.document["undated"]) == (0, 3, 2)
    dates = [block["created_at"] for block in shell("blocks", "--json").document["items"]]
    assert dates == [None, None, "2026-04-01T00:00:00+00:00"]


def test_a_file_that_is_not_there_leaves_no_store_behind(shell: Shell, store: Path) -> None:
    noted = shell("ingest", "nowhere.jsonl", "--json")
    assert (noted.exit, noted.error["code"]) == (5, "input-unreadable")
    assert not store.exists()


def test_no_file_at_all_is_refused(shell: Shell) -> None:
    assert shell("ingest", "--json").exit == 1
