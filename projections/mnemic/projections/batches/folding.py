"""Folding a batch: the functions of ``fold``, over writes that wait for its end.

Rules of this module:

1. What a batch makes of a state is what ``State.apply`` makes of it, event by event, to the last
   byte of its parts; a test says so of histories cut anywhere.
2. A handler only writes, or reads what moves on at once (numbers, names, mappings). So it runs on a
   ``Batch`` as it does on a state. A kind that looks at tables is folded between two batches.
3. Kinds that fill a log have a second function, in ``quick``. Their first one says what it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from mnemic.kernel import events as happened
from mnemic.kernel.events import Recorded
from mnemic.projections.batches.batch import Batch
from mnemic.projections.batches.quick import QUICK, Handler
from mnemic.projections.fold import HANDLERS

if TYPE_CHECKING:
    from mnemic.projections.state import State

ALONE: Final = frozenset(
    (
        happened.SpaceOpened,
        happened.PolicyAdopted,
        happened.EmbedderAdopted,
        happened.SpaceErased,
        happened.VectorsStaged,
        happened.Reverted,
    )
)
"""Kinds that change what a whole batch goes by, or look at tables."""

STRETCH: Final = 2048
"""Events that are decoded before they are folded: so many stay in the processor's caches."""
BATCH: Final = 8192
"""Events after which, at the latest, everything is written to the tables."""


class Folding:
    """A fold under way, of events that come stretch by stretch.

    Args:
        state: What they are folded into. It tells nothing before ``settle``.
        size: Events of a batch.
    """

    def __init__(self, state: State, *, size: int = BATCH) -> None:
        self._state = state
        self._size = size
        self._taken = 0
        self._batch: Batch | None = None
        self._handlers: dict[type, Handler] = {}

    def take(self, events: Sequence[Recorded]) -> None:
        """Fold the next events of the log."""
        first = 0
        for place, recorded in enumerate(events):
            if type(recorded.event) in ALONE:
                self._take(events[first:place])
                self.settle()
                self._state.apply(recorded)
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
            self._batch.settle()
        self._batch, self._taken = None, 0


def _handler(kind: type, batch: Batch) -> Handler:
    return QUICK[kind](batch) if kind in QUICK else partial(HANDLERS[kind], batch)  # type: ignore[arg-type] # a batch will do for a state
