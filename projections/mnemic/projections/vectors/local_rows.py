"""The rows of a vector index: a matrix that grows, and products with it.

Arrays handed out are read-only views of a prefix. Appending writes behind every such prefix, or
into a larger copy, so a view taken earlier keeps its contents.

Thawed rows stay int16 until the first product or append. Floats take twice the bytes, and many
spaces are opened without needing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.projections.storage.array_bundle import ArrayBundle, Lazy
from mnemic.projections.storage.mapped_arrays import zeros
from mnemic.projections.vectors.products import (
    CHUNK_COMPONENTS,
    Matrix,
    gather,
    in_place,
    product,
    product_alone,
)

Stored: TypeAlias = NDArray[np.int16]

_NOTHING: Final[Stored] = np.empty((0, 0), dtype=np.int16)


def with_room(held: NDArray[Any], capacity: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a copy of *held* with capacity for *capacity* rows."""
    wider = zeros((capacity, *held.shape[1:]), dtype)
    wider[: len(held)] = held
    return wider


class LocalRows:
    """Rows of a matrix of floats.

    Args:
        chunk_components: Number of components copied or multiplied at a time.
    """

    def __init__(self, *, chunk_components: int = CHUNK_COMPONENTS) -> None:
        self.chunk_components = chunk_components
        self._stored: Stored = _NOTHING
        """All rows as they were thawed, until they are converted to floats."""
        self._floats = Lazy(lambda: np.empty((0, 0), dtype=np.float32))

    @classmethod
    def thawed(cls, stored: Stored, capacity: int) -> LocalRows:
        """Return *stored*, with capacity for *capacity* rows once it is needed."""
        held = cls()
        held._stored = stored
        held._floats = Lazy(lambda: with_room(stored, capacity, np.float32))
        return held

    @property
    def _matrix(self) -> Matrix:
        """All rows as floats, and spare capacity."""
        matrix = self._floats.value
        self._stored = _NOTHING
        return matrix

    def frozen(self, rows: int) -> ArrayBundle:
        """Return the first *rows* as arrays."""
        stored = self._stored
        if len(stored) != rows:
            stored = self._matrix[:rows].astype(np.int16)
        return {"vectors": stored}

    # --- growth ------------------------------------------------------------------------------

    def make_room(self, rows: int, capacity: int, dimension: int) -> None:
        """Move the first *rows* to an array for *capacity* rows; views stay valid."""
        held = self._matrix[:rows] if rows else np.empty((0, dimension), dtype=np.float32)
        matrix = with_room(held, capacity, np.float32)
        self._floats = Lazy(lambda: matrix)

    def write(self, first: int, stored: Stored) -> None:
        """Write vectors to the rows from *first* on, within the capacity."""
        self._matrix[first : first + len(stored)] = stored

    # --- content -----------------------------------------------------------------------------

    def some(self, rows: Integers) -> Matrix:
        """Return a copy of *rows*."""
        return self._matrix[rows]

    def stretch(self, first: int, end: int) -> Matrix:
        """Return the rows from *first* up to but not including *end*, without a copy; immutable."""
        rows = self._matrix[first:end]
        rows.flags.writeable = False
        return rows

    # --- products ----------------------------------------------------------------------------

    def products(self, queries: Matrix, rows: int) -> Matrix:
        """Return the product of each query with each of the first *rows*."""
        return product(queries, self._matrix[:rows])

    def dots(self, query: Matrix, rows: Integers | None, extent: int) -> Matrix:
        """Return the product of *query* with each of *rows*; None: the first *extent*."""
        if rows is None or in_place(len(rows), extent, 1):
            whole: Matrix = product(query[None], self._matrix[:extent])[0]
            return whole if rows is None else whole[rows]
        width = max(1, self.chunk_components // len(query))
        gathered = np.empty((min(width, len(rows)), len(query)), dtype=np.float32)
        dots = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), width):
            columns = rows[start : start + width]
            chunk = gather(self._matrix, columns, gathered)
            product(query[None], chunk, out=dots[None, start : start + width])
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
        lie = in_place(len(rows), rows[-1] + 1 - rows[0], count)
        if lie:
            rows = np.arange(rows[0], rows[-1] + 1)
        width = max(1, self.chunk_components // max(dimension, count))
        products = np.empty(count * width, dtype=np.float32)
        gathered = np.empty((0 if lie else width, dimension), dtype=np.float32)
        for start in range(0, len(rows), width):
            columns = rows[start : start + width]
            out = products[: count * len(columns)].reshape(count, len(columns))
            if lie:
                chunk = self._matrix[columns[0] : columns[-1] + 1]
            else:
                chunk = gather(self._matrix, columns, gathered)
            yield columns, product_alone(queries, chunk, out)
