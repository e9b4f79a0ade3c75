"""The vector index: an append-only matrix of quantised vectors and exact search in it.

A row is one vector of one block, in the order of learning, and is never changed or removed: what
is alive as of some point is the caller's list of rows. Components are whole numbers held as
float32, whose products BLAS forms exactly (see `mnemic.kernel.vectors`). So each cosine here is
the same to the last bit however it is computed: over the whole matrix or a few gathered rows, in
chunks of any size, on any BLAS kernel, with any number of threads. Speed alone chooses the way.
Rough cosines are the exception: they only say whose exact one is worth asking for.

Arrays handed out are read-only views of a prefix. Appending writes behind every such prefix, or
into a larger copy, so a view taken earlier keeps its contents.

A thawed index keeps the int16 rows it was given until somebody multiplies or appends. Floats of
them take twice the bytes, and many a space is opened for something else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel import vectors
from mnemic.kernel.arithmetic import Integers
from mnemic.kernel.errors import VectorRefused
from mnemic.kernel.vectors import Vector
from mnemic.projections.order import Ids, ranked
from mnemic.projections.pages import zeros
from mnemic.projections.pairs import Matrix, Pairs, reaching
from mnemic.projections.parts import Lazy, Parts

Stored: TypeAlias = NDArray[np.int16]

_ROWS_FIRST: Final = 64
_CHUNK_COMPONENTS: Final = 2**18
"""1 MiB of float32: about what a core's own cache holds."""
_ONE_BY_ONE: Final = 8
"""Up to so many queries, products row by row cost less than several threads may."""
_QUERIES_AT_ONCE: Final = 256
ROUGH: Final = 1e-6
"""How far a rough cosine may lie off: four roundings of a float32 are less than a third of it."""
_LEFT_ALONE: Final = 2**19 - 1
"""Multiplications from which OpenBLAS wakes a second thread for a product, less one."""
_ROWS_ABREAST: Final = 32
"""The fewest rows that a small product should have: with fewer, more is copied than multiplied."""
_NOTHING: Final[Stored] = np.empty((0, 0), dtype=np.int16)


