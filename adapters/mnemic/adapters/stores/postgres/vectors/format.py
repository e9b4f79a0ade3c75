"""The tables of vectors, in the form that the server allows.

The extension pgvector stores four bytes a component and computes products. Where a server does not
have it, or does not let this user have it, the payload's two bytes a component are stored, and
products are computed here. The type of the column records the choice, permanently.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, LiteralString

import numpy as np
import psycopg
from attrs import frozen
from numpy.typing import NDArray
from psycopg.sql import SQL, Identifier

from mnemic.adapters.stores.postgres.connections import Datastore, Lost
from mnemic.adapters.stores.postgres.opening import lock_key
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector

_FOUND = b"""SELECT t.typname::text, n.nspname::text FROM pg_attribute a
    JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace n ON n.oid = t.typnamespace
    WHERE a.attname = 'embedding'
        AND a.attrelid = to_regclass(quote_ident(%b) || '.vectors')"""
_EXTENSION = b"""SELECT n.nspname::text FROM pg_extension e
    JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"""
_EXTEND = b"CREATE EXTENSION IF NOT EXISTS vector"

_UNITS = {False: 2, True: 4}
"""Bytes of a vector as sent, without the extension and with it."""

_MAKING: tuple[LiteralString, ...] = (
    # How far the vectors of each space go, and how many of each embedder there were.
    """CREATE TABLE {schema}.vector_heads (
        space integer PRIMARY KEY,
        version bigint NOT NULL,
        digest bytea NOT NULL,
        embedder text NOT NULL,
        counts jsonb NOT NULL) WITH (fillfactor = 50)""",
    # Rows of up to 8 kB stay whole: a search reads every one of them.
    """CREATE TABLE {schema}.vectors (
        space integer NOT NULL,
        version bigint NOT NULL,
        slot integer NOT NULL,
        embedder text NOT NULL,
        number bigint NOT NULL,
        owner text NOT NULL,
        squared_norm integer NOT NULL,
        embedding {type} NOT NULL,
        PRIMARY KEY (space, version, slot),
        UNIQUE (space, embedder, number),
        FOREIGN KEY (space, version, slot) REFERENCES {schema}.payloads ON DELETE CASCADE)
        WITH (toast_tuple_target = 8160)""",
    # A log that is cleared may be written again, to the same digest; its vectors went with the
    # payloads. Whoever clears it need not know of them.
    """CREATE FUNCTION {schema}.begin_vectors_again() RETURNS trigger
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
        BEGIN
            DELETE FROM {schema}.vector_heads WHERE space = NEW.id;
            RETURN NULL;
        END $$""",
    """CREATE TRIGGER begin_vectors_again AFTER UPDATE ON {schema}.spaces
        FOR EACH ROW WHEN (NEW.version < OLD.version)
        EXECUTE FUNCTION {schema}.begin_vectors_again()""",
)


@frozen
class Form:
    """How vectors are stored in a schema."""

    schema: str
    extension: str | None
    """The schema of pgvector; None: it is not used."""

    @property
    def is_searched_there(self) -> bool:
        """Whether the server computes products."""
        return self.extension is not None

    def filled(self, statement: LiteralString) -> bytes:
        """Return *statement* with its names, ready to be sent.

        They are ``{schema}``; ``{type}``, of the column; ``{product}``, the operator of pgvector;
        and ``{sent}``, the bytes of a vector as ``read_each`` reads them.
        """
        kind, product, sent = SQL("bytea"), SQL(""), SQL("embedding")
        if self.extension is not None:
            home = Identifier(self.extension)
            kind = SQL("{}.vector").format(home)  # type: ignore[assignment]
            product = SQL("OPERATOR({}.<#>)").format(home)  # type: ignore[assignment]
            sent = SQL("{}.vector_send(embedding)").format(home)  # type: ignore[assignment]
        return (
            SQL(statement)
            .format(schema=Identifier(self.schema), type=kind, product=product, sent=sent)
            .as_bytes(None)
        )

    def written(self, packed: bytes) -> str:
        """Return a vector as the text that the type of the column is parsed from."""
        if self.extension is None:
            return rf"\x{packed.hex()}"
        return f"[{','.join(map(str, vectors.unpack(packed).tolist()))}]"

    def read_each(self, sent: bytes, count: int) -> NDArray[np.int16] | None:
        """Return *count* vectors of one size that were sent in one go; None if they are not that.

        Args:
            sent: The bytes of each, as ``{sent}`` has them, one after the other.
            count: How many, >= 1.
        """
        if len(sent) % count or len(sent) // count % _UNITS[self.is_searched_there]:
            return None
        if self.extension is None:
            return np.frombuffer(sent, dtype="<i2").reshape(count, -1)
        floats: Any = np.frombuffer(sent, dtype=">f4").reshape(count, -1)[:, 1:]
        with np.errstate(invalid="ignore"):  # an invalid number is detected by its MAC
            whole: NDArray[np.int16] = floats.astype(np.int16)
        return whole

    def read(self, stored: bytes) -> Vector | None:
        """Return the vector that the column holds, in its binary form; None if that is none."""
        with suppress(LogCorrupt):
            if self.extension is None:
                return vectors.unpack(stored)
            floats: Any = np.frombuffer(stored, dtype=">f4", offset=4)
            whole: Vector = floats.astype(np.int16)
            if np.array_equal(whole, floats):
                return whole
        return None


def found(datastore: Datastore) -> Form | None:
    """Return the form of the existing tables; None: there are none."""
    schema = datastore.schema
    rows = datastore.rows(_FOUND, (schema,))
    if not rows:
        return None
    kind, home = rows[0]
    return Form(schema, home if kind == "vector" else None)


def made(datastore: Datastore, *, pgvector: bool) -> Form:
    """Return the form of the tables; make them if there are none.

    Args:
        datastore: Where.
        pgvector: Whether the extension is used if it can be had.
    """
    there = found(datastore)
    if there is not None:
        return there
    home = _extension(datastore) if pgvector else None
    form = Form(datastore.schema, home)
    with datastore.pinned() as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(datastore.schema),))
        faster = found(datastore)
        if faster is not None:
            return faster
        for statement in _MAKING:
            connection.execute(form.filled(statement), prepare=False)
    return form


def _extension(datastore: Datastore) -> str | None:
    """Return the schema of pgvector, which is installed in the database if that is allowed."""
    rows = datastore.rows(_EXTENSION)
    if not rows:
        with suppress(psycopg.Error, Lost), datastore.lent() as connection:
            connection.execute(_EXTEND, prepare=False)
        rows = datastore.rows(_EXTENSION)
    return rows[0][0] if rows else None
