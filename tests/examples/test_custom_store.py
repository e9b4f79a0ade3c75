"""The example's store satisfies the contract, and works for a memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from custom_store import FolderStore

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.ports import PayloadRow, Record, Store
from mnemic.specs.contracts import StoreContract


class TestFolderStore(StoreContract):
    def store(self, tmp_path: Path) -> Store:
        return FolderStore(tmp_path)


def test_a_memory_works_in_a_folder_store(tmp_path: Path) -> None:
    with SyncMemory.open(FolderStore(tmp_path)) as memory:
        gate = memory.learn("the harbour gate opens at six").block_id
        decision = memory.recall("when does the gate open?").decision_id
    with SyncMemory.open(FolderStore(tmp_path)) as memory:
        assert memory.recall("the gate").block_ids == (gate,)
        assert memory.replay(str(decision)).outcome == "reproduced"
        memory.erase(gate)
        assert memory.verify().sound
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert [b"harbour" in stored for stored in files] == [False] * len(files)


Harm = Callable[[Path], object]


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "000001.json").unlink(),
        lambda folder: (folder / "000001.json").write_bytes((folder / "000002.json").read_bytes()),
    ],
    ids=["gone", "swapped"],
)
def test_a_damaged_entry_is_detected_and_the_log_before_it_is_read(
    tmp_path: Path, harm: Harm
) -> None:
    log = FolderStore(tmp_path).log("home")
    written = [Record(version, "thing-noted.1", b"{}") for version in range(3)]
    for record in written:
        log.append([record], [PayloadRow(record.version, 0, "p", b"", (), b"")], after=log.head())
    (folder,) = tmp_path.iterdir()
    harm(folder)
    reader = log.read()
    assert next(reader)[0] == written[0]
    with pytest.raises(LogCorrupt) as damage:
        next(reader)
    assert damage.value.facts == {"version": 1}


def test_an_entry_that_is_no_json_is_damage_too(tmp_path: Path) -> None:
    FolderStore(tmp_path).log("home").append(
        [Record(0, "thing-noted.1", b"{}")], [], after=FolderStore(tmp_path).log("home").head()
    )
    (folder,) = tmp_path.iterdir()
    (folder / "000000.json").write_bytes(b"{")
    with pytest.raises(LogCorrupt, match=r"000000\.json cannot be read"):
        FolderStore(tmp_path).log("home")


def test_a_memory_moves_into_a_folder_and_forks_there(tmp_path: Path) -> None:
    with SyncMemory.open(":memory:") as memory:
        memory.learn("the harbour gate opens at six", command_id="once")
        decision = str(memory.recall("when does the gate open?").decision_id)
        memory.export(tmp_path / "log.ndjson")
        receipt = memory.receipt(decision)
    store = FolderStore(tmp_path / "folder")
    SyncMemory.import_space(tmp_path / "log.ndjson", store)
    with SyncMemory.open(store) as copy:
        assert copy.verify_receipt(receipt, replay=True).replayed == "reproduced"
        assert copy.learn("the harbour gate opens at six", command_id="once").action == "created"
        copy.fork("trial", decision=decision)
    with SyncMemory.open(store, space="trial") as trial:
        assert trial.verify().sound
        assert [block.content for block in trial.blocks().items] == [
            "the harbour gate opens at six"
        ]