class VectorIndex:
    """Vectors of blocks in the order of appending.

    Args:
        chunk_components: Components copied or multiplied at a time. It bounds memory and never
            changes a result.
    """

    def __init__(self, *, chunk_components: int = _CHUNK_COMPONENTS) -> None:
        """Start empty; the first vector sets the dimension."""
        self._chunk_components = chunk_components
        self._rows = 0
        self._dimension = 0
        self._stored: Stored = _NOTHING
        """All rows as they were thawed, until there are floats of them."""
        self._floats = Lazy(lambda: np.empty((0, 0), dtype=np.float32))
        self._squared_norms: Integers = np.empty(0, dtype=np.int64)
        self._inverse_lengths: Matrix = np.empty(0, dtype=np.float32)
        self._block_of: Integers = np.empty(0, dtype=np.int64)

    # --- freezing ----------------------------------------------------------------------------

    def frozen(self) -> Parts:
        """Return everything as arrays."""
        stored, rows = self._stored, self._rows
        if len(stored) != rows:
            stored = self._matrix[:rows].astype(np.int16)
        return {
            "vectors": stored,
            "squared_norms": self._squared_norms[:rows].astype(np.int32),
            "block_of": self._block_of[:rows].astype(np.int32),
        }

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> VectorIndex:
        """Return the index that these arrays were made of."""
        index, stored = cls(), parts["vectors"]
        rows = len(stored)
        if rows:
            room = rows + rows // 4 + _ROWS_FIRST
            index._rows, index._dimension = stored.shape
            index._stored = stored
            index._floats = Lazy(lambda: _with_room(stored, room, np.float32))
            index._squared_norms = _with_room(parts["squared_norms"], room, np.int64)
            index._inverse_lengths = _inverse(index._squared_norms)
            index._block_of = _with_room(parts["block_of"], room, np.int64)
        return index

    @property
    def _matrix(self) -> Matrix:
        """All rows as floats, and room behind them."""
        matrix = self._floats.value
        self._stored = _NOTHING
        return matrix

    # --- growth ------------------------------------------------------------------------------

    def append(self, block: int, vector: Vector) -> int:
        """Add a vector of the block with ordinal *block* and return its row.

        Raises:
            VectorRefused: Its size differs from the rows before it, or it is longer than
                `mnemic.kernel.vectors.quantise` makes any.
        """
        if self._rows == 0:
            self._allocate(_ROWS_FIRST, vector.size)
        self._check_size(vector)
        squared_norm = vectors.squared_norm(vector)
        if squared_norm > vectors.SQUARED_NORM_MAX:
            raise VectorRefused(
                f"a vector of squared length {squared_norm} would not multiply exactly",
                recovery="Pass the vector through quantise() first.",
                squared_norm=squared_norm,
            )
        if self._rows == len(self._block_of):
            self._allocate(2 * self._rows, self.dimension)
        row = self._rows
        self._matrix[row] = vector
        self._squared_norms[row] = squared_norm
        self._inverse_lengths[row] = 1.0 / math.sqrt(max(1, squared_norm))
        self._block_of[row] = block
        self._rows = row + 1
        return row

    def extend(self, blocks: Sequence[int], packed: Sequence[bytes]) -> None:
        """Do ``append`` many times.

        Args:
            blocks: Ordinals of the owning blocks.
            packed: A vector each, as `mnemic.kernel.vectors.pack` makes them.

        Raises:
            VectorRefused: As ``append``; those before are in.
        """
        stored = vectors.unpack_each(packed)
        if stored is None:
            self._append_each(blocks, packed)
            return
        if self._rows == 0:
            self._allocate(max(len(stored), _ROWS_FIRST), stored.shape[1])
        norms = vectors.squared_norms(stored)
        if stored.shape[1] != self._dimension or norms.max() > vectors.SQUARED_NORM_MAX:
            self._append_each(blocks, packed)
            return
        first, last = self._rows, self._rows + len(blocks)
        if last > len(self._block_of):
            self._allocate(max(last, 2 * first), self.dimension)
        self._matrix[first:last] = stored
        self._squared_norms[first:last] = norms
        self._inverse_lengths[first:last] = _inverse(norms)
        self._block_of[first:last] = blocks
        self._rows = last

    def _append_each(self, blocks: Sequence[int], packed: Sequence[bytes]) -> None:
        """Append vectors of which one may have to be refused."""
        for block, each in zip(blocks, packed, strict=True):
            self.append(block, vectors.unpack(each))

    def _allocate(self, capacity: int, dimension: int) -> None:
        """Move to arrays for *capacity* rows; views of the old ones stay valid."""
        rows = self._rows
        held = self._matrix[:rows] if rows else np.empty((0, dimension), dtype=np.float32)
        matrix = _with_room(held, capacity, np.float32)
        self._floats, self._dimension = Lazy(lambda: matrix), dimension
        self._squared_norms = _with_room(self._squared_norms[:rows], capacity, np.int64)
        self._inverse_lengths = _with_room(self._inverse_lengths[:rows], capacity, np.float32)
        self._block_of = _with_room(self._block_of[:rows], capacity, np.int64)

    # --- what is held ------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """Number of rows appended so far."""
        return self._rows

    @property
    def dimension(self) -> int:
        """Components per vector; 0 before the first one."""
        return self._dimension if self._rows else 0

    @property
    def block_of(self) -> Integers:
        """Ordinal of the owning block per row."""
        block_of = self._block_of[: self._rows]
        block_of.flags.writeable = False
        return block_of

    @property
    def squared_norms(self) -> Integers:
        """Exact squared length per row."""
        squared_norms = self._squared_norms[: self._rows]
        squared_norms.flags.writeable = False
        return squared_norms

    def vector(self, row: int) -> Vector:
        """Return the vector in *row*.

        Raises:
            IndexError: There is no such row.
        """
        self._check_rows(np.array([row]), self._rows)
        vector: Vector = self._matrix[row].astype(np.int16)
        return vector

    def stretch(self, first: int, end: int) -> Matrix:
        """Return the rows from *first* to before *end* as they lie; they never change.

        Raises:
            IndexError: One of them does not exist.
        """
        if not 0 <= first <= end <= self._rows:
            raise IndexError(f"rows {first} to {end} of an index with {self._rows}")
        rows = self._matrix[first:end]
        rows.flags.writeable = False
        return rows

    # --- search ------------------------------------------------------------------------------

    def products(self, queries: Sequence[Vector], rows: int) -> Matrix:
        """Return the product of each query with each of the first *rows* rows.

        Many questions at once read the matrix once. Products are exact, so they are the same as
        one by one.

        Args:
            queries: Quantised vectors of this index's dimension, at least one.
            rows: At most as many as there are.
        Returns:
            Whole numbers, shape (queries, rows).
        """
        for query in queries:
            self._check_size(query)
        return _product(np.stack(queries).astype(np.float32), self._matrix[:rows])

    def cosines(
        self, query: Vector, rows: Integers | None = None, *, products: Matrix | None = None
    ) -> Integers:
        """Return the cosine of *query* with each of *rows*, in their order.

        Args:
            query: A quantised vector of this index's dimension.
            rows: Row numbers in any order; None means all rows.
            products: Those of *query* with the first rows, if they are at hand.
        Returns:
            Nano-units in [-NANO, NANO].
        Raises:
            VectorRefused: The query is of another size.
            IndexError: A row does not exist.
        """
        extent = self._rows  # read once: an append in the meantime adds nothing to this answer
        if rows is not None:
            self._check_rows(rows, extent)
        if extent == 0:
            return np.empty(0, dtype=np.int64)
        self._check_size(query)
        if products is None or rows is None or rows.max(initial=-1) >= len(products):
            dots = self._dots(query.astype(np.float32), rows, extent)
        else:
            dots = products[rows]
        norms = self._squared_norms[:extent] if rows is None else self._squared_norms[rows]
        return vectors.cosine_each(dots, vectors.squared_norm(query), norms)

    def cosines_between(self, rows: Integers, others: Integers) -> Integers:
        """Return the cosine of each of *rows* with the one of *others* at the same place.

        Raises:
            IndexError: A row does not exist.
        """
        extent = self._rows
        self._check_rows(rows, extent)
        self._check_rows(others, extent)
        dots = np.empty(len(rows), dtype=np.float32)
        width = max(1, self._chunk_components // max(1, self.dimension))
        for start in range(0, len(rows), width):
            part = slice(start, start + width)
            np.vecdot(self._matrix[rows[part]], self._matrix[others[part]], out=dots[part])
        norms = self._squared_norms
        return vectors.cosine_each(dots, norms[rows], norms[others])

    def rough_cosines(
        self, query: Vector, rows: Integers, *, products: Matrix | None = None
    ) -> Matrix:
        """Return what ``cosines`` does, as fractions that are almost right.

        Whoever wants the best of many need not know all to the last bit: half of the bytes, and a
        third of the steps.

        Returns:
            At most ``ROUGH`` away from the cosine; above 0 exactly where the cosine is.
        """
        extent = self._rows
        self._check_rows(rows, extent)
        if extent == 0:
            return np.empty(0, dtype=np.float32)
        self._check_size(query)
        scale = np.float32(1.0 / np.sqrt(max(1.0, float(vectors.squared_norm(query)))))
        if products is None or rows.max(initial=-1) >= len(products):
            dots = self._dots(query.astype(np.float32), rows, extent)
        else:
            dots = products[rows]
        dots *= scale
        dots *= self._inverse_lengths[rows]
        return dots

    def top(
        self, query: Vector, rows: Integers | None, k: int, *, ids: Ids
    ) -> tuple[Integers, Integers]:
        """Return the *k* rows nearest to *query* and their cosines, best first.

        Args:
            query: A quantised vector of this index's dimension.
            rows: The rows that are alive, at most one per block; None means all.
            k: How many at most, >= 1.
            ids: Public ids by block ordinal. Equal cosines are ordered by them.
        """
        if k < 1:
            raise ValueError(f"top {k}: pass at least 1")
        cosines = self.cosines(query, rows)
        chosen = np.arange(len(cosines), dtype=np.int64) if rows is None else rows
        order = ranked(cosines, self._block_of[chosen], ids, k=k)
        return chosen[order], cosines[order]

    def pairs(self, queries: Sequence[Vector], rows: Integers, *, floor: int) -> Iterator[Pairs]:
        """Yield every pair of a query and one of *rows* with a cosine of at least *floor*.

        A matrix product in blocks: memory stays bounded whatever the number of rows and
        queries. Pairs come in no promised order, but each exactly once.

        Args:
            queries: Quantised vectors of this index's dimension.
            rows: Row numbers, without repetition.
            floor: Lowest cosine of interest in nano-units, >= 0.
        """
        if floor < 0:
            raise ValueError(f"floor {floor}: pass at least 0")
        extent = self._rows
        self._check_rows(rows, extent)
        for query in queries:
            self._check_size(query)
        if len(rows) == 0:
            return
        alive = np.zeros(extent, dtype=np.bool_)
        alive[rows] = True
        squared_norms = self._squared_norms[:extent]
        for start in range(0, len(queries), _QUERIES_AT_ONCE):
            batch = queries[start : start + _QUERIES_AT_ONCE]
            norms = np.array([vectors.squared_norm(query) for query in batch], dtype=np.int64)
            for found in reaching(
                self._products(np.stack(batch).astype(np.float32), alive),
                norms=norms,
                squared_norms=squared_norms,
                alive=alive,
                floor=floor,
            ):
                yield Pairs(queries=found.queries + start, rows=found.rows, cosines=found.cosines)

    def _products(
        self, queries: Matrix, alive: NDArray[np.bool_]
    ) -> Iterator[tuple[Integers, Matrix]]:
        """Yield rows and their products with all queries, chunk by chunk.

        Every alive row comes up once. Rows that are not alive come along where multiplying them
        in place is cheaper than copying the others out. The products are overwritten by the
        next step.
        """
        count, dimension = queries.shape
        rows = np.flatnonzero(alive)
        in_place = _in_place(len(rows), rows[-1] + 1 - rows[0], count)
        if in_place:
            rows = np.arange(rows[0], rows[-1] + 1)
        width = max(1, self._chunk_components // max(dimension, count))
        products = np.empty(count * width, dtype=np.float32)
        gathered = np.empty((0 if in_place else width, dimension), dtype=np.float32)
        for start in range(0, len(rows), width):
            columns = rows[start : start + width]
            out = products[: count * len(columns)].reshape(count, len(columns))
            if in_place:
                chunk = self._matrix[columns[0] : columns[-1] + 1]
            else:
                chunk = _gather(self._matrix, columns, gathered)
            yield columns, _product_alone(queries, chunk, out)

    def _dots(self, query: Matrix, rows: Integers | None, extent: int) -> Matrix:
        if rows is None or _in_place(len(rows), extent, 1):
            whole: Matrix = _product(query[None], self._matrix[:extent])[0]
            return whole if rows is None else whole[rows]
        width = max(1, self._chunk_components // len(query))
        gathered = np.empty((min(width, len(rows)), len(query)), dtype=np.float32)
        dots = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), width):
            columns = rows[start : start + width]
            chunk = _gather(self._matrix, columns, gathered)
            _product(query[None], chunk, out=dots[None, start : start + width])
        return dots

    # --- checks ------------------------------------------------------------------------------

    def _check_size(self, vector: Vector) -> None:
        dimension = self._dimension
        if vector.shape != (dimension,) or vector.dtype != np.int16:
            raise VectorRefused(
                f"this index holds int16 vectors of size {dimension}, "
                f"got {vector.dtype} of shape {vector.shape}",
                dimension=dimension,
                shape=vector.shape,
            )

    @staticmethod
    def _check_rows(rows: Integers, extent: int) -> None:
        # Negative rows would silently count from the end, and gathering clips.
        if len(rows) and (rows.min() < 0 or rows.max() >= extent):
            raise IndexError(f"rows {rows.min()} to {rows.max()} of an index with {extent}")


def _with_room(held: NDArray[Any], capacity: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a copy of *held* with room for *capacity* rows."""
    wider = zeros((capacity, *held.shape[1:]), dtype)
    wider[: len(held)] = held
    return wider


def _inverse(squared_norms: Integers) -> Matrix:
    """Return one over each length, which counts as 1 at least."""
    return (1.0 / np.sqrt(np.maximum(squared_norms, 1))).astype(np.float32)


def _in_place(alive: int, extent: int, queries: int) -> bool:
    """Say whether multiplying all rows where they lie beats copying the alive ones out.

    Measured at 256 components, in units of what one query more costs per row. A product row by
    row reads as fast as memory gives; a matrix product costs less per query and more at the
    outset, since it lays rows out for itself.
    """
    reading, copying = (1, 4) if queries <= _ONE_BY_ONE else (11, 22)
    return alive * (copying + queries) >= extent * (reading + queries)


def _product(queries: Matrix, rows: Matrix, out: Matrix | None = None) -> Matrix:
    """Return the product of each query with each row, shape (queries, rows).

    Few queries go row by row, on one thread: a matrix product would wake one for each processor,
    and where another program keeps a processor busy, all wait for the last (10 ms, not 0.03).
    """
    if len(queries) > _ONE_BY_ONE:
        return np.matmul(queries, rows.T, out=out)
    found: Matrix = np.vecdot(queries[:, None, :], rows, out=out)
    return found


def _product_alone(queries: Matrix, rows: Matrix, out: Matrix) -> Matrix:
    """Return what ``_product`` does, without ever waking another thread.

    Between one chunk and the next there is other work. Threads that are woken for each chunk spin
    in the meantime, and wait for each other while another program has their processor: on two busy
    ones, twenty chunks took 1.1 s instead of .07. Products that are small enough are left to the
    thread that asks for them; a fifth more work than one large product on one thread.
    """
    count, dimension = queries.shape
    if count <= _ONE_BY_ONE:
        return _product(queries, rows, out=out)
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


def _gather(matrix: Matrix, rows: Integers, out: Matrix) -> Matrix:
    """Copy *rows* into the front of *out*; they were checked, so clipping never happens."""
    # mode="raise" would make take() fill a second buffer first.
    return np.take(matrix, rows, axis=0, out=out[: len(rows)], mode="clip")
