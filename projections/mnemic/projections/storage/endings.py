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
_NONE: Final[Rows] = np.zeros(0, dtype=np.int32)


class Endings:
    """Closed rows, and the versions at which they were closed. Immutable, except for a cache.

    Args:
        masked: The version up to which closed rows are found by a mask.
        rows: The rows that were closed after it, in the order of closing.
        versions: When each was closed.
    """

    def __init__(self, masked: int = -1, rows: Rows = _NONE, versions: Rows = _NONE) -> None:
        self._masked = masked
        self._rows = rows
        self._versions = versions
        self._early: tuple[Rows, Rows] | None = None
        """Cache of the rows found by a mask."""

    def extended(self, rows: Rows, versions: Rows) -> Endings:
        """Return these endings and more.

        Args:
            rows: Rows closed since.
            versions: When each was closed, ascending.
        """
        if len(self._rows) + len(rows) > RECENT_MAX:
            return Endings(int(versions[-1]))
        both = np.concatenate((self._rows, rows)), np.concatenate((self._versions, versions))
        extended = Endings(self._masked, *both)
        extended._early = self._early
        return extended

    def between(self, until: Rows, before: int, version: int) -> Rows:
        """Return the rows closed after *before* and by *version*.

        Args:
            until: The version until which each row was current; ``NEVER`` while it is.
            before: A version.
            version: A later one, or the same.
        """
        bounds = np.array((before, version), dtype=np.int32)
        late = self._rows[slice(*self._versions.searchsorted(bounds, side="right"))]
        if before >= self._masked:
            return late
        if self._early is None:
            # Rows that are closed in the meantime get a later version.
            rows = np.flatnonzero(until <= self._masked).astype(np.int32)
            rows = rows[np.argsort(until[rows], kind="stable")]
            self._early = rows, until[rows]
        rows, versions = self._early
        return np.concatenate((rows[slice(*versions.searchsorted(bounds, side="right"))], late))
