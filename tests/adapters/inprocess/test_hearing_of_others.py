"""A memory on a server passes on word of what others write, whether its words are locked or not."""

from __future__ import annotations

import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.standing import hearing
from tests.adapters.stores.postgres import server as servers

LONG_S = 20.0


@pytest.fixture
def address() -> Generator[str]:
    with servers.SHARED.served() as server, servers.schema(server) as made:
        yield made


@pytest.mark.parametrize("name", [None, "keys"])
def test_word_of_what_others_write_is_passed_on(
    address: str, tmp_path: Path, name: str | None
) -> None:
    keys = None if name is None else tmp_path / name
    told = threading.Event()
    with (
        SyncMemory.open(address, keys=keys) as writing,
        SyncMemory.open(address, keys=keys) as reading,
    ):
        hear = hearing(reading)
        assert hear is not None
        end = hear(told.set)
        assert told.wait(LONG_S)  # that one hears from now on
        told.clear()
        writing.learn("The demo is on Thursday.")
        assert told.wait(LONG_S)
        end()


@pytest.mark.parametrize("name", [None, "keys"])
def test_a_memory_in_a_file_is_looked_at_instead(tmp_path: Path, name: str | None) -> None:
    keys = None if name is None else tmp_path / name
    with SyncMemory.open(tmp_path / "agent.db", keys=keys) as memory:
        assert hearing(memory) is None
