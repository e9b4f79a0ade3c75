"""A whole history gives the same results on every processor, played again or from its log."""

from __future__ import annotations

import gzip
import json
import runpy
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.model.identity import decision_id
from mnemic.kernel.ports import PayloadRow, Record

HERE = Path(__file__).parent
SCENARIO: dict[str, Any] = runpy.run_path(str(HERE / "scenario.py"))
LATEST: str = SCENARIO["LATEST"]
RELEASES = sorted(folder.name for folder in SCENARIO["LOGS"].iterdir())


def expected(release: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCENARIO["LOGS"] / release / "digests.json").read_text())
    return found


@cache
def stored(release: str) -> MemoryStore:
    """Return a store that holds the log that a release recorded, byte for byte."""
    store = MemoryStore()
    log = store.log("default")
    lines = (
        gzip.decompress((SCENARIO["LOGS"] / release / "log.jsonl.gz").read_bytes())
        .decode()
        .splitlines()
    )
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
        log.append(
            [Record(version, row["topic"], row["body"].encode())], payloads, after=log.head()
        )
    return store


def opened(store: MemoryStore) -> SyncMemory:
    return SyncMemory.open(store, embedder=SCENARIO["embedder"](), clock=ManualClock())


@pytest.mark.parametrize("release", RELEASES)
def test_a_stored_log_has_the_recorded_chain(release: str) -> None:
    store, then = stored(release), expected(release)
    head = store.log("default").head()
    assert (head.version, head.digest.hex()) == (then["version"], then["chain"])
    assert opened(store).verify().sound


@pytest.mark.parametrize("release", RELEASES)
def test_every_decision_of_a_stored_log_is_reproduced(release: str) -> None:
    memory = opened(stored(release))
    decisions = [entry for entry in memory.log(limit=1000) if entry.kind == "recall-recorded"]
    outcomes = [memory.replay(decision_id(entry.version)).outcome for entry in decisions]
    assert len(outcomes) >= 8
    assert set(outcomes) == {"reproduced"}


@pytest.mark.parametrize("release", [release for release in RELEASES if release < "0.5.0"])
def test_a_space_of_an_older_release_keeps_its_default_frame(release: str) -> None:
    answer = opened(stored(release)).recall(SCENARIO["QUESTION"], record=False)
    assert (answer.frame, answer.verdict != "") == ("attention", True)


def test_the_latest_log_gives_the_recorded_answer() -> None:
    then = expected(LATEST)
    last = opened(stored(LATEST)).as_of(version=then["version"])
    assert last.recall(SCENARIO["QUESTION"]).digest == then["answer"]


def test_playing_the_history_afresh_gives_the_same_log_byte_for_byte() -> None:
    store, memory = SCENARIO["play"]()
    head = store.log("default").head()
    memory.close()
    then = expected(LATEST)
    assert (head.version, head.digest.hex()) == (then["version"], then["chain"])
