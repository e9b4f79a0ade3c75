"""Between a file and a server: migrate, backup, restore and salvage."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.opening import Address, open_store
from mnemic.adapters.transfer.backup import backup, check, restore
from mnemic.adapters.transfer.migration import migrate
from mnemic.adapters.transfer.salvage import salvage
from mnemic.kernel.errors import FieldRefused, SpaceExists
from mnemic.kernel.ports import Store
from tests.adapters.stores.postgres import server as servers
from tests.adapters.transfer.test_migrating import SECRET, begin, contents


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with servers.SHARED.served() as address:
        yield address


@pytest.fixture
def address(server: str) -> Generator[str]:
    """The address of a schema that does not exist yet."""
    with servers.schema(server) as made:
        yield made


@contextmanager
def at(place: Address) -> Generator[Store]:
    with closing(open_store(place, read_only=True)) as store:
        yield store


def test_a_memory_moves_to_a_server_and_back(
    memory: SyncMemory, store: MemoryStore, address: str, tmp_path: Path
) -> None:
    version = memory.status().version
    with closing(open_store(address)) as target:
        begin(store, target, 7)
    assert migrate(store, address).spaces[0].copied == version - 6
    migrate(address, tmp_path / "back.db")
    for place in (address, tmp_path / "back.db"):
        with at(place) as moved:
            assert contents(moved) == contents(store)
    with SyncMemory.open(address) as moved_on:
        moved_on.start_session()
    with pytest.raises(SpaceExists, match=f"goes on at version {version + 1}"):
        migrate(store, address)
    with pytest.raises(FieldRefused, match="into itself"):
        migrate(address, address)


def test_text_erased_between_two_runs_is_erased_on_the_server(address: str) -> None:
    source = MemoryStore()
    with SyncMemory.open(source) as memory:
        block = memory.learn(f"the {SECRET.decode()} of Nineveh").block_id
        migrate(source, address)
        memory.erase(block)
        memory.learn("and after")
        migrate(source, address)
    with at(address) as target:
        assert contents(target) == contents(source)
        held = [row.data for _, rows in target.log("default").read() for row in rows]
    assert [data for data in held if SECRET in data] == []


def test_a_server_is_backed_up_into_a_file_and_restored(
    memory: SyncMemory, store: MemoryStore, server: str, tmp_path: Path
) -> None:
    last = memory.status().version
    with servers.schema(server) as address:
        migrate(store, address)
        kept = backup(address, tmp_path / "kept.db")
    assert (kept.spaces[0].version, check(tmp_path / "kept.db").spaces) == (last, kept.spaces)
    with servers.schema(server) as other:
        restore(tmp_path / "kept.db", other)
        with at(other) as restored:
            assert contents(restored) == contents(store)
        saved = salvage(other, tmp_path / "saved.db")
    assert saved.complete
    with at(tmp_path / "saved.db") as whole:
        assert contents(whole) == contents(store)
