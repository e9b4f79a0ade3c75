"""Unfinished files are in temporary folders, and those of killed processes are removed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mnemic.adapters.files import temporary_folders
from mnemic.adapters.files.atomic_files import appearing
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import StoreBusy


def left_by_the_dead(parent: Path, name: str) -> Path:
    """Make what a killed process leaves: a folder with text in it and no lock."""
    folder = parent / name
    folder.mkdir()
    (folder / temporary_folders.LOCK).touch()
    (folder / "log.ndjson").write_text("words", encoding="utf-8")
    return folder


def test_a_temporary_folder_is_private_and_removed_after_the_block(tmp_path: Path) -> None:
    with temporary_folders.aside(tmp_path / "a.db") as folder:
        assert (folder.parent, folder.stat().st_mode & 0o777) == (tmp_path, 0o700)
        assert temporary_folders.leftovers(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_the_next_export_removes_what_a_killed_one_left(memory: SyncMemory, tmp_path: Path) -> None:
    dead = left_by_the_dead(tmp_path, ".log.ndjson.x1.mnemic-part")
    assert temporary_folders.leftovers(tmp_path) == [dead]
    memory.export(tmp_path / "other.ndjson")
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == ["other.ndjson", "other.ndjson.vectors"]


def test_the_next_fork_removes_what_a_killed_one_left(memory: SyncMemory, tmp_path: Path) -> None:
    left_by_the_dead(tmp_path, ".copy.db.x1.mnemic-part")
    memory.fork("copy", into=tmp_path / "copy.db")
    assert [each.name for each in tmp_path.iterdir()] == ["copy.db"]


def test_folders_in_use_or_resumable_are_not_swept(tmp_path: Path) -> None:
    stays = left_by_the_dead(tmp_path, ".b.db.mnemic-migration")
    with appearing(tmp_path / "a") as outs:
        temporary_folders.sweep(tmp_path)
        outs[0].write(b"whole")
    assert sorted(tmp_path.iterdir()) == [stays, tmp_path / "a"]
    assert temporary_folders.leftovers(tmp_path) == [stays]


def test_similarly_named_folders_are_not_swept(tmp_path: Path) -> None:
    (tmp_path / ".a.mnemic-part").write_text("a file", encoding="utf-8")
    (tmp_path / ".b.mnemic-part").mkdir()
    before = sorted(tmp_path.iterdir())
    temporary_folders.sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == before
    temporary_folders.sweep(tmp_path / "nowhere")


def test_a_resumable_copy_has_one_writer_and_survives_failure(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with (
        pytest.raises(StoreBusy),
        temporary_folders.resumable(path),
        temporary_folders.resumable(path),
    ):
        pass
    assert temporary_folders.leftovers(tmp_path) == [temporary_folders.unfinished(path)]
    with temporary_folders.resumable(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_just_made_is_not_taken_for_abandoned(tmp_path: Path) -> None:
    def make(name: str) -> int:
        whole = 0
        for number in range(100):
            with temporary_folders.aside(tmp_path / f"{name}-{number}") as folder:
                (folder / "draft").write_bytes(b"whole")
                whole += (folder / "draft").read_bytes() == b"whole"
        return whole

    with ThreadPoolExecutor(4) as makers:
        assert list(makers.map(make, "abcd")) == [100] * 4
    assert list(tmp_path.iterdir()) == []
