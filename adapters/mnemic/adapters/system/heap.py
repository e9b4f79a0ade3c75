"""The heap: returns free memory, overwrites small arrays."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

import numpy as np

SMALL_BYTES = 1024
SMALL_EACH = 8
"""One more than numpy keeps of each size. Source: numpy/_core/src/multiarray/alloc.c."""


def give_back() -> None:
    """Return free memory between live objects to the system, where the C library can.

    glibc keeps up to 64 MB of it for later once larger things have come and gone. Python releases
    the GIL meanwhile: some milliseconds.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


def overwrite_small_arrays() -> None:
    """Overwrite the small blocks that numpy keeps for its next arrays, some milliseconds' work.

    numpy keeps freed blocks of less than `SMALL_BYTES`, up to seven of each size, and does not
    clear them: without this, an erased text could stay in one for as long as the process runs.
    """
    for size in range(1, SMALL_BYTES):
        _ = [np.zeros(size, np.uint8) for _ in range(SMALL_EACH)]


@cache
def _trim() -> Callable[[int], int] | None:
    if sys.platform != "linux":
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
