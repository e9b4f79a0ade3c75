"""import_space: an identical space, or nothing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.http.settings import Settings
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.transfer.exports.importing import IMPORT_BYTES_MAX
from mnemic.adapters.transfer.exports.writer import vectors_path
from mnemic.kernel.errors import (
    ExportCorrupt,
    FieldRefused,
    SpaceExists,
    StoreFailed,
)
from mnemic.kernel.ports import Store
from tests.adapters.transfer.conftest import Open


def contents(store: Store, space: str = "default") -> list[object]:
    """Return all records and payloads of a space."""
    return list(store.log(space, create=False).read())


@pytest.mark.parametrize("name", ["new.db", "old.db"])
def test_an_import_may_go_into_a_new_file_or_an_existing_store(
    exported: Path, store: MemoryStore, opened: Open, name: str
) -> None:
    opened(exported.with_name("old.db"), space="another").close()
    SyncMemory.import_space(exported, exported.with_name(name))
    with closing(SQLiteStore(exported.with_name(name), read_only=True)) as target:
        assert contents(target) == contents(store)


def test_an_imported_space_continues_as_the_original_would(exported: Path, opened: Open) -> None:
    target = MemoryStore()
    SyncMemory.import_space(exported, target, space="elsewhere")
    copy, original = opened(target, space="elsewhere"), opened()
    asked = "when does the gate open"
    assert copy.recall(asked, record=False).digest == original.recall(asked, record=False).digest
    copy.learn("a new day")
    assert copy.verify().sound
    assert original.status().version == copy.status().version - 1


def test_a_space_that_has_events_is_not_overwritten(exported: Path, store: MemoryStore) -> None:
    before = contents(store)
    with pytest.raises(SpaceExists) as caught:
        SyncMemory.import_space(exported, store)
    assert caught.value.facts == {"space": "default", "version": len(before) - 1}
    assert contents(store) == before


def test_an_export_without_text_cannot_be_imported(memory: SyncMemory, tmp_path: Path) -> None:
    memory.export(tmp_path / "bare.ndjson", words=False)
    with pytest.raises(FieldRefused, match="without text"):
        SyncMemory.import_space(tmp_path / "bare.ndjson", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("into", [3, None, object()])
def test_an_invalid_target_is_refused(exported: Path, into: object) -> None:
    with pytest.raises(FieldRefused):
        SyncMemory.import_space(exported, into)  # type: ignore[arg-type]


def test_a_missing_file_is_refused(exported: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreFailed):
        SyncMemory.import_space(tmp_path / "nothing.ndjson", MemoryStore())
    with pytest.raises(StoreFailed):
        SyncMemory.import_space(exported, tmp_path / "nowhere" / "new.db")


def test_progress_counts_both_passes(exported: Path, memory: SyncMemory) -> None:
    seen: list[tuple[int, int]] = []
    SyncMemory.import_space(exported, MemoryStore(), progress=lambda *at: seen.append(at))
    looks = 2 * (memory.status().version + 1)
    assert seen[-1] == (looks, looks)
    assert seen == sorted(seen)


def test_nothing_is_written_from_a_damaged_export(exported: Path, tmp_path: Path) -> None:
    vectors_path(exported).write_bytes(vectors_path(exported).read_bytes()[:-1])
    target = MemoryStore()
    for into in (target, tmp_path / "new.db"):
        with pytest.raises(ExportCorrupt):
            SyncMemory.import_space(exported, into)
    assert (target.spaces(), (tmp_path / "new.db").exists()) == ((), False)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_one_limit_holds_for_the_size_of_every_import(exported: Path, tmp_path: Path) -> None:
    with exported.open("r+b") as lines:
        lines.truncate(IMPORT_BYTES_MAX + 1)  # a file with a hole, which takes no space
    with pytest.raises(FieldRefused) as caught:
        SyncMemory.import_space(exported, tmp_path / "copy.db")
    assert caught.value.facts["limit_bytes"] == IMPORT_BYTES_MAX == Settings().import_max_bytes
    assert not (tmp_path / "copy.db").exists()
