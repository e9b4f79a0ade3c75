"""The vectors of one space as the kernel's port ``NearestRows``, for one embedder.

Rows have the numbers that an index in memory would give them, since both count the vectors that the
log names. The vectors are not held here; of each row, only its block is.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from mnemic.adapters.stores.postgres.vectors.vectors import Vectors
from mnemic.kernel.errors import VectorRefused
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import Integers


class ServerRows:
    """Finds the nearest rows of a space on its server.

    Args:
        on: The vectors of the store.
        space: The space's name.
        embedder: Id of the embedder whose vectors these are; None: the one in force.
    """

    def __init__(self, on: Vectors, space: str, *, embedder: str | None = None) -> None:
        self._on = on
        self._space = space
        self._embedder = embedder
        self._block_of = array("q")
        self._dimension = 0

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self._block_of)

    def append(self, block: int, vector: Vector) -> int:
        """Note that the next vector of the log is that of the block with ordinal *block*.

        The vector itself came to the server with the log.

        Raises:
            VectorRefused: Its size differs from that of the first.
        """
        self._check_size(vector)
        self._dimension = vector.size
        self._block_of.append(block)
        return len(self._block_of) - 1

    def top(
        self, query: Vector, rows: Integers | None, k: int, *, ids: Sequence[str]
    ) -> tuple[Integers, Integers]:
        """Return the *k* rows nearest to *query* and their cosines in nano-units, best first.

        Args:
            query: Of the same size.
            rows: Which rows count; None: all that were appended.
            k: How many at most, >= 1.
            ids: Public ids by block ordinal. Equal cosines are ordered by them.

        Raises:
            VectorRefused: The query is of another size.
            IndexError: A row does not exist.
            LogCorrupt: The table is not what the log vouches for.
        """
        if k < 1:
            raise ValueError(f"k {k}: pass at least 1")
        self._check_size(query)
        if rows is not None and len(rows) and not 0 <= rows.min() <= rows.max() < self.rows:
            raise IndexError(f"rows {rows.min()} to {rows.max()} of an index with {self.rows}")
        chosen = None if rows is None else rows.tolist()
        if not (self.rows if chosen is None else chosen):
            return _columns([])
        found = self._on.nearest(
            self._space, query, k, embedder=self._embedder, below=self.rows, among=chosen
        )
        ranked = [(-each.cosine, each.block_id, each.number) for each in found]
        # An erased vector has cosine 0, and ranks above all with a negative one.
        if len(ranked) < k or ranked[-1][0] >= 0:
            ranked += [(0, ids[self._block_of[row]], row) for row in self._erased(chosen)]
        return _columns(sorted(ranked)[:k])

    def _erased(self, chosen: Sequence[int] | None) -> list[int]:
        """Return those rows whose vectors are erased."""
        among = range(self.rows) if chosen is None else chosen
        standing = self._on.standing(
            self._space, embedder=self._embedder, below=self.rows, among=chosen
        )
        return [row for row in among if row not in standing]

    def _check_size(self, vector: Vector) -> None:
        if self._block_of and vector.shape != (self._dimension,):
            raise VectorRefused(
                f"this index holds vectors of size {self._dimension}, got {vector.shape}",
                dimension=self._dimension,
                shape=vector.shape,
            )


def _columns(ranked: Sequence[tuple[int, str, int]]) -> tuple[Integers, Integers]:
    """Return rows and cosines."""
    return (
        np.array([row for _, _, row in ranked], dtype=np.int64),
        np.array([-less for less, _, _ in ranked], dtype=np.int64),
    )
