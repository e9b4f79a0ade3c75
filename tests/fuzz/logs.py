"""Forged logs: every digest is right, and one value is not.

A chain proves that nothing was changed since it was written. It does not prove who wrote it: the
author of a forged export can compute all of its digests. So a log is changed here and its chain
computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from hypothesis import strategies as st

from mnemic.adapters.codec.codec import Codec
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import Corrupt, LogCorrupt, StoreTooNew
from mnemic.kernel.events import Recorded
from mnemic.kernel.ports import PayloadRow, Record
from tests.fuzz.bounded import Attempt, Target
from tests.fuzz.sample import SPACE, kept
from tests.fuzz.sample import opened as memory_over
from tests.fuzz.values import changed, displaced, texts

Entry = tuple[Record, tuple[PayloadRow, ...]]
Forged = tuple[int, Entry]
"""The index of the changed event, and the event."""


@st.composite
def forged(draw: st.DrawFn) -> Forged:
    """Draw an event of the log with a changed value."""
    entries = kept().entries
    place = draw(st.integers(0, len(entries) - 1))
    record, rows = entries[place]
    match draw(st.integers(0, 5)):
        case 0:
            record = record._replace(body=draw(changed([record.body])))
        case 1:
            others = st.sampled_from([each.topic for each, _ in entries])
            record = record._replace(topic=draw(others | texts.filter(str.isascii)))
        case 2 if rows:
            at = draw(st.integers(0, len(rows) - 1))
            row = rows[at]._replace(data=draw(changed([rows[at].data])))
            rows = (*rows[:at], row, *rows[at + 1 :])
        case 3:
            rows = rows[: draw(st.integers(0, len(rows)))]
        case _:
            body = draw(displaced(orjson.loads(record.body)))
            record = record._replace(body=orjson.dumps(body, default=str) if safe(body) else b"{}")
    return place, (record, rows)


def safe(body: Any) -> bool:
    """Return whether a document can be written as JSON at all."""
    try:
        orjson.dumps(body)
    except (TypeError, ValueError):
        return False
    return True


def store_of(given: Forged) -> MemoryStore:
    """Return a store whose log holds the forged event in its place, with a valid chain."""
    place, entry = given
    store = MemoryStore()
    log = store.log(SPACE)
    for number, (record, rows) in enumerate(kept().entries):
        there, beside = entry if number == place else (record, rows)
        log.append([there], beside, after=log.head())
    return store


@contextmanager
def opening(_: Path) -> Generator[Attempt]:
    """Open logs for writing, and query those that open."""

    def attempt(given: Forged) -> None:
        with memory_over(store_of(given)) as memory:
            looked_at(memory)

    yield attempt


@contextmanager
def saving(_: Path) -> Generator[Attempt]:
    """Open the usable prefix of logs, which always succeeds, and query it."""

    def attempt(given: Forged) -> None:
        with SyncMemory.open(store_of(given), embedder=HashEmbedder(), read_only=True) as memory:
            looked_at(memory)

    yield attempt


def looked_at(memory: SyncMemory) -> None:
    """Run the queries that read most of the state."""
    memory.status()
    for block in memory.blocks(limit=50).items:
        memory.edges(block.id)
    memory.log(after=-1, limit=1000)
    memory.timeline()
    memory.ledger()
    memory.frontier()
    memory.recall("gate yard", record=False)
    memory.replay_all()
    memory.verify()


@contextmanager
def importing(folder: Path) -> Generator[Attempt]:
    """Export forged logs as far as possible, and import the result."""
    numbers = iter(range(1_000_000))

    def attempt(given: Forged) -> None:
        path, store = folder / f"{next(numbers)}.jsonl", store_of(given)
        with SyncMemory.open(store, embedder=HashEmbedder(), read_only=True) as memory:
            memory.export(path)
        into = MemoryStore()
        SyncMemory.import_space(path, into, space=SPACE)
        with memory_over(into) as copy:
            looked_at(copy)

    yield attempt


def outcome(
    decode: Callable[[Record, Sequence[PayloadRow]], Recorded],
    record: Record,
    rows: Sequence[PayloadRow],
) -> Recorded | str:
    """Return the decoded event, or the message of the error."""
    try:
        return decode(record, rows)
    except (Corrupt, StoreTooNew) as error:
        return str(error)


@contextmanager
def decoding(_: Path) -> Generator[Attempt]:
    """Decode single events with the fast and with the strict decoder."""
    codec = Codec(SeededEntropy("fuzz"))

    def attempt(given: Forged) -> None:
        record, rows = given[1]
        quick, thorough = (
            outcome(decode, record, rows) for decode in (codec.decode, codec.decode_thoroughly)
        )
        assert quick == thorough
        if isinstance(thorough, str):
            raise LogCorrupt(thorough)

    yield attempt


TARGETS = {
    "events, decoded": Target(inputs=forged(), opened=decoding),
    "logs, opened to write": Target(inputs=forged(), opened=opening),
    "logs, opened to read": Target(inputs=forged(), opened=saving),
    "logs, exported and imported": Target(inputs=forged(), opened=importing),
}
"""By name."""
