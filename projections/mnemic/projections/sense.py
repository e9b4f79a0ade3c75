"""Events that can be read and say what cannot be: links to blocks that nobody learned, and such.

A chain says that nothing was changed, and not that it makes sense. A fold trusts what it is given,
and checks nothing twice; it takes one that fails to look for the event to blame.
"""

from __future__ import annotations

from collections.abc import Iterable

from mnemic.kernel.errors import Refused
from mnemic.kernel.events import Recorded
from mnemic.projections.state import FarOf, State

NONSENSE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    Refused,
    TypeError,
    ValueError,
)
"""What a fold raises over such an event."""


def folded_singly(
    events: Iterable[Recorded], *, settling: bool = False, far_of: FarOf | None = None
) -> tuple[State, int | None]:
    """Fold event by event, and return the state and the version that could not be folded, if any.

    Args:
        events: From the first on.
        settling: Whether numbers that no column can hold are found, too; that takes a while.
        far_of: Says who has the vectors; None: they are held here.
    """
    state, version = State(far_of), -1
    try:
        for recorded in events:
            version = recorded.version
            state.apply(recorded)
            if settling:
                state.settle()
    except NONSENSE:
        return state, version
    return state, None
