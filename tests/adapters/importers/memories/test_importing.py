"""An import keeps history, can be repeated, and writes nothing of a source that cannot be read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.importers import InputRefused, InputUnreadable
from mnemic.adapters.importers.memories import (
    KINDS,
    ImportReport,
    OrderedChanges,
    import_changes,
    kind_named,
    recognised,
)
from mnemic.adapters.importers.memories.changes import Options
from mnemic.adapters.importers.memories.recorded_times import ImportClock
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.timestamps import EPOCH, instant

FIXTURES = Path(__file__).parents[3] / "fixtures" / "importers"
NOW_US = 1_900_000_000_000_000


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def imported(
    store: MemoryStore, kind: str, path: Path, **mapping: str
) -> tuple[ImportReport, SyncMemory]:
    with OrderedChanges() as ordered:
        ordered.fill(kind_named(kind).read(path, Options(mapping=mapping)))
        clock = ImportClock(instant("first", ordered.first), ManualClock(NOW_US))
        memory = SyncMemory.open(store, clock=clock, actor=f"import-{kind}")
        return import_changes(memory, ordered, kind=kind, clock=clock), memory


def contents(memory: Any, **of: Any) -> set[str]:
    return {block.content for block in memory.blocks(**of).items}


def written(path: Path, *lines: Any) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def event(*given: Any) -> tuple[Any, ...]:
    number, memory, what, new, at = given
    return (str(number), memory, None, new, what, at, None, 0, None, None)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A history of mem0 that begins in 2020."""
    path = tmp_path / "history.db"
    with sqlite3.connect(path) as rows:
        rows.execute(
            "CREATE TABLE history (id, memory_id, old_memory, new_memory, event, created_at, "
            "updated_at, is_deleted, actor_id, role)"
        )
        rows.executemany(
            "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                event(1, "m1", "ADD", "Ada lives in Berlin.", "2020-01-01T00:00:00Z"),
                event(2, "m2", "ADD", "Ada drinks tea.", "2021-01-01T00:00:00Z"),
                event(3, "m1", "UPDATE", "Ada lives in Hamburg.", "2022-01-01T00:00:00Z"),
                event(4, "m2", "DELETE", None, "2023-01-01T00:00:00Z"),
            ],
        )
    rows.close()
    return path


def test_views_of_the_past_reach_back_before_mnemic(store: MemoryStore, history: Path) -> None:
    report, memory = imported(store, "mem0", history)
    with memory:
        assert (report.learned, report.revised, report.forgotten) == (2, 1, 1)
        assert (report.first_at, report.last_at) == (
            "2020-01-01T00:00:00+00:00",
            "2023-01-01T00:00:00+00:00",
        )
        for at, expected in (
            ("2020-06-01", {"Ada lives in Berlin."}),
            ("2021-06-01", {"Ada lives in Berlin.", "Ada drinks tea."}),
            ("2022-06-01", {"Ada lives in Hamburg.", "Ada drinks tea."}),
            ("2023-06-01", {"Ada lives in Hamburg."}),
        ):
            assert contents(memory.as_of(at=at), status="inbox") == expected
        assert {entry.actor for entry in memory.log(after=1)} == {"import-mem0"}


def test_a_second_import_adds_only_what_is_new(store: MemoryStore, history: Path) -> None:
    imported(store, "mem0", history)[1].close()
    with sqlite3.connect(history) as rows:
        added = event(5, "m3", "ADD", "Ada has a cat.", "2024-01-01T00:00:00Z")
        rows.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", added)
    rows.close()
    report, memory = imported(store, "mem0", history)
    with memory:
        assert (report.known, report.learned) == (4, 1)
        assert contents(memory, status="inbox") == {"Ada lives in Hamburg.", "Ada has a cat."}
    again, memory = imported(store, "mem0", history)
    with memory:
        assert (again.known, again.learned, again.version) == (5, 0, report.version)


