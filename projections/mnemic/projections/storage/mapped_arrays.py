"""Mapped arrays: memory for large arrays, allocated directly from the operating system.

An array that grows leaves its old memory behind. On the heap, such freed blocks are too small for
the next array and too many to be returned: replaying a million events left 100 MB of holes.
Separately mapped pages return to the system with the array, and cost nothing until they are
written to, so there may be spare capacity for as many values again.
"""

from __future__ import annotations

import mmap
from math import prod
from typing import Any, Final

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
