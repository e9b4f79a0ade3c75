"""The rows of a vector index: int16 rows that grow, and exact products with them.

1. Rows are kept as they are stored. Thawed ones are read where they are, which may be a mapped
   file; later ones are appended to an array of their own, so that the first ones are never copied.
2. A product converts a block of rows to float32, in a buffer that stays in a core's own cache, and
   multiplies it there: measured at 100,000 rows of 256 components, 1.1 to 1.3 times a product with
   a matrix of floats, for a third of the memory (numpy has no fast product of int16).
3. A small index keeps its rows as floats too, once they were multiplied: there a conversion is
   noticeable in a recall, and the copy takes little.
4. Arrays handed out are read-only views of a prefix. Appending writes behind every such prefix, or
   into a larger copy. Nothing that a reader has is changed, so readers need no lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.storage.mapped_arrays import zeros
from mnemic.projections.vectors.products import (
    CHUNK_COMPONENTS,
    Matrix,
    in_place,
    product,
    product_alone,
)

Stored: TypeAlias = NDArray[np.int16]

_NOTHING: Final[Stored] = np.empty((0, 0), dtype=np.int16)
_NO_FLOATS: Final[Matrix] = np.empty((0, 0), dtype=np.float32)
FLOATS_MAX: Final = 2**22
"""Number of components up to which an index keeps its rows as floats too: 16 MiB of them."""


def with_room(held: NDArray[Any], capacity: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a copy of *held* with capacity for *capacity* rows."""
    wider = zeros((capacity, *held.shape[1:]), dtype)
    wider[: len(held)] = held
    return wider


