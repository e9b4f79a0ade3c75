"""The vector index: an append-only matrix of quantised vectors and exact search in it.

A row is one vector of one block, in the order of learning, and is never changed or removed: the
rows that are alive as of some point are given by the caller. Components are integers held as
float32, whose products BLAS forms exactly (see `mnemic.kernel.model.vectors`). So each cosine here
is the same to the last bit however it is computed: over the whole matrix or a few gathered rows, in
chunks of any size, on any BLAS kernel, with any number of threads; the fastest way is chosen.
Rough cosines are the exception: they only select the rows whose exact cosine is computed.

This module stores the owning block, the length and the typicality of each vector. The vectors
themselves are in ``mnemic.projections.vectors.local_rows``.

Arrays handed out are read-only views of a prefix. Appending writes behind every such prefix, or
into a larger copy, so a view taken earlier keeps its contents.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.errors import VectorRefused
from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import Integers, nano
from mnemic.kernel.scoring import typicality
from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.storage.order import Ids, ranked
from mnemic.projections.vectors.local_rows import ROWS_FIRST, LocalRows, Stored, with_room
from mnemic.projections.vectors.nearby_pairs import Matrix, Pairs, reaching

_QUERIES_AT_ONCE: Final = 256
_USUAL: Final = nano(typicality.USUAL)
_KNOWN_MAX: Final = 2
"""Number of queries whose products are kept: 400 KB each with 100,000 rows."""
ROUGH: Final = 1e-6
"""Maximum error of a rough cosine: four roundings of a float32 are less than a third of it."""


class VectorIndex:
    """Vectors of blocks in the order of appending.

    Args:
        holding: Empty rows to fill; None: new ones.
    """

    def __init__(self, holding: LocalRows | None = None) -> None:
        """Start empty; the first vector sets the dimension."""
        self._held = LocalRows() if holding is None else holding
        self._rows = 0
        self._dimension = 0
        self._squared_norms: Integers = np.empty(0, dtype=np.int64)
        self._inverse_lengths: Matrix = np.empty(0, dtype=np.float32)
        self._block_of: Integers = np.empty(0, dtype=np.int64)
        self._typicalities: Integers = np.empty(0, dtype=np.int64)
        self._known: tuple[tuple[bytes, Matrix], ...] = ()
        """The products of the last queries with all rows then, see ``products_with_all``."""

    # --- freezing ----------------------------------------------------------------------------

    def frozen(self) -> ArrayBundle:
        """Return everything as arrays."""
        rows = self._rows
        return {
            **self._held.frozen(rows),
            "squared_norms": self._squared_norms[:rows].astype(np.int32),
            "block_of": self._block_of[:rows].astype(np.int32),
            "typicalities": self._typicalities[:rows].astype(np.int32),
        }

    @classmethod
    def thawed(
        cls, parts: Mapping[str, NDArray[Any]], holding: LocalRows | None = None
    ) -> VectorIndex:
        """Return the index that was frozen.

        Args:
            parts: Result of ``frozen``.
            holding: As for a new one.

        Raises:
            KeyError: The vectors are not among the parts.
        """
        rows = len(parts["block_of"])
        index = cls(holding)
        if not rows:
            return index
        room = rows + rows // 4 + ROWS_FIRST
        stored = parts["vectors"]
        index._held.begin_with(stored)
        index._rows, index._dimension = rows, stored.shape[1]
        index._squared_norms = with_room(parts["squared_norms"], room, np.int64)
        index._inverse_lengths = _inverse(index._squared_norms)
        index._block_of = with_room(parts["block_of"], room, np.int64)
        index._typicalities = with_room(parts["typicalities"], room, np.int64)
        return index

    def erased(self, blocks: Collection[int]) -> VectorIndex:
        """Return an index in which the vectors of *blocks* are zero, or this one if it has none."""
        rows = np.flatnonzero(np.isin(self.block_of, list(blocks)))
        if not len(rows):
            return self
        parts = self.frozen()
        for name in ("vectors", "squared_norms"):
            parts[name] = parts[name].copy()
            parts[name][rows] = 0
        return VectorIndex.thawed(parts)

    # --- growth ------------------------------------------------------------------------------

    def append(self, block: int, vector: Vector, typical: int = typicality.UNKNOWN) -> int:
        """Add a vector of the block with ordinal *block* and return its row.

        Args:
            block: Ordinal of the owning block.
            vector: Its vector.
            typical: As recorded, nano-units or ``typicality.UNKNOWN``.

        Raises:
            VectorRefused: Its size differs from the rows before it, or it is longer than
                `mnemic.kernel.model.vectors.quantise` makes any.
        """
        if self._rows == 0:
            self._allocate(ROWS_FIRST, vector.size)
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
        self._held.write(row, vector[None])
        self._squared_norms[row] = squared_norm
        self._inverse_lengths[row] = 1.0 / math.sqrt(max(1, squared_norm))
        self._block_of[row] = block
        self._typicalities[row] = _USUAL if typical == typicality.UNKNOWN else typical
        self._rows = row + 1
        return row

    def extend(
        self, blocks: Sequence[int], packed: Sequence[bytes], typical: Sequence[int] | None = None
    ) -> None:
        """Do ``append`` many times.

        Args:
            blocks: Ordinals of the owning blocks.
            packed: A vector each, as `mnemic.kernel.model.vectors.pack` makes them.
            typical: As for ``append``, one each; None: no one was recorded.

        Raises:
            VectorRefused: As ``append``; the vectors before it have been appended.
        """
        stored = vectors.unpack_each(packed)
        typical = [typicality.UNKNOWN] * len(blocks) if typical is None else typical
        if stored is None:
            self._append_each(blocks, packed, typical)
            return
        if self._rows == 0:
            self._allocate(max(len(stored), ROWS_FIRST), stored.shape[1])
        norms = vectors.squared_norms(stored)
        if stored.shape[1] != self._dimension or norms.max() > vectors.SQUARED_NORM_MAX:
            self._append_each(blocks, packed, typical)
            return
        first, last = self._rows, self._rows + len(blocks)
        if last > len(self._block_of):
            self._allocate(max(last, 2 * first), self.dimension)
        self._held.write(first, stored)
        self._squared_norms[first:last] = norms
        self._inverse_lengths[first:last] = _inverse(norms)
        self._block_of[first:last] = blocks
        given = np.array(typical, dtype=np.int64)
        self._typicalities[first:last] = np.where(given == typicality.UNKNOWN, _USUAL, given)
        self._rows = last

    def _append_each(
        self, blocks: Sequence[int], packed: Sequence[bytes], typical: Sequence[int]
    ) -> None:
        """Append vectors one by one, because one of them may have to be refused."""
        for block, each, known in zip(blocks, packed, typical, strict=True):
            self.append(block, vectors.unpack(each), known)

    def _allocate(self, capacity: int, dimension: int) -> None:
        """Move to arrays for *capacity* rows; views of the old ones stay valid."""
        rows = self._rows
        self._dimension = dimension
        self._squared_norms = with_room(self._squared_norms[:rows], capacity, np.int64)
        self._inverse_lengths = with_room(self._inverse_lengths[:rows], capacity, np.float32)
        self._block_of = with_room(self._block_of[:rows], capacity, np.int64)
        self._typicalities = with_room(self._typicalities[:rows], capacity, np.int64)

    # --- content -----------------------------------------------------------------------------

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

    def typicalities(self, rows: Integers) -> Integers:
        """Return the typicality of each of *rows*; ``USUAL`` where it was not recorded."""
        return self._typicalities.take(rows)

    def vector(self, row: int) -> Vector:
        """Return the vector in *row*.

        Raises:
            IndexError: There is no such row.
        """
        return self.vectors([row])[0]

    def vectors(self, rows: Sequence[int] | Integers) -> list[Vector]:
        """Return the vectors in *rows*, in their order.

        Raises:
            IndexError: A row does not exist.
        """
        return list(self.matrix(rows))

    def matrix(self, rows: Sequence[int] | NDArray[np.integer[Any]]) -> Stored:
        """Return a copy of *rows*, in their order: shape (rows, dimension).

        Raises:
            IndexError: A row does not exist.
        """
        wanted = np.array(rows, dtype=np.int64)
        self._check_rows(wanted, self._rows)
        return self._held.some(wanted)

    def stretch(self, first: int, end: int) -> Stored:
        """Return the rows from *first* up to but not including *end*; immutable.

        Raises:
            IndexError: One of them does not exist.
        """
        self._check_range(first, end)
        return self._held.stretch(first, end)

    # --- search ------------------------------------------------------------------------------

    def products(self, queries: Sequence[Vector], rows: int) -> Matrix:
        """Return the product of each query with each of the first *rows* rows.

        Many queries at once read the matrix once. Products are exact, so the results are the same
        as for one query at a time.

        Args:
            queries: Quantised vectors of this index's dimension, at least one.
            rows: At most the number of rows.
        Returns:
            Integers, shape (queries, rows).
        """
        for query in queries:
            self._check_size(query)
        return self._held.products(np.stack(queries).astype(np.float32), 0, rows)

    def products_with_all(self, query: Vector) -> Matrix:
        """Return the product of *query* with each row; those of the last queries are kept.

        Rows never change, so a question that is asked again, as of another version or after more
        was learned, costs the new rows alone. Two threads may compute the same.

        Returns:
            Integers, shape (rows,); not writable.
        """
        rows, key = self._rows, query.tobytes()
        known = self._known
        found = next((each for named, each in known if named == key), None)
        if found is None:
            found = self.products_within(query, 0, rows)
        elif len(found) < rows:
            found = np.concatenate((found, self.products_within(query, len(found), rows)))
        found.flags.writeable = False
        others = (each for each in known if each[0] != key)
        self._known = ((key, found), *others)[:_KNOWN_MAX]
        return found[:rows]

    def products_within(self, query: Vector, first: int, end: int) -> Matrix:
        """Return the product of *query* with each row from *first* up to but not with *end*.

        Raises:
            VectorRefused: The query has another dimension.
            IndexError: One of the rows does not exist.
        """
        self._check_size(query)
        self._check_range(first, end)
        found: Matrix = self._held.products(query[None].astype(np.float32), first, end)[0]
        return found

    def cosines(
        self, query: Vector, rows: Integers | None = None, *, products: Matrix | None = None
    ) -> Integers:
        """Return the cosine of *query* with each of *rows*, in their order.

        Args:
            query: A quantised vector of this index's dimension.
            rows: Row numbers in any order; None means all rows.
            products: Products of *query* with the first rows, if already computed.
        Returns:
            Nano-units in [-NANO, NANO].
        Raises:
            VectorRefused: The query has another dimension.
            IndexError: A row does not exist.
        """
        extent = self._rows  # read once: an append in the meantime adds nothing to this answer
        if rows is not None:
            self._check_rows(rows, extent)
        if extent == 0:
            return np.empty(0, dtype=np.int64)
        self._check_size(query)
        if products is None or rows is None or not _covers(products, rows, extent):
            dots = self._held.dots(query.astype(np.float32), rows, extent)
        else:
            dots = products[rows]
        norms = self._squared_norms[:extent] if rows is None else self._squared_norms[rows]
        return vectors.cosine_each(dots, vectors.squared_norm(query), norms)

    def cosines_between(self, rows: Integers, others: Integers) -> Integers:
        """Return the cosine of each of *rows* with the one of *others* at the same position.

        Raises:
            IndexError: A row does not exist.
        """
        extent = self._rows
        self._check_rows(rows, extent)
        self._check_rows(others, extent)
        dots = self._held.dots_between(rows, others)
        norms = self._squared_norms
        return vectors.cosine_each(dots, norms[rows], norms[others])

    def rough_cosines(
        self, query: Vector, rows: Integers, *, products: Matrix | None = None
    ) -> Matrix:
        """Return what ``cosines`` does, as approximate fractions.

        Selecting the best of many does not need exact values: this takes half of the bytes, and a
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
        if products is None or not _covers(products, rows, extent):
            dots = self._held.dots(query.astype(np.float32), rows, extent)
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

        A matrix product in blocks, so that memory stays bounded for any number of rows and
        queries. Pairs come in no guaranteed order, but each exactly once.

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
                self._held.chunks(np.stack(batch).astype(np.float32), alive),
                norms=norms,
                squared_norms=squared_norms,
                alive=alive,
                floor=floor,
            ):
                yield Pairs(queries=found.queries + start, rows=found.rows, cosines=found.cosines)

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

    def _check_range(self, first: int, end: int) -> None:
        if not 0 <= first <= end <= self._rows:
            raise IndexError(f"rows {first} to {end} of an index with {self._rows}")

    @staticmethod
    def _check_rows(rows: Integers, extent: int) -> None:
        # Negative rows would silently count from the end, and gathering clips.
        if len(rows) and (np.minimum.reduce(rows) < 0 or np.maximum.reduce(rows) >= extent):
            raise IndexError(f"rows {rows.min()} to {rows.max()} of an index with {extent}")


def _covers(products: Matrix, rows: Integers, extent: int) -> bool:
    """Whether there is a product with each of *rows*, which are below *extent*."""
    return len(products) >= extent or bool(rows.max(initial=-1) < len(products))


def _inverse(squared_norms: Integers) -> Matrix:
    """Return the inverse of each length, where a length counts as at least 1."""
    return (1.0 / np.sqrt(np.maximum(squared_norms, 1))).astype(np.float32)
