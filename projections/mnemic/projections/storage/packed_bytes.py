"""Packed bytes: hundreds of thousands of byte strings, concatenated in one array.

One object each would take several times the memory, and the garbage collector would traverse
all of them while every thread waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.storage.growable_array import grown

LATEST_MAX = 4096
"""Number of objects that are kept as they are before they are encoded together."""


class PackedBytes:
    """An append-only list of byte strings."""

    def __init__(self) -> None:
        """Start empty."""
        self._bytes: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        """All strings, and spare capacity."""
        self._ends: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        """The end of each string, after a leading zero."""
        self._count = 0

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> PackedBytes:
        """Return the list that was frozen."""
        blobs = cls()
        blobs._bytes, blobs._ends = parts["bytes"], parts["ends"]
        blobs._count = len(blobs._ends) - 1
        return blobs

    def frozen(self) -> ArrayBundle:
        """Return everything as arrays."""
        ends = self._ends[: self._count + 1]
        return {"bytes": self._bytes[: ends[-1]], "ends": ends}

    def extend(self, blobs: Sequence[bytes]) -> None:
        """Append *blobs*."""
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
        """Return the number of strings."""
        return self._count

    def __getitem__(self, place: int) -> bytes:
        """Return the string at *place*, from 0."""
        return self._bytes[self._ends[place] : self._ends[place + 1]].tobytes()

    def holding(self, wanted: bytes) -> list[int]:
        """Return the places of the strings that contain *wanted*, ascending."""
        size = int(self._ends[self._count])
        whole, found, at = self._bytes[:size].tobytes(), dict[int, None](), -1
        while (at := whole.find(wanted, at + 1)) >= 0:
            found[int(np.searchsorted(self._ends[: self._count + 1], at, side="right")) - 1] = None
        return [place for place in found if wanted in self[place]]

    def replaced(self, others: Mapping[int, bytes]) -> PackedBytes:
        """Return a list with *others* at their places, which shares no bytes with this one."""
        copy, ends = PackedBytes(), self._ends[: self._count + 1]
        sizes, pieces, start = np.diff(ends), [], 0
        for place in sorted(others):
            pieces += [self._bytes[start : ends[place]], np.frombuffer(others[place], np.uint8)]
            start, sizes[place] = ends[place + 1], len(others[place])
        copy._bytes = np.concatenate([*pieces, self._bytes[start : ends[-1]]])
        copy._ends = np.concatenate((ends[:1], np.cumsum(sizes)))
        copy._count = self._count
        return copy
