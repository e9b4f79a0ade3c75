"""The vectors of one embedder as the kernel's port ``FarRows``: for an index that holds none.

Rows come in one value each of the server's types for arrays and bytes, so that a hundred thousand
of them take it and us milliseconds. Each answer is short, and so is what either holds for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import LiteralString

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.postgres.vectors.table import REBUILD, VectorTable
from mnemic.kernel import vectors
from mnemic.kernel.arithmetic import Integers
from mnemic.kernel.errors import LogCorrupt, MnemicError, StoreBusy
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.ports import Log
from mnemic.kernel.vectors import Vector

ANSWER_BYTES = 2**20
"""Of vectors that are handed over at once: with more, the server takes three times as long."""
PRODUCTS_MAX = 2**19
"""That are handed over at once: 8 MB."""

_NUMBERS: LiteralString = "SELECT array_send(array_agg(number::integer)), "
_VECTORS: LiteralString = _NUMBERS + "string_agg({sent}, ''::bytea)"
# The inner SELECT has the question read once, and not anew at every row.
_PRODUCTS: LiteralString = (
    _NUMBERS + "array_send(array_agg((-(embedding {product} (SELECT %b::text::{type})))::real))"
)
_OF: LiteralString = " FROM {schema}.vectors WHERE space = %b AND embedder = %b"
_BETWEEN: LiteralString = " AND number >= %b AND number < %b"
_AMONG: LiteralString = " AND number = ANY(%b::bigint[])"

_HEADER = 20
"""Bytes of an array before its values: one dimension, whether there are nulls, which type, how
many, and from where they count."""


class FarVectors:
    """Vectors on a PostgreSQL server, by the numbers that an index in memory would give them.

    Args:
        table: Where they are.
        embedder: Whose.
        place: Returns number and log of the space.
        named: Turns what the server says into our errors.
        reach: Brings the table as far as the log goes.
        folded: Returns the version up to which whoever asks knows the log.
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
        """Whether the server does, by its extension for vectors."""
        return self._form.is_searched_there

    def stretch(self, first: int, end: int) -> tuple[Integers, NDArray[np.int16]]:
        """Return those of the rows from *first* to before *end* that are there, and their vectors.

        Raises:
            StoreFailed, StoreBusy: The server cannot be reached, or refuses.
            LogCorrupt: What stands there are no vectors of this embedder.
        """
        return self._vectors(
            self._answered(self._stretch, (start, min(start + self._at_once, end)))
            for start in range(first, end, self._at_once)
        )

    def some(self, rows: Integers) -> tuple[Integers, NDArray[np.int16]]:
        """Return those of *rows* that are there, and their vectors; raises as ``stretch``."""
        return self._vectors(
            self._answered(self._some, (rows[start : start + self._at_once].tolist(),))
            for start in range(0, len(rows), self._at_once)
        )

    def products(self, query: Vector, end: int) -> tuple[Integers, NDArray[np.float32]]:
        """Return those of the rows before *end* that are there, and what each makes with *query*.

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
        """Return what to raise since *row* is not there, or not the vector that was appended."""
        _, log = self._place()
        if log.head().version != self._folded():
            return StoreBusy(
                f"the space {log.name!r} moved on while its vectors were read, and words of it may "
                "have been erased",
                recovery="Ask again.",
            )
        return LogCorrupt(
            f"the table of vectors of space {log.name!r} is not what its log vouches for: "
            f"vector {row} of {self._embedder.name}",
            recovery=REBUILD,
        )

    # --- asking ---

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
