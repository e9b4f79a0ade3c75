"""What each kind of source becomes; the fixtures are files that the programs themselves wrote."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.importers import InputRefused
from mnemic.adapters.importers.memories import kind_named
from mnemic.adapters.importers.memories.changes import (
    Connect,
    Forget,
    Found,
    Learn,
    Left,
    Options,
    Revise,
)

FIXTURES = Path(__file__).parents[3] / "fixtures" / "importers"


def found(kind: str, path: Path, **mapping: str) -> list[Found]:
    return list(kind_named(kind).read(path, Options(mapping=mapping)))


def kinds(changes: list[Found]) -> dict[str, int]:
    return dict(Counter(type(each).__name__ for each in changes))


def said(changes: list[Found]) -> list[str]:
    return [each.lesson["content"] for each in changes if isinstance(each, Learn | Revise)]


def lines(path: Path, *given: Any) -> Path:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in given))
    return path


# --- made by the programs themselves --------------------------------------------------------------


def test_the_history_of_mem0_with_its_payloads() -> None:
    changes = found("mem0", FIXTURES / "mem0")
    assert [type(each).__name__ for each in changes] == [
        "Learn",
        "Learn",
        "Learn",
        "Revise",
        "Forget",
        "Learn",
    ]
    assert said(changes) == [
        "Ada drinks tea.",
        "Ada lives in Berlin.",
        "Ben plays chess.",
        "Ada lives in Hamburg.",
        "Ada has a cat.",
    ]
    home, game = changes[1], changes[2]
    assert isinstance(home, Learn)
    assert isinstance(game, Learn)
    assert (home.lesson["scope"], home.lesson["role"]) == ({"user": "ada"}, "user")
    assert game.lesson["scope"] == {"user": "ben", "agent": "coach"}
    times = [each.at for each in changes if not isinstance(each, Left)]
    assert None not in times
    assert times == sorted(times, key=str)


def test_what_get_all_of_mem0_returns() -> None:
    changes = found("mem0", FIXTURES / "mem0" / "get_all.json")
    assert kinds(changes) == {"Learn": 3}
    assert set(said(changes)) == {"Ada lives in Hamburg.", "Ada has a cat.", "Ben plays chess."}


def test_the_store_of_langgraph() -> None:
    changes = found("langgraph", FIXTURES / "langgraph.db")
    assert said(changes) == ["Ada drinks tea.", '{"city": "Hamburg"}', "Ben plays chess."]
    tea, _, game = (each.lesson for each in changes if isinstance(each, Learn))
    assert (tea["thread"], tea["metadata"]["key"]) == ("users.ada", "drink")
    assert tea["metadata"]["value"] == {"rating": 4}
    assert "expires_at" not in tea
    assert game["expires_at"] > game["created_at"]


def test_the_index_of_elfmem() -> None:
    changes = found("elfmem", FIXTURES / "elfmem.db")
    assert kinds(changes) == {"Learn": 4, "Forget": 1, "Connect": 1, "Left": 3}
    tea = next(each for each in changes if isinstance(each, Learn) and "tea" in str(each.lesson))
    assert tea.lesson["tags"] == ["drinks"]
    (edge,) = (each for each in changes if isinstance(each, Connect))
    assert (edge.relation, edge.note) == ("supports", "she drinks it at home")


def test_the_graph_of_server_memory() -> None:
    changes = found("server-memory", FIXTURES / "server-memory.jsonl")
    assert said(changes) == [
        "Ada (person)",
        "Ada: drinks tea",
        "Ada: lives in Hamburg",
        "Acme (company)",
        "Acme: builds bridges",
    ]
    relations = [each.relation for each in changes if isinstance(each, Connect)]
    assert relations == ["describes", "describes", "describes", "works at"]


# --- written as their schemas say -----------------------------------------------------------------


def test_malformed_lines_of_server_memory_are_left(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text('{"type":"entity","name":"A","entityType":"x","observations":[1]}\n{bad\n[]\n')
    left = [
        (each.place, each.what) for each in found("server-memory", path) if isinstance(each, Left)
    ]
    assert left == [
        ("memory.jsonl:1", "observation"),
        ("memory.jsonl:2", "line"),
        ("memory.jsonl:3", "line"),
    ]


def test_conversations_and_memories_of_claude(tmp_path: Path) -> None:
    message = {
        "uuid": "m1",
        "sender": "human",
        "text": "short",
        "content": [{"type": "text", "text": "Where is the gate?"}],
        "created_at": "2025-03-01T10:00:00Z",
    }
    empty = {"uuid": "m2", "sender": "assistant", "text": "", "content": []}
    conversation = {"uuid": "c0ffee00-1", "name": "Gate", "chat_messages": [message, empty]}
    (tmp_path / "conversations.json").write_text(json.dumps([conversation]))
    memories = {"conversations_memory": "Ada works.", "project_memories": {"p1": "It is big."}}
    (tmp_path / "memories.json").write_text(json.dumps([{**memories, "account_uuid": "a"}]))
    changes = found("claude", tmp_path)
    assert said(changes) == ["Where is the gate?", "Ada works.", "It is big."]
    assert isinstance(changes[0], Learn)
    assert changes[0].at == "2025-03-01T10:00:00+00:00"
    assert changes[0].lesson == {
        "content": "Where is the gate?",
        "category": "message",
        "thread": "Gate (c0ffee00)",
        "role": "user",
        "metadata": {"message_id": "m1"},
    }
    assert kinds(changes)["Left"] == 1


def test_hidden_messages_and_rings_of_chatgpt(tmp_path: Path) -> None:
    def node(name: str, parent: str, **about: Any) -> dict[str, Any]:
        message = {
            "id": name,
            "author": {"role": "user"},
            "content": {"parts": [f"text {name}"]},
            "create_time": 1_700_000_000,
            "metadata": about,
        }
        return {"parent": parent, "children": [], "message": message}

    hidden = {"is_visually_hidden_from_conversation": True}
    mapping = {"a": node("a", "b"), "b": node("b", "a", **hidden)}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"title": "T", "mapping": mapping, "current_node": "b"}]))
    changes = found("chatgpt", path)
    assert said(changes) == ["text a"]
    assert [each.why for each in changes if isinstance(each, Left)] == ["it is hidden"]


def test_an_agent_file_of_letta(tmp_path: Path) -> None:
    message = {"id": "x1", "role": "user", "content": [{"type": "text", "text": "Hi"}]}
    document = {
        "agents": [{"id": "agent-0", "name": "Sam", "messages": [message, {"role": "tool"}]}],
        "blocks": [{"id": "block-0", "label": "human", "value": "Name: Ada"}, {"value": ""}],
        "tools": [{"id": "tool-0"}],
    }
    path = tmp_path / "sam.af"
    path.write_text(json.dumps(document))
    changes = found("letta", path)
    assert said(changes) == ["Name: Ada", "Hi"]
    left = [each.what for each in changes if isinstance(each, Left)]
    assert left == ["memory block", "message", "tools"]


def test_commits_of_memfs_are_revisions_at_their_times(tmp_path: Path) -> None:
    def git(*arguments: str, at: str = "2024-01-01T00:00:00Z") -> None:
        names = {
            f"GIT_{who}_{what}": "ada"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at, "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(
            ["git", "-C", str(tmp_path), *arguments],  # noqa: S607
            check=True,
            capture_output=True,
            env={**os.environ, **names, **dates},
        )

    file, other = tmp_path / "pérsona.md", tmp_path / "notes.txt"
    git("init", "-q")
    for number, text in enumerate(("---\ndescription: who\n---\nAda sails.", "Ada rows."), start=1):
        file.write_text(text)
        other.write_text(text)
        git("add", "-A")
        git("commit", "-qm", f"c{number}", at=f"2024-0{number}-01T00:00:00Z")
    file.unlink()
    git("commit", "-qam", "c3", at="2024-03-01T00:00:00Z")
    changes = found("memfs", tmp_path)
    assert [type(each) for each in changes] == [Learn, Revise, Forget]
    assert [each.at for each in changes if not isinstance(each, Left | Connect)] == [
        f"2024-0{month}-01T00:00:00+00:00" for month in (1, 2, 3)
    ]
    assert said(changes) == ["Ada sails.", "Ada rows."]
    assert isinstance(changes[0], Learn)
    assert changes[0].lesson["metadata"] == {"path": "pérsona.md", "description": "who"}


def test_files_of_elfmem(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "log").mkdir()
    (tmp_path / "notes" / "a.md").write_text(
        "# Notes\n\n## Tea\n<!-- id: b1 tags: [drinks, home] created: 2025-01-01 -->\nAda drinks.\n"
        "supports:: [[b2]]\n\n## Home\n<!-- id: b2 -->\nHamburg.\n"
    )
    changes = found("elfmem", tmp_path)
    assert kinds(changes) == {"Learn": 2, "Connect": 1}
    assert isinstance(changes[0], Learn)
    assert changes[0].place == "notes/a.md:3"
    assert changes[0].lesson["tags"] == ["drinks", "home"]


def test_nodes_of_vestige_have_their_valid_time(tmp_path: Path) -> None:
    path = tmp_path / "vestige.db"
    with sqlite3.connect(path) as rows:
        rows.execute(
            "CREATE TABLE knowledge_nodes (id, content, node_type, created_at, updated_at, tags, "
            "valid_from, valid_until)"
        )
        rows.execute("CREATE TABLE memory_connections (source_id, target_id, link_type, strength)")
        rows.executemany(
            "INSERT INTO knowledge_nodes VALUES (?, ?, 'fact', '2025-01-01', NULL, ?, ?, ?)",
            [
                ("a", "Ada leads.", '["team"]', "2024-01-01", "2025-06-01"),
                ("b", "Ben.", None, None, None),
            ],
        )
        rows.execute("INSERT INTO memory_connections VALUES ('a', 'b', 'semantic', 1.5)")
    rows.close()
    lead, _, edge = found("vestige", path)
    assert isinstance(lead, Learn)
    assert lead.lesson["valid_from"] == "2024-01-01T00:00:00+00:00"
    assert lead.lesson["valid_until"] == "2025-06-01T00:00:00+00:00"
    assert isinstance(edge, Connect)
    assert edge.weight == 1.0


def test_facts_of_graphiti_end_when_their_end_was_learned(tmp_path: Path) -> None:
    fact = {
        "uuid": "f",
        "name": "LIVES_IN",
        "fact": "Ada lives in Berlin.",
        "group_id": "g",
        "source_node_uuid": "n",
        "episodes": ["e"],
        "created_at": "2024-01-01",
        "expired_at": "2024-06-01",
        "valid_at": "2023-01-01",
        "invalid_at": "2024-05-01",
    }
    path = lines(
        tmp_path / "graph.jsonl",
        {"n": {"uuid": "n", "name": "Ada", "summary": "A sailor.", "created_at": "2024-01-01"}},
        {"uuid": "e", "content": "Ada: I live in Berlin.", "created_at": "2024-01-01"},
        fact,
        {"neither": 1, "of": 2},
    )
    changes = found("graphiti", path)
    assert said(changes)[:2] == ["Ada: A sailor.", "Ada: I live in Berlin."]
    first, second = (each for each in changes if isinstance(each, Learn) and each.key == "f")
    assert (first.at, "valid_until" in first.lesson) == ("2024-01-01T00:00:00+00:00", False)
    assert second.at == "2024-06-01T00:00:00+00:00"
    assert second.lesson["valid_until"] == "2024-05-01T00:00:00+00:00"
    assert [each.relation for each in changes if isinstance(each, Connect)] == [
        "subject of",
        "supports",
    ]


def test_pages_of_a_vault_with_links_in_a_ring(tmp_path: Path) -> None:
    (tmp_path / "People").mkdir()
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "x.md").write_text("hidden")
    (tmp_path / "a folder.md").mkdir()
    (tmp_path / "People" / "Ada.md").write_text(
        "---\ntags: [crew]\ncreated: 2024-02-03\n---\nShe knows [[Ben|him]] and [[Nobody]]. #sailor"
    )
    (tmp_path / "Ben.md").write_text("He knows [Ada](People/Ada.md#top).")
    changes = found("obsidian", tmp_path)
    edges = [(each.source, each.target) for each in changes if isinstance(each, Connect)]
    assert sorted(edges) == [("Ben.md", "People/Ada.md"), ("People/Ada.md", "Ben.md")]
    ada = next(each for each in changes if isinstance(each, Learn) and each.key == "People/Ada.md")
    assert (ada.at, ada.lesson["tags"]) == ("2024-02-03T00:00:00+00:00", ["crew", "sailor"])


def test_front_matter_that_is_not_yaml_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: x\ntags: [a\n---\ntext")
    with pytest.raises(InputRefused, match=r"a\.md:[34]: the front matter is not YAML"):
        found("obsidian", tmp_path)


def test_documents_of_okf(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("- [a](a.md)")
    (tmp_path / "a.md").write_text(
        "---\ntype: metric\ntitle: Revenue\ngenerated: {by: bot, at: 2026-01-02T00:00:00Z}\n"
        "stale_after: 2026-06-01\nstatus: deprecated\nsources: [{id: s1}]\n---\nIt is booked."
    )
    (tmp_path / "b.md").write_text("no type")
    changes = found("okf", tmp_path)
    assert kinds(changes) == {"Learn": 1, "Forget": 1, "Left": 2}
    metric = next(each for each in changes if isinstance(each, Learn))
    assert metric.lesson["category"] == "metric"
    assert metric.lesson["author"] == "bot"
    assert metric.lesson["valid_until"] == "2026-06-01T00:00:00+00:00"
    assert metric.lesson["metadata"]["sources"] == [{"id": "s1"}]


def test_rows_of_csv_are_mapped(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text(
        'Text,When,tags,n\n"Ada, a sailor",2024-01-01,"a, b",7\nBen,soon,,8\nshort\n,,,9\n'
    )
    changes = found("csv", path, content="Text", created_at="When", id="n")
    assert said(changes) == ["Ada, a sailor", "Ben"]
    assert isinstance(changes[0], Learn)
    assert changes[0].key == "7"
    assert changes[0].lesson["tags"] == ["a", "b"]
    left = [(each.place, each.what) for each in changes if isinstance(each, Left)]
    assert left == [("facts.csv:3", "created_at"), ("facts.csv:4", "row"), ("facts.csv:5", "row")]


@pytest.mark.parametrize("mapping", [{}, {"content": "absent"}, {"content": "a", "nope": "a"}])
def test_a_mapping_that_does_not_fit_is_refused(mapping: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputRefused, match=r"has no|does not take") as refused:
        found("csv", path, **mapping)
    assert "--map content=COLUMN" in refused.value.recovery
