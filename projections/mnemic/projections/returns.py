"""Which frame returned which block, and when: what a block is mostly looked up for.

A return is never taken back, so a rising list of versions per block and frame says how often it
had happened at any version.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.columns import Names
from mnemic.projections.journals import Journal
from mnemic.projections.parts import Parts, nested, packed, unpacked, within

_NOTED: Mapping[str, type[np.generic]] = {
    "block": np.int32,
    "frame": np.int32,
    "version": np.int32,
}


class Returns:
    """Recorded recalls that returned a block, counted by frame."""

    def __init__(self) -> None:
        self._noted = Journal(**_NOTED)
        self._frames = Names()
        self._versions: dict[int, dict[str, array[int]]] = {}
        """By block and frame; of the blocks that were asked for."""

    def frozen(self) -> Parts:
        """Return all returns."""
        return {**nested(noted=self._noted.frozen()), "frames": packed(self._frames.words)}

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Returns:
        """Return the returns that were frozen."""
        returns = cls()
        returns._noted = Journal.thawed(within(parts, "noted"), _NOTED)
        returns._frames = Names.thawed(unpacked(parts["frames"]))
        return returns

    def note(self, block: int, frame: str, version: int) -> None:
        """Remember that a recall in *frame* returned a block at *version*."""
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
