"""Which blocks of a view meet a filter: the conditions of ``where``, on columns and on texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.filters import Range, Where
from mnemic.kernel.model.identity import SCOPE_KEYS
from mnemic.kernel.model.texts import BlockText, Erased
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.projections.view.block_view import BlockView

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Sieve = Callable[[Ints], Mask]
SAID = ("key", "author", "thread", "metadata", *SCOPE_KEYS)
"""Conditions on what is stored with the text."""


def passing(view: BlockView, where: Where, numbers: Ints) -> Mask:
    """Return which of *numbers* meet a filter; blocks of any status, erased ones included.

    Each condition is asked about those that the ones before it left.
    """
    return _meeting_all(view, (where,), numbers)


def conditions(view: BlockView, where: Where) -> Iterator[tuple[str, Sieve]]:
    """Yield each condition of a filter, cheap ones first."""
    if where.tags:
        yield "tags", lambda numbers: _all_tagged(view, numbers, where.tags)
    if where.category:
        categories = [view.state.catalogue.categories.known(name) for name in where.category]
        yield "category", lambda numbers: np.isin(view.life.column("category", numbers), categories)
    if where.zone:
        zones = [view.state.catalogue.zones.known(name) for name in where.zone]
        yield "zone", lambda numbers: np.isin(view.life.column("zone", numbers), zones)
    yield from _of_times(view, where)
    if where.ranges:
        yield "range", partial(_in_ranges, view, where.ranges)
    for name in SAID:
        values = getattr(where, name)
        if values:
            yield name, partial(_saying, view, name, values)
    yield from _compound(view, where)


def _of_times(view: BlockView, where: Where) -> Iterator[tuple[str, Sieve]]:
    since, until, valid_at = where.since_us, where.until_us, where.valid_at_us
    if since is not None:
        yield "since", lambda numbers: _dated(view, numbers, since=since)
    if until is not None:
        yield "until", lambda numbers: _dated(view, numbers, until=until)
    if valid_at is not None:
        yield "valid_at", lambda numbers: view.holding(numbers, valid_at)


def _compound(view: BlockView, where: Where) -> Iterator[tuple[str, Sieve]]:
    """Yield the conditions that are filters themselves."""
    if where.any_of:
        yield "any", partial(_meeting_any, view, where.any_of)
    if where.all_of:
        yield "all", partial(_meeting_all, view, where.all_of)
    if where.not_of is not None:
        yield "not", partial(_meeting_none, view, where.not_of)


def _meeting_all(view: BlockView, filters: Iterable[Where], numbers: Ints) -> Mask:
    """Return which blocks meet all of several filters; each is asked about those left only."""
    passing = np.ones(len(numbers), dtype=np.bool_)
    for where in filters:
        for _, passes in conditions(view, where):
            passing[passing] = passes(numbers[passing])
    return passing


def _meeting_any(view: BlockView, filters: Iterable[Where], numbers: Ints) -> Mask:
    """Return which blocks meet at least one of several filters."""
    passing = np.zeros(len(numbers), dtype=np.bool_)
    for where in filters:
        passing[~passing] = _meeting_all(view, (where,), numbers[~passing])
    return passing


def _meeting_none(view: BlockView, where: Where, numbers: Ints) -> Mask:
    return ~_meeting_all(view, (where,), numbers)


def _in_ranges(view: BlockView, ranges: Iterable[Range], numbers: Ints) -> Mask:
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


def _all_tagged(view: BlockView, numbers: Ints, wanted: tuple[str, ...]) -> Mask:
    passing = np.ones(len(numbers), dtype=np.bool_)
    for tag in wanted:
        passing &= view.tagged(numbers, (tag,))
    return passing


def _dated(
    view: BlockView, numbers: Ints, *, since: int | None = None, until: int | None = None
) -> Mask:
    created = view.life.column("created_us", numbers)
    passing: Mask = created != UNKNOWN
    if since is not None:
        passing &= created >= since
    if until is not None:
        passing &= created <= until
    return passing


def _saying(view: BlockView, name: str, wanted: tuple[Any, ...], numbers: Ints) -> Mask:
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
