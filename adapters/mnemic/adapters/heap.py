"""The heap: giving back to the system what a long fold took and needs no more."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Return what lies free between objects that stay, where the C library can.

    glibc keeps up to 64 MB of it for later once larger things have come and gone. Python does not
    hold its lock meanwhile: some milliseconds.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    if sys.platform != "linux":
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
