"""migrate: spaces in another store, event for event, and again when the source has moved on."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import pytest

from mnemic.adapters.codec import Codec
from mnemic.adapters.files import temporary_folders
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.adapters.transfer.copies.logs import fill, log_records
from mnemic.adapters.transfer.copies.pipeline import Walk
from mnemic.adapters.transfer.destination import STORE, shown
from mnemic.adapters.transfer.migration import migrate
from mnemic.kernel.errors import (
    FieldRefused,
    LogCorrupt,
    NotAStore,
    PayloadsMissing,
    SpaceExists,
    SpaceNotFound,
    StoreFailed,
)
from mnemic.kernel.ports import CommandRow, PayloadRow, Record, Store
from tests.adapters.transfer.conftest import Open
from tests.adapters.transfer.damage import damage

SECRET = b"quinquereme"
"""A word of the text that is erased."""
COMMANDS = ("first", "many", "helped")


def contents(
    store: Store, space: str = "default"
) -> tuple[list[tuple[Record, frozenset[PayloadRow]]], list[CommandRow | None]]:
    """Return everything that can be read of a space in its store."""
    log = store.log(space, create=False)
    records = [(record, frozenset(rows)) for record, rows in log.read()]
    return records, [log.command(name) for name in COMMANDS]


def begin(source: Store, target: Store, events: int, space: str = "default") -> None:
    """Copy the first events, as a run does that is killed then."""
    log = source.log(space)
    codec = Codec(SystemEntropy())
    begun = islice(log_records(log, log.head().version, codec), events)
    fill(target.log(space), begun, Walk(codec))


@contextmanager
def at(path: Path) -> Generator[SQLiteStore]:
    with closing(SQLiteStore(path, read_only=True)) as store:
        yield store


def hits(folder: Path) -> list[str]:
    """Return the files in a folder that hold the secret."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file.name for file in files if SECRET in file.read_bytes()]


def test_a_migration_preserves_every_byte(
    memory: SyncMemory, store: MemoryStore, tmp_path: Path, decisions: list[str]
) -> None:
    memory.fork("other", version=2)
    told: list[tuple[int, int]] = []
    path = tmp_path / "moved.db"
    result = migrate(store, path, progress=lambda *step: told.append(step))
    assert [each.name for each in tmp_path.iterdir()] == ["moved.db"]
    with at(path) as moved:
        assert moved.spaces() == ("default", "other")
        for space in moved.spaces():
            assert contents(moved, space) == contents(store, space)
    version, chain = memory.status().version, store.log("default").head().digest.hex()
    assert [(each.space, each.behind) for each in result.spaces] == [("default", 0), ("other", 0)]
    first = result.spaces[0]
    assert (first.version, first.chain, first.copied) == (version, chain, version + 1)
    assert told[-1] == (2 * (version + 1) + 6, 2 * (version + 1) + 6)
    with SyncMemory.open(path, read_only=True) as copy:
        receipts = [memory.receipt(each) for each in decisions]
        assert {copy.verify_receipt(each).verdict for each in receipts} == {"confirmed"}
        assert copy.verify() == memory.verify()


