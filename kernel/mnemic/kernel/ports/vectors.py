"""Ports for vectors that are searched or stored elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.errors import MnemicError
from mnemic.kernel.model.vectors import Vector


class NearestRows(Protocol):
    """Exact nearest-neighbour search over an append-only list of vectors."""

    def append(self, block: int, vector: Vector) -> int:
        """Add a vector of the block with ordinal *block* and return its row, counted from 0.

        Raises:
            VectorRefused: Its size differs from that of the first.
        """
        ...

    def top(
        self, query: Vector, rows: NDArray[np.int64] | None, k: int, *, ids: Sequence[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the *k* rows nearest to *query* and their cosines in nano-units, best first.

        Args:
            query: A vector of the same size.
            rows: The rows to search; None: all.
            k: Number of rows at most, >= 1.
            ids: Public ids by block ordinal. Equal cosines are ordered by them.

        Raises:
            VectorRefused: The query is of another size.
            IndexError: A row does not exist.
        """
        ...


class RemoteRows(Protocol):
    """Vectors of one embedder that are stored outside this process.

    Rows have the numbers that the index assigns. Some of the requested rows may be missing because
    their vectors were erased. The caller knows which rows must exist, and checks their contents.
    """

    def stretch(self, first: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
        """Return the existing rows from *first* up to but not including *end*, and their vectors.

        Returns:
            Row numbers in any order, and the vector of each, shape (rows, dimension).
        """
        ...

    def some(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
        """Return the existing rows among *rows*, and their vectors, as ``stretch`` does."""
        ...

    @property
    def multiplies(self) -> bool:
        """Whether ``products`` is supported."""
        ...

    def products(self, query: Vector, end: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the existing rows before *end*, and the dot product of each with *query*.

        Returns:
            Row numbers in any order, and exact products.
        """
        ...

    def catch_up(self) -> None:
        """Store all vectors of the log that are still missing."""
        ...

    def refusal(self, row: int) -> MnemicError:
        """Return the error to raise if *row* is missing or differs from what was appended."""
        ...
