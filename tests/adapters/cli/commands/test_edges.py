"""Commands on edges: one, many, or by content."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Shell = Callable[..., Any]


def ids(shell: Shell) -> list[str]:
    return [block["id"] for block in shell("blocks", "--json").document["items"]]


@pytest.fixture
def edges(tmp_path: Path, noted: Shell) -> Path:
    """A file of five lines: two edges, one to a missing block, one not JSON, and a blank one."""
    demo, invoice, gauge = ids(noted)
    lines = (
        json.dumps({"source": demo[:8], "target": gauge, "relation": "supports", "note": "seen"}),
        "",
        json.dumps({"source": demo, "target": "deadbeef"}),
        "{no json",
        json.dumps({"source": f"[{invoice[:8]}]", "target": gauge, "weight": 0.9}),
    )
    path = tmp_path / "edges.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_file_of_edges_is_connected_and_refusals_name_their_line(
    noted: Shell, edges: Path
) -> None:
    demo, invoice, gauge = ids(noted)
    ran = noted("connects", str(edges))
    assert ran.exit == 1
    assert ran.out.splitlines() == [
        f"Created supports edge: {demo[:8]}…→{gauge[:8]}… (weight=0.75)",
        f"Created similar edge: {invoice[:8]}…→{gauge[:8]}… (weight=0.90)",
        (
            "Edges: 2 created, 2 refused (#1 block-not-found: no block has an id that begins with "
            "'deadbeef'; #2 field-refused: not an edge: '{no json')."
        ),
    ]
    assert ran.err.splitlines() == [
        "warning line 3: block-not-found: no block has an id that begins with 'deadbeef'",
        "warning line 4: field-refused: not an edge: '{no json'",
    ]


def test_the_answer_is_one_json_document_if_asked_for(noted: Shell, edges: Path) -> None:
    ran = noted("connects", str(edges), "--json")
    counts = {key: ran.document[key] for key in ("created", "reinforced", "deferred")}
    assert (ran.exit, ran.err, counts) == (1, "", {"created": 2, "reinforced": 0, "deferred": 0})
    assert [(each["position"], each["code"]) for each in ran.document["errors"]] == [
        (1, "block-not-found"),
        (2, "field-refused"),
    ]
    assert ran.document["errors"][0]["target_id"] == "deadbeef"


def test_a_dash_reads_the_edges_from_standard_input(
    noted: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo, invoice, _ = ids(noted)
    line = json.dumps({"source": demo, "target": invoice})
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{line}\n{line}\n"))
    ran = noted("connects", "-")
    assert (ran.exit, ran.out.splitlines()[-1]) == (0, "Edges: 1 created, 1 reinforced.")


@pytest.mark.parametrize(
    ("data", "said"), [(None, "cannot read"), (b'{"source": "\xff"}', "not UTF-8: byte 13")]
)
def test_a_file_that_cannot_be_read_is_named(
    noted: Shell, tmp_path: Path, data: bytes | None, said: str
) -> None:
    path = tmp_path / "bad.jsonl"
    if data is not None:
        path.write_bytes(data)
    ran = noted("connects", str(path), "--json")
    assert (ran.exit, ran.error["code"]) == (5, "input-unreadable")
    assert said in ran.error["detail"]
    assert ran.error["recovery"]


def test_two_descriptions_connect_what_they_mean_and_show_it(noted: Shell) -> None:
    demo, _, gauge = ids(noted)
    ran = noted("connect-by-query", "moved the demo", "gauge resends", "supports", "--note", "so")
    assert ran.exit == 0
    lines = ran.out.splitlines()
    assert [line.split()[:2] for line in lines[:4:2]] == [
        ["source", demo[:8]],
        ["target", gauge[:8]],
    ]
    assert [line.strip() for line in lines[1:4:2]] == [
        "Ines moved the demo to Thursday.",
        "Gauge 17 resends after 60 seconds.",
    ]
    assert lines[4] == f"Created supports edge: {demo[:8]}…→{gauge[:8]}… (weight=0.75)"


def test_a_dry_run_only_shows_them(noted: Shell) -> None:
    ran = noted("connect-by-query", "moved the demo", "gauge resends", "--dry-run")
    assert (ran.exit, ran.out.splitlines()[-1]) == (0, "Nothing was written.")
    assert noted("status", "--json").document["edges"] == 0


def test_an_uncertain_match_is_not_connected_and_exits_with_1(noted: Shell) -> None:
    ran = noted("connect-by-query", "apple pie", "gauge resends", "--json")
    assert (ran.exit, ran.document["action"]) == (1, "insufficient_confidence")
    assert ran.document["source_confidence"] < 0.3
    plain = noted("connect-by-query", "apple pie", "gauge resends", "--min-confidence", "0.9")
    assert plain.out.splitlines()[-1].startswith("Not connected: source_confidence 0.0")


def test_an_operation_is_explained_without_any_file(shell: Shell, store: Path) -> None:
    page = shell("guide", "connect-by-query")
    assert (page.exit, store.exists()) == (0, False)
    assert "USE WHEN:" in page.out
    assert shell("guide", "connect", "--json").document["name"] == "connect"
    listed = shell("guide").out.splitlines()
    assert len(listed) > 25
    unknown = shell("guide", "conect", "--json")
    assert (unknown.exit, unknown.error["code"]) == (1, "guide-unknown")
