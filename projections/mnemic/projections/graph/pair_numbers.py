"""Pair numbers: an index from keys to numbers, for looking up many keys at once.

A dict finds one key faster, and takes twelve times the memory.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_LATE_SHARE: Final = 8
"""Share of the others (one in this many) that late keys may reach before they are merged."""
_EMPTY: Final = np.empty(0, dtype=np.int64)


class PairNumbers:
    """Distinct keys, numbered from 0 in the order in which they were added.

    Two sorted columns hold them: most of them, and the late ones. So adding a few to many does not
    move all of them.

    Args:
        keys: The first ones.
    """

    def __init__(self, keys: Ints = _EMPTY) -> None:
        self._numbers = np.argsort(keys)
        self._keys = keys[self._numbers]
        self._late_keys = self._late_numbers = _EMPTY

    def __len__(self) -> int:
        return len(self._keys) + len(self._late_keys)

    def find(self, keys: Ints) -> Ints:
        """Return the number of each of *keys*, -1 where it was not added."""
        found = _found(keys, self._keys, self._numbers)
        missing = np.flatnonzero(found < 0)
        found[missing] = _found(keys[missing], self._late_keys, self._late_numbers)
        return found

    def add(self, keys: Ints) -> None:
        """Number *keys*, which are distinct and new, in their order."""
        numbers = np.arange(len(self), len(self) + len(keys))
        order = np.argsort(keys)
        late = self._late_keys, self._late_numbers
        late = _merged(*late, keys[order], numbers[order])
        if len(late[0]) * _LATE_SHARE > len(self._keys):
            self._keys, self._numbers = _merged(self._keys, self._numbers, *late)
            late = _EMPTY, _EMPTY
        self._late_keys, self._late_numbers = late


def _found(keys: Ints, among: Ints, numbers: Ints) -> Ints:
    if not len(among):
        return np.full(len(keys), -1, dtype=np.int64)
    places = np.minimum(among.searchsorted(keys), len(among) - 1)
    return np.where(among[places] == keys, numbers[places], -1)


def _merged(keys: Ints, numbers: Ints, more: Ints, more_numbers: Ints) -> tuple[Ints, Ints]:
    places = keys.searchsorted(more)
    return np.insert(keys, places, more), np.insert(numbers, places, more_numbers)
