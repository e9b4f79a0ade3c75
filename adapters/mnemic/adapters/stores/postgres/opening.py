"""How the schema of a PostgreSQL store is opened, made, or refused."""

from __future__ import annotations

from hashlib import sha256

from mnemic.adapters.stores.addresses import ServerAddress
from mnemic.adapters.stores.postgres.connections import Datastore
from mnemic.adapters.stores.postgres.format import filled, is_new
from mnemic.adapters.stores.postgres.recorder import SpaceRecorder
from mnemic.kernel.errors import StoreFailed

KEY_BYTES = 8


def lock_key(*names: str) -> int:
    """Return the number by which sessions of one database know the lock of *names*."""
    digest = sha256("\0".join(("mnemic", *names)).encode()).digest()
    return int.from_bytes(digest[:KEY_BYTES], "big", signed=True)


def opened(datastore: Datastore, *, read_only: bool) -> SpaceRecorder:
    """Open the store of *datastore*; make it if there is none and it may be written.

    If that fails, *datastore* is closed.

    Raises:
        NotAStore, StoreTooNew: It is not ours, or not yet; it is left as it was.
        StoreFailed: The server is none that we can use, or there is no store to read.
        psycopg.Error: It cannot be reached, or refuses.
    """
    recorder, address = SpaceRecorder(datastore), datastore.address
    try:
        if is_new(datastore, address):
            _make(recorder, address, read_only=read_only)
    except BaseException:
        datastore.close()
        raise
    return recorder


def _make(recorder: SpaceRecorder, address: ServerAddress, *, read_only: bool) -> None:
    """Make the tables, unless another process is faster. All of them, or none.

    Raises:
        StoreFailed: There is none, and whoever only reads makes none.
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
        if known is not None and not known["known"]:  # who may not make one may use one
            connection.execute(filled("CREATE SCHEMA {schema}", address.schema))
        for statement in recorder.making():
            connection.execute(statement, prepare=False)
