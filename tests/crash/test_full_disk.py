"""The disk fills up: a memory reports it, loses nothing, and continues when it can."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import TypeAlias

import pytest

from mnemic.adapters.checkpoints.writer import TAIL_MIN
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import StoreFailed, StoreFull
from mnemic.kernel.results import LearnResult
from tests.adapters.checkpoints.states import checkpoint_writer_of
from tests.crash.limits import files_of

pytestmark = pytest.mark.extended

Limit: TypeAlias = Callable[[SQLiteStore], AbstractContextManager[None]]
ROOM_PAGES = 12
PAGE_BYTES = 4096


@contextmanager
def few_pages(store: SQLiteStore) -> Generator[None]:
    """Let the file have a few more pages; lift the limit in the end."""
    with store.recorder.datastore.get_connection(commit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("PRAGMA page_count")
        cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0] + ROOM_PAGES}")
    yield
    with store.recorder.datastore.get_connection(commit=True) as connection:
        connection.cursor().execute("PRAGMA max_page_count = 1000000")


@contextmanager
def small_files(store: SQLiteStore) -> Generator[None]:
    """Let no file of this process have more than a few more pages; lift the limit in the end."""
    sizes = [file.stat().st_size for file in store.path.parent.iterdir()]
    with files_of(max(sizes) + ROOM_PAGES * PAGE_BYTES):
        yield


def learn(memory: SyncMemory, number: int) -> LearnResult:
    return memory.learn(f"fact {number}: {'and so on ' * 100}")


def learn_until_full(memory: SyncMemory) -> list[LearnResult]:
    """Return what was acknowledged before the store reported that it is full."""
    learned: list[LearnResult] = []
    with pytest.raises((StoreFull, StoreFailed)) as caught:
        learned.extend(learn(memory, number) for number in count(100))
    assert "disk" in caught.value.recovery
    return learned


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on files there")
@pytest.mark.parametrize("limited", [few_pages, small_files])
def test_a_memory_survives_a_full_disk_and_loses_nothing(limited: Limit, tmp_path: Path) -> None:
    path, embedder = tmp_path / "agent.db", HashEmbedder(16)
    with closing(SQLiteStore(path)) as store, SyncMemory.open(store, embedder=embedder) as memory:
        memory.start_session()
        acknowledged = [learn(memory, number) for number in range(3)]
        with limited(store):
            acknowledged += learn_until_full(memory)
            before = memory.status()
            with pytest.raises((StoreFull, StoreFailed)):
                memory.consolidate()
            after = memory.status()
            assert (after.version, after.inbox) == (before.version, before.inbox)
            assert after.inbox == len(acknowledged) > 3
        acknowledged += [learn(memory, number) for number in range(200, 203)]
        assert memory.consolidate().promoted == len(acknowledged)
        assert memory.verify().sound
    with SyncMemory.open(path, embedder=embedder) as memory:
        versions = {block.id: block.learned_version for block in memory.blocks(limit=1000).items}
        assert versions == {each.block_id: each.version for each in acknowledged}
        assert memory.verify().sound


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on files there")
def test_no_operation_fails_when_a_checkpoint_does_not_fit_on_the_disk(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    with SyncMemory.open(MemoryStore(), checkpoints=folder) as memory:
        with files_of(PAGE_BYTES):
            memory.learn_many([f"fact {number}" for number in range(TAIL_MIN + 1)])
            checkpoint_writer_of(memory).close()  # waits for the one in the background
            with pytest.raises(StoreFull, match="cannot be written"):
                memory.checkpoint()
        (alert,) = memory.status().alerts
        assert alert.startswith("no checkpoint could be written: ")
        assert list(folder.iterdir()) == []
        assert memory.checkpoint().state == "valid"
        assert memory.status().alerts == ()
