"""Plain dumps: Markdown, JSON lines and CSV, of a memory and of a view, sync and async."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import Memory, SyncMemory, dumps
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import FieldRefused
from mnemic.specs.strategies.vectors import PlaneEmbedder

TEXTS = {
    "gate": "# The gate\n- opens at *six*, [not] <b>seven</b>",
    "mail": '=cmd(), said the mail; "urgent"',
    "tea": "Tomasz prefers tea",
}


@pytest.fixture
def memory() -> Iterator[SyncMemory]:
    with SyncMemory.open(MemoryStore(), embedder=PlaneEmbedder()) as memory:
        memory.learn(TEXTS["gate"], tags=["gate", "a/b"], author="Ines", metadata={"lane": 3})
        memory.learn(TEXTS["mail"], source="mail", zone="untrusted", author="Ines Roth")
        memory.consolidate()
        memory.forget(memory.learn(TEXTS["tea"]).block_id)
        yield memory


def test_markdown_shows_every_text_and_no_text_is_markup(memory: SyncMemory) -> None:
    gate, mail, tea = (block.id[:8] for block in memory.blocks())
    day = str(memory.block(gate).created_at)[:10]
    assert memory.to_markdown() == (
        "## Active\n\n"
        "- \\# The gate  \n"
        "  \\- opens at *six*, \\[not] \\<b>seven\\</b>  \n"
        f"  [{gate}, by Ines, {day}] category knowledge, tags a/b gate\n"
        '- \\=cmd(), said the mail; "urgent"  \n'
        f'  [{mail} untrusted, written by agent, claims "Ines Roth", {day}] category knowledge\n'
        "\n## Archived\n\n"
        "- Tomasz prefers tea  \n"
        f"  [{tea}, {day}] category knowledge\n"
    )


def test_json_lines_hold_every_field(memory: SyncMemory) -> None:
    lines = [json.loads(line) for line in memory.to_jsonl().splitlines()]
    assert lines == [block.to_dict() for block in memory.blocks()]


def test_no_text_ends_a_line_of_json(memory: SyncMemory) -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive\x1esix"
    memory.learn(text)
    lines = [json.loads(line) for line in memory.to_jsonl().splitlines()]
    assert text in [line["content"] for line in lines]


def test_csv_gives_back_the_texts(memory: SyncMemory) -> None:
    rows = list(csv.DictReader(StringIO(memory.to_csv())))
    assert [row["content"] for row in rows] == list(TEXTS.values())
    assert (json.loads(rows[0]["tags"]), json.loads(rows[0]["metadata"])) == (
        ["a/b", "gate"],
        {"lane": 3},
    )
    assert [row["status"] for row in rows] == ["active", "active", "archived"]


def test_a_dump_takes_the_filters_of_blocks(memory: SyncMemory) -> None:
    assert len(memory.to_jsonl(status="active").splitlines()) == 2
    assert len(memory.to_jsonl(author="Ines").splitlines()) == 1
    with pytest.raises(FieldRefused):
        memory.to_jsonl(status="asleep")
    with pytest.raises(FieldRefused, match="a dump knows no argument 'limit'"):
        memory.to_csv(limit=3)  # type: ignore[call-arg]


def test_a_view_is_dumped_as_it_was(memory: SyncMemory) -> None:
    before = memory.to_jsonl()
    view = memory.as_of(version=memory.status().version)
    memory.learn("something new")
    assert view.to_jsonl() == before != memory.to_jsonl()


def test_erased_texts_are_named_as_such(memory: SyncMemory) -> None:
    (tea,) = memory.blocks(status="archived")
    memory.erase(tea.id)
    assert "- (erased)  \n" in memory.to_markdown(status="archived")


@pytest.mark.parametrize("page", [1, 2, 3])
def test_a_dump_reads_page_after_page(
    memory: SyncMemory, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    whole = memory.to_jsonl()
    monkeypatch.setattr(dumps, "PAGE", page)
    assert memory.to_jsonl() == whole


@pytest.mark.anyio
async def test_an_async_memory_and_its_views_dump_the_same(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with SyncMemory.open(path, embedder=PlaneEmbedder()) as memory:
        memory.learn(TEXTS["gate"])
        wanted = [memory.to_markdown(), memory.to_jsonl(), memory.to_csv()]
    async with Memory.open(path, embedder=PlaneEmbedder()) as other:
        for source in (other, await other.as_of(version=(await other.status()).version)):
            calls: list[Callable[[], Any]] = [source.to_markdown, source.to_jsonl, source.to_csv]
            assert [await call() for call in calls] == wanted


def test_a_view_prints_what_it_is(memory: SyncMemory) -> None:
    entry = memory.log(limit=3)[2]
    assert repr(memory.as_of(version=2)) == (
        f"<SyncView of 'default' as of version 2, recorded {entry.recorded_at[:19]} UTC, "
        "0.00 active hours>"
    )
