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

from mnemic.adapters.checkpoints import layout
from mnemic.adapters.checkpoints.layout import Origin, Torn
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
    shutil.copy(file, copy)
    memory.erase(block)
    assert checkpoint_directory(path) == []
    shutil.copy(copy, file)  # a backup of the folder is put back
    assert [each.problem for each in memory.checkpoints()] == [
        "its key was destroyed when words were erased"
    ]
    memory.close()
    again = opened()
    assert (again.block(block).content, again.block(other).content) == (None, "stays")
    assert again.checkpoint().state == "valid"


def test_an_unencrypted_checkpoint_is_not_loaded(opened: Open, path: Path) -> None:
    memory = opened()
    memory.learn(STORY)
    memory.checkpoint()
    (file,) = checkpoint_directory(path)
    file.write_bytes(b"".join(map(bytes, layout.pieces(ORIGIN, {"a": np.arange(3)}))))
    assert [(each.state, each.problem) for each in memory.checkpoints()] == [
        ("torn", "it is not encrypted as this space is")
    ]


@pytest.mark.parametrize("count", [0, 3, 2**17 - 8, 2**17, 300_000])
def test_an_encrypted_checkpoint_is_loaded_unchanged(tmp_path: Path, count: int) -> None:
    with closing(EncryptedStore(MemoryStore(), KeyTable(tmp_path / "agent.keys"))) as store:
        log = store.log("home")
        log.append(records(0, 1), (), after=log.head())
        parts: dict[str, NDArray[Any]] = {"a": np.arange(count), "b": np.ones(5, np.int32)}
        file = tmp_path / "file"
        file.write_bytes(b"".join(log.vault.locked(layout.pieces(ORIGIN, parts))))
        manifest, loaded = layout.loaded(file, log.vault)
        assert manifest.origin == ORIGIN
        assert {name: each.tolist() for name, each in loaded.items()} == {
            name: each.tolist() for name, each in parts.items()
        }


def test_a_changed_or_shortened_file_is_torn(tmp_path: Path) -> None:
    with closing(EncryptedStore(MemoryStore(), KeyTable(tmp_path / "agent.keys"))) as store:
        log = store.log("home")
        log.append(records(0, 1), (), after=log.head())
        file = tmp_path / "file"
        whole = b"".join(log.vault.locked(layout.pieces(ORIGIN, {"a": np.arange(300_000)})))
        for place in (0, 12, 30, 40, 100, 2**20 + 100, len(whole) - 1):
            changed = bytearray(whole)
            changed[place] ^= 1
            file.write_bytes(changed)
            with pytest.raises(Torn):
                layout.loaded(file, log.vault)
        for size in (0, 20, 40, 2**20, 2**20 + 65, len(whole) - 1):
            file.write_bytes(whole[:size])
            with pytest.raises(Torn):
                layout.loaded(file, log.vault)


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
