"""Pulses: by what a parent tells which of its processes serve, and which of them hang.

Each process counts up a number that all can see for as long as its event loop turns. Whatever takes
long runs beside the loop, so a number that stands still is that of a process that is stopped, or
caught in a lock or a loop that lets nobody else run. Its connections would wait for ever.

The parent counts no time in which it did not run itself: whoever sleeps with the machine, or is
stopped together with the parent, has missed nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

from attrs import define, field

from mnemic.adapters.http.board import GONE, SILENT, Board
from mnemic.adapters.http.posts import Post

BEAT_S = 0.25
"""Between two beats of a process."""
LOOK_S = 0.5
"""Between two looks of the parent."""
STEP_MAX_S = 1.0
"""The longest step between two looks that counts whole: in a longer one the parent did not run."""
STARTING_S = 60.0
"""How long a process may take at least until its loop turns: it imports, and opens what it needs.
In our tests it takes 1 s."""


@asynccontextmanager
async def beating(post: Post) -> AsyncGenerator[None]:
    """Let the parent see that the loop turns, for an ``async with`` block.

    Behind it the process has so long to end as any that was told to stop.
    """

    async def beat() -> None:
        while True:
            post.board.beat(post.number)
            await asyncio.sleep(BEAT_S)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        post.board.leave(post.number)


@define
class _Pulse:
    """What the parent last saw of one process."""

    beats: int
    silence_s: float = 0.0
    """How long it has stood still."""
    lived_s: float = 0.0
    """From its beginning to its last beat."""


@define
class Watch:
    """The parent's look at all processes.

    Args:
        board: Where they beat.
        silence_max_s: How long one may be silent that serves.
        patience_s: How long one may take that stops.
        now_s: When it begins, by a clock that never goes back.
    """

    _board: Board
    _silence_max_s: float
    _patience_s: float
    _now_s: float
    _pulses: dict[int, _Pulse] = field(factory=dict, init=False)
    """By post."""

    @property
    def look_s(self) -> float:
        """When to look again at the latest."""
        return min(LOOK_S, self._silence_max_s / 4)

    def begin(self, number: int) -> None:
        """Take note of a process that begins at a post."""
        self._board.begin(number)
        self._pulses[number] = _Pulse(SILENT)

    def end(self, number: int) -> float:
        """Take note of the end of one, and return for how long its loop had turned, in seconds."""
        return self._pulses.pop(number).lived_s

    def look(self, now_s: float) -> Sequence[int]:
        """Return the posts of those that have been silent for too long.

        Args:
            now_s: By the clock of the beginning.
        """
        step_s = min(now_s - self._now_s, STEP_MAX_S)
        self._now_s = now_s
        for number, pulse in self._pulses.items():
            beats = self._board.beats(number)
            pulse.silence_s += step_s
            if beats != pulse.beats:
                pulse.lived_s += pulse.silence_s
                pulse.beats, pulse.silence_s = beats, 0.0
        return [
            number
            for number, pulse in self._pulses.items()
            if pulse.silence_s > self._allowed_s(pulse)
        ]

    def _allowed_s(self, pulse: _Pulse) -> float:
        patience_s = {SILENT: STARTING_S, GONE: self._patience_s}.get(pulse.beats, 0.0)
        return max(patience_s, self._silence_max_s)
