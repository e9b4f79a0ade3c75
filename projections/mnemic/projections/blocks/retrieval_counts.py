"""Retrieval counts: how often each frame returned each block, at every version.

A return is never taken back, so an ascending list of versions per block and frame gives the count
at any version.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.storage.array_bundle import (
    ArrayBundle,
    nested,
    packed,
    unpacked,
    within,
)
from mnemic.projections.storage.columns import Interner
from mnemic.projections.storage.event_columns import EventColumns

_NOTED: Mapping[str, type[np.generic]] = {
    "block": np.int32,
    "frame": np.int32,
    "version": np.int32,
}


class RetrievalCounts:
    """Recorded recalls that returned a block, counted by frame."""

    def __init__(self) -> None:
        self._noted = EventColumns(**_NOTED)
        self._frames = Interner()
        self._versions: dict[int, dict[str, array[int]]] = {}
        """Cache by block and frame."""

    def frozen(self) -> ArrayBundle:
        """Return all rows as arrays."""
        return {**nested(noted=self._noted.frozen()), "frames": packed(self._frames.words)}

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> RetrievalCounts:
        """Return the counts that were frozen."""
        returns = cls()
        returns._noted = EventColumns.thawed(within(parts, "noted"), _NOTED)
        returns._frames = Interner.thawed(unpacked(parts["frames"]))
        return returns

    def note(self, block: int, frame: str, version: int) -> None:
        """Record that a recall in *frame* returned a block at *version*."""
        self._noted.append((block, self._frames.number(frame), version))
        if block in self._versions:
            _add(self._versions[block], frame, version)

    def counts(self, block: int, version: int) -> dict[str, int]:
        """Return by frame, sorted, how often it had returned a block by *version*."""
        frames = self._of(block)
        counted = {name: bisect_right(frames[name], version) for name in sorted(frames)}
        return {name: count for name, count in counted.items() if count}

    def _of(self, block: int) -> dict[str, array[int]]:
        found = self._versions.get(block)
        if found is None:
            found = self._versions[block] = {}
            for frame, version in self._noted.about(block):
                _add(found, self._frames.words[frame], version)
        return found


def _add(frames: dict[str, array[int]], frame: str, version: int) -> None:
    if frame not in frames:
        frames[frame] = array("q")
    frames[frame].append(version)
