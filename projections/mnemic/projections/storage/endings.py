"""Endings: the closed rows of a table, in the order in which they were closed.

Most of them are found by a mask when a reader first asks for old ones. Those since are appended as
they happen: the next version is derived from the one before without a look at the whole table.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int32]

NEVER: Final = int(np.iinfo(np.int32).max)
"""``until`` of a row that is still current."""
RECENT_MAX: Final = 4096
"""Number of endings that are appended before all are found by a mask again."""


class Endings:
    """Closed rows, and the versions at which they were closed.

    Args:
        masked: The version up to which closed rows are found by a mask.
    """

    def __init__(self, masked: int = -1) -> None:
        self._masked = masked
        self._rows: Rows = np.zeros(RECENT_MAX, dtype=np.int32)
        """The rows that were closed after that version, in the order of closing."""
        self._versions: Rows = np.zeros(RECENT_MAX, dtype=np.int32)
        """When each of them was closed."""
        self._cells = self._rows.data, self._versions.data
        """The same, through memoryviews, which are written in less time."""
        self._count = 0
        """How many there are."""
        self._early: tuple[Rows, Rows] | None = None
        """Cache of the rows found by a mask."""

    def append(self, row: int, version: int) -> Endings:
        """Append a row that was closed at *version*, at least that of the one before.

        Returns:
            The endings from now on: these, or new ones of which nothing is appended.
        """
        count = self._count
        if count == RECENT_MAX:
            return Endings(version)
        rows, versions = self._cells
        rows[count], versions[count] = row, version
        self._count = count + 1  # at last, so that no reader sees one half-written
        return self

    def between(self, until: Rows, before: int, version: int) -> Rows:
        """Return the rows closed after *before* and by *version*.

        Args:
            until: The version until which each row was current; ``NEVER`` while it is.
            before: A version.
            version: A later one, or the same.
        """
        bounds = np.array((before, version), dtype=np.int32)
        versions = self._versions[: self._count]
        late = self._rows[slice(*versions.searchsorted(bounds, side="right"))]
        if before >= self._masked:
            return late
        if self._early is None:
            # Rows that are closed in the meantime get that version or a later one.
            rows = np.flatnonzero(until <= self._masked).astype(np.int32)
            rows = rows[np.argsort(until[rows], kind="stable")]
            self._early = rows, until[rows]
        rows, versions = self._early
        early = rows[slice(*versions.searchsorted(bounds, side="right"))]
        # More rows may have been closed at the version up to which the mask was made.
        return np.union1d(early, late)
