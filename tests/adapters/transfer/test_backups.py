"""backup, and restore: one file with verified prefixes of all spaces, made while others write."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from itertools import count
from pathlib import Path
from threading import Event, Semaphore, Thread

import pytest
from attrs import evolve

from mnemic.adapters.codec import Codec
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.stores.sqlite.copies import close_up, copy_out
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.adapters.transfer.backup import backup, check, restore
from mnemic.adapters.transfer.catch_up import caught_up
from mnemic.adapters.transfer.inventory import document, inventory_of, inventory_path
from mnemic.kernel.errors import (
    BackupDamaged,
    FieldRefused,
    LogCorrupt,
    MnemicError,
    SpaceExists,
    StoreFailed,
)
from tests.adapters.transfer.damage import damage
from tests.adapters.transfer.test_migrating import SECRET, contents, hits

PATIENCE_S = 20.0


@pytest.fixture
def path(memory: SyncMemory, tmp_path: Path) -> Path:
    """The store of the test as a file, with two spaces."""
    path = tmp_path / "agent.db"
    memory.fork("default", into=path)
    memory.fork("other", into=path, version=4)
    return path


@pytest.fixture
def kept(path: Path, tmp_path: Path, clock: ManualClock) -> Path:
    """A backup of it, in a folder of its own."""
    folder = tmp_path / "kept"
    folder.mkdir()
    backup(path, folder / "b.db", clock=clock)
    return folder / "b.db"


def everything(path: Path) -> object:
    with closing(SQLiteStore(path, read_only=True)) as store:
        return {space: contents(store, space) for space in store.spaces()}


def test_a_backup_is_an_ordinary_store_and_a_manifest(path: Path, kept: Path) -> None:
    assert everything(kept) == everything(path)
    assert sorted(each.name for each in kept.parent.iterdir()) == ["b.db", "b.db.manifest.json"]
    assert {each.stat().st_mode & 0o777 for each in kept.parent.iterdir()} == {0o600}
    answer = json.loads(inventory_path(kept).read_bytes())
    assert (answer["kind"], answer["at"]) == ("mnemic.backup.1", "2026-01-01T00:50:00+00:00")
    with closing(SQLiteStore(path, read_only=True)) as store:
        heads = [(name, store.log(name).head()) for name in ("default", "other")]
    assert [(each["space"], each["version"], each["chain"]) for each in answer["spaces"]] == [
        (name, head.version, head.digest.hex()) for name, head in heads
    ]


def test_any_store_can_be_backed_up(store: MemoryStore, memory: SyncMemory, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    result = backup(store, tmp_path / "b.db", progress=lambda *step: steps.append(step))
    events = memory.status().version + 1
    assert steps[-1] == (events, events)
    assert everything(tmp_path / "b.db") == {"default": contents(store)}
    assert result.bytes == (tmp_path / "b.db").stat().st_size


def test_it_is_consistent_while_others_write(path: Path, tmp_path: Path) -> None:
    stop, answer, news = Event(), list[int](), Semaphore(0)

    def write() -> None:
        with SyncMemory.open(path) as memory:
            for number in count():
                answer.append(memory.learn(f"at full speed {number}").version)
                news.release()
                if stop.is_set():
                    return

    writer = Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            assert news.acquire(timeout=PATIENCE_S)
            begun = answer[-1]
            result = backup(path, tmp_path / f"{number}.db")
            # Whatever was written by now is told of by the time that the one after it is.
            assert begun <= result.spaces[0].version <= answer[-1] + 1
            assert check(tmp_path / f"{number}.db").spaces == result.spaces
    finally:
        stop.set()
        writer.join()
    with SyncMemory.open(path, read_only=True) as memory:
        assert memory.verify().sound


def test_erased_text_is_not_backed_up(tmp_path: Path) -> None:
    source, folder = tmp_path / "a.db", tmp_path / "kept"
    folder.mkdir()
    with SyncMemory.open(source) as memory:
        blocks = [memory.learn(f"the {SECRET.decode()} {'x' * 3000} {k}") for k in range(9)]
        for block in blocks:
            memory.erase(block.block_id)
        backup(source, folder / "b.db")
    assert hits(folder) == []


def test_text_erased_during_the_backup_is_not_backed_up(tmp_path: Path) -> None:
    source, folder = tmp_path / "a.db", tmp_path / "kept"
    folder.mkdir()
    with SyncMemory.open(source) as memory, closing(SQLiteStore(source, read_only=True)) as store:
        block = memory.learn(f"the {SECRET.decode()} of Nineveh").block_id
        copy_out(store, folder / "b.db")
        memory.learn("meanwhile")
        memory.erase(block)
        assert hits(folder) == ["b.db"]
        with closing(SQLiteStore(folder / "b.db")) as copy:
            caught_up(store.log("default"), copy, Codec(SystemEntropy()))
        close_up(folder / "b.db")
        assert hits(folder) == []
        assert everything(folder / "b.db") == everything(source)


def test_a_restored_store_equals_the_one_backed_up(path: Path, kept: Path, tmp_path: Path) -> None:
    result = restore(kept, tmp_path / "back.db")
    assert (tmp_path / "back.db").read_bytes() == kept.read_bytes()
    assert everything(tmp_path / "back.db") == everything(path)
    assert result.spaces == inventory_of(kept).spaces
    assert "every digest and payload holds. It is as the store was at" in str(result)
    with SyncMemory.open(tmp_path / "back.db") as memory:
        assert memory.learn("and on").action == "created"
    assert check(kept).into is None
    assert sorted(each.name for each in kept.parent.iterdir()) == ["b.db", "b.db.manifest.json"]


def test_encrypted_text_is_counted_and_said_to_be_so(tmp_path: Path) -> None:
    keys = tmp_path / "keys.db"
    with SyncMemory.open(tmp_path / "a.db", keys=keys) as memory:
        memory.learn("the gate sticks")
    backup(tmp_path / "a.db", tmp_path / "b.db")
    result = restore(tmp_path / "b.db", tmp_path / "back.db")
    assert result.unread == check(tmp_path / "b.db").unread > 0
    assert f"every payload but {result.unread} encrypted ones, which were counted only" in str(
        result
    )
    assert "if unencrypted text was erased later, erase it again." in str(result)
    with SyncMemory.open(tmp_path / "back.db", keys=keys) as memory:
        assert memory.verify().sound


def test_a_backup_can_be_restored_into_an_existing_store(path: Path, kept: Path) -> None:
    target = MemoryStore()
    restore(kept, target)
    assert {space: contents(target, space) for space in target.spaces()} == everything(path)
    restore(kept, target)
    with SyncMemory.open(target) as memory:
        memory.learn("one more")
    with pytest.raises(SpaceExists):
        restore(kept, target)


def test_nothing_is_overwritten(path: Path, kept: Path, tmp_path: Path) -> None:
    before = kept.read_bytes()
    inventory_path(tmp_path / "c.db").write_text("mine", encoding="utf-8")
    for to in (kept, path, tmp_path / "c.db", "postgresql://host/db", 7):
        with pytest.raises(FieldRefused):
            backup(path, to)  # type: ignore[arg-type]
    with pytest.raises(FieldRefused, match="exists"):
        restore(kept, path)
    with pytest.raises(StoreFailed):
        backup(tmp_path / "none.db", tmp_path / "d.db")
    with pytest.raises(StoreFailed):
        backup(path, tmp_path / "nowhere" / "d.db")
    assert kept.read_bytes() == before


def test_a_damaged_store_is_not_backed_up(path: Path, tmp_path: Path) -> None:
    damage(path, 6)
    with pytest.raises(LogCorrupt, match="salvage") as refused:
        backup(path, tmp_path / "b.db")
    assert "mnemic salvage" in refused.value.recovery
    assert sorted(each.name for each in tmp_path.glob("*b.db*")) == []


def test_every_changed_byte_of_both_files_is_detected(kept: Path) -> None:
    beside = inventory_path(kept)
    for file, step in ((kept, 997), (beside, 7)):
        sound = file.read_bytes()
        for place in range(0, len(sound), step):
            file.write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
            with pytest.raises(BackupDamaged):
                check(kept)
        file.write_bytes(sound)
    assert check(kept).into is None


MANGLED: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "empty": lambda path: path.write_bytes(b""),
    "without a manifest": lambda path: inventory_path(path).unlink(),
    "with the manifest of another": lambda path: inventory_path(path).write_text("{}"),
    "with a list for a manifest": lambda path: inventory_path(path).write_text("[1]"),
}


@pytest.mark.parametrize("how", MANGLED)
def test_a_file_that_is_no_backup_is_refused(kept: Path, tmp_path: Path, how: str) -> None:
    MANGLED[how](kept)
    with pytest.raises(BackupDamaged):
        restore(kept, tmp_path / "back.db")
    assert sorted(each.name for each in tmp_path.glob("*back*")) == []


def test_a_manifest_made_for_changed_bytes_does_not_hide_a_broken_chain(
    path: Path, tmp_path: Path
) -> None:
    """The file is changed and its checksum corrected; the chain still shows it."""
    kept = tmp_path / "b.db"
    backup(path, kept)
    made = inventory_of(kept)
    damage(kept, 3)
    data = kept.read_bytes()
    forged = evolve(made, bytes=len(data), sha256=sha256(data).hexdigest())
    inventory_path(kept).write_bytes(document(forged))
    with pytest.raises(BackupDamaged, match="damaged at version"):
        check(kept)


def test_system_errors_are_converted(tmp_path: Path) -> None:
    with pytest.raises(MnemicError):
        check(tmp_path / "none.db")
    with pytest.raises(MnemicError):
        restore(tmp_path, tmp_path / "x.db")
