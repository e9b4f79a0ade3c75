"""What an index asks of whoever has its vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import Integers
from mnemic.projections.pages import zeros
from mnemic.projections.parts import Parts
from mnemic.projections.rows.products import Matrix

Stored: TypeAlias = NDArray[np.int16]


class Holding(Protocol):
    """Vectors by row; rows are only ever added. Whoever asks has checked rows and sizes."""

    chunk_components: int
    """Copied or multiplied at a time."""

    def make_room(self, rows: int, capacity: int, dimension: int) -> None:
        """Move the first *rows* to where there is room for *capacity*."""
        ...

    def write(self, first: int, stored: Stored) -> None:
        """Take vectors for the rows from *first* on, for which there is room."""
        ...

    def frozen(self, rows: int) -> Parts:
        """Return the first *rows* as arrays."""
        ...

    def some(self, rows: Integers) -> Matrix:
        """Return *rows*, a chunk of them at most, as floats."""
        ...

    def stretch(self, first: int, end: int) -> Matrix:
        """Return the rows from *first* to before *end* as floats, as they lie if they do."""
        ...

    def products(self, queries: Matrix, rows: int) -> Matrix:
        """Return the product of each query with each of the first *rows*."""
        ...

    def dots(self, query: Matrix, rows: Integers | None, extent: int) -> Matrix:
        """Return the product of *query* with each of *rows*; None: the first *extent*."""
        ...

    def rough_dots(self, query: Matrix, rows: Integers, extent: int) -> Matrix:
        """Return what ``dots`` does, for whoever asks again about those that matter."""
        ...

    def chunks(
        self, queries: Matrix, alive: NDArray[np.bool_]
    ) -> Iterator[tuple[Integers, Matrix]]:
        """Yield rows and their products with all queries, chunk by chunk.

        Every alive row comes up once; others may come along. The products are overwritten by the
        next step.
        """
        ...


def with_room(held: NDArray[Any], capacity: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a copy of *held* with room for *capacity* rows."""
    wider = zeros((capacity, *held.shape[1:]), dtype)
    wider[: len(held)] = held
    return wider
