"""Growable array: values that are only ever appended, in one array with spare capacity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.storage.mapped_arrays import claimed_room, zeros

FIRST_CAPACITY = 64


def grown(array: NDArray[Any], length: int, *, fill: int = 0) -> NDArray[Any]:
    """Return *array* if it holds *length* values, else with room behind it, or a larger copy."""
    if length <= len(array):
        return array
    room = None if fill else claimed_room(array)
    if room is not None and length <= len(room):
        return room
    larger = zeros((max(length, 2 * len(array)),), array.dtype)
    larger[: len(array)] = array
    if fill:
        larger[len(array) :] = fill
    return larger


class GrowableArray:
    """One growing array.

    A value is written before the length that includes it, so another thread that reads meanwhile
    sees either.
    """

    def __init__(self, dtype: type[np.generic]) -> None:
        self._array: NDArray[Any] = np.zeros(FIRST_CAPACITY, dtype=dtype)
        self._length = 0

    @classmethod
    def thawed(cls, values: NDArray[Any]) -> GrowableArray:
        """Return a growable array that starts with *values*, which are never written to."""
        series = cls(values.dtype.type)
        series._array, series._length = values, len(values)
        return series

    def replaced(self, place: int, value: int) -> GrowableArray:
        """Return a copy with another value at one place."""
        values = self.values.copy()
        values[place] = value
        return GrowableArray.thawed(values)

    def append(self, value: int) -> None:
        length = self._length
        if length == len(self._array):
            self._array = grown(self._array, length + 1)
        self._array[length] = value
        self._length = length + 1

    def extend(self, values: Sequence[int] | NDArray[Any]) -> None:
        """Append many values."""
        first, last = self._length, self._length + len(values)
        if first < last:
            self._array = grown(self._array, last)
            self._array[first:last] = values
            self._length = last

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> NDArray[Any]:
        """Return everything appended; the array is shared, do not write to it."""
        array = self._array  # before the length: a larger array has all of the smaller one
        return array[: self._length]
