"""Protocol of the storage behind a vector index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.storage.mapped_arrays import zeros
from mnemic.projections.vectors.products import Matrix

Stored: TypeAlias = NDArray[np.int16]


class RowSource(Protocol):
    """Vectors by row, append-only. Callers have validated rows and sizes."""

    chunk_components: int
    """Number of components copied or multiplied at a time."""

    def make_room(self, rows: int, capacity: int, dimension: int) -> None:
        """Move the first *rows* to an array for *capacity* rows."""
        ...

    def write(self, first: int, stored: Stored) -> None:
        """Write vectors to the rows from *first* on, within the capacity."""
        ...

    def frozen(self, rows: int) -> ArrayBundle:
        """Return the first *rows* as arrays."""
        ...

    def some(self, rows: Integers) -> Matrix:
        """Return *rows*, a chunk of them at most, as floats."""
        ...

    def stretch(self, first: int, end: int) -> Matrix:
        """Return the rows from *first* up to *end* (excluded) as floats, ideally uncopied."""
        ...

    def products(self, queries: Matrix, rows: int) -> Matrix:
        """Return the product of each query with each of the first *rows*."""
        ...

    def dots(self, query: Matrix, rows: Integers | None, extent: int) -> Matrix:
        """Return the product of *query* with each of *rows*; None: the first *extent*."""
        ...

    def rough_dots(self, query: Matrix, rows: Integers, extent: int) -> Matrix:
        """Return what ``dots`` may approximate, for callers that recompute the rows that matter."""
        ...

    def chunks(
        self, queries: Matrix, alive: NDArray[np.bool_]
    ) -> Iterator[tuple[Integers, Matrix]]:
        """Yield rows and their products with all queries, chunk by chunk.

        Every alive row is yielded once; others may be included. The products are overwritten by the
        next step.
        """
        ...


def with_room(held: NDArray[Any], capacity: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a copy of *held* with capacity for *capacity* rows."""
    wider = zeros((capacity, *held.shape[1:]), dtype)
    wider[: len(held)] = held
    return wider
