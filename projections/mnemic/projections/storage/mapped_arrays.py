"""Mapped arrays: memory for large arrays, allocated directly from the operating system.

An array that grows leaves its old memory behind. On the heap, such freed blocks are too small for
the next array and too many to be returned: replaying a million events left 100 MB of holes.
Separately mapped pages return to the system with the array, and cost nothing until they are
written to, so there may be spare capacity for as many values again.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

PAGED_FROM: Final = 2**18
"""Size in bytes from which an array has its own pages."""


# Anonymous memory: no file backs it. Where a process can fork, its child gets a copy.
_PRIVATE: Final = (
    {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}
)


def zeros(shape: tuple[int, ...], dtype: type[np.generic] | np.dtype[Any]) -> NDArray[Any]:
    """Return zeros, as ``np.zeros`` does."""
    size = prod(shape) * np.dtype(dtype).itemsize
    if size < PAGED_FROM:
        return np.zeros(shape, dtype=dtype)
    return np.frombuffer(mmap.mmap(-1, size, **_PRIVATE), dtype=dtype).reshape(shape)


Room: TypeAlias = Callable[[], "NDArray[np.uint8] | None"]
"""Returns the bytes of an array and those behind it, which may be written; None: they are gone."""
_rooms: Final[dict[int, tuple[int, Room]]] = {}
"""By the address of an array: its length in bytes, and its room."""


def lend_room(array: NDArray[Any], room: Room) -> int:
    """Let *array* grow in place, and return its address, by which the room can be taken back."""
    address = array.ctypes.data
    _rooms[address] = array.nbytes, room
    return address


def take_room_back(addresses: Iterable[int]) -> None:
    """Forget the room behind some arrays: their addresses may be those of others later."""
    for address in addresses:
        _rooms.pop(address, None)


def claimed_room(array: NDArray[Any]) -> NDArray[Any] | None:
    """Return *array* with the room behind it, to be written to by the caller alone.

    None: there is none, or it was claimed before. So of several tables with one array, the first
    that grows does so in place, and what it writes is behind what the others have.
    """
    if not len(array):
        return None
    address = array.ctypes.data
    length, room = _rooms.get(address, (0, _nothing))
    if array.nbytes < length or _rooms.pop(address, None) is None:
        return None
    whole, row = room(), array.nbytes // len(array)
    if whole is None:
        return None
    found: NDArray[Any] = whole[: len(whole) // row * row].view(array.dtype)
    return found.reshape(-1, *array.shape[1:])


def _nothing() -> None:
    """Return no room."""
