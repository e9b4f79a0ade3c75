"""Retrieval counts: how often each frame returned each block, at every version.

A return is never taken back, so the versions at which each frame returned a block give the count at
any version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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

    def note_each(self, blocks: Sequence[int], frame: str, version: int) -> None:
        """Record that a recall in *frame* returned some blocks at *version*."""
        number = self._frames[frame]
        self._noted.append_each([(block, number, version) for block in blocks])

    def versions(self, block: int, version: int) -> list[int]:
        """Return the versions up to *version* of the recalls that returned a block, in order."""
        return [since for _, since in self._noted.about(block) if since <= version]

    def columns(self, version: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the blocks and the versions of all returns up to *version*, in order."""
        versions = self._noted.column("version")
        upto = int(np.searchsorted(versions, version, side="right"))
        return self._noted.column("block")[:upto], versions[:upto]

    def counts(self, block: int, version: int) -> dict[str, int]:
        """Return by frame, sorted, how often it had returned a block by *version*."""
        noted = self._noted.about(block)
        counted = Counter(self._frames.words[frame] for frame, since in noted if since <= version)
        return dict(sorted(counted.items()))
