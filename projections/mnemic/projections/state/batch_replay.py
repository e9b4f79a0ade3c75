"""Batch replay: the handlers of ``apply``, with writes buffered until the end of a batch.

Rules of this module:

1. A batch changes a state exactly as ``apply`` does event by event, to the last byte of its
   parts; a test checks this for histories cut anywhere.
2. A handler only writes, or reads what is updated immediately (numbers, names, maps). So it runs on
   a ``Batch`` as it does on a state. A kind that reads tables is applied between two batches.
3. Frequent kinds have a second handler, in ``batch_handlers``. The first one is its specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from mnemic.kernel import events as happened
from mnemic.kernel.events import Recorded
from mnemic.projections.state.apply import HANDLERS, apply
from mnemic.projections.state.batch import Batch
from mnemic.projections.state.batch_handlers import BATCH_HANDLERS, Handler
from mnemic.projections.state.state import State

ALONE: Final = frozenset(
    (
        happened.SpaceOpened,
        happened.PolicyAdopted,
        happened.EmbedderAdopted,
        happened.SpaceErased,
        happened.LossAccepted,
        happened.VectorsStaged,
        happened.Reverted,
    )
)
"""Kinds that change settings of a whole batch, or read tables."""

DECODED_EVENTS: Final = 2048
"""Events decoded before they are applied: few enough to stay in the processor's caches."""
BATCH: Final = 8192
"""Number of events after which, at the latest, everything is written to the tables."""


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
        self._batch: Batch | None = None
        self._handlers: dict[type, Handler] = {}

    def take(self, events: Sequence[Recorded]) -> None:
        """Apply the next events of the log."""
        first = 0
        for place, recorded in enumerate(events):
            if type(recorded.event) in ALONE:
                self._take(events[first:place])
                self.settle()
                apply(self._state, recorded)
                first = place + 1
        self._take(events[first:])
        if self._taken >= self._size:
            self.settle()

    def _take(self, events: Sequence[Recorded]) -> None:
        if not events:
            return
        self._state.timeline.record_each(events)
        if self._batch is None:
            self._batch, self._handlers = Batch(self._state), {}
        kinds, handlers = [type(recorded.event) for recorded in events], self._handlers
        for kind in dict.fromkeys(kinds):
            if kind not in handlers:
                handlers[kind] = _handler(kind, self._batch)
        for kind, recorded in zip(kinds, events, strict=True):
            handlers[kind](recorded.event, recorded)
        self._batch.gather()
        self._taken += len(events)

    def settle(self) -> None:
        """Write everything to the tables of the state."""
        if self._batch is not None:
            self._state.is_flushed = False
            self._batch.settle()
        self._batch, self._taken = None, 0


def _handler(kind: type, batch: Batch) -> Handler:
    return BATCH_HANDLERS[kind](batch) if kind in BATCH_HANDLERS else partial(HANDLERS[kind], batch)  # type: ignore[arg-type] # a batch will do for a state
