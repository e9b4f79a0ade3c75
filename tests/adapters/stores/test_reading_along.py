"""Readers take no lock: whatever a head names can be read, though a writer is at work."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.ports import Log, Record

APPENDS, TOGETHER = 20, 200


@pytest.fixture(params=["memory", "sqlite"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Log]:
    kind = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "log.db")
    with closing(kind) as store:
        yield store.log("default")


@pytest.fixture(autouse=True)
def restless() -> Generator[None]:
    """Let threads change places as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_a_reader_finds_everything_up_to_the_head_while_another_thread_appends(log: Log) -> None:
    def write() -> None:
        for first in range(0, APPENDS * TOGETHER, TOGETHER):
            together = range(first, first + TOGETHER)
            log.append([Record(version, "note.1", b"body") for version in together], ())

    writer = threading.Thread(target=write)
    writer.start()
    versions: list[int] = []
    while len(versions) < APPENDS * TOGETHER:
        head = log.head().version
        versions += [record.version for record, _ in log.read(len(versions) - 1)]
        assert len(versions) > head
    writer.join()
    assert versions == list(range(APPENDS * TOGETHER))
