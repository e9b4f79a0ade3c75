"""The heap: its collector rests while a fold makes objects; what is free again is given back."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache

FEW = 50_000
"""Objects that are walked in some milliseconds."""


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


@contextmanager
def collector_at_rest() -> Generator[None]:
    """Rest the collector: a fold makes many objects that stay, and walking them costs 40 %.

    Afterwards they are handed to the oldest generation (freezing and unfreezing joins the lists,
    it walks nothing), or else the very next allocation would walk them all as if they were new. A
    host that has frozen objects of its own keeps them frozen. Few objects stay where they are: the
    oldest generation is hardly ever walked, and whoever opens small memories and closes them, all
    day long, would leave them there.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > FEW and gc.get_freeze_count() == 0:
            gc.freeze()
            gc.unfreeze()
        if enabled:
            gc.enable()
