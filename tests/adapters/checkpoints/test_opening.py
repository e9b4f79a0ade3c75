"""Opening from a checkpoint: only from a valid one, and to the same state as without."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from mnemic.adapters.checkpoints import array_file, layout
from mnemic.adapters.checkpoints.file_locks import MARK
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import CheckpointsOff, FieldRefused, LogCorrupt, ViewReadOnly
from tests.adapters.checkpoints.conftest import Open
from tests.adapters.checkpoints.forging import forge
from tests.adapters.checkpoints.states import arrays_of, restored, restored_from, told, told_by_log

STRIDE = 211
"""A prime, so that damage meets every place of a line."""


def play(memory: SyncMemory, name: str) -> None:
    """Use a bit of everything."""
    memory.start_session()
    gate, crane = (
        memory.learn(f"{name}: {content}", tags=["harbour"]).block_id
        for content in ("the gate opens at six", "the crane needs oil")
    )
    memory.consolidate()
    memory.connect(gate, crane, "supports", note="both by the water")
    memory.outcome(memory.recall("gate").block_ids, 0.9)
    memory.end_session()


def states(memory: SyncMemory) -> list[tuple[int, str]]:
    return [(each.version, each.state) for each in memory.checkpoints()]


@pytest.fixture(name="kept")
def one_is_kept(opened: Open, folder: Path) -> Path:
    """Return the one checkpoint of a small memory that is closed and has a tail behind it."""
    with opened() as memory:
        play(memory, "first")
        memory.checkpoint()
        play(memory, "second")
    (file,) = folder.glob("*.checkpoint")
    return file


# --- what is taken up -------------------------------------------------------------------------


@pytest.mark.usefixtures("kept")
def test_a_memory_opened_from_a_checkpoint_equals_the_closed_one(opened: Open) -> None:
    with opened(checkpoints=False) as memory:
        expected, answer = told(memory), memory.recall("gate", record=False)
    with opened() as memory:
        assert restored(memory) == memory.checkpoints()[0].version
        assert told(memory) == expected == told_by_log(memory)
        assert memory.recall("gate", record=False) == answer
        assert states(memory) == [(restored(memory), "valid")]
        assert memory.status().alerts == ()


@pytest.mark.usefixtures("kept")
def test_writes_after_opening_from_a_checkpoint_equal_those_without(
    opened: Open, path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copyfile(path, copy)
    memories = [opened(file, entropy=SeededEntropy("same")) for file in (path, copy)]
    assert [restored(memory) is None for memory in memories] == [False, True]
    for memory in memories:
        play(memory, "third")
        memory.curate()
    assert told(memories[0]) == told(memories[1])
    assert memories[0].log(limit=1000) == memories[1].log(limit=1000)
    assert [memory.verify().sound for memory in memories] == [True, True]


@pytest.mark.usefixtures("kept")
def test_every_past_decision_replays_from_a_checkpoint(opened: Open) -> None:
    with opened() as memory:
        decisions = [
            f"d{each.version}" for each in memory.log(limit=1000) if each.kind == "recall-recorded"
        ]
        assert len(decisions) == 2
        assert {memory.replay(each).outcome for each in decisions} == {"reproduced"}


def test_the_newest_valid_checkpoint_is_loaded(opened: Open, kept: Path, folder: Path) -> None:
    with opened() as memory:
        second = memory.checkpoint()
    newest = folder / second.name
    assert arrays_of(newest) == arrays_of(kept)
    assert restored_from(folder.parent / "agent.db") == second.version
    newest.write_bytes(newest.read_bytes()[:-1])
    with opened() as memory:
        assert restored(memory) == int(kept.name[-23:-11])
        assert states(memory) == [(second.version, "torn"), (restored(memory), "valid")]


def test_a_read_only_opening_loads_a_checkpoint_and_changes_nothing(
    path: Path, kept: Path, folder: Path
) -> None:
    draft = kept.with_name(f"{kept.name}.dead.tmp")
    draft.write_bytes(b"half")
    assert restored_from(path) is not None
    with SyncMemory.open(path, embedder=HashEmbedder(4), read_only=True) as memory:
        for operation in (memory.checkpoint, memory.drop_checkpoints):
            with pytest.raises(ViewReadOnly):
                operation()
    assert set(folder.iterdir()) == {kept, arrays_of(kept), draft}


def test_a_checkpoint_whose_vectors_were_left_on_a_server_is_passed_over(
    opened: Open, kept: Path
) -> None:
    forge(kept, lambda manifest: manifest.replace(b"indexes/0/vectors", b"indexes/0/digests"))
    with opened() as memory:
        assert restored(memory) is None
        assert told(memory) == told_by_log(memory)
        whole = memory.checkpoint()
    with opened() as memory:
        assert restored(memory) == whole.version


# --- damage -----------------------------------------------------------------------------------


@pytest.mark.extended
def test_every_changed_byte_of_a_real_checkpoint_is_detected(opened: Open, folder: Path) -> None:
    with opened() as memory:
        memory.learn("little")
        file = folder / memory.checkpoint().name
    parts = layout.described(file).contents.parts
    used = [place for part in parts for place in range(part.offset, part.offset + part.length)]
    for damaged, places in ((file, range(file.stat().st_size)), (arrays_of(file), used)):
        sound = damaged.read_bytes()
        with damaged.open("r+b", buffering=0) as stored:
            for place in places:
                stored.seek(place)
                stored.write(bytes([sound[place] ^ (1 << place % 8)]))
                with pytest.raises(array_file.Torn):
                    layout.checked(file)
                stored.seek(place)
                stored.write(sound[place : place + 1])
    layout.loaded(file, layout.described(file))


def test_a_damaged_checkpoint_is_ignored(opened: Open, path: Path, kept: Path) -> None:
    sound = kept.read_bytes()
    for place in range(0, len(sound), STRIDE):
        kept.write_bytes(sound[:place] + bytes([sound[place] ^ 0x40]) + sound[place + 1 :])
        assert restored_from(path) is None, place
    with opened() as memory:
        assert [each.state for each in memory.checkpoints()] == ["torn"]


def test_damaged_arrays_are_ignored_and_replaced(opened: Open, path: Path, kept: Path) -> None:
    arrays = arrays_of(kept)
    sound = arrays.read_bytes()
    for part in layout.described(kept).contents.parts:
        if part.length:
            place = part.offset + part.length // 2
            arrays.write_bytes(sound[:place] + bytes([sound[place] ^ 0x40]) + sound[place + 1 :])
            assert restored_from(path) is None, part.name
    with opened() as memory:
        assert [each.state for each in memory.checkpoints()] == ["torn"]
        made = memory.checkpoint()
    assert restored_from(path) == made.version


def test_damage_to_what_no_checkpoint_names_has_no_effect(path: Path, kept: Path) -> None:
    arrays = arrays_of(kept)
    used = np.zeros(arrays.stat().st_size, dtype=bool)
    for part in layout.described(kept).contents.parts:
        used[part.offset : part.offset + part.length] = True
    used[: len(MARK)] = True
    damaged = np.frombuffer(arrays.read_bytes(), dtype=np.uint8) ^ np.where(used, 0, 0x40)
    arrays.write_bytes(damaged.astype(np.uint8).tobytes())
    assert restored_from(path) is not None


def test_a_checkpoint_of_another_length_is_ignored(path: Path, kept: Path) -> None:
    sound = kept.read_bytes()
    for length in [*range(0, len(sound), 5 * STRIDE), len(sound) - 1]:
        kept.write_bytes(sound[:length])
        assert restored_from(path) is None, length
    kept.write_bytes(sound + b"\0")
    assert restored_from(path) is None
    kept.write_bytes(sound)
    arrays = arrays_of(kept)
    for length in (arrays.stat().st_size // 2, 64, 0):
        os.truncate(arrays, length)
        assert restored_from(path) is None
    arrays.unlink()
    assert restored_from(path) is None


def test_an_invalid_checkpoint_is_ignored(opened: Open, path: Path, kept: Path) -> None:
    forge(kept, lambda manifest: manifest.replace(b'"name":"timeline/', b'"name":"lifetime/'))
    assert restored_from(path) is None
    with opened() as memory:
        (alert,) = memory.status().alerts
        assert kept.name in alert


# --- not this log -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        (b'"fold":', b'"fold":1', "other-fold"),
        (b'"space":"default"', b'"space":"others"', "foreign"),
        (b'"genesis":"', b'"genesis":"0', "foreign"),
        (b'"version":', b'"version":1', "foreign"),
        (b'"digest":"', b'"digest":"0', "stale"),
        (b"{", b"{", "other-fold"),
    ],
    ids=["fold", "space", "genesis", "version", "digest", "format"],
)
def test_a_checkpoint_of_another_origin_is_ignored(
    kept: Path, before: bytes, after: bytes, state: str
) -> None:
    forge(
        kept,
        lambda manifest: manifest.replace(before, after, 1),
        layout_format=layout.FORMAT + (before == after),
    )
    path = kept.parent.parent / "agent.db"
    assert restored_from(path) is None
    with SyncMemory.open(path, read_only=True) as memory:
        (found,) = memory.checkpoints()
        assert (found.state, found.problem is None) == (state, False)


def test_a_checkpoint_of_another_log_is_ignored(
    opened: Open, path: Path, kept: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    with opened(other) as memory:
        play(memory, "first")
        theirs = memory.checkpoint()
        assert theirs.version == int(kept.name[-23:-11])
    shutil.rmtree(kept.parent)
    shutil.copytree(tmp_path / "other.db.checkpoints", kept.parent)
    next(kept.parent.glob("*.checkpoint")).rename(kept)
    assert restored_from(path) is None
    with SyncMemory.open(path, read_only=True) as memory:
        assert states(memory) == [(theirs.version, "foreign")]


def test_a_checkpoint_newer_than_a_restored_file_is_ignored(
    opened: Open, path: Path, tmp_path: Path
) -> None:
    with opened() as memory:
        play(memory, "first")
    backup = tmp_path / "backup"
    shutil.copyfile(path, backup)
    with opened() as memory:
        play(memory, "second")
        late = memory.checkpoint().version
    shutil.copyfile(backup, path)
    path.with_name(f"{path.name}.heads").unlink()  # the older copy is wanted
    with opened() as memory:
        assert restored(memory) is None
        assert told(memory) == told_by_log(memory)
        assert states(memory) == [(late, "stale")]
        while memory.status().version < late:
            memory.learn(f"another way, {memory.status().version}")
    with opened() as memory:
        assert restored(memory) is None
        assert told(memory) == told_by_log(memory)
        assert states(memory) == [(late, "stale")]
        made = memory.checkpoint().version
        assert states(memory)[0] == (made, "valid")


@pytest.mark.usefixtures("kept")
def test_damage_in_the_tail_is_reported_as_without_a_checkpoint(opened: Open, path: Path) -> None:
    with closing(sqlite3.connect(path)) as c, c:
        c.execute(
            "UPDATE stored_events SET state = CAST(state || X'20' AS BLOB) "
            "WHERE originator_version = (SELECT max(originator_version) - 2 FROM stored_events)"
        )
    with pytest.raises(LogCorrupt) as caught:
        opened()
    with SyncMemory.open(path, read_only=True) as memory:
        assert restored(memory) is not None
        assert memory.status().version + 1 == caught.value.facts["version"]


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("change", ["version = version - 1", "digest = zeroblob(32)"])
def test_a_damaged_head_is_reported_despite_a_checkpoint(
    opened: Open, path: Path, change: str
) -> None:
    with opened() as memory:
        memory.checkpoint()
    with closing(sqlite3.connect(path)) as c, c:
        c.execute(f"UPDATE spaces SET {change}")  # noqa: S608
    with pytest.raises(LogCorrupt):
        opened()


# --- where ------------------------------------------------------------------------------------


def test_a_store_without_a_file_keeps_checkpoints_in_a_folder_that_is_named(
    opened: Open, tmp_path: Path
) -> None:
    store, folder = MemoryStore(), tmp_path / "kept"
    with opened(store, checkpoints=folder) as memory:
        play(memory, "first")
        made = memory.checkpoint()
    with opened(store, checkpoints=str(folder)) as memory:
        assert restored(memory) == made.version
        assert memory.drop_checkpoints().dropped == 1
    assert list(folder.iterdir()) == []


def test_two_spaces_share_a_folder(opened: Open, tmp_path: Path) -> None:
    store, folder = MemoryStore(), tmp_path / "kept"
    for name in ("default", "other"):
        with opened(store, space=name, checkpoints=folder) as memory:
            play(memory, name)
            memory.checkpoint()
    for name in ("default", "other"):
        with opened(store, space=name, checkpoints=folder) as memory:
            assert restored(memory) is not None
            assert len(memory.checkpoints()) == 1
    assert len(list(folder.glob("*.checkpoint"))) == 2


@pytest.mark.parametrize("where", [":memory:", MemoryStore()])
def test_without_a_folder_there_are_no_checkpoints(opened: Open, where: object) -> None:
    with opened(where) as memory:
        assert memory.checkpoints() == ()
        for operation in (memory.checkpoint, memory.drop_checkpoints):
            with pytest.raises(CheckpointsOff):
                operation()
    with pytest.raises(FieldRefused, match="no file to keep checkpoints next to"):
        opened(where, checkpoints=True)


@pytest.mark.usefixtures("kept")
def test_disabled_checkpoints_are_neither_loaded_nor_made(opened: Open) -> None:
    with opened(checkpoints=False) as memory:
        assert restored(memory) is None
        with pytest.raises(CheckpointsOff):
            memory.checkpoint()


@pytest.mark.parametrize("wanted", [3, b"kept", ["kept"]])
def test_the_setting_must_be_a_folder(opened: Open, wanted: object) -> None:
    with pytest.raises(FieldRefused, match="checkpoints must be a folder"):
        opened(checkpoints=wanted)


def test_an_unusable_folder_stops_nothing(opened: Open, folder: Path) -> None:
    folder.write_text("not a folder")
    with opened() as memory:
        play(memory, "first")
        assert memory.checkpoints() == ()
        assert memory.verify().sound
    assert folder.read_text() == "not a folder"
