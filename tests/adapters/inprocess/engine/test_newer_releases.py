"""Logs with events of a newer release: read up to them, never appended to."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import StoreTooNew
from mnemic.kernel.ports import Record

EMBEDDER = HashEmbedder(4)


def note_the_unknown(store: MemoryStore) -> int:
    log = store.log("default")
    version = log.head().version + 1
    log.append([Record(version, "block-dreamed.1", b"{}")], (), after=log.head())
    return version


def test_an_open_memory_writes_nothing_after_an_event_of_a_newer_release() -> None:
    store = MemoryStore()
    with SyncMemory.open(store, embedder=EMBEDDER) as memory:
        memory.learn("the gate opens at six")
        version = note_the_unknown(store)
        with pytest.raises(StoreTooNew, match=f"event {version} is 'block-dreamed.1'"):
            memory.learn("the crane needs oil")
    assert store.log("default").head().version == version


def test_a_log_of_a_newer_release_opens_read_only_up_to_that_event(tmp_path: Path) -> None:
    store = MemoryStore()
    with SyncMemory.open(store, embedder=EMBEDDER) as memory:
        memory.learn("the gate opens at six")
    version = note_the_unknown(store)
    with pytest.raises(StoreTooNew):
        SyncMemory.open(store, embedder=EMBEDDER)
    with SyncMemory.open(store, embedder=EMBEDDER, read_only=True) as memory:
        status = memory.status()
        assert (status.version, status.inbox) == (version - 1, 1)
        (alert,) = status.alerts
        assert alert.startswith(f"this is the state before version {version}: ")
        assert memory.verify().first_bad_version == version
        with pytest.raises(StoreTooNew):
            memory.export(tmp_path / "all.jsonl")
        assert memory.export(tmp_path / "known.jsonl", upto=version - 1).version == version - 1


def test_a_file_that_is_moved_to_a_newer_format_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with SyncMemory.open(path, embedder=EMBEDDER) as memory:
        memory.learn("the gate opens at six")
        with closing(sqlite3.connect(path)) as file:
            file.execute("PRAGMA user_version = 2")
        with pytest.raises(StoreTooNew, match="has format 2"):
            memory.learn("the crane needs oil")
        assert memory.status().inbox == 1
