"""A turn that is had at once or not at all; see ``tests/adapters/stores/test_prompt.py``."""

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
    with log.writing_if_free() as is_ours:
        return is_ours


def is_free_for_another(log: PostgresLog) -> bool:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(is_free, log).result()


def test_a_turn_that_nobody_has_is_free_again_and_again(one: PostgresLog, two: PostgresLog) -> None:
    assert [is_free(one), is_free(two), is_free(one)] == [True, True, True]


def test_whoever_has_it_at_once_keeps_out_all_others(one: PostgresLog, two: PostgresLog) -> None:
    with one.writing_if_free() as is_ours:
        assert is_ours
        assert (is_free_for_another(one), is_free_for_another(two)) == (False, False)
    assert (is_free_for_another(one), is_free_for_another(two)) == (True, True)


def test_whoever_waited_for_it_keeps_it_though_others_ask(
    one: PostgresLog, two: PostgresLog
) -> None:
    with one.writing():
        asked = [is_free_for_another(one), is_free_for_another(two), is_free_for_another(two)]
        assert asked == [False, False, False]
    assert (is_free(one), is_free(two)) == (True, True)


def test_it_ends_with_an_error_too(one: PostgresLog, two: PostgresLog) -> None:
    with pytest.raises(LookupError), one.writing_if_free():
        raise LookupError
    assert is_free(two)


def test_a_store_that_only_reads_or_is_closed_has_none(one: PostgresLog, address: str) -> None:
    with closing(PostgresStore(address, read_only=True)) as reader, pytest.raises(ViewReadOnly):
        is_free(reader.log("home"))
    with closing(PostgresStore(address)) as closed:
        log = closed.log(one.name)
    with pytest.raises(Closed):
        is_free(log)


def test_whoever_reads_goes_on_while_a_writer_waits_for_another_process(
    address: str, two: PostgresLog
) -> None:
    with (
        closing(PostgresStore(address)) as store,
        SyncMemory.open(store, space="home", embedder=HashEmbedder(8)) as memory,
        ThreadPoolExecutor(1) as thread,
    ):
        memory.learn("bees sleep on the porch")
        before = memory.recall("bees", record=False).block_ids
        with two.writing():
            learning = thread.submit(memory.learn, "wasps do not")
            while not waits(store.log("home")):
                pass
            assert memory.recall("bees", record=False).block_ids == before
            assert not learning.done()
        assert learning.result(SOON_S).version == memory.status().version


def waits(log: PostgresLog) -> bool:
    """Say whether a thread has asked the server for the turn."""
    return log._turns._threads.locked()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
