"""mnemic doctor --erased: every place where the text of an erased block may remain."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.files.temporary_folders import aside
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.transfer.backup import backup
from mnemic.adapters.transfer.exports.archive import Packed
from mnemic.adapters.transfer.inventory import inventory_path
from tests.adapters.cli.conftest import Shell

TEXT = "the gate code is 4711"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for temporary files, which belongs to the test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def block(store: Path, temporary: Path) -> str:
    """A block that is to be erased."""
    assert temporary.exists()
    with opened(store) as memory:
        memory.learn("the harbour opens at six")
        block = memory.learn(TEXT).block_id
        memory.consolidate()
    return block


def opened(store: Path, **more: Any) -> SyncMemory:
    return SyncMemory.open(store, embedder=HashEmbedder(), **more)


def erase(store: Path, block: str, **more: Any) -> None:
    with opened(store, **more) as memory:
        memory.erase(block)


def places(shell: Shell, block: str, *more: str) -> list[tuple[str, str]]:
    """Return what was found and how bad it is, without what is in order in every store."""
    document = shell("doctor", "--erased", block, "--json", *more).document
    usual = {"write-ahead log", "checkpoints", "looked into", "store"}
    return [
        (each["what"], each["state"])
        for each in document["findings"]
        if each["what"] not in usual or each["state"] != "ok"
    ]


def test_an_erased_block_without_copies_remains_nowhere(
    shell: Shell, store: Path, block: str
) -> None:
    erase(store, block)
    seen = shell("doctor", "--erased", block[:8])
    assert (seen.exit, places(shell, block)) == (0, [])
    assert TEXT not in seen.out


def test_a_block_that_is_not_erased_is_a_problem(shell: Shell, block: str) -> None:
    assert ("store", "problem") in places(shell, block)
    assert shell("doctor", "--erased", block).exit == 1


def test_an_unknown_block_is_refused(shell: Shell, block: str) -> None:
    assert shell("doctor", "--erased", "0" * len(block)).exit != 0


def test_copies_from_before_the_erasure_are_listed(
    shell: Shell, store: Path, block: str, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    backup(store, store.with_name("kept.db"))
    shutil.copy(store, away / "copied.db")
    with opened(store) as memory:
        memory.export(store.with_name("all.jsonl"))
        memory.fork("trial")
    with (away / "all.tar").open("wb") as archive, Packed(store.with_name("all.jsonl")) as packed:
        archive.writelines(packed)
    erase(store, block)
    found = [("fork", "problem"), ("backup", "problem"), ("export", "problem")]
    assert places(shell, block) == found
    assert places(shell, block, "--look", str(away)) == [
        *found,
        ("copy", "problem"),
        ("export", "problem"),
    ]


def test_copies_from_after_the_erasure_are_in_order(shell: Shell, store: Path, block: str) -> None:
    erase(store, block)
    backup(store, store.with_name("kept.db"))
    with opened(store) as memory:
        memory.export(store.with_name("all.jsonl"))
    assert places(shell, block) == [("backup", "ok"), ("export", "ok")]


def test_a_manifest_says_what_a_backup_elsewhere_holds(
    shell: Shell, store: Path, block: str
) -> None:
    kept = store.with_name("kept.db")
    backup(store, kept)
    erase(store, block)
    kept.unlink()
    assert inventory_path(kept).exists()
    assert places(shell, block) == [("backup", "warning")]


def test_a_checkpoint_from_before_the_erasure_is_listed(
    shell: Shell, store: Path, block: str
) -> None:
    with opened(store, checkpoints=True) as memory:
        memory.checkpoint()
    folder = store.with_name(f"{store.name}.checkpoints")
    shutil.copytree(folder, store.with_name("before"))
    erase(store, block)
    assert ("checkpoint", "warning") not in places(shell, block)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(store.with_name("before"), folder)  # as a restored folder has it
    assert ("checkpoint", "warning") in places(shell, block)


def test_temporary_files_of_the_store_and_of_servers_are_listed(
    shell: Shell, store: Path, block: str, temporary: Path
) -> None:
    with opened(store) as memory, aside(temporary / "mnemic-export") as folder:
        memory.export(folder / "export.jsonl")
        memory.erase(block)
        with aside(store) as other:
            assert other.exists()
            assert places(shell, block) == [("temporary files", "warning")] * 2


def test_temporary_files_of_another_memory_are_not(
    shell: Shell, store: Path, block: str, temporary: Path
) -> None:
    erase(store, block)
    with (
        opened(temporary.with_name("other.db")) as other,
        aside(temporary / "mnemic-export") as folder,
    ):
        other.export(folder / "export.jsonl")
        assert places(shell, block) == []


@pytest.fixture
def encrypted(store: Path, tmp_path: Path, temporary: Path) -> tuple[str, Path]:
    """A block of an encrypted store, and the file of keys."""
    assert temporary.exists()
    keys = tmp_path / "keys" / "agent.keys"
    keys.parent.mkdir()
    with opened(store, keys=keys) as memory:
        block = memory.learn(TEXT).block_id
    return block, keys


def test_a_copy_of_the_keys_from_before_the_erasure_is_listed(
    shell: Shell, store: Path, encrypted: tuple[str, Path]
) -> None:
    block, keys = encrypted
    copy = keys.with_name("copy.keys")
    shutil.copy2(keys, copy)
    shutil.copy2(store, store.with_name("copied.db"))
    erase(store, block, keys=keys)
    found = places(shell, block, "--keys", str(keys))
    assert sorted(found) == [
        ("copy", "warning"),
        ("copy of keys", "problem"),
        ("keys", "ok"),
    ]


def test_nothing_is_written(shell: Shell, store: Path, block: str) -> None:
    erase(store, block)
    with closing(SQLiteStore(store, read_only=True)):
        before = store.read_bytes()
    shell("doctor", "--erased", block)
    assert store.read_bytes() == before


def test_a_block_of_an_erased_space_is_erased(shell: Shell, store: Path, block: str) -> None:
    with opened(store) as memory:
        memory.start_session()
        memory.erase_space("default")
        memory.end_session()
    assert places(shell, block) == []
