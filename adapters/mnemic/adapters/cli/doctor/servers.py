"""The checks of a PostgreSQL server: release, durability and connections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mnemic.adapters.cli.doctor.findings import About, Finding
from mnemic.adapters.cli.doctor.store_files import megabytes
from mnemic.kernel.errors import LogCorrupt

if TYPE_CHECKING:
    from mnemic.adapters.stores.postgres import PostgresStore

ABOUT = About(name="store")
CROWDED = 0.8
"""Share of the maximum number of connections above which a warning is given."""

_FACTS = """SELECT current_setting('server_version'), pg_is_in_recovery(),
    current_setting('fsync')::bool, current_setting('full_page_writes')::bool,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
    (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mnemic'),
    current_setting('max_connections')::int,
    (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
        WHERE relnamespace = to_regnamespace(quote_ident(%b)) AND relkind = 'r'),
    (SELECT version FROM {schema}.format)"""


def server(store: PostgresStore) -> Iterator[Finding]:
    """Check the server of a store open for reading.

    Raises:
        StoreFailed, StoreBusy, NotAStore: The server cannot be queried.
    """
    facts = _facts(store)
    release, is_standby, syncs, writes_pages = facts[:4]
    yield ABOUT.ok("server", f"{store.address.shown}, PostgreSQL {release}")
    yield ABOUT.ok("format", f"{facts[8]}, of mnemic; {megabytes(facts[7])} in its tables")
    if is_standby:
        yield ABOUT.warning(
            "role", "a replica: it can be read only", remedy="Name the primary server to write."
        )
    if syncs and writes_pages:
        yield ABOUT.ok("durability", "the server waits for its disk")
    else:
        yield ABOUT.warning(
            "durability",
            "fsync or full_page_writes is off: a crash of the server may destroy the database",
            remedy="Have its operator turn both on.",
        )
    yield _connections(*facts[4:7])
    yield from _lost_rows(store)


def _connections(clients: int, ours: int, most: int) -> Finding:
    answer = f"{clients} of {most}, {ours} of them of mnemic"
    if clients > CROWDED * most:
        return ABOUT.warning(
            "connections", answer, remedy="Close some, or raise max_connections on the server."
        )
    return ABOUT.ok("connections", answer)


def _lost_rows(store: PostgresStore) -> Iterator[Finding]:
    try:
        store.check()
    except LogCorrupt as error:
        yield ABOUT.failure("lost rows", error)


def _facts(store: PostgresStore) -> tuple[Any, ...]:
    from mnemic.adapters.stores.postgres.faults import named
    from mnemic.adapters.stores.postgres.format import filled

    schema = store.address.schema
    with named(store.address):
        rows = store.recorder.datastore.rows(filled(_FACTS, schema), (schema,))
    return rows[0]
