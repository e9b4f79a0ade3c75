"""Taking the write lock without waiting; see ``tests/adapters/stores/test_try_write_lock.py``."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.postgres.store import PostgresLog
from mnemic.kernel.errors import Closed, ViewReadOnly

SOON_S = 10


@pytest.fixture
def one(store: PostgresStore) -> PostgresLog:
    return store.log("home")


@pytest.fixture
def two(one: PostgresLog, address: str) -> Generator[PostgresLog]:
    assert one.name == "home"
    with closing(PostgresStore(address)) as other:
        yield other.log("home")


def is_free(log: PostgresLog) -> bool:
    with log.try_write_lock() as is_ours:
        return is_ours


def is_free_for_another(log: PostgresLog) -> bool:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(is_free, log).result()


def test_a_free_lock_can_be_taken_repeatedly(one: PostgresLog, two: PostgresLog) -> None:
    assert [is_free(one), is_free(two), is_free(one)] == [True, True, True]


def test_a_lock_taken_without_waiting_excludes_others(one: PostgresLog, two: PostgresLog) -> None:
    with one.try_write_lock() as is_ours:
        assert is_ours
        assert (is_free_for_another(one), is_free_for_another(two)) == (False, False)
    assert (is_free_for_another(one), is_free_for_another(two)) == (True, True)


def test_a_lock_taken_after_waiting_is_kept(one: PostgresLog, two: PostgresLog) -> None:
    with one.write_lock():
        asked = [is_free_for_another(one), is_free_for_another(two), is_free_for_another(two)]
        assert asked == [False, False, False]
    assert (is_free(one), is_free(two)) == (True, True)


def test_the_lock_is_released_after_an_error(one: PostgresLog, two: PostgresLog) -> None:
    with pytest.raises(LookupError), one.try_write_lock():
        raise LookupError
    assert is_free(two)


def test_a_read_only_or_closed_store_has_no_write_lock(one: PostgresLog, address: str) -> None:
    with closing(PostgresStore(address, read_only=True)) as reader, pytest.raises(ViewReadOnly):
        is_free(reader.log("home"))
    with closing(PostgresStore(address)) as closed:
        log = closed.log(one.name)
    with pytest.raises(Closed):
        is_free(log)


def test_readers_continue_while_a_writer_waits_for_another_process(
    address: str, two: PostgresLog
) -> None:
    with (
        closing(PostgresStore(address)) as store,
        SyncMemory.open(store, space="home", embedder=HashEmbedder(8)) as memory,
        ThreadPoolExecutor(1) as thread,
    ):
        memory.learn("bees sleep on the porch")
        before = memory.recall("bees", record=False).block_ids
        with two.write_lock():
            learning = thread.submit(memory.learn, "wasps do not")
            while not waits(store.log("home")):
                pass
            assert memory.recall("bees", record=False).block_ids == before
            assert not learning.done()
        assert learning.result(SOON_S).version == memory.status().version


def waits(log: PostgresLog) -> bool:
    """Return whether a thread has requested the lock from the server."""
    return log._write_locks._threads.locked()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
