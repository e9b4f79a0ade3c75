"""In-memory implementation of the remote row storage of a vector index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.errors import LogCorrupt, MnemicError
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.kernel.scoring.typicality import UNKNOWN
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.vectors.mapped_rows import RemoteRowSource


class InMemoryRemoteRows:
    """Vectors by row, returned in no guaranteed order; zero vectors are not stored."""

    def __init__(self, *, multiplies: bool = True) -> None:
        self._multiplies = multiplies
        self.vectors: dict[int, Vector] = {}
        self.late: dict[int, Vector] = {}
        """Rows that become available by ``catch_up``."""
        self.fetched = 0
        """Number of vectors returned so far."""
        self.multiplied = 0
        """Number of queries multiplied here."""

    @property
    def multiplies(self) -> bool:
        return self._multiplies

    def stretch(self, first: int, end: int) -> tuple[Integers, NDArray[np.int16]]:
        return self._stored([row for row in self.vectors if first <= row < end])

    def some(self, rows: Integers) -> tuple[Integers, NDArray[np.int16]]:
        return self._stored([row for row in rows.tolist() if row in self.vectors])

    def products(self, query: Vector, end: int) -> tuple[Integers, NDArray[np.float32]]:
        self.multiplied += 1
        rows = [row for row in reversed(self.vectors) if row < end]
        dots = [int(self.vectors[row].astype(np.int64) @ query.astype(np.int64)) for row in rows]
        return np.array(rows, dtype=np.int64), np.array(dots, dtype=np.float32)

    def catch_up(self) -> None:
        self.vectors |= self.late

    def refusal(self, row: int) -> MnemicError:
        return LogCorrupt(f"row {row} is not what was appended", row=row)

    def _stored(self, rows: list[int]) -> tuple[Integers, NDArray[np.int16]]:
        self.fetched += len(rows)
        answer, size = rows[::-1], next(iter(self.vectors.values())).size
        stored = np.array([self.vectors[row] for row in answer], dtype=np.int16)
        return np.array(answer, dtype=np.int64), stored.reshape(len(answer), size)


class RemoteIndex(VectorIndex):
    """Index that writes each appended vector to its remote storage, as a log does."""

    def __init__(self, storage: InMemoryRemoteRows, *, chunk_components: int = 2**20) -> None:
        super().__init__(RemoteRowSource(storage, chunk_components=chunk_components))
        self._storage = storage

    def append(self, block: int, vector: Vector, typical: int = UNKNOWN) -> int:
        row = super().append(block, vector, typical)
        if vector.any():
            self._storage.vectors[row] = vector.copy()
        return row
