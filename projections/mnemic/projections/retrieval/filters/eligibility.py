"""Which blocks a recall may consider: the filter and the other conditions, on a view."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.model.texts import BlockText, Erased
from mnemic.kernel.model.values import Value
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.policy import OWN, Frame
from mnemic.kernel.scope import SCOPE_KEYS
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.projections.retrieval.filters.grammar import Range, Where
from mnemic.projections.storage.sorted_arrays import places
from mnemic.projections.view import View

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
SAID = ("key", "author", "thread", "metadata", *SCOPE_KEYS)
"""Conditions on what is stored with the text."""


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
    ``where`` and one of ``KEYS``.
    """
    one = np.array([number], dtype=np.int64)
    for name, passes in _sieves(view, eligibility):
        if not passes(one)[0]:
            return name
    return None


Sieve = Callable[[Ints], Mask]


def _sieves(view: View, eligibility: Eligibility) -> Iterator[tuple[str, Sieve]]:
    """Yield each condition that was given, cheap ones first: its name, and which blocks pass."""
    frame = eligibility.frame
    if frame.scope == "session":
        # The caller's own, else the latest: sessions of crashed callers stay open for ever.
        wanted = eligibility.session or view.latest_session()
        known = -1 if wanted is None else view.state.catalogue.sessions.known(wanted)
        yield "frame scope", lambda numbers: view.life.column("session", numbers) == known
    if frame.only_tags:
        yield "frame only_tags", lambda numbers: _tagged(view, numbers, frame.only_tags)
        yield "frame zone", lambda numbers: _may_say(view, numbers, frame.only_tags)
    if frame.never_tags:
        yield "frame never_tags", lambda numbers: ~_tagged(view, numbers, frame.never_tags)
    for name, passes in _conditions(view, eligibility.where):
        yield f"where {name}", passes


def _conditions(view: View, where: Where) -> Iterator[tuple[str, Sieve]]:
    """Yield each condition of a filter, cheap ones first."""
    if where.tags:
        yield "tags", lambda numbers: _all_tagged(view, numbers, where.tags)
    if where.category:
        categories = [view.state.catalogue.categories.known(name) for name in where.category]
        yield "category", lambda numbers: np.isin(view.life.column("category", numbers), categories)
    yield from _of_times(view, where)
    if where.ranges:
        yield "range", partial(_in_ranges, view, where.ranges)
    for name in SAID:
        values = getattr(where, name)
        if values:
            yield name, partial(_saying, view, name, values)
    yield from _compound(view, where)


def _of_times(view: View, where: Where) -> Iterator[tuple[str, Sieve]]:
    since, until, valid_at = where.since_us, where.until_us, where.valid_at_us
    if since is not None:
        yield "since", lambda numbers: _dated(view, numbers, since=since)
    if until is not None:
        yield "until", lambda numbers: _dated(view, numbers, until=until)
    if valid_at is not None:
        yield "valid_at", lambda numbers: view.holding(numbers, valid_at)


def _compound(view: View, where: Where) -> Iterator[tuple[str, Sieve]]:
    """Yield the conditions that are filters themselves."""
    if where.any_of:
        yield "any", partial(_meeting_any, view, where.any_of)
    if where.all_of:
        yield "all", partial(_meeting_all, view, where.all_of)
    if where.not_of is not None:
        yield "not", partial(_meeting_none, view, where.not_of)


def _meeting_all(view: View, filters: Iterable[Where], numbers: Ints) -> Mask:
    """Return which blocks meet all of several filters; each is asked about those left only."""
    passing = np.ones(len(numbers), dtype=np.bool_)
    for where in filters:
        for _, passes in _conditions(view, where):
            passing[passing] = passes(numbers[passing])
    return passing


def _meeting_any(view: View, filters: Iterable[Where], numbers: Ints) -> Mask:
    """Return which blocks meet at least one of several filters."""
    passing = np.zeros(len(numbers), dtype=np.bool_)
    for where in filters:
        passing[~passing] = _meeting_all(view, (where,), numbers[~passing])
    return passing


def _meeting_none(view: View, where: Where, numbers: Ints) -> Mask:
    return ~_meeting_all(view, (where,), numbers)


def _in_ranges(view: View, ranges: Iterable[Range], numbers: Ints) -> Mask:
    """Return which blocks are in every range."""
    passing = np.ones(len(numbers), dtype=np.bool_)
    for each in ranges:
        left = numbers[passing]
        if each.key is not None:
            passing[passing] = _saying(view, "range", (each,), left)
            continue
        confidence = view.life.column("confidence", left)
        low, high = (0 if each.low is None else each.low), (1 if each.high is None else each.high)
        passing[passing] = (confidence >= nano(float(low))) & (confidence <= nano(float(high)))
    return passing


def _tagged(view: View, numbers: Ints, wanted: tuple[str, ...]) -> Mask:
    return view.tagged(view.life.column("tags", numbers), wanted)


def _may_say(view: View, numbers: Ints, wanted: tuple[str, ...]) -> Mask:
    """Return which blocks may match: the agent's own tags count for privileged blocks only."""
    plain = tuple(tag for tag in wanted if not tag.startswith(OWN))
    if plain == wanted:
        return np.ones(len(numbers), dtype=np.bool_)
    return view.privileged(numbers) | _tagged(view, numbers, plain)


def _all_tagged(view: View, numbers: Ints, wanted: tuple[str, ...]) -> Mask:
    passing = np.ones(len(numbers), dtype=np.bool_)
    for tag in wanted:
        passing &= _tagged(view, numbers, (tag,))
    return passing


def _dated(
    view: View, numbers: Ints, *, since: int | None = None, until: int | None = None
) -> Mask:
    created = view.life.column("created_us", numbers)
    passing: Mask = created != UNKNOWN
    if since is not None:
        passing &= created >= since
    if until is not None:
        passing &= created <= until
    return passing


def _saying(view: View, name: str, wanted: tuple[Any, ...], numbers: Ints) -> Mask:
    """Return which texts meet a condition on the key, the author, the thread or the metadata."""
    if name == "key":
        return np.isin(numbers, [number for key in wanted for number in view.keyed(key)])
    passing = (_says(view.text(number), name, wanted) for number in numbers.tolist())
    return np.fromiter(passing, dtype=np.bool_, count=len(numbers))


def _says(text: BlockText | Erased, name: str, wanted: tuple[Any, ...]) -> bool:
    if not isinstance(text, BlockText):
        return False
    if name in {"author", "thread"}:
        return getattr(text, name) in wanted
    metadata = json.loads(text.metadata) if text.metadata else {}
    if name == "range":
        return all(metadata.get(each.key) in each for each in wanted)
    if name in SCOPE_KEYS:
        return metadata.get(name) in wanted
    return all(metadata.get(key) == value for key, value in wanted)
