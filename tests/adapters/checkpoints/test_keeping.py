"""When checkpoints are written, and when they are removed."""

from __future__ import annotations

import gc
import os
import shutil
import threading
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.checkpoints.file_locks import MAPS
from mnemic.adapters.checkpoints.writer import TAIL_MIN
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import StoreFailed
from tests.adapters.checkpoints.conftest import Open
from tests.adapters.checkpoints.states import (
    checkpoint_writer_of,
    restored,
    restored_from,
    told,
    told_by_log,
)

SECRETS = (b"zanzibar", b"quetzal")
STAYS = b"harbour"


def versions(memory: SyncMemory) -> list[int]:
    return [each.version for each in memory.checkpoints()]


def left(folder: Path) -> set[bytes]:
    """Return which texts of this test occur in any file but the memory's own."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {
        word for word in (*SECRETS, STAYS) for file in files if word in file.read_bytes().lower()
    }


@pytest.fixture
def elsewhere() -> set[threading.Thread]:
    """The threads that existed before."""
    return set(threading.enumerate())


# --- by themselves ----------------------------------------------------------------------------


def test_a_checkpoint_is_made_after_much_work_and_not_after_little(
    opened: Open, path: Path, folder: Path, elsewhere: set[threading.Thread]
) -> None:
    with opened() as memory:
        memory.learn_many([f"thing {number}" for number in range(TAIL_MIN // 2)])
        assert not folder.exists()
        memory.learn_many([f"thing {number}" for number in range(TAIL_MIN // 2, TAIL_MIN + 1)])
    first = set(folder.iterdir())
    assert len(first) == len({"manifest", "arrays"})
    with opened() as memory:
        assert versions(memory) == [restored(memory)]
        memory.learn("one more")
    assert set(folder.iterdir()) == first
    assert restored_from(path) == TAIL_MIN + 2
    assert set(threading.enumerate()) <= elsewhere


def test_a_small_memory_leaves_nothing_but_its_file(
    opened: Open, folder: Path, elsewhere: set[threading.Thread]
) -> None:
    with opened() as memory:
        memory.learn("little")
        memory.consolidate()
        assert set(threading.enumerate()) <= elsewhere
    assert not folder.exists()


# --- on demand --------------------------------------------------------------------------------


def test_making_a_checkpoint_twice_makes_one(opened: Open) -> None:
    with opened() as memory:
        memory.learn("something")
        made = memory.checkpoint()
        assert (memory.checkpoint(), memory.checkpoints()) == (made, (made,))
        assert (made.state, made.version, made.problem) == ("valid", 2, None)
        assert str(made).startswith(f"{made.name}: valid, version 2 at 0.00 active hours")


def test_the_two_newest_valid_checkpoints_are_kept(opened: Open, folder: Path) -> None:
    with opened() as memory:
        for number in range(4):
            memory.learn(f"thing {number}")
            memory.checkpoint()
        assert versions(memory) == [5, 4]
        (folder / memory.checkpoints()[0].name).write_bytes(b"torn")
        memory.learn("thing 5")
        memory.checkpoint()
        assert versions(memory) == [6, 4]


def test_dropping_removes_all_and_closing_makes_none(opened: Open, folder: Path) -> None:
    with opened() as memory:
        memory.learn_many([f"thing {number}" for number in range(TAIL_MIN + 1)])
        memory.checkpoint()
        dropped = memory.drop_checkpoints()
        assert (dropped.dropped, memory.checkpoints()) == (1, ())
        assert str(dropped) == "Dropped 1 checkpoint; opening replays the whole log again."
    assert list(folder.iterdir()) == []


def test_a_failed_write_is_raised_on_request_and_recorded_otherwise(
    opened: Open, folder: Path
) -> None:
    folder.write_text("not a folder")
    with opened() as memory:
        with pytest.raises(StoreFailed, match="cannot be written"):
            memory.checkpoint()
        assert memory.status().alerts == ()
        memory.learn_many([f"thing {number}" for number in range(TAIL_MIN + 1)])
        checkpoint_writer_of(memory).close()  # waits for the attempt
        (alert,) = memory.status().alerts
        assert alert.startswith("no checkpoint could be written: ")


# --- erasing ----------------------------------------------------------------------------------


def copies_of(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.iterdir()}


def put_back(copies: dict[Path, bytes]) -> None:
    for file, content in copies.items():
        file.write_bytes(content)


def fill(memory: SyncMemory) -> str:
    """Learn some secrets and something else; return the block with the first of them."""
    block, _, _ = (
        memory.learn(f"they said {word.decode()} once").block_id for word in (*SECRETS, STAYS)
    )
    memory.consolidate()
    return block


def test_erasing_a_block_destroys_every_checkpoint_that_held_it(opened: Open, folder: Path) -> None:
    with opened() as memory:
        block = fill(memory)
        memory.checkpoint()
        assert left(folder) == {*SECRETS, STAYS}
        draft = folder / f"{memory.checkpoints()[0].name}.dead.tmp"
        shutil.copyfile(folder / memory.checkpoints()[0].name, draft)
        memory.erase(block)
        assert list(folder.iterdir()) == []
        memory.checkpoint()
        assert left(folder) == {SECRETS[1], STAYS}
    with opened() as memory:
        assert restored(memory) is not None
        assert told(memory) == told_by_log(memory)


@pytest.mark.skipif(not MAPS, reason="array files are mapped on POSIX")
def test_a_mapped_array_file_is_overwritten_once_no_process_maps_it(
    opened: Open, folder: Path, tmp_path: Path
) -> None:
    with opened() as memory:
        block = fill(memory)
        memory.checkpoint()
    (arrays,) = folder.glob("*.arrays")
    link = tmp_path / "link"
    os.link(arrays, link)
    with opened() as eraser, opened() as reader:
        assert restored(eraser) == restored(reader) is not None
        eraser.erase(block)
        gc.collect()
        assert not arrays.exists()
        assert SECRETS[0] in link.read_bytes()  # the other one still reads it
        assert reader.blocks() == eraser.blocks()
        gc.collect()  # it has caught up with the erasure
        assert set(link.read_bytes()) == {0}


def test_erasing_a_space_destroys_its_checkpoints_and_no_others(
    opened: Open, path: Path, folder: Path
) -> None:
    with (
        closing(SQLiteStore(path, synchronous="normal")) as store,
        opened(store) as memory,
        opened(store, space="b") as other,
    ):
        fill(memory)
        other.learn("the harbour")
        memory.checkpoint()
        other.checkpoint()
        memory.erase_space("default")
        assert left(folder) == {STAYS}
        assert len(other.checkpoints()) == 1


def test_noticing_an_erasure_of_another_process_destroys_late_checkpoints(
    opened: Open, folder: Path
) -> None:
    one, other = opened(), opened()
    block = fill(one)
    other.checkpoint()
    copies = copies_of(folder)
    one.erase(block)
    put_back(copies)  # as if the other process had finished it only now
    assert other.status().version == one.status().version
    assert left(folder) == set()


def test_opening_destroys_checkpoints_left_by_an_erasure(opened: Open, folder: Path) -> None:
    with opened() as memory:
        block = fill(memory)
        memory.checkpoint()
        copies = copies_of(folder)
        memory.erase(block)
        memory.checkpoint()
    put_back(copies)  # the eraser was killed before it came to this one
    with opened() as memory:
        assert restored(memory) is not None
        assert left(folder) == {SECRETS[1], STAYS}


def test_an_erasure_in_the_tail_invalidates_checkpoints(
    opened: Open, path: Path, folder: Path
) -> None:
    with opened() as memory:
        block = fill(memory)
        memory.checkpoint()
        copies = copies_of(folder)
        memory.erase(block)
    put_back(copies)
    with opened(read_only=True) as memory:
        assert [each.problem for each in memory.checkpoints()] == ["text was erased since"]
    assert restored_from(path) is None
    assert left(folder) == {*SECRETS, STAYS}  # whoever only reads removes nothing
    with opened() as memory:
        assert restored(memory) is None
        assert told(memory) == told_by_log(memory)
        assert list(folder.iterdir()) == []


def test_an_erasure_destroys_checkpoints_even_when_disabled(opened: Open, folder: Path) -> None:
    with opened() as memory:
        block = fill(memory)
        memory.checkpoint()
    with opened(checkpoints=False) as memory:
        memory.erase(block)
        assert left(folder) == set()


# --- sweeping ---------------------------------------------------------------------------------


def test_opening_removes_files_without_an_owner(opened: Open, path: Path, folder: Path) -> None:
    with opened() as memory:
        fill(memory)
        name = memory.checkpoint().name
    with opened(space="other") as memory:
        memory.learn("the harbour")
        memory.checkpoint()
    own = sorted(folder.iterdir())
    (folder / "gone-0123456789ab-v000000000007.checkpoint").write_bytes(b"of a space that is gone")
    (folder / f"{name}.dead.tmp").write_bytes(b"half")
    (folder / "gone-0123456789ab-00ff.arrays").write_bytes(b"of a space that is gone")
    (folder / f"{name.partition('-v')[0]}-00ff.arrays").write_bytes(b"which no checkpoint names")
    (folder / "notes.txt").write_bytes(b"of another program")
    with opened():
        assert sorted(folder.iterdir()) == sorted([*own, folder / "notes.txt"])
    path.unlink()
    path.with_name(f"{path.name}.heads").unlink()
    with opened():
        assert [file.name for file in folder.iterdir()] == ["notes.txt"]


def test_in_a_configured_folder_other_files_are_left_alone(opened: Open, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    for file in ("one.db", "other.db"):
        with opened(tmp_path / file, checkpoints=shared) as memory:
            memory.learn("the harbour")
            memory.checkpoint()
    with opened(tmp_path / "one.db", checkpoints=shared) as memory:
        assert restored(memory) is not None
    assert len(list(shared.glob("*.checkpoint"))) == 2


def test_text_is_erased_after_another_process_has_erased_some(opened: Open) -> None:
    one = opened()
    first, second = one.learn("The first secret.").block_id, one.learn("The second.").block_id
    one.checkpoint()
    two = opened()
    assert restored(two) is not None
    one.erase(first)
    two.erase(second)
    assert {block.content for block in one.blocks()} == {None}
    assert one.verify().sound
