"""Filing: numbers by key, for looking up what belongs to what."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.parts import Lazy

_EMPTY = np.empty(0, dtype=np.int32)


class Filing:
    """Numbers under keys, each once, in the order of filing."""

    def __init__(self, keys: NDArray[Any] = _EMPTY, numbers: NDArray[Any] = _EMPTY) -> None:
        """Start with what was filed before; it is sorted when somebody asks.

        Args:
            keys: Whole numbers >= 0, in the order of filing.
            numbers: What was filed under each.
        """
        self._before = Lazy(lambda: _sorted(keys, numbers))
        self._since: defaultdict[int, list[int]] = defaultdict(list)

    def file(self, key: int, number: int) -> None:
        """Put *number* under *key*, behind what is there."""
        self._since[key].append(number)

    def under(self, key: int) -> list[int]:
        """Return what was filed under *key*."""
        keys, numbers = self._before.value
        first, last = np.searchsorted(keys, (key, key + 1))
        found = [*numbers[first:last].tolist(), *self._since.get(key, ())]
        return list(dict.fromkeys(found))


def _sorted(
    keys: NDArray[Any], numbers: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.argsort(keys, kind="stable")
    return keys[order].astype(np.int64), numbers[order].astype(np.int64)
