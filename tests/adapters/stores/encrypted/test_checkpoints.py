"""Checkpoints hold text, so they are encrypted too; every erasure destroys their key."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.adapters.checkpoints import array_file, layout
from mnemic.adapters.checkpoints.array_file import Torn
from mnemic.adapters.checkpoints.layout import Manifest, Origin, Vault
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.encrypted import EncryptedStore, KeyTable
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.opening import open_store
from mnemic.kernel.errors import KeysMissing
from mnemic.specs.contracts.log_entries import records
from tests.adapters.checkpoints.states import restored

Open: TypeAlias = Callable[..., SyncMemory]

STORY = "the vault code is mellifluous zanzibar"
ORIGIN = Origin(
    space="home", genesis="00", version=3, digest="00", active_us=7, fold=1, release="1"
)


def held(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def checkpoint_directory(path: Path) -> list[Path]:
    return sorted(path.with_name(f"{path.name}.checkpoints").glob("*.checkpoint"))


def arrays_file(path: Path) -> Path:
    (file,) = path.with_name(f"{path.name}.checkpoints").glob("*.arrays")
    return file


def locked(folder: Path, parts: dict[str, NDArray[Any]], vault: Vault) -> Path:
    """Write an encrypted checkpoint, and return its file."""
    contents, pieces = array_file.sequential(array_file.plain(parts))
    (folder / "some.arrays").write_bytes(b"".join(vault.locked(pieces)))
    manifest = Manifest(origin=ORIGIN, arrays="some.arrays", contents=contents)
    file = folder / "file"
    file.write_bytes(b"".join(vault.locked(layout.pieces(manifest))))
    return file


def test_a_space_opens_from_a_checkpoint_without_plain_text(opened: Open, path: Path) -> None:
    memory = opened()
    block = memory.learn(STORY).block_id
    memory.consolidate()
    assert memory.checkpoint().state == "valid"
    memory.learn("later")
    memory.close()
    assert b"zanzibar" not in held(path.parent)
    assert len(checkpoint_directory(path)) == 1
    again = opened(read_only=True)
    assert [each.state for each in again.checkpoints()] == ["valid"]
    assert restored(again) == 4
    assert again.block(block).content == STORY
    assert again.recall("vault", record=False).block_ids == (block,)


def test_an_erasure_destroys_checkpoints_and_the_key_of_their_copies(
    opened: Open, path: Path
) -> None:
    memory = opened()
    block, other = memory.learn(STORY).block_id, memory.learn("stays").block_id
    memory.checkpoint()
    (file,) = checkpoint_directory(path)
    copy = path.with_name("copy")
    shutil.copytree(file.parent, copy)
    memory.erase(block)
    assert list(file.parent.iterdir()) == []
    shutil.copytree(copy, file.parent, dirs_exist_ok=True)  # a backup of the folder is put back
    assert [each.problem for each in memory.checkpoints()] == [
        "its key was destroyed when text was erased"
    ]
    memory.close()
    again = opened()
    assert (again.block(block).content, again.block(other).content) == (None, "stays")
    assert again.checkpoint().state == "valid"


def test_a_checkpoint_after_an_erasure_counts_the_payloads_that_are_left(opened: Open) -> None:
    memory = opened()
    block, other = memory.learn(STORY).block_id, memory.learn("stays").block_id
    memory.consolidate()
    memory.erase(block)
    assert memory.checkpoint().state == "valid"
    version = memory.status().version
    memory.close()
    again = opened(read_only=True)
    assert restored(again) == version
    assert again.block(other).content == "stays"


def test_an_unencrypted_checkpoint_is_not_loaded(opened: Open, path: Path) -> None:
    memory = opened()
    memory.learn(STORY)
    memory.checkpoint()
    (file,) = checkpoint_directory(path)
    contents, _ = array_file.sequential(array_file.plain({"a": np.arange(3)}))
    plain = Manifest(origin=ORIGIN, arrays=arrays_file(path).name, contents=contents)
    file.write_bytes(b"".join(layout.pieces(plain)))
    assert [(each.state, each.problem) for each in memory.checkpoints()] == [
        ("torn", "it is not an encrypted checkpoint")
    ]


@pytest.mark.parametrize("count", [0, 3, 2**17 - 8, 2**17, 300_000])
def test_an_encrypted_checkpoint_is_loaded_unchanged(tmp_path: Path, count: int) -> None:
    with closing(EncryptedStore(MemoryStore(), KeyTable(tmp_path / "agent.keys"))) as store:
        log = store.log("home")
        log.append(records(0, 1), (), after=log.head())
        parts: dict[str, NDArray[Any]] = {"a": np.arange(count), "b": np.ones(5, np.int32)}
        file = locked(tmp_path, parts, log.vault)
        manifest = layout.described(file, log.vault)
        loaded = layout.loaded(file, manifest, log.vault)
        assert manifest == layout.checked(file, log.vault)
        assert manifest.origin == ORIGIN
        assert {name: each.tolist() for name, each in loaded.items()} == {
            name: each.tolist() for name, each in parts.items()
        }


def test_a_changed_or_shortened_file_is_torn(tmp_path: Path) -> None:
    with closing(EncryptedStore(MemoryStore(), KeyTable(tmp_path / "agent.keys"))) as store:
        log = store.log("home")
        log.append(records(0, 1), (), after=log.head())
        file = locked(tmp_path, {"a": np.arange(300_000)}, log.vault)
        for damaged in (file, tmp_path / "some.arrays"):
            whole = damaged.read_bytes()
            last = len(whole) - 1
            for place in {0, 12, 30, 40, 100, min(2**20 + 100, last), last}:
                changed = bytearray(whole)
                changed[place] ^= 1
                damaged.write_bytes(changed)
                with pytest.raises(Torn):
                    layout.loaded(file, layout.described(file, log.vault), log.vault)
            for size in {0, 20, 40, min(2**20, last), min(2**20 + 65, last), last}:
                damaged.write_bytes(whole[:size])
                with pytest.raises(Torn):
                    layout.loaded(file, layout.described(file, log.vault), log.vault)
            damaged.write_bytes(whole)


def test_checkpoints_of_two_spaces_have_different_keys(opened: Open, path: Path) -> None:
    one, two = opened(space="one"), opened(space="two")
    block = one.learn(STORY).block_id
    two.learn("stays")
    one.checkpoint()
    two.checkpoint()
    one.erase(block)
    assert [each.state for each in two.checkpoints()] == ["valid"]
    two.close()
    assert opened(space="two").blocks().items[0].content == "stays"
    assert len(checkpoint_directory(path)) == 1


def test_opening_without_keys_ignores_encrypted_checkpoints(opened: Open, path: Path) -> None:
    memory = opened()
    memory.learn(STORY)
    memory.checkpoint()
    memory.close()
    with closing(open_store(path)) as store:
        assert [len(rows) for _, rows in store.log("default").read()] == [1, 0, 1]
    assert len(checkpoint_directory(path)) == 1


def test_a_checkpoint_does_not_hide_that_the_file_of_keys_is_an_older_copy(
    opened: Open, keys: Path
) -> None:
    """Continuing with it would put keys into two files, with none that decrypts all."""
    with opened() as memory:
        memory.learn("locked with a key that both have")
        memory.checkpoint()
    old = keys.with_name("old.keys")
    shutil.copy(keys, old)
    with opened() as memory:
        block = memory.learn("locked with a key that one has").block_id
        memory.checkpoint()
    with pytest.raises(KeysMissing, match="older copy"):
        opened(keys=old)
    assert opened().block(block).content == "locked with a key that one has"