class LocalRows:
    """Rows of int16 components.

    Args:
        chunk_components: Number of components converted or multiplied at a time.
        floats_max: Number of components up to which rows are kept as floats too.
    """

    def __init__(
        self, *, chunk_components: int = CHUNK_COMPONENTS, floats_max: int = FLOATS_MAX
    ) -> None:
        self.chunk_components = chunk_components
        self._floats_max = floats_max
        self._first: Stored = _NOTHING
        """The rows that were thawed; never written to."""
        self._later: Stored = _NOTHING
        """The rows after those, and spare capacity."""
        self._floats: tuple[Matrix, int] = _NO_FLOATS, 0
        """The first rows as floats, with spare capacity, and how many there are. Filled by
        readers: two at a time write the same numbers, and the last of them is kept."""

    def begin_with(self, stored: Stored) -> LocalRows:
        """Take *stored* as the first rows, which are read in place and never written to."""
        self._first, self._later = stored, np.empty((0, stored.shape[1]), dtype=np.int16)
        return self

    def frozen(self, rows: int) -> ArrayBundle:
        """Return the first *rows* as arrays."""
        return {"vectors": self.stretch(0, rows)}

    # --- growth ------------------------------------------------------------------------------

    def make_room(self, rows: int, capacity: int, dimension: int) -> None:
        """Make capacity for *capacity* rows, of which the first *rows* exist; views stay valid."""
        if not rows:
            self.begin_with(np.empty((0, dimension), dtype=np.int16))
        first = len(self._first)
        self._later = with_room(self._later[: rows - first], capacity - first, np.int16)

    def write(self, first: int, stored: Stored) -> None:
        """Write vectors to the rows from *first* on, within the capacity."""
        first -= len(self._first)
        self._later[first : first + len(stored)] = stored

    # --- content -----------------------------------------------------------------------------

    def some(self, rows: Integers) -> Stored:
        """Return a copy of *rows*."""
        found = np.empty((len(rows), self._later.shape[1]), dtype=np.int16)
        return self._gathered(rows, found)

    def stretch(self, first: int, end: int) -> Stored:
        """Return the rows from *first* up to but not including *end*; immutable.

        They are copied only where the range begins in the thawed rows and ends behind them.
        """
        cut = len(self._first)
        if end <= cut:
            rows = self._first[first:end]
        elif first >= cut:
            rows = self._later[first - cut : end - cut]
        else:
            rows = np.concatenate((self._first[first:], self._later[: end - cut]))
        rows.flags.writeable = False
        return rows

    # --- products ----------------------------------------------------------------------------

    def products(self, queries: Matrix, first: int, end: int) -> Matrix:
        """Return the product of each query with each row from *first* up to but not with *end*."""
        found = np.empty((len(queries), end - first), dtype=np.float32)
        for part, block in self._blocks(first, end, queries.shape[1]):
            product_alone(queries, block, found[:, part])
        return found

    def dots(self, query: Matrix, rows: Integers | None, extent: int) -> Matrix:
        """Return the product of *query* with each of *rows*; None: the first *extent*."""
        if rows is None or in_place(len(rows), extent, 1):
            whole: Matrix = self.products(query[None], 0, extent)[0]
            return whole if rows is None else whole[rows]
        dots = np.empty(len(rows), dtype=np.float32)
        for part, block in self._blocks_of(rows, len(query), extent):
            product(query[None], block, out=dots[None, part])
        return dots

    def dots_between(self, rows: Integers, others: Integers, extent: int) -> Matrix:
        """Return the product of each of *rows* with the one of *others* at the same position."""
        dots = np.empty(len(rows), dtype=np.float32)
        dimension = self._later.shape[1]
        pairs = zip(
            self._blocks_of(rows, dimension, extent),
            self._blocks_of(others, dimension, extent),
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
            blocks = self._blocks_of(rows, widest, len(alive))
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
        width = self._width(components)
        floats = self._as_floats(end)
        buffer = np.empty((0 if len(floats) else width, self._later.shape[1]), dtype=np.float32)
        for start in range(first, end, width):
            stop = min(start + width, end)
            if len(floats):
                block = floats[start:stop]
            else:
                block = buffer[: stop - start]
                self._convert(start, stop, block)
            yield slice(start - first, stop - first), block

    def _blocks_of(
        self, rows: Integers, components: int, extent: int
    ) -> Iterator[tuple[slice, Matrix]]:
        """Yield *rows*, below *extent*, as floats, and their positions among them.

        Each block overwrites the one before it.
        """
        width = min(self._width(components), max(1, len(rows)))
        shape = width, self._later.shape[1]
        floats = self._as_floats(extent)
        stored = np.empty((0, 0) if len(floats) else shape, dtype=np.int16)
        buffer = np.empty(shape, dtype=np.float32)
        for start in range(0, len(rows), width):
            some = rows[start : start + width]
            block = buffer[: len(some)]
            if len(floats):
                np.take(floats, some, axis=0, out=block, mode="clip")
            else:
                np.copyto(block, self._gathered(some, stored))
            yield slice(start, start + len(some)), block

    def _convert(self, first: int, end: int, out: Matrix) -> None:
        """Write the rows from *first* to *end* to *out* as floats."""
        thawed = len(self._first)
        cut = min(max(thawed, first), end)
        out[: cut - first] = self._first[first:cut]
        if cut < end:
            out[cut - first :] = self._later[cut - thawed : end - thawed]

    def _gathered(self, rows: Integers, out: Stored) -> Stored:
        """Copy *rows* to the front of *out*; they are validated, so clipping never happens."""
        # mode="raise" would make take() fill a second buffer first.
        found, cut = out[: len(rows)], len(self._first)
        if not cut:
            return np.take(self._later, rows, axis=0, out=found, mode="clip")
        np.take(self._first, rows, axis=0, out=found, mode="clip")
        late = np.flatnonzero(rows >= cut)
        if len(late):
            found[late] = self._later[rows[late] - cut]
        return found

    def _as_floats(self, rows: int) -> Matrix:
        """Return at least the first *rows* as floats; nothing where no floats are kept."""
        capacity, dimension = len(self._first) + len(self._later), self._later.shape[1]
        if capacity * dimension > self._floats_max:
            self._floats = _NO_FLOATS, 0
            return _NO_FLOATS
        matrix, filled = self._floats
        if len(matrix) < capacity:
            matrix, filled = zeros((capacity, dimension), np.float32), 0
        if filled < rows:
            self._convert(filled, rows, matrix[filled:rows])
            self._floats = matrix, rows
        return matrix
