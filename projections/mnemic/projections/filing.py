"""Filing: numbers by key, for looking up what belongs to what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.journals import Journal

_FILED: Mapping[str, type[np.generic]] = {"key": np.int32, "number": np.int32}
_EMPTY = np.empty(0, dtype=np.int32)


class Filing:
    """Numbers under keys, each once, in the order of filing."""

    def __init__(self, keys: NDArray[Any] = _EMPTY, numbers: NDArray[Any] = _EMPTY) -> None:
        """Start with what was filed before; it is sorted when somebody asks.

        Args:
            keys: Whole numbers >= 0, in the order of filing.
            numbers: What was filed under each.
        """
        self._filed = Journal.thawed({"key": keys, "number": numbers}, _FILED)

    def file(self, key: int, number: int) -> None:
        """Put *number* under *key*, behind what is there."""
        self._filed.append((key, number))

    def under(self, key: int) -> list[int]:
        """Return what was filed under *key*."""
        return list(dict.fromkeys(number for (number,) in self._filed.about(key)))
