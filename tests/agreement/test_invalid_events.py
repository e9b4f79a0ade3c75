"""Logs with a valid chain and invalid events are reported as damage, never as a bug."""

from __future__ import annotations

import random
import re
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.adapters.transfer.salvage import salvage
from mnemic.kernel.errors import LogCorrupt, MnemicError
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import PayloadRow, Record, Store

Rows = list[tuple[Record, tuple[PayloadRow, ...]]]
STRANGER = "f" * 16
"""The id of a block that was never learned."""
NUMBERS = (-(2**62), -1, 0, 1, 7, 10**9, 2**31, 2**40, 2**62)


def lived() -> Rows:
    """Return the log of a memory in which most kinds of event happened."""
    store, clock = MemoryStore(), ManualClock()
    with SyncMemory.open(
        store, clock=clock, embedder=HashEmbedder(16), entropy=SeededEntropy("lived")
    ) as memory:
        memory.start_session()
        gate = memory.learn("the harbour gate opens at six", tags=["gate"]).block_id
        late = memory.learn("the harbour gate closes at nine", author="Ann").block_id
        crane = memory.learn("the crane needs oil").block_id
        memory.consolidate()
        memory.connect(gate, late, "elaborates", note="hours")
        decision = memory.recall("when does the harbour gate open").decision_id
        clock.advance(minutes=50)
        memory.adopt_policy(Policy(name="other", top_k=3))
        memory.outcome(decision_id=decision, signal=0.9)
        memory.compose([gate, late])
        memory.erase(crane)
        memory.revise(late, "the harbour gate closes at ten")
        memory.curate()
        memory.end_session()
    return list(store.log("default").read())


LIVED = lived()
BODIES = b"".join(row.body for row, _ in LIVED).decode()
KNOWN = sorted({*re.findall("[0-9a-f]{16}", BODIES)})


def filled(store: Store, rows: Rows) -> None:
    """Write *rows* into a new space, in this order, under a chain of their own."""
    records = [Record(version, row.topic, row.body) for version, (row, _) in enumerate(rows)]
    payloads = [
        each._replace(version=version) for version, (_, given) in enumerate(rows) for each in given
    ]
    store.log("default").append(records, payloads, after=store.log("default").head())


def places(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the path of every value in a JSON document."""
    found = [path]
    if isinstance(value, dict):
        for key, each in value.items():
            found += places(each, (*path, key))
    if isinstance(value, list):
        for place, each in enumerate(value):
            found += places(each, (*path, place))
    return found


def changed(body: bytes, chance: random.Random) -> bytes:
    """Return the body of an event with one of its values replaced by another of its kind."""
    document = orjson.loads(body)
    *outer, last = chance.choice([*places(document["e"], ("e",)), ("h",), ("t",)])
    holder = document
    for key in outer:
        holder = holder[key]
    old = holder[last]
    if isinstance(old, bool):
        holder[last] = not old
    elif isinstance(old, int):
        holder[last] = chance.choice([*NUMBERS, old + 1, old - 1])
    elif isinstance(old, str):
        holder[last] = chance.choice([*KNOWN, STRANGER, "", "default", "archived"])
    elif isinstance(old, list):
        holder[last] = chance.choice([[], old + old, old[:-1], old[::-1]])
    return orjson.dumps(document)


@given(chance=st.randoms(use_true_random=False))
def test_an_edited_log_opens_or_is_refused_with_an_error_of_mnemic(chance: random.Random) -> None:
    rows, where = list(LIVED), chance.randrange(len(LIVED))
    record, payloads = rows[where]
    match chance.randrange(8):
        case 0:
            del rows[where]
        case 1:
            rows.insert(where, chance.choice(rows))
        case _:
            rows[where] = (record._replace(body=changed(record.body, chance)), payloads)
    store = MemoryStore()
    filled(store, rows)
    for read_only in (True, False):
        with (
            suppress(MnemicError),
            SyncMemory.open(
                store, read_only=read_only, embedder=HashEmbedder(16), clock=ManualClock()
            ) as memory,
        ):
            memory.status()
            memory.verify()


@pytest.fixture
def stranger() -> tuple[Rows, int]:
    """A log with an edge to a block that was never learned, and the version of that event."""
    rows = list(LIVED)
    where = next(k for k, (row, _) in enumerate(rows) if row.topic.startswith("edge-connected"))
    record, payloads = rows[where]
    document = orjson.loads(record.body)
    document["e"]["target"] = STRANGER
    rows[where] = (record._replace(body=orjson.dumps(document)), payloads)
    return rows, where


def test_an_event_about_an_unknown_block_is_named(stranger: tuple[Rows, int]) -> None:
    store, (rows, where) = MemoryStore(), stranger
    filled(store, rows)
    with pytest.raises(LogCorrupt, match=f"version {where} is inconsistent") as refused:
        SyncMemory.open(store)
    assert refused.value.facts["version"] == where
    with SyncMemory.open(store, read_only=True, embedder=HashEmbedder(16)) as memory:
        assert memory.status().version == where - 1
        assert memory.recall("harbour gate", record=False).blocks != ()


def test_an_open_memory_reports_an_invalid_event_when_it_catches_up(
    stranger: tuple[Rows, int],
) -> None:
    store, (rows, where) = MemoryStore(), stranger
    filled(store, LIVED)
    log = store.log("default")
    with SyncMemory.open(store, embedder=HashEmbedder(16)) as memory:
        record, end = rows[where][0], len(LIVED)
        log.append([record._replace(version=end)], (), after=log.head())
        with pytest.raises(LogCorrupt, match=f"version {end} is inconsistent"):
            memory.status()


def test_salvage_keeps_the_log_before_an_invalid_event(
    stranger: tuple[Rows, int], tmp_path: Path
) -> None:
    rows, where = stranger
    with closing(SQLiteStore(tmp_path / "a.db")) as store:
        filled(store, rows)
    (space,) = salvage(tmp_path / "a.db", tmp_path / "b.db").spaces
    assert (space.version, space.lost) == (where - 1, len(rows) - where)
    with SyncMemory.open(tmp_path / "b.db", embedder=HashEmbedder(16)) as memory:
        assert memory.verify().sound
