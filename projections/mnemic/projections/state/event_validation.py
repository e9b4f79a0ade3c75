"""Validation of events that are readable but inconsistent, such as links to unknown blocks.

A hash chain proves that nothing was changed, not that the events are consistent. Replay trusts them
and checks nothing twice; if it fails, this module finds the event that caused it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import frozen

from mnemic.kernel.errors import Refused, StoreTooNew
from mnemic.kernel.events import Event, PolicyAdopted, Recorded, Reverted
from mnemic.kernel.policy import Policy
from mnemic.kernel.values import Value
from mnemic.projections.state.apply import apply
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State

REPLAY_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    Refused,
    TypeError,
    ValueError,
)
"""Exceptions that replay raises on such an event."""


@frozen(kw_only=True)
class Impossible(Value):
    """An event that no state accepts, such as one on a block that was never learned."""

    version: int
    settling: bool
    """Whether it is accepted as such, and its numbers fit no column."""
    error: Exception
    """What folding it raised."""

    @property
    def problem(self) -> str:
        """What is wrong, in a sentence."""
        return f"the event at version {self.version} is inconsistent: {self.error!r:.200}"


def newer_policy_fields(event: Event) -> tuple[str, ...]:
    """Return the fields of a policy in *event* that this release does not know.

    An event that has some is of a newer release, and not inconsistent.
    """
    match event:
        case PolicyAdopted():
            return Policy.newer_fields(event.body)
        case Reverted(policy=str(body)):
            return Policy.newer_fields(body)
        case _:
            return ()


def check_policy_known(recorded: Recorded) -> None:
    """Refuse an event with a policy of a newer release.

    Raises:
        StoreTooNew: With the facts ``version`` and ``fields``.
    """
    unknown = newer_policy_fields(recorded.event)
    if unknown:
        raise StoreTooNew(
            f"the policy in event {recorded.version} has fields that this release does not know: "
            f"{', '.join(unknown)}",
            version=recorded.version,
            fields=unknown,
        )


def applied_singly(
    events: Iterable[Recorded], *, settling: bool = False
) -> tuple[State, int | None]:
    """Apply event by event, and return the state and the version that failed, if any.

    Args:
        events: From the first on.
        settling: Whether numbers that fit no column are detected, too; this takes longer.
    """
    state, version = State(), -1
    try:
        for recorded in events:
            version = recorded.version
            apply(state, recorded)
            if settling:
                state.settle()
    except REPLAY_ERRORS:
        return state, version
    return state, None


def impossible_event(events: Callable[[], Iterable[Recorded]]) -> Impossible | None:
    """Return the first event that cannot be folded; None: all of them can.

    Args:
        events: Returns the events, from the first on; called again to find out which one it is.
    """
    try:
        rebuild(State(), events()).settle()
    except REPLAY_ERRORS as error:
        return first_impossible(events, error)
    return None


def first_impossible(events: Callable[[], Iterable[Recorded]], error: Exception) -> Impossible:
    """Return the first event that cannot be folded.

    Args:
        events: Returns the events, from the first on.
        error: What folding all of them raised.
    """
    for settling in (False, True):
        _, version = applied_singly(events(), settling=settling)
        if version is not None:
            return Impossible(version=version, settling=settling, error=error)
    return Impossible(version=0, settling=True, error=error)
