"""Logs with events of a newer release: read up to them, never appended to."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.codec.vocabulary import vocabulary
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.transfer.salvage import salvage
from mnemic.kernel.errors import LogCorrupt, StoreTooNew
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.ports import Record, Store
from tests.adapters.checkpoints.forging import forge
from tests.adapters.checkpoints.states import restored

EMBEDDER = HashEmbedder(4)


def note_the_unknown(store: Store) -> int:
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


def note_a_newer_policy(store: Store, body: str) -> int:
    log = store.log("default")
    version = log.head().version + 1
    event = {"policy_id": "f" * 16, "body": body}
    around = json.dumps({"h": 0, "t": 0, "c": "newer", "e": event}).encode()
    log.append([Record(version, "policy-adopted.1", around)], (), after=log.head())
    return version


def with_mood(where: str) -> str:
    """Return a policy with an unknown field: of its own, or of its first frame."""
    body = json.loads(DEFAULT.body)
    (body if where == "policy" else body["frames"][0])["mood"] = "good"
    return json.dumps(body)


@pytest.mark.parametrize(("where", "field"), [("policy", "mood"), ("frame", "frames.mood")])
@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_policy_of_a_newer_release_is_too_new_and_no_damage(
    tmp_path: Path, where: str, field: str, *, checkpoint: bool
) -> None:
    path = tmp_path / "agent.db"
    with SyncMemory.open(path, embedder=EMBEDDER) as memory, closing(SQLiteStore(path)) as store:
        memory.learn("the gate opens at six")
        if checkpoint:
            memory.checkpoint()
        version = note_a_newer_policy(store, with_mood(where))
        for act in (memory.consolidate, memory.blocks):
            with pytest.raises(StoreTooNew) as caught:
                act()
            assert caught.value.facts == {"version": version, "fields": (field,)}
    with pytest.raises(StoreTooNew):
        SyncMemory.open(path, embedder=EMBEDDER)
    with SyncMemory.open(path, embedder=EMBEDDER, read_only=True) as memory:
        status = memory.status()
        assert (status.version, status.inbox, len(status.alerts)) == (version - 1, 1, 1)
        verified = memory.verify()
        assert (verified.too_new, verified.first_bad_version) == (True, version)
        assert verified.summary.startswith(f"Of a newer release from version {version}: ")


def test_a_policy_that_no_release_could_adopt_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with SyncMemory.open(path, embedder=EMBEDDER) as memory:
        memory.learn("the gate opens at six")
    with closing(SQLiteStore(path)) as store:
        version = note_a_newer_policy(
            store, json.dumps(json.loads(DEFAULT.body) | {"idle_gap_hours": -1})
        )
    with pytest.raises(LogCorrupt) as caught:
        SyncMemory.open(path, embedder=EMBEDDER)
    assert caught.value.facts["version"] == version


def test_a_checkpoint_of_a_release_that_knows_more_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with SyncMemory.open(path, embedder=EMBEDDER) as memory:
        memory.learn("the gate opens at six")
        name = memory.checkpoint().name
    file = path.with_name("agent.db.checkpoints") / name
    forge(file, lambda manifest: manifest.replace(vocabulary().encode(), b"0123456789abcdef", 1))
    with SyncMemory.open(path, embedder=EMBEDDER) as memory:
        (checkpoint,) = memory.checkpoints()
        assert (checkpoint.state, restored(memory)) == ("other-fold", None)
    forge(file, lambda manifest: manifest.replace(b'{"space":', b'{"mood":"good","space":', 1))
    with SyncMemory.open(path, embedder=EMBEDDER) as memory:
        (checkpoint,) = memory.checkpoints()
        assert (checkpoint.state, restored(memory)) == ("other-fold", None)
        assert memory.status().alerts == ()


@pytest.mark.parametrize("newer", ["event", "policy"])
def test_salvage_leaves_out_what_a_newer_release_wrote_only_on_request(
    tmp_path: Path, newer: str
) -> None:
    path, into = tmp_path / "agent.db", tmp_path / "saved.db"
    with SyncMemory.open(path, embedder=EMBEDDER) as memory:
        memory.learn("the gate opens at six")
    with closing(SQLiteStore(path)) as store:
        policy = newer == "policy"
        version = (
            note_a_newer_policy(store, with_mood("policy")) if policy else note_the_unknown(store)
        )
    with pytest.raises(StoreTooNew, match="is not damaged there") as caught:
        salvage(path, into)
    assert caught.value.facts["version"] == version
    assert "--drop-newer" in caught.value.recovery
    assert not into.exists()
    (saved,) = salvage(path, into, drop_newer=True).spaces
    assert (saved.version, saved.lost) == (version - 1, 1)
    assert "this release does not know" in str(saved.problem)


def test_a_file_that_is_moved_to_a_newer_format_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with SyncMemory.open(path, embedder=EMBEDDER) as memory:
        memory.learn("the gate opens at six")
        with closing(sqlite3.connect(path)) as file:
            file.execute("PRAGMA user_version = 2")
        with pytest.raises(StoreTooNew, match="has format 2"):
            memory.learn("the crane needs oil")
        assert memory.status().inbox == 1
