"""Erased text leaves the tables with its command, and the server may reuse its space."""

from __future__ import annotations

from contextlib import closing

import psycopg

from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.specs.contracts.log_entries import payload, records
from tests.adapters.stores.postgres.conftest import rows_of

DEAD = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE schemaname = %s AND relname = 'payloads'"


def test_an_erased_text_is_in_no_row_of_the_store(store: PostgresStore, address: str) -> None:
    log = store.log("home")
    log.append(records(0, 2), [payload(0, 0, "a"), payload(1, 0, "b")], after=log.head())
    log.append(records(2, 1), [payload(2, 0, "a")], after=log.head(), erase=["a"])
    answer = rows_of(address)
    assert payload(1, 0, "b").data in answer
    for gone in (payload(0), payload(2)):
        assert gone.data not in answer
        assert gone.key not in answer


def test_an_erasure_is_vacuumed_inside_and_outside_a_write_lock(
    store: PostgresStore, address: str
) -> None:
    log = store.log("home")
    log.append(records(0, 3), [payload(version, 0, "a") for version in range(3)], after=log.head())
    with log.write_lock():
        log.append(records(3, 1), (), after=log.head(), erase=["a"])
        assert not store.is_vacuumed  # which would keep others waiting
    assert store.is_vacuumed
    log.append(records(4, 1), [payload(4, 0, "a")], after=log.head(), erase_all=True)
    assert store.is_vacuumed
    schema = parsed(address).schema
    with closing(psycopg.connect(parsed(address).conninfo, autocommit=True)) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        assert connection.execute(DEAD, (schema,)).fetchall() == [(0,)]


def test_an_erasure_succeeds_though_the_vacuum_fails(store: PostgresStore, address: str) -> None:
    log = store.log("home")
    log.append(records(0, 1), [payload(0, 0, "a")], after=log.head())
    target = parsed(address)
    with closing(psycopg.connect(target.conninfo)) as other:
        # Whoever holds the table keeps the vacuum out, which does not wait.
        other.execute("SELECT set_config('search_path', quote_ident(%s), false)", (target.schema,))
        other.execute("LOCK TABLE payloads IN SHARE UPDATE EXCLUSIVE MODE")
        log.append(records(1, 1), (), after=log.head(), erase=["a"])
    assert [transfer_records for _, transfer_records in log.read()] == [(), ()]
