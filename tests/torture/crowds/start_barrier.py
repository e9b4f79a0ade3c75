"""A barrier that lets all members of a crowd start at once, when the last of them is ready."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from tests.crash.writers import child

CLEAR_S = 0.05
"""A pause after all members are ready, so that all of them wait by then."""


class Barrier:
    """Made before members are forked; each waits for it, and the parent opens it."""

    def __init__(self) -> None:
        self._ready = os.pipe()
        self._go = os.pipe()

    def wait(self) -> None:
        """Report that this member is ready, and wait for the others; in a child."""
        os.close(self._go[1])
        os.write(self._ready[1], b".")
        os.read(self._go[0], 1)

    def open(self, members: int) -> None:
        """Wait for *members*, or for all that are alive, and start them; in the parent."""
        os.close(self._ready[1])
        come = 0
        while come < members and (said := os.read(self._ready[0], members)):
            come += len(said)
        time.sleep(CLEAR_S)
        for end in (self._ready[0], *self._go):
            os.close(end)


def together(lives: Sequence[Callable[[Barrier], None]]) -> list[int]:
    """Fork a process for each life, and return how they ended."""
    gate = Barrier()

    def lived(life: Callable[[Barrier], None]) -> Callable[[], None]:
        return lambda: life(gate)

    members = [child(lived(life)) for life in lives]
    gate.open(len(members))
    return [os.waitpid(member, 0)[1] for member in members]
