"""What is in the making stands aside, and what a killed maker left goes with the next one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mnemic.adapters.exchange import asides
from mnemic.adapters.exchange.files import appearing
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import StoreBusy


def left_by_the_dead(parent: Path, name: str) -> Path:
    """Make what a killed maker leaves: a folder with words in it that nobody has locked."""
    folder = parent / name
    folder.mkdir()
    (folder / asides.LOCK).touch()
    (folder / "log.ndjson").write_text("words", encoding="utf-8")
    return folder


def test_a_folder_aside_is_its_owners_alone_and_goes_with_the_block(tmp_path: Path) -> None:
    with asides.aside(tmp_path / "a.db") as folder:
        assert (folder.parent, folder.stat().st_mode & 0o777) == (tmp_path, 0o700)
        assert asides.leftovers(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_export_left_goes_with_the_next(memory: SyncMemory, tmp_path: Path) -> None:
    dead = left_by_the_dead(tmp_path, ".log.ndjson.x1.mnemic-part")
    assert asides.leftovers(tmp_path) == [dead]
    memory.export(tmp_path / "other.ndjson")
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == ["other.ndjson", "other.ndjson.vectors"]


def test_what_a_killed_fork_into_a_file_left_goes_with_the_next(
    memory: SyncMemory, tmp_path: Path
) -> None:
    left_by_the_dead(tmp_path, ".copy.db.x1.mnemic-part")
    memory.fork("copy", into=tmp_path / "copy.db")
    assert [each.name for each in tmp_path.iterdir()] == ["copy.db"]


def test_nobody_sweeps_what_is_being_written_or_can_be_gone_on_with(tmp_path: Path) -> None:
    stays = left_by_the_dead(tmp_path, ".b.db.mnemic-migration")
    with appearing(tmp_path / "a") as outs:
        asides.sweep(tmp_path)
        outs[0].write(b"whole")
    assert sorted(tmp_path.iterdir()) == [stays, tmp_path / "a"]
    assert asides.leftovers(tmp_path) == [stays]


def test_nobody_sweeps_what_others_named_likewise(tmp_path: Path) -> None:
    (tmp_path / ".a.mnemic-part").write_text("a file", encoding="utf-8")
    (tmp_path / ".b.mnemic-part").mkdir()
    before = sorted(tmp_path.iterdir())
    asides.sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == before
    asides.sweep(tmp_path / "nowhere")


def test_two_cannot_go_on_with_one_copy_and_a_failed_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(StoreBusy), asides.resumable(path), asides.resumable(path):
        pass
    assert asides.leftovers(tmp_path) == [asides.unfinished(path)]
    with asides.resumable(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_who_has_just_begun_is_not_taken_for_dead(tmp_path: Path) -> None:
    def make(name: str) -> int:
        whole = 0
        for number in range(100):
            with asides.aside(tmp_path / f"{name}-{number}") as folder:
                (folder / "draft").write_bytes(b"whole")
                whole += (folder / "draft").read_bytes() == b"whole"
        return whole

    with ThreadPoolExecutor(4) as makers:
        assert list(makers.map(make, "abcd")) == [100] * 4
    assert list(tmp_path.iterdir()) == []
