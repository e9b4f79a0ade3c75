"""The kinds of sources: what each is called, read by and mapped to, and how one is recognised."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

from mnemic.adapters.importers.memories.changes import Reader
from mnemic.adapters.importers.memories.readers import (
    chats,
    elfmem,
    graphiti,
    langgraph,
    letta,
    mapped,
    markdown_folders,
    mem0,
    server_memory,
    vestige,
)
from mnemic.adapters.importers.memories.tables import table_columns
from mnemic.adapters.importers.parsed_items import InputRefused

_HEAD: Final = 65_536
"""Bytes of a file by which it is recognised."""


@frozen(kw_only=True)
class Kind:
    """One kind of source."""

    name: str
    what: str
    """What to name, in a phrase."""
    mapped: str
    """What becomes of it, in a sentence."""
    read: Reader


_KINDS: Final = (
    Kind(
        name="mem0",
        what="history.db, the JSON of get_all(), or a folder with both",
        mapped="ADD, UPDATE and DELETE become learn, revise and forget, at their times.",
        read=mem0.read,
    ),
    Kind(
        name="server-memory",
        what="memory.jsonl of the MCP server memory",
        mapped="Entities and observations become blocks, relations edges.",
        read=server_memory.read,
    ),
    Kind(
        name="langgraph",
        what="the SQLite file of a SqliteStore",
        mapped="Items become blocks, with namespace and key as metadata.",
        read=langgraph.read,
    ),
    Kind(
        name="letta",
        what="an agent file (.af)",
        mapped="Memory blocks and messages become blocks.",
        read=letta.read_agent_file,
    ),
    Kind(
        name="memfs",
        what="a git repository of Markdown",
        mapped="A file becomes a block, each commit a revision at its time.",
        read=letta.read_memfs,
    ),
    Kind(
        name="claude",
        what="conversations.json or memories.json, or the folder with both",
        mapped="Messages become blocks at their times.",
        read=chats.read_claude,
    ),
    Kind(
        name="chatgpt",
        what="conversations.json, or its folder",
        mapped="Messages that are shown become blocks at their times.",
        read=chats.read_chatgpt,
    ),
    Kind(
        name="elfmem",
        what="its .db file, or the folder of its files",
        mapped="Blocks with tags and confidence, edges with weight; archived ones are forgotten.",
        read=elfmem.read,
    ),
    Kind(
        name="vestige",
        what="its SQLite file",
        mapped="Nodes become blocks with their valid time, connections edges.",
        read=vestige.read,
    ),
    Kind(
        name="graphiti",
        what="nodes and edges as JSON lines",
        mapped="Episodes, entities and facts become blocks; facts have their valid time.",
        read=graphiti.read,
    ),
    Kind(
        name="obsidian",
        what="the folder of a vault",
        mapped="Pages become blocks, links edges.",
        read=markdown_folders.read_obsidian,
    ),
    Kind(
        name="okf",
        what="the folder of a bundle of the Open Knowledge Format",
        mapped="Documents become blocks with their type, links edges.",
        read=markdown_folders.read_okf,
    ),
    Kind(
        name="csv",
        what="a CSV file, with --map content=COLUMN",
        mapped="Rows become blocks.",
        read=mapped.read_csv,
    ),
    Kind(
        name="jsonl",
        what="JSON lines, with --map content=KEY",
        mapped="Objects become blocks.",
        read=mapped.read_jsonl,
    ),
)
KINDS: Final[Mapping[str, Kind]] = {kind.name: kind for kind in _KINDS}


def kind_named(name: str) -> Kind:
    """Return the kind called *name*.

    Raises:
        InputRefused: There is none.
    """
    if name not in KINDS:
        raise InputRefused(
            f"no kind of source is called {name!r:.80}",
            recovery=f"Choose from {', '.join(KINDS)}.",
        )
    return KINDS[name]


def recognised(path: Path) -> Kind | None:
    """Return the kind that a file or folder is of; None if it is none that ``ingest`` cannot read.

    Plain CSV and JSON lines, vaults and exports of ChatGPT are not recognised: ``ingest`` reads
    these, or they cannot be told from other files.
    """
    if path.is_dir():
        return KINDS["elfmem"] if (path / "notes").is_dir() and (path / "log").is_dir() else None
    known = table_columns(path) if path.is_file() else {}
    by_table = {
        "history": ("mem0", {"memory_id", "old_memory", "new_memory", "event"}),
        "store": ("langgraph", {"prefix", "key", "value"}),
        "blocks": ("elfmem", {"content", "status", "reinforcement_count"}),
        "knowledge_nodes": ("vestige", {"content", "node_type"}),
    }
    for table, (name, columns) in by_table.items():
        if columns <= known.get(table, frozenset()):
            return KINDS[name]
    if path.suffix.lower() == ".af":
        return KINDS["letta"]
    return None if known or not path.is_file() else _by_text(path)


def _by_text(path: Path) -> Kind | None:
    with path.open("rb") as file:
        head = file.read(_HEAD)
    first = head.lstrip().split(b"\n", 1)[0]
    for name, fits in _LINES.items():
        try:
            line = json.loads(first)
        except (ValueError, RecursionError):
            break
        if isinstance(line, dict) and fits(line):
            return KINDS[name]
    beginning = b"".join(head[:4096].split())
    if beginning.startswith(b'{"results":[') and b'"memory":' in beginning:
        return KINDS["mem0"]
    if beginning.startswith(b"[{") and b'"chat_messages":' in head:
        return KINDS["claude"]
    if beginning.startswith(b"[{") and b'"conversations_memory":' in head:
        return KINDS["claude"]
    return None


_LINES: Final[Mapping[str, Callable[[Mapping[str, object]], bool]]] = {
    "server-memory": lambda line: (
        line.get("type") in {"entity", "relation"}
        and not {"entityType", "relationType"}.isdisjoint(line)
    ),
    "graphiti": lambda line: "uuid" in line and "group_id" in line,
}
"""By kind, whether the first line of a file of JSON lines is of it."""
