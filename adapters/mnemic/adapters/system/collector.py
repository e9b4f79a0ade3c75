"""The garbage collector: paused while many objects are made that stay, and seldom needed."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from contextlib import contextmanager

FEW = 10_000
"""Objects that are traversed in about a millisecond."""

GARBAGE_AFTER = 20_000
"""New objects between two collections; by default 700, most of which find nothing."""

_paused: list[bool] = []
"""One entry for each pause that ends with enabling the collector."""


@contextmanager
def collector_at_rest() -> Generator[None]:
    """Pause the collector: imports and replays make many objects that stay.

    Traversing them takes a tenth of the time of an import, and 40 % of that of a replay.

    Afterwards they are moved to the oldest generation (freezing and unfreezing joins the lists
    without traversing them), or else the very next allocation would traverse them all as new. A
    host that has frozen objects itself keeps them frozen; Python 3.12 freezes some hundreds of its
    own. Few objects are not moved: the oldest generation is hardly ever traversed, and a process
    that opens and closes small memories all day would leave them there.
    """
    enabled = gc.isenabled()
    gc.disable()
    if enabled:
        _paused.append(True)
    try:
        yield
    finally:
        if gc.get_count()[0] > FEW and gc.get_freeze_count() < FEW:
            gc.freeze()
            gc.unfreeze()
        if enabled:
            _paused.pop()
            gc.enable()


def collect_rarely() -> None:
    """Collect garbage less often, in a process of our own: an operation leaves none behind.

    It is a tenth of the time of a start, and a twentieth of that of a recall.
    """
    gc.set_threshold(GARBAGE_AFTER, 20, 50)


def _resume() -> None:
    """Enable the collector in a child that was forked while another thread had paused it."""
    if _paused:
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_resume)
