"""A whole history must come out alike on every processor, played afresh or from its log."""

from __future__ import annotations

import gzip
import json
import runpy
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.identity import decision_id
from mnemic.kernel.ports import PayloadRow, Record

HERE = Path(__file__).parent
SCENARIO: dict[str, Any] = runpy.run_path(str(HERE / "scenario.py"))
EXPECTED: dict[str, Any] = json.loads((HERE / "log.json").read_text(encoding="utf-8"))
QUESTION = "how long does a gauge wait before it resends?"


@pytest.fixture(scope="module")
def stored() -> MemoryStore:
    """Return a store that holds the recorded log, byte for byte."""
    store = MemoryStore()
    log = store.log("default")
    lines = gzip.decompress((HERE / "log.jsonl.gz").read_bytes()).decode().splitlines()
    for version, line in enumerate(lines):
        row = json.loads(line)
        payloads = [
            PayloadRow(
                version,
                slot,
                each["id"],
                bytes.fromhex(each["key"]),
                tuple(each["owners"]),
                b64decode(each["data"]),
            )
            for slot, each in enumerate(row["payloads"])
        ]
        log.append([Record(version, row["topic"], row["body"].encode())], payloads)
    return store


def opened(store: MemoryStore) -> SyncMemory:
    return SyncMemory.open(store, embedder=SCENARIO["embedder"](), clock=ManualClock())


def test_the_stored_log_has_the_recorded_chain(stored: MemoryStore) -> None:
    head = stored.log("default").head()
    assert (head.version, head.digest.hex()) == (EXPECTED["version"], EXPECTED["chain"])
    assert opened(stored).verify().sound


def test_every_decision_of_the_stored_log_is_reproduced(stored: MemoryStore) -> None:
    memory = opened(stored)
    decisions = [entry for entry in memory.log(limit=1000) if entry.kind == "recall-recorded"]
    outcomes = [memory.replay(decision_id(entry.version)).outcome for entry in decisions]
    assert len(outcomes) >= 8
    assert set(outcomes) == {"reproduced"}


def test_the_stored_log_gives_the_recorded_answer(stored: MemoryStore) -> None:
    last = opened(stored).as_of(version=EXPECTED["version"])
    assert last.recall(QUESTION).digest == EXPECTED["answer"]


def test_playing_the_history_afresh_gives_the_same_log_byte_for_byte() -> None:
    store, memory = SCENARIO["play"]()
    head = store.log("default").head()
    memory.close()
    assert (head.version, head.digest.hex()) == (EXPECTED["version"], EXPECTED["chain"])
