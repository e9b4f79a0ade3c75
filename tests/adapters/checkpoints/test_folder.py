"""Files of checkpoints: names, atomic writes, and removal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import lock_descriptor

from mnemic.adapters.checkpoints.files import (
    Abandoned,
    Folder,
    destroy,
    remove,
    version_of,
)

GENESIS = bytes(range(32))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "kept", space="Ann's notes", genesis=GENESIS)


def names(folder: Folder) -> list[str]:
    return sorted(file.name for file in folder.path.iterdir())


def test_files_are_listed_newest_first(folder: Folder) -> None:
    files = [folder.write(version, [b"x"]) for version in (9, 10, 100)]
    assert folder.files() == files[::-1]
    assert [version_of(file) for file in files] == [9, 10, 100]
    assert names(folder)[0].startswith("ann-s-notes-")


def test_a_folder_that_is_not_there_is_empty(folder: Folder) -> None:
    assert (folder.files(), folder.unfinished(), folder.orphans()) == ([], [], [])
    assert not folder.path.exists()


@pytest.mark.parametrize("space", ["", "Ann's notes", "ann-s-notes", "a" * 99, "../../x", "空"])
def test_spaces_that_look_alike_as_names_stay_apart(folder: Folder, space: str) -> None:
    other = Folder(folder.path, space=space, genesis=GENESIS[::-1])
    mine, its = folder.write(3, [b"mine"]), other.write(3, [b"its"])
    assert (folder.files(), other.files()) == ([mine], [its])
    assert its.parent == folder.path
    assert other.all() == sorted([mine, its])


def test_other_files_are_ignored(folder: Folder) -> None:
    kept = folder.write(3, [b"x"])
    for name in ("notes.txt", f"{kept.name}.bak", "x.tmp", kept.name.replace("-v", "-w")):
        (folder.path / name).write_bytes(b"x")
    assert (folder.files(), folder.all()) == ([kept], [kept])
    assert (folder.unfinished(), folder.orphans()) == ([], [])


def test_writing_again_replaces(folder: Folder) -> None:
    folder.write(3, [b"first"])
    assert folder.write(3, [b"sec", b"ond"]).read_bytes() == b"second"
    assert len(names(folder)) == 1


def test_a_failed_write_leaves_nothing(folder: Folder) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"a beginning"
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        folder.write(3, pieces())
    assert names(folder) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no open file can be removed there")
def test_a_file_removed_while_being_written_is_abandoned(folder: Folder) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"a beginning"
        (unfinished,) = folder.unfinished()
        assert folder.orphans() == []  # somebody is at it
        assert destroy(unfinished)
        yield b"an end"

    with pytest.raises(Abandoned):
        folder.write(3, pieces())
    assert names(folder) == []


def test_unfinished_files_of_dead_processes_are_orphans(folder: Folder) -> None:
    kept = folder.write(3, [b"x"])
    staged_spaces = [kept.with_name(f"{kept.name}.{token}.tmp") for token in ("dead", "alive")]
    for draft in staged_spaces:
        draft.write_bytes(b"half")
    with staged_spaces[1].open("r+b") as alive:
        assert lock_descriptor(alive.fileno(), blocking=False)
        assert sorted(folder.unfinished()) == sorted(staged_spaces)
        assert folder.orphans() == [staged_spaces[0]]


def test_destroying_overwrites_the_content_of_hard_links(folder: Folder) -> None:
    kept = folder.write(3, [b"secret" * 20_000])
    other = folder.path / "other name"
    os.link(kept, other)
    assert destroy(kept)
    assert other.read_bytes() == bytes(120_000)


def test_removing_a_missing_file_succeeds(tmp_path: Path) -> None:
    assert remove(tmp_path / "nothing")
    assert destroy(tmp_path / "nothing")


def test_a_failed_removal_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a folder").mkdir()
    assert not remove(tmp_path / "a folder")