def test_the_log_of_a_memory_in_use_does_not_go_back(store: MemoryStore, history: Path) -> None:
    in_use = ManualClock(NOW_US - 1_000_000)
    with SyncMemory.open(store, clock=in_use) as memory:
        memory.learn("a text of our own")
    _, memory = imported(store, "mem0", history)
    with memory:
        times = [entry.recorded_at for entry in memory.log()]
        assert times == sorted(times)
        assert times[-1] == (EPOCH.fromtimestamp(NOW_US / 1e6, EPOCH.tzinfo)).isoformat()
        block = next(b for b in memory.blocks().items if b.content == "Ada lives in Hamburg.")
        assert block.created_at == "2022-01-01T00:00:00+00:00"


def test_nothing_is_recorded_in_the_future(store: MemoryStore, tmp_path: Path) -> None:
    lines = [{"content": "later", "created_at": "2999-01-01"}, {"content": "never"}]
    report, memory = imported(store, "jsonl", written(tmp_path / "x.jsonl", *lines))
    with memory:
        assert (report.learned, report.in_future, report.untimed) == (2, 1, 1)
        recorded = [instant("at", entry.recorded_at) or 0 for entry in memory.log()]
        assert max(recorded) <= NOW_US


@pytest.mark.parametrize("damage", ["cut off", "table history, row"])
def test_a_damaged_database_is_refused(history: Path, damage: str) -> None:
    with sqlite3.connect(history) as rows:
        for number in range(10, 400):
            many = event(number, f"m{number}", "ADD", f"fact {number} " * 9, "2024-01-01")
            rows.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", many)
    rows.close()
    data = history.read_bytes()
    middle = len(data) // 2
    is_cut = damage == "cut off"
    history.write_bytes(
        data[:-1] if is_cut else data[:middle] + b"\xff" * 9_000 + data[middle + 9_000 :]
    )
    with OrderedChanges() as ordered, pytest.raises(InputRefused, match=damage):
        ordered.fill(kind_named("mem0").read(history, Options()))


def test_another_schema_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as rows:
        rows.execute("CREATE TABLE blocks (id, content)")
        rows.execute("CREATE TABLE block_tags (block_id, tag)")
    rows.close()
    reading = kind_named("elfmem").read(path, Options())
    with pytest.raises(InputRefused, match="no columns category, created_at, status in table"):
        list(reading)
    with pytest.raises(InputRefused, match="has no table history"):
        list(kind_named("mem0").read(path, Options()))


def test_a_cut_export_is_refused_and_names_the_item(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    whole = json.dumps([{"uuid": "u", "name": "n", "chat_messages": []}] * 3)
    path.write_text(whole[:-20])
    with pytest.raises(InputRefused, match=r"is not JSON after item [0-9]"):
        list(kind_named("claude").read(path, Options()))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_missing_file_is_refused(kind: str, tmp_path: Path) -> None:
    with pytest.raises((InputRefused, InputUnreadable)) as refused:
        list(kind_named(kind).read(tmp_path / "absent", Options()))
    assert str(tmp_path / "absent") in refused.value.message
    assert refused.value.recovery


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"memfs", "obsidian", "okf"}))
@pytest.mark.parametrize("data", [b"", b"\0\xff\xfe", b"SQLite format 3\0junk", b"[[[[", b'"x'])
def test_bytes_of_any_other_kind_are_refused_or_left(
    kind: str, data: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(data)
    with OrderedChanges() as ordered:
        with suppress(InputRefused, InputUnreadable):
            ordered.fill(kind_named(kind).read(path, Options()))
        assert len(ordered) == 0


def test_a_kind_that_is_not_known_is_refused() -> None:
    with pytest.raises(InputRefused, match="no kind of source is called 'nosuch'") as refused:
        kind_named("nosuch")
    assert "mem0, server-memory" in refused.value.recovery


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mem0/history.db", "mem0"),
        ("mem0/get_all.json", "mem0"),
        ("langgraph.db", "langgraph"),
        ("elfmem.db", "elfmem"),
        ("server-memory.jsonl", "server-memory"),
        ("make_mem0.py", None),
    ],
)
def test_files_of_a_kind_are_recognised(name: str, kind: str | None) -> None:
    found = recognised(FIXTURES / name)
    assert (None if found is None else found.name) == kind
