"""Which rows the table of vectors should hold, worked out without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mnemic.adapters.stores.sightings import Sightings
from mnemic.kernel import vectors
from mnemic.kernel.vectors import Vector


class Stored(NamedTuple):
    """One row of the table."""

    version: int
    slot: int
    embedder: str
    number: int
    """Its place among all vectors of this embedder in the log, erased ones included, from 0."""
    owner: str
    squared_norm: int
    vector: Vector


class Numbering:
    """Gives vectors their numbers, one after the other, as the table's own statement does."""

    def __init__(self) -> None:
        self._embedder = ""
        self._counts: dict[str, int] = {}

    def stored(self, seen: Sightings) -> Iterator[Stored]:
        """Yield the rows that stand for what was seen next."""
        for each in seen.vectors:
            embedder = self._embedder if each.embedder is None else each.embedder
            number = self._counts.get(embedder, 0)
            self._counts[embedder] = number + 1
            if each.owner is not None and each.packed is not None:
                vector = vectors.unpack(each.packed)
                yield Stored(
                    each.version,
                    each.slot,
                    embedder,
                    number,
                    each.owner,
                    vectors.squared_norm(vector),
                    vector,
                )
        self._embedder = seen.adopted or self._embedder
