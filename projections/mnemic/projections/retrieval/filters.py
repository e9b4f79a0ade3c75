"""Which blocks a recall may consider: the filter and the other conditions, on a view."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.model.filters import Where
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.policy import OWN, Frame
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.kernel.values import Value
from mnemic.projections.storage.sorted_arrays import places
from mnemic.projections.view import View
from mnemic.projections.view.filtering import Sieve, conditions

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@frozen(kw_only=True)
class Eligibility(Value):
    """All conditions that determine which blocks a question may consider."""

    frame: Frame
    where: Where = field(factory=Where)
    session: SessionId | None = None
    """The caller's session, if it has one open."""


def eligible(view: View, eligibility: Eligibility) -> Ints:
    """Return the numbers of the blocks that a recall with *eligibility* may return, ascending."""
    numbers = unexpired(view, view.with_status(ACTIVE))
    for _, passes in _sieves(view, eligibility):
        numbers = _kept(numbers, passes(numbers))
    return numbers


def unexpired(view: View, numbers: Ints) -> Ints:
    """Return those of *numbers* that have not expired by the view's instant."""
    present = view.present
    if numbers is not present.numbers:
        return _kept(numbers, ~_expired(view, numbers))
    # The snapshot already knows which of the active blocks expire at all.
    if not len(present.expiring):
        return numbers
    gone = present.expiring[_expired(view, present.expiring)]
    return np.delete(numbers, places(numbers, gone)) if len(gone) else numbers


def _expired(view: View, numbers: Ints) -> Mask:
    expires = view.life.column("expires_us", numbers)
    expired: Mask = (expires != UNKNOWN) & (expires <= view.point.instant_us)
    return expired


def _kept(numbers: Ints, passing: Mask) -> Ints:
    """Return those of *numbers* that pass: the same array if all do, which is the common case.

    What a view has cached for an array is then reused.
    """
    return numbers if passing.all() else numbers[passing]


def obstacle(view: View, eligibility: Eligibility, number: int) -> str | None:
    """Return the first condition that excludes an active block; None if it is eligible.

    A condition reads ``frame scope``, ``frame only_tags``, ``frame zone``, ``frame never_tags``, or
    ``where`` and one of ``mnemic.kernel.model.filters.KEYS``.
    """
    one = np.array([number], dtype=np.int64)
    for name, passes in _sieves(view, eligibility):
        if not passes(one)[0]:
            return name
    return None


def _sieves(view: View, eligibility: Eligibility) -> Iterator[tuple[str, Sieve]]:
    """Yield each condition that was given, cheap ones first: its name, and which blocks pass."""
    frame = eligibility.frame
    if frame.scope == "session":
        # The caller's own, else the latest: sessions of crashed callers stay open for ever.
        wanted = eligibility.session or view.latest_session()
        known = -1 if wanted is None else view.state.catalogue.sessions.known(wanted)
        yield "frame scope", lambda numbers: view.life.column("session", numbers) == known
    if frame.only_tags:
        yield "frame only_tags", lambda numbers: view.tagged(numbers, frame.only_tags)
        yield "frame zone", lambda numbers: _may_say(view, numbers, frame.only_tags)
    if frame.never_tags:
        yield "frame never_tags", lambda numbers: ~view.tagged(numbers, frame.never_tags)
    for name, passes in conditions(view, eligibility.where):
        yield f"where {name}", passes


def _may_say(view: View, numbers: Ints, wanted: tuple[str, ...]) -> Mask:
    """Return which blocks may match: the agent's own tags count for privileged blocks only."""
    plain = tuple(tag for tag in wanted if not tag.startswith(OWN))
    if plain == wanted:
        return np.ones(len(numbers), dtype=np.bool_)
    return view.privileged(numbers) | view.tagged(numbers, plain)
