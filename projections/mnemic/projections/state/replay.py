"""Replaying a log: many events, applied in batches where that takes less time.

A batch changes a state exactly as ``apply`` does event by event, to the last byte of its parts; a
test checks this for histories cut anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, islice
from operator import attrgetter
from typing import Final

from mnemic.kernel.events import Recorded
from mnemic.projections.state.apply import HANDLERS, SETTINGS, apply, apply_each
from mnemic.projections.state.state import State
from mnemic.projections.state.writers import BufferedWriters

DECODED_EVENTS: Final = 512
"""Events decoded before they are applied: few enough to stay in the processor's caches."""
BATCHED_MIN: Final = DECODED_EVENTS
"""Minimum number of events for a batch; applying fewer one by one takes less time."""
_KIND = attrgetter("kind")
_EVENT = attrgetter("event")
BATCH: Final = 16384
"""Number of events after which, at the latest, everything is written to the tables."""


def rebuild(state: State, log: Iterable[Recorded]) -> State:
    """Replay a whole log, or a range of one; return *state*.

    If *log* raises, all events before that are applied.
    """
    if isinstance(log, list) and len(log) < BATCHED_MIN:  # the events of one command
        apply_each(state, log)
        return state
    rest, events_read, replay = iter(log), list[Recorded](), BatchReplay(state)
    try:
        events_read.extend(islice(rest, DECODED_EVENTS))
        while len(events_read) >= BATCHED_MIN:
            events, events_read = events_read, []
            replay.take(events)
            events_read.extend(islice(rest, DECODED_EVENTS))
    finally:
        replay.settle()
        apply_each(state, events_read)
    return state


class BatchReplay:
    """A batch replay in progress, of events that arrive in log ranges.

    Args:
        state: The state they are applied to. It must not be queried before ``settle``.
        size: Events of a batch.
    """

    def __init__(self, state: State, *, size: int = BATCH) -> None:
        self._state = state
        self._size = size
        self._taken = 0
        self._writers: BufferedWriters | None = None

    def take(self, events: Sequence[Recorded]) -> None:
        """Apply the next events of the log."""
        kinds, first = list(map(_KIND, events)), 0
        if not SETTINGS.keys().isdisjoint(kinds):
            for place, kind in enumerate(kinds):
                if kind in SETTINGS:
                    self._take(events[first:place], kinds[first:place])
                    self.settle()
                    apply(self._state, events[place])
                    first = place + 1
        self._take(events[first:], kinds[first:])
        if self._taken >= self._size:
            self.settle()

    def _take(self, events: Sequence[Recorded], kinds: Sequence[type]) -> None:
        if not events:
            return
        self._state.timeline.record_each(events, kinds)
        to = self._writers
        if to is None:
            to = self._writers = BufferedWriters(self._state)
        rest = iter(events)
        for kind, run in groupby(kinds):
            together = list(islice(rest, len(list(run))))
            HANDLERS[kind](to, zip(map(_EVENT, together), together, strict=True))
        to.gather()
        self._taken += len(events)

    def settle(self) -> None:
        """Write everything to the tables of the state."""
        if self._writers is not None:
            self._writers.settle()
        self._writers, self._taken = None, 0
