"""All bytes ever written can still be read, and events are still written in the same way."""

from __future__ import annotations

import json
import runpy
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.registry import Registry
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.events import Recorded
from mnemic.kernel.ports import PayloadRow, Record

HERE = Path(__file__).parent
EXAMPLES: dict[str, dict[str, Recorded]] = runpy.run_path(str(HERE / "corpus" / "examples.py"))[
    "EXAMPLES"
]
CORPUS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in sorted((HERE / "corpus").glob("*.json"))
}
ENTRIES = [(topic, name) for topic, entries in CORPUS.items() for name in entries]
WRITTEN_TODAY = [(topic, name) for topic, name in ENTRIES if topic in Registry().topics]


def stored(topic: str, name: str) -> tuple[Record, tuple[PayloadRow, ...]]:
    entry = CORPUS[topic][name]
    rows = tuple(
        PayloadRow(
            version=entry["version"],
            slot=row["slot"],
            id=row["id"],
            key=b64decode(row["key"]),
            owners=tuple(row["owners"]),
            data=b64decode(row["data"]),
        )
        for row in entry["payloads"]
    )
    return Record(entry["version"], topic, entry["body"].encode()), rows


@pytest.mark.parametrize(("topic", "name"), ENTRIES)
def test_stored_bytes_are_read_as_the_event_they_were(topic: str, name: str) -> None:
    assert Codec(SeededEntropy()).decode(*stored(topic, name)) == EXAMPLES[topic][name]


@pytest.mark.parametrize(("topic", "name"), WRITTEN_TODAY)
def test_the_same_event_and_entropy_make_the_same_bytes(topic: str, name: str) -> None:
    codec = Codec(SeededEntropy(f"{topic}/{name}"))
    assert codec.encode(EXAMPLES[topic][name]) == stored(topic, name)


def test_every_readable_topic_is_in_the_corpus_and_every_example_is_recorded() -> None:
    recorded = {topic: set(entries) for topic, entries in CORPUS.items()}
    assert set(recorded) == set(Registry().kinds)
    assert recorded == {topic: set(by_name) for topic, by_name in EXAMPLES.items()}


def test_recording_the_corpus_again_changes_nothing() -> None:
    main = runpy.run_path(str(HERE / "record_corpus.py"))["main"]
    before = {path: path.read_bytes() for path in (HERE / "corpus").iterdir() if path.is_file()}
    assert main() == ""
    assert before == {
        path: path.read_bytes() for path in (HERE / "corpus").iterdir() if path.is_file()
    }
