"""The vectors of one embedder as the kernel's port for remote rows: for an index that holds none.

Rows are sent as one value each of the server's types for arrays and bytes, so that a hundred
thousand of them take server and client milliseconds. Each answer is short, and so is any lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import LiteralString

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.postgres.vectors.table import REBUILD, VectorTable
from mnemic.kernel.errors import LogCorrupt, MnemicError, StoreBusy
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.kernel.ports import Log

ANSWER_BYTES = 2**20
"""Vectors per request: with more, the server takes three times as long."""
PRODUCTS_MAX = 2**19
"""Bytes per request: 8 MB."""

_NUMBERS: LiteralString = "SELECT array_send(array_agg(number::integer)), "
_VECTORS: LiteralString = _NUMBERS + "string_agg({sent}, ''::bytea)"
# The inner SELECT makes the server parse the query vector once, and not at every row.
_PRODUCTS: LiteralString = (
    _NUMBERS + "array_send(array_agg((-(embedding {product} (SELECT %b::text::{type})))::real))"
)
_OF: LiteralString = " FROM {schema}.vectors WHERE space = %b AND embedder = %b"
_BETWEEN: LiteralString = " AND number >= %b AND number < %b"
_AMONG: LiteralString = " AND number = ANY(%b::bigint[])"

_HEADER = 20
"""Bytes of an array before its values: one dimension, whether there are nulls, which type, how
many, and from where they count."""


class RemoteVectors:
    """Vectors on a PostgreSQL server, by the row numbers that an index in memory would use.

    Args:
        table: The table of vectors.
        embedder: Whose vectors.
        place: Returns number and log of the space.
        named: Converts errors of the server to ours.
        reach: Brings the table as far as the log goes.
        folded: Returns the version up to which the index has replayed the log.
    """

    def __init__(  # what it takes of the vectors of a store, and nothing more
        self,
        table: VectorTable,
        embedder: EmbedderIdentity,
        *,
        place: Callable[[], tuple[int, Log]],
        named: Callable[[], AbstractContextManager[None]],
        reach: Callable[[], None],
        folded: Callable[[], int],
    ) -> None:
        self._datastore = table.datastore
        self._form = table.form
        self._embedder = embedder
        self._place = place
        self._named = named
        self.catch_up = reach
        self._folded = folded
        self._at_once = max(1, ANSWER_BYTES // (2 * embedder.dimension))
        self._stretch = self._form.filled(_VECTORS + _OF + _BETWEEN)
        self._some = self._form.filled(_VECTORS + _OF + _AMONG)
        self._products = self._form.filled(_PRODUCTS + _OF + _BETWEEN) if self.multiplies else b""

    @property
    def multiplies(self) -> bool:
        """Whether the server computes products, by its extension for vectors."""
        return self._form.is_searched_there

    def stretch(self, first: int, end: int) -> tuple[Integers, NDArray[np.int16]]:
        """Return the existing rows from *first* to before *end*, and their vectors.

        Raises:
            StoreFailed, StoreBusy: The server cannot be reached, or refuses.
            LogCorrupt: The table holds no vectors of this embedder.
        """
        return self._vectors(
            self._answered(self._stretch, (start, min(start + self._at_once, end)))
            for start in range(first, end, self._at_once)
        )

    def some(self, rows: Integers) -> tuple[Integers, NDArray[np.int16]]:
        """Return the existing ones of *rows*, and their vectors; raises as ``stretch``."""
        return self._vectors(
            self._answered(self._some, (rows[start : start + self._at_once].tolist(),))
            for start in range(0, len(rows), self._at_once)
        )

    def products(self, query: Vector, end: int) -> tuple[Integers, NDArray[np.float32]]:
        """Return the existing rows before *end*, and the product of each with *query*.

        Raises:
            StoreFailed, StoreBusy: The server cannot be reached, or refuses.
        """
        written = self._form.written(vectors.pack(query))
        numbers: list[Integers] = [_nothing()]
        found: list[NDArray[np.float32]] = [np.empty(0, dtype=np.float32)]
        for start in range(0, end, PRODUCTS_MAX):
            between = (start, min(start + PRODUCTS_MAX, end))
            some, products = self._answered(self._products, between, written)
            numbers.append(_values(some, ">i4").astype(np.int64))
            found.append(_values(products, ">f4").astype(np.float32))
        return np.concatenate(numbers), np.concatenate(found)

    def refusal(self, row: int) -> MnemicError:
        """Return the error for a *row* that is missing, or is not the vector that was appended."""
        _, log = self._place()
        if log.head().version != self._folded():
            return StoreBusy(
                f"the space {log.name!r} moved on while its vectors were read, and text of it may "
                "have been erased",
                recovery="Ask again.",
            )
        return LogCorrupt(
            f"the table of vectors of space {log.name!r} is not what its log vouches for: "
            f"vector {row} of {self._embedder.name}",
            recovery=REBUILD,
        )

    # --- queries ---

    def _answered(
        self, statement: bytes, which: tuple[object, ...], *before: object
    ) -> tuple[bytes | None, bytes | None]:
        """Return the two columns of an answer; None: there are no rows."""
        number, _ = self._place()
        with self._named():
            rows = self._datastore.rows(statement, [*before, number, self._embedder.id, *which])
        numbers, values = rows[0]
        return numbers, values

    def _vectors(
        self, answers: Iterator[tuple[bytes | None, bytes | None]]
    ) -> tuple[Integers, NDArray[np.int16]]:
        numbers: list[Integers] = [_nothing()]
        found = [np.empty((0, self._embedder.dimension), dtype=np.int16)]
        for some, sent in answers:
            if some is None or sent is None:
                continue
            numbers.append(_values(some, ">i4").astype(np.int64))
            stored = self._form.read_each(sent, len(numbers[-1]))
            if stored is None or stored.shape[1] != self._embedder.dimension:
                raise self.refusal(int(numbers[-1][0]))
            found.append(stored)
        return np.concatenate(numbers), np.concatenate(found)


def _values(array: bytes | None, kind: str) -> NDArray[np.int32] | NDArray[np.float32]:
    """Return the values of an array as the server sends it, each of four bytes."""
    if array is None:
        return np.empty(0, dtype=kind)
    pair = np.dtype([("length", ">i4"), ("value", kind)])
    found: NDArray[np.int32] = np.frombuffer(array, dtype=pair, offset=_HEADER)["value"]
    return found


def _nothing() -> Integers:
    return np.empty(0, dtype=np.int64)
