"""Numbers that several processes share: each writes its own, and all see those of all.

They stand in memory that a parent has before it forks. There is no lock: every number has one
writer at a time and is written in one piece, and one that is a moment old does no harm.
"""

from __future__ import annotations

import mmap

NUMBER_BYTES = 8
ABSENT = 2**62
"""The load of a process that takes nothing: any other is less."""
SILENT = 0
"""The beats of a process that has not begun yet."""
GONE = -1
"""The beats of one that has stopped, and only puts things away."""


class Board:
    """The numbers of several processes, each by its post.

    Args:
        count: Of posts.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        # Never closed: it lives as long as the last process that knows of it.
        self._loads, self._beats, self._hung, self._died = (
            memoryview(mmap.mmap(-1, count * NUMBER_BYTES)).cast("q") for _ in range(4)
        )
        for number in range(count):
            self.tell(number, ABSENT)

    # --- how many connections each holds ---

    def tell(self, number: int, load: int) -> None:
        """Let all know how much a process holds."""
        self._loads[number] = load

    def lead(self, number: int) -> int:
        """Return how much more a process holds than whoever holds least; 0: it is that one."""
        return self._loads[number] - min(self._loads)

    # --- whether each lives ---

    def begin(self, number: int) -> None:
        """Let a post be one of a process that has not beaten yet."""
        self._beats[number] = SILENT

    def beat(self, number: int) -> None:
        """Give a sign of life."""
        self._beats[number] += 1

    def leave(self, number: int) -> None:
        """Let the parent know that no more signs will come, for the process ends."""
        self._beats[number] = GONE

    def beats(self, number: int) -> int:
        """Return how many signs of life there were; else ``SILENT`` or ``GONE``."""
        return self._beats[number]

    # --- how often each post was vacant ---

    def count_end(self, number: int, *, has_hung: bool) -> None:
        """Count a process that has ended without being told to."""
        ends = self._hung if has_hung else self._died
        ends[number] += 1

    def ends(self, number: int) -> dict[str, int]:
        """Return how many processes of a post have ended without being told to, by reason."""
        return {"died": self._died[number], "hung": self._hung[number]}
