"""The format of a PostgreSQL store: its tables, and how its schema is recognised.

``stored_events`` belongs to the eventsourcing library; a stream is named by the number of its
space. Secrets are kept in ``payloads`` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, LiteralString

import psycopg
from psycopg.sql import SQL, Identifier

from mnemic.adapters.stores.addresses import ServerAddress
from mnemic.adapters.stores.postgres.connections import Datastore
from mnemic.kernel.errors import NotAStore, StoreFailed, StoreTooNew

APPLICATION = "mnemic"
FORMAT_VERSION = 1
"""That of a new schema. Increased by every change of the tables or of stored bytes."""
FORMAT_OF_CLUSTERS = 2
"""That of a schema that several hosts lead spaces of, see ``leadership``, or keep checkpoints in;
the newest known."""
SERVER_MIN = 130000
"""The oldest maintained server at the time of writing is 14; 13 has all features we use."""

STATEMENTS = (
    "CREATE TABLE {schema}.format (application text PRIMARY KEY, version integer NOT NULL)",
    # The head rows: where each log ends, written with every append. Free space on the page keeps
    # the new version of a row on the same page as the old one, off the indexes (HOT updates).
    """CREATE TABLE {schema}.spaces (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL UNIQUE,
        version bigint NOT NULL,
        digest bytea NOT NULL) WITH (fillfactor = 50)""",
    """CREATE TABLE {schema}.payloads (
        space integer NOT NULL,
        version bigint NOT NULL,
        slot integer NOT NULL,
        id text NOT NULL,
        owner text,
        other text,
        key bytea NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (space, version, slot))""",
    """CREATE TABLE {schema}.commands (
        space integer NOT NULL,
        id text NOT NULL,
        request bytea NOT NULL,
        first bigint NOT NULL,
        last bigint NOT NULL,
        PRIMARY KEY (space, id))""",
    "INSERT INTO {schema}.format VALUES ({application}, {version})",
)
"""Statements that initialise an empty schema, after the library's own table."""

