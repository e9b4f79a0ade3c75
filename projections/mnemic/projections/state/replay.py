"""Replaying a log: many events, applied in batches where that takes less time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from mnemic.kernel.events import Recorded
from mnemic.projections.state.apply import apply
from mnemic.projections.state.batch_replay import DECODED_EVENTS, BatchReplay
from mnemic.projections.state.state import State

BATCHED_MIN = 512
"""Minimum number of events for a batch; applying fewer one by one takes less time."""


def rebuild(state: State, log: Iterable[Recorded]) -> State:
    """Replay a whole log, or a range of one; return *state*.

    If *log* raises, all events before that are applied.
    """
    if isinstance(log, list) and len(log) < BATCHED_MIN:  # the events of one command
        for recorded in log:
            apply(state, recorded)
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
        for recorded in events_read:
            apply(state, recorded)
    return state
