"""Which frame returned which block, and when: what a block is mostly looked up for.

A return is never taken back, so a rising list of versions per block and frame says how often it
had happened at any version.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right


class Returns:
    """Recorded recalls that returned a block, counted by frame."""

    def __init__(self) -> None:
        self._versions: dict[int, dict[str, array[int]]] = {}

    def note(self, block: int, frame: str, version: int) -> None:
        """Remember that a recall in *frame* returned a block at *version*."""
        frames = self._versions.setdefault(block, {})
        if frame not in frames:
            frames[frame] = array("q")
        frames[frame].append(version)

    def counts(self, block: int, version: int) -> dict[str, int]:
        """Return by frame, sorted, how often it had returned a block by *version*."""
        frames = self._versions.get(block, {})
        counted = {name: bisect_right(frames[name], version) for name in sorted(frames)}
        return {name: count for name, count in counted.items() if count}
