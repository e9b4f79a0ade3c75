"""One block over time: its strength and its evidence at many points."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.blocks import STATUSES
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO, decayed, share
from mnemic.kernel.results import Trajectory, TrajectoryPoint, unit
from mnemic.projections.storage.columns import Trail
from mnemic.projections.view import View
from mnemic.projections.view.block_results import find

POINTS_MIN: Final = 2
POINTS_MAX: Final = 500
TABLES: Final = ("life", "strength", "evidence", "uses")


def trajectory(view: View, block_id: str, *, points: int) -> Trajectory:
    """Return a block at the versions that changed it, before and after, and at equal distances.

    Args:
        view: The view up to which it is followed, and whose policy counts.
        block_id: The block.
        points: Points of equal distance in active time, and most changes. Range: 2 to 500.

    Raises:
        FieldRefused: The number of points is out of range.
        BlockNotFound: The block was not learned by then.
    """
    if type(points) is not int or not POINTS_MIN <= points <= POINTS_MAX:
        raise FieldRefused(
            f"points must be from {POINTS_MIN} to {POINTS_MAX}, got {points!r}", field="points"
        )
    number = find(view, block_id)
    trails = {name: _trail(view, name, number) for name in TABLES}
    return Trajectory(
        block_id=view.id(number),
        points=tuple(_point(view, trails, *at) for at in _instants(view, trails, points)),
        supersedes=_superseded(view, number),
    )


def _superseded(view: View, number: int) -> tuple[BlockId, ...]:
    known = view.known()
    found = known[view.life.column("successor", known) == number]
    return tuple(sorted(view.id(each) for each in found.tolist()))


def _trail(view: View, name: str, number: int) -> Trail:
    table = getattr(view.state.catalogue, name)
    names = table.names
    found = table.trails([number], view.version, lambda row: dict(zip(names, row, strict=True)))
    trail: Trail = found[number]
    return trail


def _instants(view: View, trails: dict[str, Trail], points: int) -> list[tuple[int, int]]:
    """Return versions with active times, ascending."""
    active = view.state.timeline.active_us.values
    changes = sorted({since for trail in trails.values() for since, _ in trail})
    first = changes[0]
    if len(changes) > points:
        chosen = np.linspace(0, len(changes) - 1, points).round().astype(int).tolist()
        changes = [changes[place] for place in chosen]
    found = {(version, int(active[version])) for version in changes}
    found |= {(version - 1, int(active[version])) for version in changes if version > first}
    start_us, end_us = int(active[first]), view.point.active_us
    for place in range(points):
        at_us = start_us + (end_us - start_us) * place // (points - 1)
        version = int(np.searchsorted(active[: view.version + 1], at_us, side="right")) - 1
        found.add((max(version, first), at_us))
    return sorted(found, key=lambda each: (each[1], each[0]))


def _point(view: View, trails: dict[str, Trail], version: int, at_us: int) -> TrajectoryPoint:
    rows = {name: _at(trail, version) for name, trail in trails.items()}
    strength, evidence, prior = rows["strength"], rows["evidence"], view.policy.prior
    alpha, beta = evidence.get("alpha", 0), evidence.get("beta", 0)
    idle_us = max(0, at_us - strength.get("reinforced_us", at_us))
    rate = strength.get("rate", 0)
    return TrajectoryPoint(
        version=version,
        hour=at_us / MICROS_PER_HOUR,
        status=STATUSES[rows["life"].get("status", 0)],
        recency=unit(decayed(rate, idle_us)) if rate else 1.0,
        usefulness=unit(share(alpha + prior, alpha + beta + 2 * prior)),
        evidence=(alpha + beta) / NANO,
        reinforcements=strength.get("reinforcements", 0),
        retrievals=rows["uses"].get("retrievals", 0),
    )


def _at(trail: Trail, version: int) -> dict[str, Any]:
    """Return the values of a trail at a version; empty before the first."""
    found: dict[str, Any] = {}
    for since, values in trail:
        if since > version:
            break
        found = values or {}
    return found
