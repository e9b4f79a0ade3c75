"""Heartbeats by which the parent tells which worker processes are serving and which are hung.

Each process increments a shared counter for as long as its event loop runs. Long work runs outside
of the loop, so a counter that does not change belongs to a process that is stopped, or blocked in a
lock or a loop that lets no other code run. Its connections would wait for ever.

The parent does not count time in which it did not run itself, so a process that was suspended with
the machine, or stopped together with the parent, is not considered late.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

from attrs import define, field

from mnemic.adapters.http.processes.shared_counters import GONE, SILENT, SharedCounters
from mnemic.adapters.http.processes.worker_slots import WorkerSlot

BEAT_S = 0.25
"""Interval between two heartbeats of a process."""
LOOK_S = 0.5
"""Interval between two checks by the parent."""
INTERVAL_MAX_S = 1.0
"""Longest interval between two checks that counts in full; in a longer one the parent slept."""
STARTING_S = 60.0
"""Minimum time allowed until a process's loop runs: it imports modules and opens what it needs.
In our tests it takes 1 s."""


@asynccontextmanager
async def beating(worker_slot: WorkerSlot) -> AsyncGenerator[None]:
    """Send heartbeats while the loop runs, for an ``async with`` block.

    After the block the process has as long to end as any process that was asked to stop.
    """

    async def beat() -> None:
        while True:
            worker_slot.counters.beat(worker_slot.number)
            await asyncio.sleep(BEAT_S)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        worker_slot.counters.leave(worker_slot.number)


@define
class _Heartbeat:
    """What the parent last saw of one process."""

    beats: int
    silence_s: float = 0.0
    """How long the counter has not changed."""
    lived_s: float = 0.0
    """From the start of the process to its last heartbeat."""


@define
class Watch:
    """Finds processes whose heartbeat has stopped.

    Args:
        counters: Shared counters with the heartbeats.
        silence_max_s: How long a serving process may be silent.
        patience_s: How long a stopping process may take.
        now_s: Time at the start, by a monotonic clock.
    """

    _counters: SharedCounters
    _silence_max_s: float
    _patience_s: float
    _now_s: float
    _heartbeats: dict[int, _Heartbeat] = field(factory=dict, init=False)
    """By worker number."""

    @property
    def look_s(self) -> float:
        """The longest interval until the next check."""
        return min(LOOK_S, self._silence_max_s / 4)

    def begin(self, number: int) -> None:
        """Register a process that starts with this worker number."""
        self._counters.begin(number)
        self._heartbeats[number] = _Heartbeat(SILENT)

    def end(self, number: int) -> float:
        """Remove a process that has ended, and return for how long its loop had run, in seconds."""
        return self._heartbeats.pop(number).lived_s

    def look(self, now_s: float) -> Sequence[int]:
        """Return the numbers of the workers that have been silent for too long.

        Args:
            now_s: Time by the clock used at the start.
        """
        elapsed_s = min(now_s - self._now_s, INTERVAL_MAX_S)
        self._now_s = now_s
        for number, heartbeat in self._heartbeats.items():
            beats = self._counters.beats(number)
            heartbeat.silence_s += elapsed_s
            if beats != heartbeat.beats:
                heartbeat.lived_s += heartbeat.silence_s
                heartbeat.beats, heartbeat.silence_s = beats, 0.0
        return [
            number
            for number, heartbeat in self._heartbeats.items()
            if heartbeat.silence_s > self._allowed_s(heartbeat)
        ]

    def _allowed_s(self, heartbeat: _Heartbeat) -> float:
        patience_s = {SILENT: STARTING_S, GONE: self._patience_s}.get(heartbeat.beats, 0.0)
        return max(patience_s, self._silence_max_s)
