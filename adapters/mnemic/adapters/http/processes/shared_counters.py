"""Counters that several processes share: each process writes its own and reads all of them.

They live in memory that the parent maps before it forks. There is no lock: every counter has one
writer at a time and is written in one piece, and a value that is a moment old does no harm.
"""

from __future__ import annotations

import mmap

NUMBER_BYTES = 8
ABSENT = 2**62
"""The load of a process that accepts no connections; greater than any real load."""
SILENT = 0
"""The heartbeat count of a process that has not begun yet."""
GONE = -1
"""The heartbeat count of a process that has stopped serving and only cleans up."""


class SharedCounters:
    """The counters of several processes, by worker number.

    Args:
        count: Number of worker processes.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        # Never closed: the memory lives as long as the last process that maps it.
        self._loads, self._beats, self._hung, self._died = (
            memoryview(mmap.mmap(-1, count * NUMBER_BYTES)).cast("q") for _ in range(4)
        )
        for number in range(count):
            self.publish_load(number, ABSENT)

    # --- connections held by each process ---

    def publish_load(self, number: int, load: int) -> None:
        """Publish how many connections a process holds."""
        self._loads[number] = load

    def excess_load(self, number: int) -> int:
        """Return how many more connections a process holds than the least loaded one, or 0."""
        return self._loads[number] - min(self._loads)

    # --- heartbeats ---

    def begin(self, number: int) -> None:
        """Reset the heartbeat count for a process that has not begun yet."""
        self._beats[number] = SILENT

    def beat(self, number: int) -> None:
        """Count one heartbeat."""
        self._beats[number] += 1

    def leave(self, number: int) -> None:
        """Tell the parent that no more heartbeats will follow because the process ends."""
        self._beats[number] = GONE

    def beats(self, number: int) -> int:
        """Return the number of heartbeats, or ``SILENT`` or ``GONE``."""
        return self._beats[number]

    # --- unexpected ends ---

    def count_end(self, number: int, *, has_hung: bool) -> None:
        """Count a process that has ended without being asked to."""
        ends = self._hung if has_hung else self._died
        ends[number] += 1

    def ends(self, number: int) -> dict[str, int]:
        """Return how many processes of a worker slot have ended unexpectedly, by reason."""
        return {"died": self._died[number], "hung": self._hung[number]}
