"""Pacing of promotions by recalls: as many blocks as fit into a time limit.

What is promoted is an event, so a replay never depends on the clock that was read here. With a
clock that stays still, as in tests and simulations, the limit is never reached.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from attrs import define

FIRST_BLOCK_US: Final = 2000.0
"""Assumed time per block until it has been measured in this process."""
UNLIMITED: Final = sys.maxsize


@define
class Speed:
    """The measured time per block; shared by all that promote in one open space."""

    block_us: float = FIRST_BLOCK_US

    def measured(self, blocks: int, took_us: int) -> None:
        """Record that *blocks* took this many microseconds."""
        if blocks:
            self.block_us = max(0, took_us) / blocks


@define
class Pace:
    """The time limit of one promotion.

    Args:
        limit_us: The limit, from the first chunk on. Range: >= 0.
        now_us: The clock, in microseconds.
        speed: How long blocks took before.
    """

    limit_us: int
    now_us: Callable[[], int]
    speed: Speed
    _begun_us: int | None = None
    _chunk_us: int = 0

    def room(self) -> int:
        """Return how many blocks fit into the remaining time; 0 when it is over."""
        now_us = self.now_us()
        if self._begun_us is None:
            self._begun_us = now_us
        self._chunk_us = now_us
        left_us = self.limit_us - max(0, now_us - self._begun_us)
        if left_us <= 0:
            return 0
        block_us = self.speed.block_us
        return max(1, int(left_us / block_us)) if block_us else UNLIMITED

    def promoted(self, blocks: int) -> None:
        """Record that a chunk of *blocks*, begun when ``room`` was called, is committed."""
        self.speed.measured(blocks, self.now_us() - self._chunk_us)