def test_migration_works_into_memory_and_between_files(memory: SyncMemory, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    memory.fork("default", into=path)
    kept = MemoryStore()
    migrate(path, kept)
    migrate(str(path), str(tmp_path / "b.db"))
    with at(path) as source, at(tmp_path / "b.db") as target:
        assert contents(kept) == contents(source)
        assert contents(target) == contents(source)


def test_every_killed_run_can_be_resumed(memory: SyncMemory, store: MemoryStore) -> None:
    version = memory.status().version
    for events in range(version + 2):
        target = MemoryStore()
        begin(store, target, events)
        result = migrate(store, target)
        assert contents(target) == contents(store)
        assert result.spaces[0].copied == version + 1 - events


def test_a_new_file_is_resumed_in_its_temporary_folder(
    memory: SyncMemory, store: MemoryStore, tmp_path: Path
) -> None:
    path, version = tmp_path / "b.db", memory.status().version
    folder = temporary_folders.unfinished(path)
    folder.mkdir()
    with closing(SQLiteStore(folder / STORE)) as draft:
        begin(store, draft, 5)
    assert migrate(store, path, dry_run=True).spaces[0].copied == version - 4
    assert migrate(store, path).spaces[0].copied == version - 4
    assert [each.name for each in tmp_path.iterdir()] == ["b.db"]


def test_an_unfinished_copy_of_another_store_is_discarded(
    opened: Open, memory: SyncMemory, store: MemoryStore, tmp_path: Path
) -> None:
    path, other = tmp_path / "b.db", MemoryStore()
    opened(other).learn("another memory")
    folder = temporary_folders.unfinished(path)
    folder.mkdir()
    with closing(SQLiteStore(folder / STORE)) as draft:
        begin(other, draft, 3)
    assert migrate(store, path).spaces[0].copied == memory.status().version + 1
    with at(path) as moved:
        assert contents(moved) == contents(store)


def test_running_it_again_catches_up(memory: SyncMemory, store: MemoryStore) -> None:
    target = MemoryStore()
    migrate(store, target)
    assert migrate(store, target).spaces[0].copied == 0
    memory.learn("one more", command_id="later")
    assert migrate(store, target).spaces[0].copied == 1
    assert target.log("default").command("later") is not None
    assert contents(target) == contents(store)


def test_text_erased_between_two_runs_is_erased_in_the_target(tmp_path: Path) -> None:
    source, folder = tmp_path / "a.db", tmp_path / "target"
    folder.mkdir()
    target = folder / "b.db"
    with SyncMemory.open(source) as memory:
        block = memory.learn(f"the {SECRET.decode()} of Nineveh").block_id
        memory.learn("something else")
        migrate(source, target)
        with SyncMemory.open(target) as early:  # leaves a checkpoint with words beside it
            early.checkpoint()
        assert hits(folder) != []
        memory.erase(block)
        memory.learn("and after")
        migrate(source, target)
        assert hits(folder) == []
        with at(source) as old, at(target) as new:
            assert contents(old) == contents(new)


def test_a_text_learned_again_after_its_erasure_is_copied() -> None:
    source, target = MemoryStore(), MemoryStore()
    with SyncMemory.open(source) as memory:
        block = memory.learn("the gate").block_id
        migrate(source, target)
        memory.erase(block)
        memory.learn("the gate")
        memory.learn("the crane")
        migrate(source, target)
    assert contents(target) == contents(source)


def test_an_erased_space_is_erased_in_the_target(tmp_path: Path) -> None:
    source, folder = tmp_path / "a.db", tmp_path / "target"
    folder.mkdir()
    with SyncMemory.open(source) as memory:
        memory.learn(f"the {SECRET.decode()} of Nineveh")
        migrate(source, folder / "b.db")
        memory.erase_space("default")
    assert migrate(source, folder / "b.db").spaces[0].payloads == 0
    assert hits(folder) == []


def test_text_erased_during_a_run_is_erased_in_the_target(tmp_path: Path) -> None:
    store, folder = MemoryStore(), tmp_path / "target"
    folder.mkdir()
    with SyncMemory.open(store) as memory:
        block = memory.learn(f"the {SECRET.decode()} of Nineveh").block_id
        memory.learn_many([f"fact {number}" for number in range(1000)])

        def erase(_done: int, _total: int) -> None:
            memory.erase(block)

        result = migrate(store, folder / "b.db", progress=erase)
        assert result.spaces[0].version == memory.status().version
        assert "block-erased" in {each.kind for each in memory.log(after=1000)}
    assert hits(folder) == []
    with at(folder / "b.db") as target:
        assert contents(target) == contents(store)


def test_events_added_during_the_comparison_are_reported(
    store: MemoryStore, memory: SyncMemory
) -> None:
    memory.learn_many([f"fact {number}" for number in range(1500)])

    last = memory.status().version

    def learn(done: int, total: int) -> None:
        if memory.status().version == last and done > total // 2:
            memory.learn("meanwhile")

    target = MemoryStore()
    result = migrate(store, target, progress=learn)
    assert (result.spaces[0].version, result.spaces[0].behind) == (last, 1)
    assert "run it again" in str(result)
    assert migrate(store, target).spaces[0].behind == 0


@pytest.mark.parametrize("parted", [0, 4, 9])
def test_another_memory_of_the_same_name_is_left_unchanged(
    memory: SyncMemory, store: MemoryStore, parted: int
) -> None:
    target = MemoryStore()
    begin(store, target, parted)
    mine = b'{"h":0,"t":0,"c":"mine","e":{"session_id":"s"}}'
    target.log("default").append(
        [Record(parted, "session-started.1", mine)], (), after=target.log("default").head()
    )
    before, version = contents(target), memory.status().version
    target.log("another")
    with pytest.raises(SpaceExists, match=f"part at version {parted}") as refused:
        migrate(store, target, spaces=["default"])
    assert refused.value.facts["version"] == parted
    assert contents(target) == before
    assert memory.status().version == version


def test_nothing_is_added_to_a_copy_that_waits_for_the_erasure_of_a_missing_text(
    memory: SyncMemory, opened: Open, store: MemoryStore
) -> None:
    target = MemoryStore()
    begin(store, target, 9)
    with pytest.raises(PayloadsMissing):
        opened(target)
    migrate(store, target)
    assert opened(target).status().version == memory.status().version


def test_a_diverged_target_is_left_unchanged(
    memory: SyncMemory, opened: Open, store: MemoryStore
) -> None:
    target = MemoryStore()
    migrate(store, target)
    opened(target).learn("mine")
    version = memory.status().version
    with pytest.raises(SpaceExists, match=f"goes on at version {version + 1}"):
        migrate(store, target)


def test_nothing_is_written_if_one_of_several_spaces_cannot_be_moved(
    memory: SyncMemory, opened: Open, store: MemoryStore
) -> None:
    opened(space="zebra").learn("stripes")
    target = MemoryStore()
    opened(target, space="zebra").learn("mine")
    with pytest.raises(SpaceExists, match="zebra"):
        migrate(store, target)
    assert target.spaces() == ("zebra",)
    assert migrate(store, target, spaces=["default"]).spaces[0].version == memory.status().version


def test_a_dry_run_writes_nothing(memory: SyncMemory, store: MemoryStore, tmp_path: Path) -> None:
    result = migrate(store, tmp_path / "b.db", dry_run=True)
    assert (result.dry_run, result.spaces[0].copied) == (True, memory.status().version + 1)
    assert list(tmp_path.iterdir()) == []
    migrate(store, tmp_path / "b.db")
    memory.learn("one more")
    before = (tmp_path / "b.db").read_bytes()
    assert migrate(store, tmp_path / "b.db", dry_run=True).spaces[0].copied == 1
    assert (tmp_path / "b.db").read_bytes() == before


def test_an_empty_space_is_migrated(tmp_path: Path) -> None:
    source = MemoryStore()
    source.log("empty")
    assert migrate(source, tmp_path / "b.db").spaces[0].version == -1
    with at(tmp_path / "b.db") as target:
        assert target.spaces() == ("empty",)


def test_a_damaged_source_makes_no_new_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SyncMemory.open(path) as memory:
        memory.learn("one")
        memory.learn("two")
    damage(path, 3)
    with pytest.raises(LogCorrupt):
        migrate(path, tmp_path / "b.db")
    assert not (tmp_path / "b.db").exists()


def test_a_payload_missing_from_the_source_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SyncMemory.open(path) as memory:
        memory.learn("one")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("DELETE FROM payloads WHERE version = 2")
    with pytest.raises(LogCorrupt, match="version 2 lacks a payload that was not erased"):
        migrate(path, MemoryStore())


def test_invalid_sources_and_targets_are_refused(memory: SyncMemory, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    memory.fork("default", into=path)
    (tmp_path / "link.db").symlink_to(path)
    for target, error in (
        (path, FieldRefused),
        (tmp_path / "link.db", FieldRefused),
        (":memory:", FieldRefused),
        (tmp_path / "nowhere" / "b.db", StoreFailed),
        ("gopher://host/b", NotAStore),
        (7, FieldRefused),
    ):
        with pytest.raises(error):
            migrate(path, target)  # type: ignore[arg-type]
    with pytest.raises(StoreFailed):
        migrate(tmp_path / "none.db", tmp_path / "b.db")
    with pytest.raises(SpaceNotFound):
        migrate(path, tmp_path / "b.db", spaces=["none"])
    assert sorted(each.name for each in tmp_path.glob("*.db")) == ["a.db", "link.db"]


def test_an_address_is_shown_without_its_secrets() -> None:
    address = "postgresql://ann:hunter2@db.example:5432/memories?password=hunter2"
    assert shown(address) == "postgresql://ann@db.example/memories"
    assert shown(MemoryStore()) == "MemoryStore"
