"""Differences between two points of a log, computed from two views by masks.

No events are visited: the rows at both points are compared, and only the rows that are
returned are converted to result objects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.blocks import ACTIVE, ARCHIVED
from mnemic.kernel.model.edges import NO_ANCHOR
from mnemic.kernel.model.identity import CompositionId
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import (
    CompositionLabel,
    DiffPoint,
    DiffResult,
    Edge,
    EdgeChange,
    EvidenceChange,
    PolicyStep,
    Rezoned,
    unit,
)
from mnemic.kernel.scoring.decay import edge_rates, effective_weights
from mnemic.kernel.timestamps import iso
from mnemic.projections.blocks.catalogue import REASONS
from mnemic.projections.listing.compositions import label_result
from mnemic.projections.listing.timeline import kinds
from mnemic.projections.storage.columns import Rows
from mnemic.projections.view import View
from mnemic.projections.view.block_results import block_result, edge_result

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

List: TypeAlias = tuple[str, Sequence[int], Callable[[int], Any]]
"""A list of the result: its name, the numbers of its entries, and their conversion."""

LIMIT_MAX = 1000
"""Maximum number of entries of one list."""


def difference(before: View, after: View, *, limit: int) -> DiffResult:
    """Return how *after* differs from *before*.

    Args:
        before: A view of the past.
        after: A view of the past, at the same point or a later one of the same log.
        limit: Maximum number of entries of each list. Range: 1 to 1000.

    Raises:
        FieldRefused: The limit is out of range, or *after* is the earlier one.
    """
    if type(limit) is not int or not 1 <= limit <= LIMIT_MAX:
        raise FieldRefused(f"limit must be from 1 to {LIMIT_MAX}, got {limit!r}", field="limit")
    if (after.point.version, after.point.active_us) < (
        before.point.version,
        before.point.active_us,
    ):
        raise FieldRefused(
            f"before, {_place(before)}, is later than after, {_place(after)}",
            recovery="Name the earlier point first. Active hours pass inside sessions only; "
            "status() says how many there are.",
            field="before",
        )
    shown: dict[str, Any] = {}
    totals: dict[str, int] = {}
    for name, entries, show in (*_Blocks(before, after).lists(), *_Edges(before, after).lists()):
        totals[name] = len(entries)
        shown[name] = tuple(show(each) for each in entries[:limit])
    for name, found in _rest(before, after):
        totals[name] = len(found)
        shown[name] = tuple(found[:limit])
    embedders = _model(before), _model(after)
    return DiffResult(
        before=_point(before),
        after=_point(after),
        events=kinds(after, before.point.version + 1, after.point.version),
        totals=totals,
        embedder=None if embedders[0] == embedders[1] else embedders,
        **shown,
    )


def _place(view: View) -> str:
    return f"version {view.point.version} at {view.point.hour:g} active hours"


def _point(view: View) -> DiffPoint:
    return DiffPoint(
        version=view.point.version, hour=view.point.hour, at=iso(view.point.instant_us)
    )


def _model(view: View) -> str | None:
    """Return a readable name of the embedder in force."""
    model = view.embedder
    if model is None:
        return None
    weights = f", {model.weights[:8]}" if model.weights else ""
    return f"{model.name} ({model.dimension}-d{weights})"


# --- blocks ---------------------------------------------------------------------------------


class _Blocks:
    """The rows of all blocks at both points, by number; -1 where a block was not known."""

    def __init__(self, before: View, after: View) -> None:
        self._before, self._after = before, after
        self._numbers = after.known()
        self._known = self._held(before.life.rows) >= 0
        self._changed = self._held(before.life.rows) != after.life.rows[self._numbers]

    def _held(self, rows: Rows) -> Rows:
        """Return the rows at the earlier point for each block that is known at the later one."""
        found = np.full(len(self._numbers), -1, dtype=np.int32)
        there = self._numbers < len(rows)
        found[there] = rows[self._numbers[there]]
        return found

    def _was(self, name: str, unknown: int) -> Ints:
        """Return one value of each block at the earlier point."""
        values = np.full(len(self._numbers), unknown, dtype=np.int64)
        known = self._numbers[self._known]
        values[self._known] = self._before.life.column(name, known)
        return values

    def lists(self) -> tuple[List, ...]:
        after, numbers = self._after, self._numbers
        status, was = after.life.column("status", numbers), self._was("status", -1)
        learned = after.life.column("learned", numbers) > self._before.point.version
        again = learned & self._known
        put_away = (status == ARCHIVED) & ((was != ARCHIVED) | again)
        reasons = after.life.column("reason", numbers)
        superseded = reasons == REASONS.index("superseded")
        zones = after.life.column("zone", numbers)
        rezoned = self._known & (zones != self._was("zone", -1))
        active = (status == ACTIVE) & ((was != ACTIVE) | again)
        return (
            ("learned", numbers[~self._known].tolist(), self._block),
            ("reactivated", numbers[again].tolist(), self._block),
            ("promoted", numbers[active].tolist(), self._block),
            ("superseded", numbers[put_away & superseded].tolist(), self._block),
            ("archived", numbers[put_away & ~superseded].tolist(), self._block),
            ("rezoned", numbers[rezoned].tolist(), self._rezoned),
            ("quarantined", self._apart(after, self._before), self._block),
            ("released", self._apart(self._before, after), self._block),
            ("evidence", numbers[self._scored()].tolist(), self._evidence),
        )

    @staticmethod
    def _apart(here: View, there: View) -> list[int]:
        """Return the blocks in quarantine in one view and not in the other."""
        found: list[int] = np.setdiff1d(here.quarantined(), there.quarantined()).tolist()
        return found

    def _block(self, number: int) -> Any:
        return block_result(self._after, number)

    def _rezoned(self, number: int) -> Rezoned:
        return Rezoned(
            block=self._block(number),
            before=self._before.zone(number),
            after=self._after.zone(number),
        )

    def _scored(self) -> Bools:
        scored = np.zeros(len(self._numbers), dtype=np.bool_)
        for name in ("alpha", "beta"):
            was = np.zeros(len(self._numbers), dtype=np.int64)
            known = self._numbers[self._known]
            was[self._known] = self._before.evidence.column(name, known)
            scored |= was != self._after.evidence.column(name, self._numbers)
        return scored

    def _evidence(self, number: int) -> EvidenceChange:
        known = self._before.life.has(number)
        gained = [
            self._after.evidence.get(name, number)
            - (self._before.evidence.get(name, number) if known else 0)
            for name in ("alpha", "beta")
        ]
        return EvidenceChange(
            block_id=self._after.id(number),
            gained_for=unit(gained[0]),
            gained_against=unit(gained[1]),
        )


# --- edges ----------------------------------------------------------------------------------


class _Edges:
    """The rows of all pairs at both points, by pair; -1 where there was no edge."""

    def __init__(self, before: View, after: View) -> None:
        self._before, self._after = before, after
        self._graph = after.state.graph
        was, now = (np.asarray(view.edge_rows.rows) for view in (before, after))
        count = max(len(was), len(now))
        self._was, self._now = (_padded(rows, count) for rows in (was, now))
        ids = np.array(after.state.catalogue.ids)
        self._ranks = np.empty(len(ids), dtype=np.int64)
        self._ranks[np.argsort(ids)] = np.arange(len(ids))

    def lists(self) -> tuple[List, ...]:
        was, now = self._was, self._now
        both = (was >= 0) & (now >= 0)
        touched = np.flatnonzero(both & (was != now)).tolist()
        changed = [pair for pair in touched if self._differs(pair)]
        among = np.zeros(len(was), dtype=np.bool_)
        among[changed] = True
        return (
            ("edges_formed", self._sorted(np.flatnonzero((was < 0) & (now >= 0))), self._edge),
            ("edges_removed", self._sorted(np.flatnonzero((was >= 0) & (now < 0))), self._gone),
            ("edges_changed", self._sorted(np.array(changed, dtype=np.int64)), self._both),
            ("edges_faded", self._faded(np.flatnonzero(both & ~among)), self._both),
        )

    def _differs(self, pair: int) -> bool:
        """Whether an edge has other values; it may have been removed and restored unchanged."""
        ends = self._graph.ends(pair)
        facts = [(view.edge(*ends), view.note(*ends)) for view in (self._before, self._after)]
        return facts[0] != facts[1]

    def _sorted(self, pairs: Ints) -> list[int]:
        """Return pairs in the order of their ids."""
        ordered: list[int] = pairs[np.argsort(self._order(pairs), kind="stable")].tolist()
        return ordered

    def _order(self, pairs: Ints) -> Ints:
        """Return one number per pair that sorts like its ids."""
        ends = [self._ranks[each[pairs]] for each in (self._graph.low, self._graph.high)]
        return (np.minimum(*ends) << 32) + np.maximum(*ends)

    def _faded(self, pairs: Ints) -> list[int]:
        """Return unchanged edges that have lost weight by decay; the biggest loss first."""
        lost = _effective(self._before, pairs) - _effective(self._after, pairs)
        pairs, lost = pairs[lost > 0], lost[lost > 0]
        ordered: list[int] = pairs[np.lexsort((self._order(pairs), -lost))].tolist()
        return ordered

    def _edge(self, pair: int) -> Edge:
        return self._shown(self._after, pair)

    def _gone(self, pair: int) -> Edge:
        return self._shown(self._before, pair)

    def _both(self, pair: int) -> EdgeChange:
        return EdgeChange(before=self._gone(pair), after=self._edge(pair))

    def _shown(self, view: View, pair: int) -> Edge:
        edge = view.edge(*self._graph.ends(pair))
        assert edge is not None  # noqa: S101 - it exists at this point
        return edge_result(view, edge)


def _padded(rows: Rows, count: int) -> Rows:
    padded = np.full(count, -1, dtype=np.int32)
    padded[: len(rows)] = rows
    return padded


def _effective(view: View, pairs: Ints) -> Ints:
    """Return the effective weights of existing edges at the view's hour, nano-units."""
    graph, rows = view.state.graph, view.edge_rows
    tiers = [
        view.life.column("tier_rate", ends[pairs].astype(np.int64))
        for ends in (graph.low, graph.high)
    ]
    counts, anchors = rows.column("count", pairs), rows.column("anchor_us", pairs)
    rates = edge_rates(tiers[0], tiers[1], counts, view.policy)
    agent = rows.column("origin", pairs) == graph.origins.known("agent")
    now_us = view.point.active_us
    idle_us = now_us - np.where(agent | (anchors == NO_ANCHOR), now_us, anchors)
    return effective_weights(rows.column("weight", pairs), rates, idle_us)


