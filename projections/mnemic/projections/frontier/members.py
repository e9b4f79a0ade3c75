"""The blocks that a frontier may combine, as columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.model.identity import BlockId
from mnemic.projections.frontier import candidates, zones
from mnemic.projections.frontier.history import LedgerHistory
from mnemic.projections.frontier.terms import is_boundary, passes
from mnemic.projections.frontier.zones import Trust
from mnemic.projections.view import View

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@frozen(kw_only=True, eq=False)
class Blocks:
    """The blocks that may be composed, as columns; pairs refer to a block by its position."""

    numbers: Ints
    ids: list[BlockId]
    id_rank: Ints
    """Rank of each in the order of ids."""
    tags: list[tuple[str, ...]]
    table: Ints
    """The tags as a row of numbers each, padded with -1."""
    boundaries: Ints
    """The same, of boundary tags alone."""
    category: Ints
    wanted: Mask
    """Which blocks pass the tag filter."""
    trust: Trust
    good: Ints
    """Positive evidence for each, nano-units."""
    bad: Ints
    degree: Ints
    """Number of compositions that used up a pair of each."""


def members(view: View, ledger: LedgerHistory, wanted: Sequence[str]) -> Blocks:
    """Return the blocks of a view that may be composed.

    Args:
        view: The view to read.
        ledger: Its ledger history.
        wanted: A tag filter; empty: everything passes.
    """
    numbers = candidates.pool(view)
    each: list[int] = numbers.tolist()
    sets, place = np.unique(view.life.column("tags", numbers), return_inverse=True)
    tag_sets = [view.state.catalogue.tag_sets[one] for one in sets.tolist()]
    passing = np.array([passes(tags, wanted) for tags in tag_sets], dtype=np.bool_)
    table, names = candidates.tag_table(view, numbers)
    good, bad, degree = np.zeros((3, len(each)), dtype=np.int64)
    place_of = {number: one for one, number in enumerate(each)}
    for block, evidence in ledger.evidence.items():
        if block in place_of:
            good[place_of[block]], bad[place_of[block]] = evidence.good, evidence.bad
    for block in ledger.used_by:
        if block in place_of:
            degree[place_of[block]] = ledger.degree(block)
    ids = [view.id(number) for number in each]
    rank = np.empty(len(ids), dtype=np.int64)
    rank[np.argsort(np.array(ids, dtype=np.str_))] = np.arange(len(ids))
    return Blocks(
        numbers=numbers,
        ids=ids,
        id_rank=rank,
        tags=[tag_sets[one] for one in place.tolist()],
        table=table,
        boundaries=_boundaries(table, names),
        category=view.life.column("category", numbers),
        wanted=passing[place],
        trust=zones.trust(view, numbers),
        good=good,
        bad=bad,
        degree=degree,
    )


def _boundaries(table: Ints, names: Sequence[str]) -> Ints:
    """Return the table of tags reduced to boundary tags, as narrow as possible."""
    marks = np.array([*(is_boundary(name) for name in names), False], dtype=np.bool_)
    kept = np.where(marks[table], table, -1)
    widest = int((kept >= 0).sum(axis=1).max(initial=0))
    narrow: Ints = -np.sort(-kept, axis=1)[:, :widest]
    return narrow
