"""Opening, making or refusing the schema of a PostgreSQL store."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256

import psycopg

from mnemic.adapters.stores.addresses import ServerAddress
from mnemic.adapters.stores.postgres.connections import Datastore
from mnemic.adapters.stores.postgres.format import (
    DROP_VECTOR_TABLES,
    HAS_VECTOR_TABLES,
    filled,
    is_new,
)
from mnemic.adapters.stores.postgres.recorder import SpaceRecorder
from mnemic.kernel.errors import StoreFailed

KEY_BYTES = 8


def lock_key(*names: str) -> int:
    """Return the number of the advisory lock of *names*, the same in all sessions of a database."""
    digest = sha256("\0".join(("mnemic", *names)).encode()).digest()
    return int.from_bytes(digest[:KEY_BYTES], "big", signed=True)


def opened(datastore: Datastore, *, read_only: bool) -> SpaceRecorder:
    """Open the store of *datastore*; make it if there is none and it may be written.

    If that fails, *datastore* is closed.

    Raises:
        NotAStore, StoreTooNew: It belongs to another program or release; it is left unchanged.
        StoreFailed: The server is unsuitable, or there is no store to read.
        psycopg.Error: It cannot be reached, or refuses.
    """
    recorder, address = SpaceRecorder(datastore), datastore.address
    try:
        if is_new(datastore, address):
            _make(recorder, address, read_only=read_only)
        elif not read_only:
            _drop_vector_tables(datastore)
    except BaseException:
        datastore.close()
        raise
    return recorder


def _make(recorder: SpaceRecorder, address: ServerAddress, *, read_only: bool) -> None:
    """Make the tables, unless another process is faster. All of them, or none.

    Raises:
        StoreFailed: There is none, and the store is open read-only.
    """
    if read_only:
        raise StoreFailed(
            f"{address.shown} holds no store yet",
            recovery="Name another, or open it to write, which makes one: `mnemic learn`.",
            path=address.shown,
        )
    datastore = recorder.datastore
    with datastore.pinned() as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(address.schema),))
        if not is_new(datastore, address):
            return
        known = connection.execute(
            "SELECT to_regnamespace(quote_ident(%s)) IS NOT NULL AS known", (address.schema,)
        ).fetchone()
        if known is not None and not known["known"]:  # users without CREATE may use an existing one
            connection.execute(filled("CREATE SCHEMA {schema}", address.schema))
        for statement in recorder.making():
            connection.execute(statement, prepare=False)


def _drop_vector_tables(datastore: Datastore) -> None:
    """Drop the copies of vectors that an earlier release kept, if this user may and they are free.

    If not, a later opening does; meanwhile a foreign key deletes each copy with its payload.
    """
    if datastore.rows(HAS_VECTOR_TABLES, (datastore.schema,)) != [(True,)]:
        return
    with (
        suppress(psycopg.errors.InsufficientPrivilege, psycopg.errors.LockNotAvailable),
        datastore.pinned() as connection,
        connection.transaction(),
    ):
        connection.execute("SET LOCAL lock_timeout = '1s'")
        for statement in DROP_VECTOR_TABLES:
            connection.execute(filled(statement, datastore.schema), prepare=False)
