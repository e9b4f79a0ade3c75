"""Blobs: byte strings by the hundred thousand, one behind the other in one array.

An object for each would take several times the room, and the garbage collector would walk through
all of them while every thread waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.columns import grown
from mnemic.projections.parts import Parts


class Blobs:
    """A list of byte strings that grows at its end."""

    def __init__(self) -> None:
        """Start empty."""
        self._bytes: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        """All of them, and room for more."""
        self._ends: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        """Where each of them ends, behind a zero."""
        self._count = 0

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Blobs:
        """Return the list that was frozen."""
        blobs = cls()
        blobs._bytes, blobs._ends = parts["bytes"], parts["ends"]
        blobs._count = len(blobs._ends) - 1
        return blobs

    def frozen(self) -> Parts:
        """Return everything as arrays."""
        ends = self._ends[: self._count + 1]
        return {"bytes": self._bytes[: ends[-1]], "ends": ends}

    def extend(self, blobs: Sequence[bytes]) -> None:
        """Put *blobs* behind the others."""
        if not blobs:
            return
        first, last = self._count, self._count + len(blobs)
        size = int(self._ends[first])
        ends = np.cumsum(np.fromiter(map(len, blobs), np.int64, len(blobs))) + size
        self._ends = grown(self._ends, last + 1)
        self._ends[first + 1 : last + 1] = ends
        if ends[-1] > size:
            self._bytes = grown(self._bytes, int(ends[-1]))
            self._bytes[size : ends[-1]] = np.frombuffer(b"".join(blobs), dtype=np.uint8)
        self._count = last

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    def __getitem__(self, place: int) -> bytes:
        """Return the one at *place*, from 0."""
        return self._bytes[self._ends[place] : self._ends[place + 1]].tobytes()
