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


def fold(state: State, events: Sequence[Recorded]) -> None:
    """Fold events, the next ones of the log, together."""
    first = 0
    for place, recorded in enumerate(events):
        if type(recorded.event) in ALONE:
            _fold(state, events[first:place])
            state.apply(recorded)
            first = place + 1
    _fold(state, events[first:])


def _fold(state: State, events: Sequence[Recorded]) -> None:
    if not events:
        return
    state.timeline.record_each(events)
    batch = Batch(state)
    kinds = [type(recorded.event) for recorded in events]
    handlers = {kind: _handler(kind, batch) for kind in dict.fromkeys(kinds)}
    for kind, recorded in zip(kinds, events, strict=True):
        handlers[kind](recorded.event, recorded)
    batch.settle()


def _handler(kind: type, batch: Batch) -> Handler:
    return QUICK[kind](batch) if kind in QUICK else partial(HANDLERS[kind], batch)  # type: ignore[arg-type] # a batch will do for a state
