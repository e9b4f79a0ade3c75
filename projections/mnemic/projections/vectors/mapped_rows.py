"""Vectors in remote storage, of which only a short digest each is held here.

For each row there is a mark here: eight bytes of a digest of its vector, 0 for a vector of zeros,
which an erasure removes from the remote storage. So:

1. Every vector that contributes to an exact number was fetched and verified against its mark. A
   remote change leads to an error, and never to another answer.
2. Rough products are not verified. Their callers compute exact values for the rows that matter.
   A vector that was changed remotely can be missed that way, and no more.
3. A missing row is requested once more, after the remote storage has caught up with the log. Then
   an error is raised.
4. Memory is bounded by a chunk, whatever the number of rows; and by one number per row for queries
   that return one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.kernel.ports import RemoteRows
from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.vectors.products import (
    CHUNK_COMPONENTS,
    Matrix,
    product,
    product_alone,
)
from mnemic.projections.vectors.row_source import Stored, with_room

Marks: TypeAlias = NDArray[np.uint64]
S = TypeVar("S", Matrix, Stored)

_MARK: Final = np.dtype("<u8")
_STORED: Final = np.dtype("<i2")
_FETCHING: Final = 16
"""Cost of a row that is fetched by its number, in rows multiplied in place."""
_PICKING: Final = 4
"""The same, in rows that are fetched in sequence."""


class RemoteRowSource:
    """Rows of a remote storage port.

    Args:
        far: The remote storage.
        chunk_components: Number of components fetched or multiplied at a time.
    """

    def __init__(self, far: RemoteRows, *, chunk_components: int = 2 * CHUNK_COMPONENTS) -> None:
        self._far = far
        self.chunk_components = chunk_components
        self._dimension = 0
        self._marks: Marks = np.empty(0, dtype=np.uint64)

    @classmethod
    def thawed(
        cls, far: RemoteRows, marks: Marks, dimension: int, capacity: int
    ) -> RemoteRowSource:
        """Return the rows with these *marks*, and capacity for *capacity*."""
        rows = cls(far)
        rows._dimension = dimension
        rows._marks = with_room(marks, capacity, np.uint64)
        return rows

    def frozen(self, rows: int) -> ArrayBundle:
        """Return the local data of the first *rows* as arrays."""
        return {
            "marks": self._marks[:rows].copy(),
            "dimension": np.array([self._dimension], dtype=np.int32),
        }

    # --- growth ------------------------------------------------------------------------------

    def make_room(self, rows: int, capacity: int, dimension: int) -> None:
        """Allocate the marks of *capacity* rows."""
        self._dimension = dimension
        self._marks = with_room(self._marks[:rows], capacity, np.uint64)

    def write(self, first: int, stored: Stored) -> None:
        """Mark the rows from *first* on, whose vectors reached the remote storage with the log."""
        self._marks[first : first + len(stored)] = marks_of(stored)

    def remote_count(self, rows: int) -> int:
        """Return how many of the first *rows* the remote storage should hold."""
        return int(np.count_nonzero(self._marks[:rows]))

    # --- fetching ----------------------------------------------------------------------------

    def some(self, rows: Integers) -> Matrix:
        """Return *rows* as floats."""
        wanted, places = np.unique(rows, return_inverse=True)
        found = np.zeros((len(wanted), self._dimension), dtype=np.float32)
        marks = self._marks[wanted]
        held = wanted[marks != 0]
        if len(held):
            numbers, stored = self._there(held, lambda: self._far.some(held))
            self._check_marks(numbers, stored)
            found[np.searchsorted(wanted, numbers)] = stored
        return found[places]

    def stretch(self, first: int, end: int) -> Matrix:
        """Return the rows from *first* up to but not including *end* as floats."""
        return self._stretch(first, end, checked=True)

    def _stretch(self, first: int, end: int, *, checked: bool) -> Matrix:
        found = np.zeros((end - first, self._dimension), dtype=np.float32)
        held = first + np.flatnonzero(self._marks[first:end])
        if len(held):
            numbers, stored = self._there(held, lambda: self._far.stretch(first, end))
            if checked:
                self._check_marks(numbers, stored)
            found[numbers - first] = stored
        return found

    def _there(self, held: Integers, ask: Callable[[], tuple[Integers, S]]) -> tuple[Integers, S]:
        """Return the answer of *ask*, which contains each of the rows *held*.

        Raises:
            MnemicError: One of them is missing, although the remote storage has caught up.
        """
        found = ask()
        if _missing(held, found[0]) is not None:
            self._far.catch_up()
            found = ask()
        missing = _missing(held, found[0])
        if missing is not None:
            raise self._far.refusal(missing)
        return found

    def _check_marks(self, numbers: Integers, stored: Stored) -> None:
        """Raise unless the vectors match the marks of what was appended.

        Raises:
            MnemicError: As defined by the port.
        """
        wrong = np.flatnonzero(marks_of(stored) != self._marks[numbers])
        if len(wrong):
            raise self._far.refusal(int(numbers[wrong[0]]))

    # --- products ----------------------------------------------------------------------------

    def products(self, queries: Matrix, rows: int) -> Matrix:
        """Return the product of each query with each of the first *rows*."""
        return self._fetched(queries, rows, checked=True)

    def _fetched(self, queries: Matrix, rows: int, *, checked: bool) -> Matrix:
        found = np.empty((len(queries), rows), dtype=np.float32)
        for start, end in self._steps(0, rows):
            found[:, start:end] = product(queries, self._stretch(start, end, checked=checked))
        return found

    def dots(self, query: Matrix, rows: Integers | None, extent: int) -> Matrix:
        """Return the product of *query* with each of *rows*; None: the first *extent*."""
        if rows is None:
            whole: Matrix = self.products(query[None], extent)[0]
            return whole
        end = _end(rows)  # a query about the past does not need later rows
        if len(rows) * _PICKING > end:
            return self.dots(query, None, end)[rows]
        found = np.empty(len(rows), dtype=np.float32)
        for start, stop in self._steps(0, len(rows)):
            found[start:stop] = product(query[None], self.some(rows[start:stop]))[0]
        return found

    def rough_dots(self, query: Matrix, rows: Integers, extent: int) -> Matrix:
        """Return what ``dots`` does, multiplied by the remote storage if it can."""
        end = _end(rows)
        if len(rows) * _FETCHING <= end:
            return self.dots(query, rows, extent)
        if self._far.multiplies:
            return self._multiplied(query.astype(np.int16), end)[rows]
        whole: Matrix = self._fetched(query[None], end, checked=False)[0]
        return whole[rows]

    def _multiplied(self, query: Stored, extent: int) -> Matrix:
        found = np.zeros(extent, dtype=np.float32)
        held = np.flatnonzero(self._marks[:extent])
        if len(held):
            numbers, dots = self._there(held, lambda: self._far.products(query, extent))
            found[numbers] = dots
        return found

    def chunks(
        self, queries: Matrix, alive: NDArray[np.bool_]
    ) -> Iterator[tuple[Integers, Matrix]]:
        """Yield rows and their products with all queries, chunk by chunk."""
        rows = np.flatnonzero(alive)
        first, end = int(rows[0]), int(rows[-1]) + 1
        if len(rows) * _PICKING > end - first:
            for start, stop in self._steps(first, end, len(queries)):
                columns, chunk = np.arange(start, stop), self.stretch(start, stop)
                yield columns, _product(queries, chunk)
        else:
            for start, stop in self._steps(0, len(rows), len(queries)):
                columns = rows[start:stop]
                yield columns, _product(queries, self.some(columns))

    def _steps(self, first: int, end: int, queries: int = 1) -> Iterator[tuple[int, int]]:
        """Yield begin and end of each chunk from *first* up to but not including *end*."""
        width = max(1, self.chunk_components // max(1, self._dimension, queries))
        for start in range(first, end, width):
            yield start, min(start + width, end)


def _end(rows: Integers) -> int:
    """Return one past the last of *rows*."""
    return int(rows.max(initial=-1)) + 1


def _product(queries: Matrix, rows: Matrix) -> Matrix:
    out = np.empty((len(queries), len(rows)), dtype=np.float32)
    return product_alone(queries, rows, out)


def marks_of(stored: Stored) -> Marks:
    """Return the mark of every vector: 0 for zeros, and for no other."""
    packed = np.ascontiguousarray(stored, dtype=_STORED).reshape(-1).view(np.uint8).data
    size = _STORED.itemsize * stored.shape[1]
    digests = [
        blake2b(packed[start : start + size], digest_size=_MARK.itemsize).digest()
        for start in range(0, len(packed), size)
    ]
    marks = np.maximum(np.frombuffer(b"".join(digests), dtype=_MARK), 1).astype(np.uint64)
    marks[~stored.any(axis=1)] = 0
    return marks


def _missing(held: Integers, numbers: Integers) -> int | None:
    """Return one of the rows *held*, ascending, that is not among *numbers*; None if all are."""
    there = np.zeros(held[-1] + 1, dtype=np.bool_)
    there[numbers[numbers < len(there)]] = True
    missing = held[~there[held]]
    return int(missing[0]) if len(missing) else None
