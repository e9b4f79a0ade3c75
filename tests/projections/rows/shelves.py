"""Who has the vectors of an index that holds none: in memory, as the port asks for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import Integers
from mnemic.kernel.errors import LogCorrupt, MnemicError
from mnemic.kernel.vectors import Vector
from mnemic.projections.index import VectorIndex
from mnemic.projections.rows.elsewhere import Elsewhere


class Shelf:
    """Vectors by row, told in no promised order; zeros are not kept."""

    def __init__(self, *, multiplies: bool = True) -> None:
        self._multiplies = multiplies
        self.vectors: dict[int, Vector] = {}
        self.late: dict[int, Vector] = {}
        """What is there once it has caught up."""
        self.fetched = 0
        """Vectors that were handed over so far."""
        self.multiplied = 0
        """Questions that were multiplied here."""

    @property
    def multiplies(self) -> bool:
        return self._multiplies

    def stretch(self, first: int, end: int) -> tuple[Integers, NDArray[np.int16]]:
        return self._told([row for row in self.vectors if first <= row < end])

    def some(self, rows: Integers) -> tuple[Integers, NDArray[np.int16]]:
        return self._told([row for row in rows.tolist() if row in self.vectors])

    def products(self, query: Vector, end: int) -> tuple[Integers, NDArray[np.float32]]:
        self.multiplied += 1
        rows = [row for row in reversed(self.vectors) if row < end]
        dots = [int(self.vectors[row].astype(np.int64) @ query.astype(np.int64)) for row in rows]
        return np.array(rows, dtype=np.int64), np.array(dots, dtype=np.float32)

    def catch_up(self) -> None:
        self.vectors |= self.late

    def refusal(self, row: int) -> MnemicError:
        return LogCorrupt(f"row {row} is not what was appended", row=row)

    def _told(self, rows: list[int]) -> tuple[Integers, NDArray[np.int16]]:
        self.fetched += len(rows)
        told, size = rows[::-1], next(iter(self.vectors.values())).size
        stored = np.array([self.vectors[row] for row in told], dtype=np.int16)
        return np.array(told, dtype=np.int64), stored.reshape(len(told), size)


class Shelved(VectorIndex):
    """An index that puts each vector on a shelf before it is appended, as a log does."""

    def __init__(self, shelf: Shelf, *, chunk_components: int = 2**20) -> None:
        super().__init__(Elsewhere(shelf, chunk_components=chunk_components))
        self._shelf = shelf

    def append(self, block: int, vector: Vector) -> int:
        row = super().append(block, vector)
        if vector.any():
            self._shelf.vectors[row] = vector.copy()
        return row
