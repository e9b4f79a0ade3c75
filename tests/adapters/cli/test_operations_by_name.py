"""Commands that are few words around one operation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from tests.adapters.cli.conftest import Shell


def first(shell: Shell) -> str:
    block: str = shell("blocks", "--json").document["items"][0]["id"]
    return block


def test_a_block_is_moved_to_another_zone(noted: Shell) -> None:
    block = first(noted)
    moved = noted("rezone", block[:8], "external", "--reason", "Heard of it only.", "--json")
    assert moved.document == {"block_id": block, "zone": "external", "action": "rezoned"}
    assert noted("block", block[:8], "--json").document["zone"] == "external"


def test_a_revised_text_may_come_from_standard_input(noted: Shell, tmp_path: Path) -> None:
    block = first(noted)
    path = tmp_path / "edges.jsonl"
    path.write_text(json.dumps({"source": block[:8], "target": "00000000"}), encoding="utf-8")
    refused = noted("connects", str(path), "--command-id", "mine", "--json")
    assert (refused.exit, refused.document["errors"][0]["code"]) == (1, "block-not-found")


def test_a_policy_is_adopted_and_shown_whole(noted: Shell, tmp_path: Path) -> None:
    file = tmp_path / "wide.json"
    file.write_text('{"top_k": 8}', encoding="utf-8")
    adopted = noted("adopt-policy", str(file), "--json").document
    assert (adopted["name"], adopted["top_k"]) == ("wide", 8)
    assert noted("policy", "--json").document == adopted
    assert noted("adopt-policy", str(file)).out.startswith("In force already: wide ")


def test_a_history_is_a_line_for_each_event(noted: Shell) -> None:
    block = first(noted)
    lines = noted("history", "--of", block[:8], "--json").out.splitlines()
    assert [json.loads(line)["kind"] for line in lines][:2] == ["block-learned", "blocks-promoted"]
    assert "block-learned" in noted("history", "--of", block[:8]).out


def test_what_a_derived_command_finds_is_printed(noted: Shell) -> None:
    decision = noted("recall", "When is the demo?", "--json").document["decision_id"]
    printed = noted("decisions").out.splitlines()
    assert printed[0].startswith(f'{decision} "When is the demo?": ')
    assert printed[-1] == "1 decision of 1."
    assert noted("subgraph", first(noted)[:8]).out.startswith(first(noted)[:8])


def test_a_composition_is_shown_and_those_composed_with_it(noted: Shell) -> None:
    ids = [block["id"] for block in noted("blocks", "--json").document["items"]]
    member = json.dumps({"block_id": ids[1][:8], "role": "related", "trust": 0.4})
    options = ("--name", "lane", "--query-hash", "f00d", "--json")
    assert noted("compose", ids[0][:8], member, *options).exit == 0
    shown = noted("composition", "lane", "--json").document
    assert shown == noted("ledger", "lane", "--json").document
    assert shown["query_hash"] == "f00d"
    assert [(each["block_id"], each["trust"]) for each in shown["members"]] == [
        (ids[0], None),
        (ids[1], 0.4),
    ]
    beside = noted("composed-with", ids[1][:8], "--json").document
    assert [each["block_id"] for each in beside["items"]] == [ids[0]]
    assert ids[0][:8] in noted("composed-with", ids[1][:8]).out


@pytest.mark.parametrize("member", ["{", "[1]", '{"block_id": 5}', '{"role": "related"}'])
def test_a_member_that_is_no_object_of_a_block_is_refused(noted: Shell, member: str) -> None:
    refused = noted("compose", first(noted), member, "--json")
    assert (refused.exit, bool(refused.error["recovery"])) == (1, True)


def test_a_label_keeps_its_notes_and_metadata(noted: Shell) -> None:
    noted("compose", first(noted), "--name", "lane")
    noted("label", "lane", "helpful", "--metadata", "ticket=7")
    (label,) = noted("composition", "lane", "--json").document["labels"]
    assert label["metadata"] == {"ticket": 7}


def test_the_ledger_answers_as_one_tool(noted: Shell, store: Path) -> None:
    block = first(noted)
    noted("compose", block, "--name", "lane")
    asked = ("composed-graph", "memory", "--memory-id", block[:8])
    with SyncMemory.open(store) as memory:
        answer = memory.composed_graph("memory", memory_id=block)
    assert noted(*asked, "--json").document == answer
    assert json.loads(noted(*asked).out) == answer
    unknown = noted("composed-graph", "memory", "--memory-id", "00000000", "--json")
    assert unknown.document["events"] == []


@pytest.mark.parametrize(
    ("words", "detail"),
    [
        ((), "Missing arguments"),
        (("dance",), "Unknown composed_graph action: dance"),
        (("get",), "event_id is required for get"),
    ],
)
def test_composed_graph_refuses_with_its_own_messages(
    noted: Shell, words: tuple[str, ...], detail: str
) -> None:
    failed = noted("composed-graph", *words, "--json")
    assert (failed.exit, failed.error["detail"]) == (1, detail)


def test_operations_of_the_library_are_known_by_their_own_names(
    noted: Shell, tmp_path: Path
) -> None:
    assert noted("checkpoint", "--json").document["state"] == "valid"
    assert noted("drop-checkpoints", "--json").document == {"dropped": 1}
    assert noted("dream").out == "Nothing to consolidate.\n"
    asked = noted("recall", "demo", "--json").document["decision_id"]
    assert noted("replay-all", "--json").document["reproduced"] == 1
    file = tmp_path / "proof.json"
    file.write_text(noted("receipt", asked).out, encoding="utf-8")
    assert noted("verify-receipt", str(file), "--json").document["holds"] is True
    assert noted("deep-reference", "demo", "--json").document["query"] == "demo"


def test_the_actor_is_in_the_log(noted: Shell) -> None:
    assert noted("--actor", "ines", "learn", "Friday.").exit == 0
    (moment,) = noted("log", "--limit", "1", "--json").out.splitlines()
    assert json.loads(moment)["actor"] == "ines"


def test_a_misspelt_space_gets_a_suggestion(noted: Shell) -> None:
    failed = noted("--space", "defualt", "status", "--json")
    assert failed.error["recovery"].endswith("the file has: default. Did you mean 'default'?")
