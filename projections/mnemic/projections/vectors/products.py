"""Exact products of vectors with rows of a matrix, computed in the fastest of several ways."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float32]

CHUNK_COMPONENTS: Final = 2**17
"""512 KiB of float32: what a core's own cache holds beside the rows that they are made of."""
_ONE_BY_ONE: Final = 8
"""Up to this many queries, products row by row cost less than several threads may."""
_LEFT_ALONE: Final = 2**19 - 1
"""Multiplications from which OpenBLAS wakes a second thread for a product, less one."""
_VECTOR_ALONE: Final = 9215
"""The same for a product of a matrix with one vector, in components of the matrix."""
_ROWS_ABREAST: Final = 32
"""Minimum number of rows of a small product: with fewer, more is copied than multiplied."""


def in_place(alive: int, extent: int, queries: int) -> bool:
    """Whether multiplying all rows in place is faster than copying the alive ones out.

    Measured at 256 components, in units of the cost of one more query per row; both include the
    conversion to floats. A matrix product costs less per query and more at the start, since it
    rearranges rows first.
    """
    reading, copying = (1, 2) if queries <= _ONE_BY_ONE else (14, 20)
    return alive * (copying + queries) >= extent * (reading + queries)


def product(queries: Matrix, rows: Matrix, out: Matrix | None = None) -> Matrix:
    """Return the product of each query with each row, shape (queries, rows).

    Few queries go row by row, on one thread: a matrix product would wake one for each processor,
    and where another program keeps a processor busy, all wait for the last (10 ms, not 0.03).
    """
    if len(queries) > _ONE_BY_ONE:
        return np.matmul(queries, rows.T, out=out)
    if len(queries) == 1 and out is not None:
        return _product_with_one(queries[0], rows, out)
    found: Matrix = np.vecdot(queries[:, None, :], rows, out=out)
    return found


def _product_with_one(query: Matrix, rows: Matrix, out: Matrix) -> Matrix:
    """Return the product of one query with each row, by many small products with a vector.

    Measured on rows in the cache, it takes five sixths of the time of row by row.
    """
    dimension = len(query)
    abreast = _VECTOR_ALONE // max(1, dimension) // 8 * 8
    whole = len(rows) // abreast * abreast if abreast else 0
    if whole:
        stacked = rows[:whole].reshape(-1, abreast, dimension)
        np.matmul(stacked, query[:, None], out=out[0, :whole].reshape(-1, abreast, 1))
    np.vecdot(rows[whole:], query, out=out[0, whole:])
    return out


def product_alone(queries: Matrix, rows: Matrix, out: Matrix) -> Matrix:
    """Return what ``product`` does, without ever waking another thread.

    Between chunks there is other work. Threads that are woken for each chunk spin in the
    meantime, and wait for each other while another program has their processor: on two busy
    ones, twenty chunks took 1.1 s instead of .07. Products that are small enough run on the calling
    thread; this is a fifth more work than one large product on one thread.
    """
    count, dimension = queries.shape
    if count <= _ONE_BY_ONE:
        return product(queries, rows, out=out)
    parts = -(-count * dimension * _ROWS_ABREAST // _LEFT_ALONE)
    together = -(-count // parts)
    abreast = max(_ROWS_ABREAST // 4, _LEFT_ALONE // (together * dimension) // 8 * 8)
    stacks = len(rows) // abreast
    whole = stacks * abreast
    stacked = rows[:whole].reshape(stacks, abreast, dimension).transpose(0, 2, 1)
    for first in range(0, count, together):
        some = slice(first, first + together)
        into = out[some, :whole].reshape(len(queries[some]), stacks, abreast)
        np.matmul(queries[None, some], stacked, out=into.transpose(1, 0, 2))
        np.matmul(queries[some], rows[whole:].T, out=out[some, whole:])
    return out
