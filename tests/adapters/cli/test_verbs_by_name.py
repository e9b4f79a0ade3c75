"""Commands that are few words around one verb."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from tests.adapters.cli.conftest import Shell


def first(shell: Shell) -> str:
    block: str = shell("blocks", "--json").document["items"][0]["id"]
    return block


def test_a_block_is_moved_to_another_zone(told: Shell) -> None:
    block = first(told)
    moved = told("rezone", block[:8], "external", "--reason", "Heard of it only.", "--json")
    assert moved.document == {"block_id": block, "zone": "external", "action": "rezoned"}
    assert told("block", block[:8], "--json").document["zone"] == "external"


def test_new_words_may_come_through_a_pipe_of_lines(told: Shell, tmp_path: Path) -> None:
    block = first(told)
    path = tmp_path / "edges.jsonl"
    path.write_text(json.dumps({"source": block[:8], "target": "00000000"}), encoding="utf-8")
    refused = told("connects", str(path), "--command-id", "mine", "--json")
    assert (refused.exit, refused.document["errors"][0]["code"]) == (1, "block-not-found")


def test_a_policy_is_adopted_and_shown_whole(told: Shell, tmp_path: Path) -> None:
    file = tmp_path / "wide.json"
    file.write_text('{"top_k": 8}', encoding="utf-8")
    adopted = told("adopt-policy", str(file), "--json").document
    assert (adopted["name"], adopted["top_k"]) == ("wide", 8)
    assert told("policy", "--json").document == adopted
    assert told("adopt-policy", str(file)).out.startswith("In force already: wide ")


def test_a_history_is_a_line_for_each_event(told: Shell) -> None:
    block = first(told)
    lines = told("history", "--of", block[:8], "--json").out.splitlines()
    assert [json.loads(line)["kind"] for line in lines][:2] == ["block-learned", "blocks-promoted"]
    assert "block-learned" in told("history", "--of", block[:8]).out


def test_a_composition_is_shown_and_those_composed_with_it(told: Shell) -> None:
    ids = [block["id"] for block in told("blocks", "--json").document["items"]]
    member = json.dumps({"block_id": ids[1][:8], "role": "related", "trust": 0.4})
    options = ("--name", "lane", "--query-hash", "f00d", "--json")
    assert told("compose", ids[0][:8], member, *options).exit == 0
    shown = told("composition", "lane", "--json").document
    assert shown == told("ledger", "lane", "--json").document
    assert shown["query_hash"] == "f00d"
    assert [(each["block_id"], each["trust"]) for each in shown["members"]] == [
        (ids[0], None),
        (ids[1], 0.4),
    ]
    beside = told("composed-with", ids[1][:8], "--json").document
    assert [each["block_id"] for each in beside["items"]] == [ids[0]]
    assert ids[0][:8] in told("composed-with", ids[1][:8]).out


@pytest.mark.parametrize("member", ["{", "[1]", '{"block_id": 5}', '{"role": "related"}'])
def test_a_member_that_is_no_object_of_a_block_is_refused(told: Shell, member: str) -> None:
    refused = told("compose", first(told), member, "--json")
    assert (refused.exit, bool(refused.error["recovery"])) == (1, True)


def test_a_label_keeps_what_is_said_besides(told: Shell) -> None:
    told("compose", first(told), "--name", "lane")
    told("label", "lane", "helpful", "--metadata", "ticket=7")
    (label,) = told("composition", "lane", "--json").document["labels"]
    assert label["metadata"] == {"ticket": 7}


def test_the_ledger_answers_as_one_tool(told: Shell, store: Path) -> None:
    block = first(told)
    told("compose", block, "--name", "lane")
    asked = ("composed-graph", "memory", "--memory-id", block[:8])
    with SyncMemory.open(store) as memory:
        answer = memory.composed_graph("memory", memory_id=block)
    assert told(*asked, "--json").document == answer
    assert json.loads(told(*asked).out) == answer
    unknown = told("composed-graph", "memory", "--memory-id", "00000000", "--json")
    assert unknown.document["events"] == []


@pytest.mark.parametrize(
    ("words", "detail"),
    [
        ((), "Missing arguments"),
        (("dance",), "Unknown composed_graph action: dance"),
        (("get",), "event_id is required for get"),
    ],
)
def test_the_tool_refuses_in_its_own_words(
    told: Shell, words: tuple[str, ...], detail: str
) -> None:
    failed = told("composed-graph", *words, "--json")
    assert (failed.exit, failed.error["detail"]) == (1, detail)


def test_verbs_of_the_library_are_known_by_their_own_names(told: Shell, tmp_path: Path) -> None:
    assert told("checkpoint", "--json").document["state"] == "valid"
    assert told("drop-checkpoints", "--json").document == {"dropped": 1}
    assert told("dream").out == "Nothing to consolidate.\n"
    asked = told("recall", "demo", "--json").document["decision_id"]
    assert told("replay-all", "--json").document["reproduced"] == 1
    file = tmp_path / "proof.json"
    file.write_text(told("receipt", asked).out, encoding="utf-8")
    assert told("verify-receipt", str(file), "--json").document["holds"] is True
    assert told("deep-reference", "demo", "--json").document["query"] == "demo"


def test_who_acts_stands_in_the_log(told: Shell) -> None:
    assert told("--actor", "ines", "learn", "Friday.").exit == 0
    (moment,) = told("log", "--limit", "1", "--json").out.splitlines()
    assert json.loads(moment)["actor"] == "ines"


def test_a_space_that_is_misspelt_gets_the_near_one(told: Shell) -> None:
    failed = told("--space", "defualt", "status", "--json")
    assert failed.error["recovery"].endswith("the file has: default. Did you mean 'default'?")