CLUSTER_STATEMENTS: tuple[LiteralString, ...] = (
    """ALTER TABLE {schema}.spaces
        ADD COLUMN IF NOT EXISTS epoch bigint NOT NULL DEFAULT 0,
        ADD COLUMN IF NOT EXISTS leader text""",
    """CREATE TABLE IF NOT EXISTS {schema}.hosts (
        id text PRIMARY KEY,
        url text NOT NULL,
        until timestamptz NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS {schema}.moved (space text PRIMARY KEY, address text NOT NULL)",
    "UPDATE {schema}.format SET version = {newest} WHERE version < {newest}",
)
"""Statements that prepare a schema for hosts that lead its spaces. Repeating them does nothing."""

CHECKPOINT_STATEMENTS: tuple[LiteralString, ...] = (
    """CREATE TABLE IF NOT EXISTS {schema}.checkpoints (
        space integer NOT NULL,
        name text NOT NULL,
        at timestamptz NOT NULL DEFAULT now(),
        data bytea NOT NULL,
        PRIMARY KEY (space, name))""",
    # Compressing vectors takes time and saves little.
    "ALTER TABLE {schema}.checkpoints ALTER COLUMN data SET STORAGE EXTERNAL",
    "UPDATE {schema}.format SET version = {newest} WHERE version < {newest}",
)
"""Statements that prepare a schema for checkpoints. Repeating them does nothing. Earlier releases
would not delete those of erased text, so they must not open it any more."""

HAS_VECTOR_TABLES = b"""SELECT to_regclass(quote_ident(%b) || '.vector_heads') IS NOT NULL"""
DROP_VECTOR_TABLES: tuple[LiteralString, ...] = (
    "DROP FUNCTION IF EXISTS {schema}.begin_vectors_again() CASCADE",  # and its trigger
    "DROP TABLE IF EXISTS {schema}.vectors, {schema}.vector_heads",
)
"""Statements that remove the copies of vectors that releases up to 0.4 could keep on a server."""

_ONE_AT_A_TIME: Final = "LOCK TABLE {schema}.format IN SHARE ROW EXCLUSIVE MODE"
"""Two hosts may begin at once, and ``IF NOT EXISTS`` does not order what they do."""
_HAS_CHECKPOINTS = b"SELECT to_regclass(quote_ident(%b) || '.checkpoints') IS NOT NULL"
_SURROUNDINGS = b"""SELECT current_setting('server_version_num')::int,
    current_setting('server_encoding'), pg_is_in_recovery(),
    to_regnamespace(quote_ident(%b)) IS NOT NULL,
    to_regclass(quote_ident(%b) || '.format') IS NOT NULL,
    (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(%b))
        AND relkind IN ('r', 'p', 'v', 'm', 'f'))"""


def filled(statement: LiteralString, schema: str) -> bytes:
    """Return *statement* with the name of its schema, ready to be sent."""
    named = SQL(statement).format(
        schema=Identifier(schema),
        application=APPLICATION,
        version=FORMAT_VERSION,
        newest=FORMAT_OF_CLUSTERS,
    )
    return named.as_bytes(None)


def prepare(
    datastore: Datastore, statements: Sequence[LiteralString], *, purpose: str, option: str
) -> None:
    """Execute statements that prepare a schema, all or none.

    Args:
        datastore: Connections to the database.
        statements: ``CLUSTER_STATEMENTS`` or ``CHECKPOINT_STATEMENTS``.
        purpose: What for, as messages say it.
        option: That of ``mnemic serve`` which asks for it.

    Raises:
        StoreFailed: The user of the database may not change its tables.
    """
    try:
        with datastore.pinned() as connection, connection.transaction():
            for statement in (_ONE_AT_A_TIME, *statements):
                connection.execute(filled(statement, datastore.schema), prepare=False)
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreFailed(
            f"{datastore.address.shown} cannot be prepared for {purpose}: {error}",
            recovery=f"Begin `mnemic serve {option}` once as the owner of its tables.",
        ) from error


def has_checkpoints(datastore: Datastore) -> bool:
    """Return whether the schema is prepared for checkpoints."""
    return datastore.rows(_HAS_CHECKPOINTS, (datastore.schema,)) == [(True,)]


def is_new(datastore: Datastore, address: ServerAddress) -> bool:
    """Return whether there is no store yet; nothing is written.

    Raises:
        NotAStore: The schema belongs to another program.
        StoreTooNew: A later release of mnemic made it.
        StoreFailed: The server is too old, or its database cannot hold every text.
    """
    schema = address.schema
    found = datastore.rows(_SURROUNDINGS, (schema, schema, schema))[0]
    server, encoding, _, is_there, has_format, tables = found
    if server < SERVER_MIN:
        raise StoreFailed(
            f"{address.shown} is served by PostgreSQL {server // 10000}",
            recovery=f"Use PostgreSQL {SERVER_MIN // 10000} or newer.",
            path=address.shown,
        )
    if encoding != "UTF8":
        raise StoreFailed(
            f"{address.shown} is encoded in {encoding}, which cannot hold every text",
            recovery="Make a database with ENCODING 'UTF8', and name that.",
            path=address.shown,
        )
    if not is_there or not tables:
        return True
    if not has_format:
        raise _foreign(address)
    return _is_foreign_or_known(datastore, address)


def _is_foreign_or_known(datastore: Datastore, address: ServerAddress) -> bool:
    """Return False if the schema is ours; otherwise raise."""
    said = filled(
        "SELECT (to_jsonb(f) ->> 'application'), (to_jsonb(f) ->> 'version')::int "
        "FROM {schema}.format f",
        address.schema,
    )
    rows = datastore.rows(said)
    if len(rows) != 1 or rows[0][0] != APPLICATION:
        raise _foreign(address)
    version: int = rows[0][1]
    if version > FORMAT_OF_CLUSTERS:
        raise StoreTooNew(
            f"{address.shown} has format {version}; this release knows formats up to "
            f"{FORMAT_OF_CLUSTERS}",
            recovery="Install a newer release of mnemic to open this store.",
            path=address.shown,
            format=version,
        )
    return False


def _foreign(address: ServerAddress) -> NotAStore:
    return NotAStore(
        f"the schema {address.schema!r} of {address.shown} belongs to another program",
        recovery="Name another schema with ?schema=… in the address; it need not exist yet.",
        path=address.shown,
    )
