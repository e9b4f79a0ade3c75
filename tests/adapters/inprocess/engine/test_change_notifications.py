"""Notifications of other writers' changes on a server, with and without encryption."""

from __future__ import annotations

import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.operations.answer_version import hearing
from tests.adapters.stores.postgres import server as servers

LONG_S = 20.0


@pytest.fixture
def address() -> Generator[str]:
    with servers.SHARED.served() as server, servers.schema(server) as made:
        yield made


@pytest.mark.parametrize("name", [None, "keys"])
def test_writes_of_others_are_notified(address: str, tmp_path: Path, name: str | None) -> None:
    keys = None if name is None else tmp_path / name
    answer = threading.Event()
    with (
        SyncMemory.open(address, keys=keys) as writer,
        SyncMemory.open(address, keys=keys) as reading,
    ):
        hear = hearing(reading)
        assert hear is not None
        end = hear(answer.set)
        assert answer.wait(LONG_S)  # it is notified from now on
        answer.clear()
        writer.learn("The demo is on Thursday.")
        assert answer.wait(LONG_S)
        end()


@pytest.mark.parametrize("name", [None, "keys"])
def test_a_memory_in_a_file_has_no_notifications(tmp_path: Path, name: str | None) -> None:
    keys = None if name is None else tmp_path / name
    with SyncMemory.open(tmp_path / "agent.db", keys=keys) as memory:
        assert hearing(memory) is None