# --- the ledger and the policy --------------------------------------------------------------


def _rest(before: View, after: View) -> tuple[tuple[str, Sequence[Any]], ...]:
    labels = _labels(before, after)
    return (
        ("compositions", _composed(before, after)),
        ("labels_set", labels[0]),
        ("labels_retracted", labels[1]),
        ("policies", _policies(before, after)),
    )


def _composed(before: View, after: View) -> list[CompositionId]:
    since = takewhile(lambda each: each.version > before.point.version, after.compositions())
    return [each.id for each in since][::-1]


def _labels(before: View, after: View) -> tuple[list[CompositionLabel], list[CompositionLabel]]:
    """Return the labels that count only later, and those that no longer count."""
    fresh, gone = [], []
    first, last = before.point.version, after.point.version
    for label in after.state.ledger.labels(first + 1, last):
        counted, counts = label.counts_at(first), label.counts_at(last)
        if counts and not counted:
            fresh.append(label_result(label))
        elif counted and not counts:
            gone.append(label_result(label))
    return fresh, gone


def _policies(before: View, after: View) -> list[PolicyStep]:
    first, last = before.point.version, after.point.version
    trails = after.state.timeline.policies.trails(first + 1, last, last, lambda each: each)
    steps = []
    earlier: Policy | None = None
    for version, policy in trails.get("policy", ()):
        if version > first:
            steps.append(
                PolicyStep(
                    version=version,
                    policy_id=policy.id,
                    name=policy.name,
                    changes={} if earlier is None else _changes(earlier, policy),
                )
            )
        earlier = policy
    return steps


def _changes(before: Policy, after: Policy) -> dict[str, tuple[Any, Any]]:
    was, now = attrs.asdict(before), attrs.asdict(after)
    return {name: (was[name], now[name]) for name in now if was[name] != now[name]}
