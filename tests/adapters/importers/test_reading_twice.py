"""A file that is read again, or has grown, teaches nothing twice; what was said twice was."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.importers import read
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore

DATED = """\
[2024-03-01, 10:15] Ann: yes
[2024-03-01, 10:16] Bo: yes
[2024-03-01, 10:16] Ann: yes
[2024-03-02, 09:00] Ann: bye: for now
"""
NAMES = "Ann: yes\nBo: well\nAnn: yes\nBo: bye\nAnn: bye\n"
TURNS = [{"role": "user", "content": "yes"}, {"role": "assistant", "content": "no"}] * 2
NAMED = [{**turn, "id": f"m{number}"} for number, turn in enumerate(TURNS)]
TALK = {
    "conversations": [
        {
            "id": "c1",
            "turns": [{"speaker": "Ann", "text": "yes", "session": n} for n in (1, 2, 1, 1)],
        }
    ]
}
MARKDOWN = "# Gate\n\nIt opens at six.\n\n# Lamp\n\nIt is lit at nine.\n"
LINES = [
    {"content": "the gate is open"},
    {"content": "yes", "category": "message", "thread": "t"},
    {"content": "yes", "category": "message", "thread": "t"},
    {"content": "the gate is open"},
]

FILES: dict[str, tuple[str, str, int]] = {
    "a dated chat": ("chat.txt", DATED, 4),
    "an undated chat": ("chat.txt", NAMES, 5),
    "messages": ("chat.json", json.dumps(TURNS), 4),
    "messages with ids": ("chat.json", json.dumps(NAMED), 4),
    "a conversation that goes back to a session": ("talk.json", json.dumps(TALK), 4),
    "Markdown": ("notes.md", MARKDOWN, 2),
    "text": ("notes.txt", "The gate opens at six.\n\nThe lamp is lit at nine.\n", 1),
    "lines": ("notes.jsonl", "\n".join(map(json.dumps, LINES)), 3),
}
"""A file name, what the file holds, and how many blocks there are in it."""


@pytest.fixture
def memory() -> Generator[SyncMemory]:
    with SyncMemory.open(MemoryStore(), embedder=HashEmbedder()) as opened:
        yield opened


def learned(memory: SyncMemory, path: Path) -> Counter[str]:
    """Learn a file, and return how many of its items had which result."""
    actions: Counter[str] = Counter()
    for sitting in read(path):
        items = [item.lesson for item in sitting.items if item.lesson is not None]
        batch = memory.learn_many(items)
        assert batch.refused == ()
        actions.update(each.action for each in batch.results)
    return actions


@pytest.mark.parametrize(("name", "text", "blocks"), FILES.values(), ids=FILES.keys())
def test_a_file_read_twice_teaches_nothing_twice(
    memory: SyncMemory, tmp_path: Path, *, name: str, text: str, blocks: int
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    first = learned(memory, path)
    assert (first["created"], memory.status().inbox) == (blocks, blocks)
    memory.consolidate()
    active = memory.status().active
    again = learned(memory, path)
    assert (again["created"], again["reactivated"]) == (0, 0)
    assert again.total() == first.total()
    assert (memory.status().inbox, memory.status().active) == (0, active)


@pytest.mark.parametrize("text", [DATED, NAMES])
def test_of_a_chat_that_has_grown_only_the_end_is_learned(
    memory: SyncMemory, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "chat.txt"
    *said, _ = text.splitlines(keepends=True)
    path.write_text("".join(said), encoding="utf-8")
    assert learned(memory, path) == {"created": len(said)}
    version = memory.status().version
    path.write_text(text, encoding="utf-8")
    assert learned(memory, path) == {"created": 1, "duplicate": len(said)}
    assert memory.status().version == version + 1


def test_the_same_messages_of_another_chat_are_other_messages(
    memory: SyncMemory, tmp_path: Path
) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text(DATED, encoding="utf-8")
        assert learned(memory, tmp_path / name) == {"created": 4}
