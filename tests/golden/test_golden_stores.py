"""Stores and checkpoints of the last releases open, whole and with the answers they had."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.transfer.backup import backup
from mnemic.kernel.errors import PayloadsMissing
from tests.adapters.checkpoints.states import told, told_by_log
from tests.adapters.inprocess.engine.test_damaged_files import edit

STORES = sorted((Path(__file__).parent / "stores").glob("*.tar.gz"))
EMBEDDER = HashEmbedder(8)


@pytest.fixture(params=STORES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Unpack a store that a release wrote, and return its folder."""
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def opened(folder: Path, *, read_only: bool = False) -> SyncMemory:
    return SyncMemory.open(folder / "agent.db", embedder=EMBEDDER, read_only=read_only)


def shown(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "shown.json").read_text())
    return found


@pytest.mark.parametrize("read_only", [True, False])
def test_a_store_of_a_release_opens_and_shows_what_it_showed(
    folder: Path, *, read_only: bool
) -> None:
    then = shown(folder)
    with opened(folder, read_only=read_only) as memory:
        assert memory.status().version == then["version"]
        assert {block.id: block.content for block in memory.blocks().items} == then["blocks"]
        assert not any(block.lost for block in memory.blocks().items)
        verified = memory.verify()
        assert (verified.sound, verified.head) == (True, then["head"])
        assert told(memory) == told_by_log(memory)
        summary = memory.replay_all()
        assert summary.decisions == len(then["decisions"])
        assert summary.is_exact
        assert summary.reproduced >= 1


def test_a_checkpoint_of_another_release_is_of_another_fold_and_not_damaged(folder: Path) -> None:
    with opened(folder) as memory:
        assert {each.state for each in memory.checkpoints()} == {"other-fold"}
        assert memory.status().alerts == ()
        memory.checkpoint()
    with opened(folder) as memory:
        assert memory.checkpoints()[0].state == "valid"


def test_a_store_of_a_release_is_written_to_and_copied(folder: Path) -> None:
    with opened(folder) as memory:
        learned = memory.learn("The lamp is lit at dusk.")
        memory.consolidate()
        assert memory.recall("When is the lamp lit?").blocks[0].id == learned.block_id
        head = memory.verify().head
    copied = backup(folder / "agent.db", folder / "copy.db")
    assert [space.chain for space in copied.spaces] == [head]


def test_a_lost_text_is_noticed_in_a_store_of_a_release(folder: Path) -> None:
    with opened(folder) as memory:
        assert memory.verify().sound
    edit(folder / "agent.db", "DELETE FROM payloads WHERE version = 2")
    with pytest.raises(PayloadsMissing):
        opened(folder)
