"""Exact search for the nearest vectors: by the server, or here over batches that it sends.

Either way memory is bounded by the number of results, not by that of vectors. Cosines equal those
of `mnemic.kernel.model.vectors` to the last digit: the server multiplies, roots, divides and rounds
64-bit numbers just as numpy does, since the standard defines each of these operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import LiteralString, NamedTuple

import numpy as np
from attrs import frozen

from mnemic.adapters.stores.postgres.connections import Datastore
from mnemic.adapters.stores.postgres.vectors.format import Form
from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import Integers

ENDLESS = 2**62
STRETCH_BYTES = 2**21
"""Bytes per batch where the server does not compute products."""

_OF: LiteralString = "space = %b AND embedder = %b AND version <= %b AND number < %b"
_AMONG: LiteralString = " AND number = ANY(%b::bigint[])"
# The inner SELECT makes the server parse the query vector once: a generic plan would parse it
# anew at every row, which took 20 times as long.
_NEAREST: LiteralString = """SELECT version, slot, number, owner, round(
        -(embedding {product} (SELECT %b::text::{type}))
        / sqrt(greatest(squared_norm::bigint * %b, 1)) * 1e9::float8)::bigint AS cosine
    FROM {schema}.vectors WHERE """
_BEST: LiteralString = ' ORDER BY cosine DESC, owner COLLATE "C", number LIMIT %b'
_STRETCH: LiteralString = """SELECT version, slot, number, owner, squared_norm, embedding
    FROM {schema}.vectors WHERE """
_IN_ORDER: LiteralString = " AND number > %b ORDER BY number LIMIT %b"
_STANDING: LiteralString = "SELECT number FROM {schema}.vectors WHERE "
_COUNT: LiteralString = "SELECT count(*) FROM {schema}.vectors WHERE "
_SIZE: LiteralString = """SELECT embedding FROM {schema}.vectors
    WHERE space = %b AND embedder = %b ORDER BY number LIMIT 1"""


class Near(NamedTuple):
    """A vector that was found."""

    version: int
    slot: int
    """Position of its payload."""
    number: int
    """Its number among all of its embedder, from 0."""
    block_id: str
    cosine: int
    """Nano-units. Range: [-NANO, NANO]."""


@frozen(kw_only=True)
class Where:
    """Which vectors are searched."""

    space: int
    embedder: str
    upto: int = ENDLESS
    """Version."""
    below: int = ENDLESS
    """Numbers from this one on are excluded."""
    among: Sequence[int] | None = None
    """Numbers; None: all."""

    def said(self) -> tuple[LiteralString, list[object]]:
        """Return the condition in SQL, and its values."""
        values: list[object] = [self.space, self.embedder, self.upto, self.below]
        if self.among is None:
            return _OF, values
        return _OF + _AMONG, [*values, list(self.among)]


class Search:
    """Searches the table of vectors.

    Args:
        datastore: The database.
        form: How vectors are stored.
        stretch_bytes: Size of a batch where the server does not compute products.
    """

    def __init__(
        self, datastore: Datastore, form: Form, *, stretch_bytes: int = STRETCH_BYTES
    ) -> None:
        self._datastore = datastore
        self._form = form
        self._stretch_bytes = stretch_bytes

    def nearest(self, where: Where, query: Vector, k: int) -> list[Near]:
        """Return the *k* nearest to *query* as stored, best first, equals by block id.

        Raises:
            psycopg.Error: The server refuses, as it does where sizes differ.
        """
        if where.among is not None and not where.among:
            return []
        if self._form.is_searched_there:
            condition, values = where.said()
            norm = vectors.squared_norm(query)
            packed = self._form.written(vectors.pack(query))
            statement = self._form.filled(_NEAREST + condition + _BEST)
            return [
                Near(*row) for row in self._datastore.rows(statement, [packed, norm, *values, k])
            ]
        best: list[Near] = []
        for stretch in self._stretches(where, query):
            best = sorted([*best, *stretch], key=_rank)[:k]
        return best

    def _stretches(self, where: Where, query: Vector) -> Iterator[list[Near]]:
        """Yield all candidates for the nearest, in the order of their numbers."""
        condition, values = where.said()
        statement = self._form.filled(_STRETCH + condition + _IN_ORDER)
        question, norm = query.astype(np.float32), vectors.squared_norm(query)
        count = max(1, self._stretch_bytes // (2 * len(query)))
        last = -1
        while rows := self._datastore.rows(statement, [*values, last, count]):
            last = rows[-1][2]
            packed = b"".join(row[5] for row in rows)
            matrix = np.frombuffer(packed, dtype="<i2").reshape(len(rows), -1)
            dots = np.vecdot(matrix.astype(np.float32), question)
            norms: Integers = np.array([row[4] for row in rows], dtype=np.int64)
            cosines = vectors.cosine_each(dots, norm, norms)
            yield [
                Near(row[0], row[1], row[2], row[3], cosine)
                for row, cosine in zip(rows, cosines.tolist(), strict=True)
            ]

    def standing(self, where: Where) -> set[int]:
        """Return the numbers of those that exist."""
        condition, values = where.said()
        statement = self._form.filled(_STANDING + condition)
        return {number for (number,) in self._datastore.rows(statement, values)}

    def count(self, where: Where) -> int:
        """Return how many exist."""
        condition, values = where.said()
        statement = self._form.filled(_COUNT + condition)
        return int(self._datastore.rows(statement, values)[0][0])

    def dimension(self, where: Where) -> int | None:
        """Return the size of the first vector; None if there is none."""
        statement = self._form.filled(_SIZE)
        rows = self._datastore.rows(statement, (where.space, where.embedder))
        vector = self._form.read(rows[0][0]) if rows else None
        return None if vector is None else vector.size


def _rank(each: Near) -> tuple[int, str, int]:
    return (-each.cosine, each.block_id, each.number)
