"""The rows of a vector index: int16 rows that grow, and exact products with them.

1. Rows are kept as they are stored. Thawed ones are read where they are, which may be a mapped
   file, and later ones are appended to the room behind them.
2. A product converts a block of rows to float32, in a buffer that stays in a core's own cache, and
   multiplies it there: measured at 100,000 rows of 256 components, 1.1 to 1.3 times a product with
   a matrix of floats, for a third of the memory (numpy has no fast product of int16).
   A copy of the rows as floats would not help a small index either: between two recalls it leaves
   the cache, and it has twice the bytes to read.
3. Arrays handed out are read-only views of a prefix. Appending writes behind every such prefix, or
   into a larger copy. Nothing that a reader has is changed, so readers need no lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.storage.mapped_arrays import claimed_room, zeros
from mnemic.projections.vectors.products import (
    CHUNK_COMPONENTS,
    Matrix,
    in_place,
    product,
    product_alone,
)

Stored: TypeAlias = NDArray[np.int16]

_NOTHING: Final[Stored] = np.empty((0, 0), dtype=np.int16)
WIDER_CHUNKS: Final = 4
"""How much larger chunks are for a single query of many rows: it multiplies each chunk once, so
what counts is how many there are, not whether a core's own cache holds them. Of few rows it is the
other way round: between two recalls the cache has lost the buffer."""
MANY_CHUNKS: Final = 8
"""How many chunks there have to be for each of them to grow."""
ROWS_FIRST: Final = 64
"""Capacity of a new index."""


def with_room(held: NDArray[Any], capacity: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a copy of *held* with capacity for *capacity* rows."""
    wider = zeros((capacity, *held.shape[1:]), dtype)
    wider[: len(held)] = held
    return wider


class LocalRows:
    """Rows of int16 components.

    Args:
        chunk_components: Number of components converted or multiplied at a time.
    """

    def __init__(self, *, chunk_components: int = CHUNK_COMPONENTS) -> None:
        self.chunk_components = chunk_components
        self._stored: Stored = _NOTHING
        """All rows, and spare capacity."""

    def begin_with(self, stored: Stored) -> LocalRows:
        """Take *stored* as the first rows, which are read in place and never written to."""
        self._stored = stored
        return self

    def frozen(self, rows: int) -> ArrayBundle:
        """Return the first *rows* as arrays."""
        return {"vectors": self.stretch(0, rows)}

    def write(self, first: int, stored: Stored) -> None:
        """Append vectors to the first rows; views of those stay valid."""
        end = first + len(stored)
        if end > len(self._stored):
            held = self._stored[:first] if first else stored[:0]
            room = claimed_room(held)
            if room is None or len(room) < end:
                room = with_room(held, max(end, 2 * first, ROWS_FIRST), np.int16)
            self._stored = room
        self._stored[first:end] = stored

    # --- content -----------------------------------------------------------------------------

    def some(self, rows: Integers) -> Stored:
        """Return a copy of *rows*."""
        return self._stored[rows]

    def stretch(self, first: int, end: int) -> Stored:
        """Return the rows from *first* up to but not including *end*, without a copy; immutable."""
        rows = self._stored[first:end]
        rows.flags.writeable = False
        return rows

    # --- products ----------------------------------------------------------------------------

    def products(self, queries: Matrix, first: int, end: int) -> Matrix:
        """Return the product of each query with each row from *first* up to but not with *end*."""
        found = np.empty((len(queries), end - first), dtype=np.float32)
        components = queries.shape[1]
        if len(queries) == 1:
            chunks = (end - first) // self._width(components)
            components //= max(1, min(WIDER_CHUNKS, chunks // MANY_CHUNKS))
        for part, block in self._blocks(first, end, components):
            product_alone(queries, block, found[:, part])
        return found

    def dots(self, query: Matrix, rows: Integers | None, extent: int) -> Matrix:
        """Return the product of *query* with each of *rows*; None: the first *extent*."""
        if rows is None or in_place(len(rows), extent, 1):
            whole: Matrix = self.products(query[None], 0, extent)[0]
            return whole if rows is None else whole[rows]
        dots = np.empty(len(rows), dtype=np.float32)
        for part, block in self._blocks_of(rows, len(query)):
            product(query[None], block, out=dots[None, part])
        return dots

    def dots_between(self, rows: Integers, others: Integers) -> Matrix:
        """Return the product of each of *rows* with the one of *others* at the same position."""
        dots = np.empty(len(rows), dtype=np.float32)
        dimension = self._stored.shape[1]
        pairs = zip(
            self._blocks_of(rows, dimension),
            self._blocks_of(others, dimension),
            strict=True,
        )
        for (part, one), (_, other) in pairs:
            np.vecdot(one, other, out=dots[part])
        return dots

    def chunks(
        self, queries: Matrix, alive: NDArray[np.bool_]
    ) -> Iterator[tuple[Integers, Matrix]]:
        """Yield rows and their products with all queries, chunk by chunk.

        Rows that are not alive are included where multiplying them in place is cheaper than copying
        the others out.
        """
        count, dimension = queries.shape
        rows = np.flatnonzero(alive)
        first, end = int(rows[0]), int(rows[-1]) + 1
        widest = max(dimension, count)
        if in_place(len(rows), end - first, count):
            rows = np.arange(first, end)
            blocks = self._blocks(first, end, widest)
        else:
            blocks = self._blocks_of(rows, widest)
        products = np.empty(count * self._width(widest), dtype=np.float32)
        for part, block in blocks:
            out = products[: count * len(block)].reshape(count, len(block))
            yield rows[part], product_alone(queries, block, out)

    # --- blocks of floats --------------------------------------------------------------------

    def _width(self, components: int) -> int:
        """Return the number of rows in a block, given how many components each takes."""
        return max(1, self.chunk_components // max(1, components))

    def _blocks(self, first: int, end: int, components: int) -> Iterator[tuple[slice, Matrix]]:
        """Yield the rows from *first* to *end* as floats, and their positions after *first*.

        Each block overwrites the one before it.
        """
        width = min(self._width(components), max(1, end - first))
        buffer = np.empty((width, self._stored.shape[1]), dtype=np.float32)
        for start in range(first, end, width):
            stop = min(start + width, end)
            block = buffer[: stop - start]
            block[:] = self._stored[start:stop]
            yield slice(start - first, stop - first), block

    def _blocks_of(self, rows: Integers, components: int) -> Iterator[tuple[slice, Matrix]]:
        """Yield *rows* as floats, and their positions among them.

        Each block overwrites the one before it.
        """
        # Rows are validated, so clipping never happens; mode="raise" would fill a second buffer.
        width = min(self._width(components), max(1, len(rows)))
        shape = width, self._stored.shape[1]
        stored = np.empty(shape, dtype=np.int16)
        buffer = np.empty(shape, dtype=np.float32)
        for start in range(0, len(rows), width):
            some = rows[start : start + width]
            block = buffer[: len(some)]
            found = stored[: len(some)]
            block[:] = np.take(self._stored, some, axis=0, out=found, mode="clip")
            yield slice(start, start + len(some)), block
