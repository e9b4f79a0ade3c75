"""Multimap: numbers by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.storage.event_columns import EventColumns

_FILED: Mapping[str, type[np.generic]] = {"key": np.int32, "number": np.int32}
_EMPTY = np.empty(0, dtype=np.int32)


class Multimap:
    """Numbers under keys, each once, in the order of insertion."""

    def __init__(self, keys: NDArray[Any] = _EMPTY, numbers: NDArray[Any] = _EMPTY) -> None:
        """Start with existing entries, which are sorted on first use.

        Args:
            keys: Integers >= 0, in the order of insertion.
            numbers: The number stored under each.
        """
        self._filed = EventColumns.thawed({"key": keys, "number": numbers}, _FILED)

    def file(self, key: int, number: int) -> None:
        """Append *number* to the numbers of *key*."""
        self._filed.append((key, number))

    def columns(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return all keys and the number stored under each, in the order of insertion."""
        numbers = self._filed.column("number")  # first: the other column is as long, or longer
        return self._filed.column("key")[: len(numbers)], numbers

    def under(self, key: int) -> list[int]:
        """Return the numbers of *key*."""
        return list(dict.fromkeys(number for (number,) in self._filed.about(key)))
