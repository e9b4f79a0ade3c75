"""Listing of recorded recalls: which, in which order, and how each went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.values import Value
from mnemic.projections.blocks.outcomes import NO_DECISION
from mnemic.projections.evaluation.relevance_judgments import TakenBack
from mnemic.projections.view import View
from mnemic.projections.view.block_results import find

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ORDERS: Final = ("latest", "worst")
OUTCOMES: Final = ("bad", "good", "none")
"""Below a half, from a half on, and none."""
_BITS: Final = 32
"""A version fits into so many."""


@frozen
class Outcome(Value):
    """How a decision went: by the outcomes that name it, or else by those of its blocks."""

    mean: float
    """Weighted mean of the signals. Range: [0, 1]."""
    judged: int
    """How many times a block of its answer was scored."""
    named: bool
    """Whether outcomes name the decision."""

    @property
    def name(self) -> str:
        """``bad`` or ``good``."""
        return "bad" if self.mean < 1 / 2 else "good"


def outcomes(view: View, taken_back: TakenBack | None, *, horizon_us: int) -> dict[int, Outcome]:
    """Return how each decision went by now, by its version; those not scored are left out.

    As in a backtest, outcomes that name the decision take precedence, those that name another one
    are about another question, and what came later than the horizon does not count.

    Args:
        view: The view to read.
        taken_back: Outcomes that were reverted by then; None: none was.
        horizon_us: How long after a decision outcomes count for it, active microseconds.
    """
    rows = _counting(view, taken_back)
    shown, decisions = view.state.catalogue.returns.columns(view.version)
    upto = _horizon(view, decisions.astype(np.int64), horizon_us)
    own = {name: column[rows["decision"] != NO_DECISION] for name, column in rows.items()}
    found: dict[int, Outcome] = {}
    versions = own["decision"]
    in_time = own["version"] <= _horizon(view, versions, horizon_us)
    _collect(
        found,
        versions[in_time],
        (own["weight"] * own["signal"])[in_time],
        own["weight"][in_time],
        counts=np.ones(int(in_time.sum()), np.int64),
        named=True,
    )
    others = ~np.isin(decisions, list(found))
    blocks, after, upto = shown[others].astype(np.int64), decisions[others], upto[others]
    free = {name: column[rows["decision"] == NO_DECISION] for name, column in rows.items()}
    parts, weights, counts = _within(free, blocks, after.astype(np.int64), upto)
    _collect(found, after, parts, weights, counts=counts, named=False)
    return found


def _counting(view: View, taken_back: TakenBack | None) -> dict[str, Any]:
    """Return the rows of outcomes that count, signals and weights as floats."""
    rows = view.state.catalogue.outcomes.columns(view.version)
    if taken_back is not None:
        ids = view.state.catalogue.ids
        pairs = zip(rows["block"].tolist(), rows["version"].tolist(), strict=True)
        keep = [not taken_back.holds(ids[block], version) for block, version in pairs]
        rows = {name: column[np.array(keep, dtype=np.bool_)] for name, column in rows.items()}
    for name in ("signal", "weight"):
        rows[name] = rows[name] / NANO
    return {**rows, "block": rows["block"].astype(np.int64)}


def _horizon(view: View, versions: Ints, horizon_us: int) -> Ints:
    """Return the last version whose outcomes count for the decisions at *versions*."""
    active = view.state.timeline.active_us.values[: view.version + 1]
    until_us = active[versions] + horizon_us
    found: Ints = np.searchsorted(active, until_us, side="right") - 1
    return found


def _within(
    rows: Mapping[str, Any], blocks: Ints, after: Ints, upto: Ints
) -> tuple[Floats, Floats, Ints]:
    """Return weighted signals, weights and the number of a block's outcomes after some version.

    Args:
        rows: Outcomes.
        blocks: Numbers, shape (n,).
        after: Versions, shape (n,); later ones count.
        upto: Versions, shape (n,); the last ones that count.
    """
    keys = rows["block"] << _BITS | rows["version"]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.searchsorted(keys, blocks << _BITS | after, side="right")
    last = np.searchsorted(keys, blocks << _BITS | upto, side="right")
    parts = np.concatenate(([0.0], np.cumsum((rows["signal"] * rows["weight"])[order])))
    weights = np.concatenate(([0.0], np.cumsum(rows["weight"][order])))
    last = np.maximum(first, last)
    return parts[last] - parts[first], weights[last] - weights[first], last - first


def _collect(
    found: dict[int, Outcome],
    decisions: Ints,
    parts: Floats,
    weights: Floats,
    *,
    counts: Ints,
    named: bool,
) -> None:
    """Add the outcomes of decisions, of which each may have several rows."""
    versions, places = np.unique(decisions, return_inverse=True)
    part, weight, count = (
        np.bincount(places, values, minlength=len(versions)) for values in (parts, weights, counts)
    )
    for place in np.flatnonzero(count > 0).tolist():
        if weight[place] > 0:
            mean = min(1.0, max(0.0, float(part[place] / weight[place])))
            found[int(versions[place])] = Outcome(mean, int(count[place]), named)


def selected(
    view: View,
    found: Mapping[int, Outcome],
    *,
    of: str | None,
    outcome: str | None,
    order: str,
    after: int | None,
) -> tuple[int, Sequence[int]]:
    """Return how many decisions match, and the versions of those that come after *after*.

    Args:
        view: The view to read.
        found: See ``outcomes``.
        of: Only decisions that returned this block.
        outcome: One of ``OUTCOMES``; None: any.
        order: One of ``ORDERS``; decisions that were not scored are last in ``worst``.
        after: A version among them; None: from the first.

    Raises:
        FieldRefused: An argument is not valid.
        BlockNotFound: The block was not learned by then.
    """
    if order not in ORDERS:
        raise FieldRefused(f"order must be latest or worst, got {order!r:.100}", field="order")
    if outcome is not None and outcome not in OUTCOMES:
        raise FieldRefused(
            f"outcome must be one of {', '.join(OUTCOMES)}, got {outcome!r:.100}", field="outcome"
        )
    if after is not None and type(after) is not int:
        raise FieldRefused(f"after must be a version, got {after!r}", field="after")
    versions: Iterable[int] = _all(view) if of is None else _of(view, of)
    if outcome == "none":
        versions = (each for each in versions if each not in found)
    elif outcome is not None:
        versions = (each for each in versions if each in found and found[each].name == outcome)

    def place(version: int) -> tuple[float, int]:
        if order == "latest":
            return 0.0, -version
        judged = found.get(version)
        return 2.0 if judged is None else judged.mean, -version

    ordered = sorted(versions, key=place)
    if after is None:
        return len(ordered), ordered
    last = place(after)
    return len(ordered), [each for each in ordered if place(each) > last]


def _all(view: View) -> list[int]:
    timeline = view.state.timeline
    kind = timeline.kinds.known("RecallRecorded")
    versions: list[int] = np.flatnonzero(timeline.kind.values[: view.version + 1] == kind).tolist()
    return versions


def _of(view: View, block_id: str) -> list[int]:
    number = find(view, block_id)
    return view.state.catalogue.returns.versions(number, view.version)
