"""The graph: one edge per unordered pair of blocks, at every version.

Pairs are numbered in the order in which they were first linked and keep their number when the
edge is removed and added again. ``incident`` lists, per block, every pair it was ever part of;
which of them have an edge is determined by the rows of a view, so one list serves all views.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.edges import ORIGINS
from mnemic.kernel.model.texts import Erased, Remark
from mnemic.projections.graph.adjacency import Pairs, split
from mnemic.projections.graph.staging import Refreshed, Staging
from mnemic.projections.storage.array_bundle import (
    ArrayBundle,
    nested,
    packed,
    unpacked,
    within,
)
from mnemic.projections.storage.columns import Interner, VersionedTable
from mnemic.projections.storage.payloads import Payloads
from mnemic.projections.storage.versioned_maps import Coding, Paired, Pairwise


class Pending(NamedTuple):
    """A connection that waits for a free place under the degree cap."""

    source: int
    target: int
    relation: str
    weight: int
    note: int
    version: int
    """Version of the event that deferred it."""


class NearDuplicatePair(NamedTuple):
    """A near-duplicate pair that was recorded."""

    block: int
    other: int
    cosine: int


V = TypeVar("V", Pending, NearDuplicatePair)
NOTE_KEPT: Final = -2
"""Note of a write that keeps the note of the row before."""
_EDGE: Mapping[str, type[np.generic]] = {
    "source": np.int32,
    "relation": np.int32,
    "origin": np.int32,
    "weight": np.int64,
    "anchor_us": np.int64,
    "count": np.int32,
    "note": np.int32,
}


def _by_pair(kind: type[V]) -> Coding[V]:
    """Return the coding of values of *kind* by pair."""

    def read(plain: list[Any]) -> tuple[tuple[int, int], V]:
        low, high, *values = plain
        return (low, high), kind(*values)

    return Coding(lambda ends, value: (*ends, *value), read)


_PENDING = _by_pair(Pending)
_SIGHTINGS = _by_pair(NearDuplicatePair)
_BARRED: Coding[int] = Coding(
    lambda ends, version: (*ends, version), lambda plain: ((plain[0], plain[1]), plain[2])
)


class Graph:
    """Edges as numbered pairs with row versions."""

    def __init__(self) -> None:
        self.pairs = Pairs()
        self.incident = self.pairs.incident
        """By block, every pair it was ever part of."""
        self.relations = Interner("similar", "co_occurs")
        self.origins = Interner(*ORIGINS)
        self.notes: Payloads[Remark] = Payloads(Remark)
        self.rows = VersionedTable(**_EDGE)
        self.degrees = array("i")
        """Number of edges of each block at the head."""
        self.pending: Paired[Pending] = Paired(_PENDING)
        self.barred: Pairwise[int] = Pairwise(_BARRED)
        """Pairs that were disconnected, and at which version: no automatic edge until connected
        again."""
        self.sightings: Pairwise[NearDuplicatePair] = Pairwise(_SIGHTINGS)
        self.staged = Staging()
        self.refreshed = Refreshed()

    def frozen(self) -> ArrayBundle:
        """Return all edges, and the pairs that are pending, barred or staged."""
        return {
            "low": self.low,
            "high": self.high,
            "degrees": np.array(self.degrees, dtype=np.int32),
            "relations": packed(self.relations.words),
            "origins": packed(self.origins.words),
            **nested(
                notes=self.notes.frozen(),
                rows=self.rows.frozen(),
                pending=self.pending.frozen(),
                barred=self.barred.frozen(),
                sightings=self.sightings.frozen(),
                staged=self.staged.frozen(),
                refreshed=self.refreshed.frozen(),
            ),
        }

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Graph:
        """Return the graph that was frozen."""
        graph = cls()
        graph.degrees = array("i", parts["degrees"].tobytes())
        graph.pairs = Pairs.thawed(parts["low"], parts["high"], len(graph.degrees))
        graph.incident = graph.pairs.incident
        graph.relations = Interner.thawed(unpacked(parts["relations"]))
        graph.origins = Interner.thawed(unpacked(parts["origins"]))
        graph.notes = Payloads.thawed(within(parts, "notes"), Remark)
        graph.rows = VersionedTable.thawed(within(parts, "rows"), _EDGE)
        graph.pending = Paired.thawed(within(parts, "pending"), _PENDING)
        graph.barred = Pairwise.thawed(within(parts, "barred"), _BARRED)
        graph.sightings = Pairwise.thawed(within(parts, "sightings"), _SIGHTINGS)
        graph.staged = Staging.thawed(within(parts, "staged"))
        graph.refreshed = Refreshed.thawed(within(parts, "refreshed"))
        return graph

    def settle(self) -> None:
        """Release cached objects after a long replay."""
        for part in (
            self.pairs,
            self.pending,
            self.barred,
            self.sightings,
            self.staged,
            self.refreshed,
        ):
            part.settle()

    def prepare(self) -> None:
        """Derive the pairs by block, and the maps of pending and staged pairs."""
        self.incident.first(0)
        self.release(-1, -1)

    def add_block(self) -> None:
        self.incident.add_block()
        self.degrees.append(0)

    @property
    def low(self) -> NDArray[np.int32]:
        """The lower block number of every pair."""
        return self.pairs.low

    @property
    def high(self) -> NDArray[np.int32]:
        """The higher block number of every pair."""
        return self.pairs.high

    def ends(self, pair: int) -> tuple[int, int]:
        """Return the two blocks of a pair, the lower number first."""
        return self.pairs.ends(pair)

    def row(self, a: int, b: int) -> int:
        """Return the current row of the pair at the head, or -1."""
        pair = self.pairs.get((a, b) if a < b else (b, a))
        return -1 if pair is None else self.rows.row(pair)

    def note(self, remark: Remark | Erased | None) -> int:
        """Store a note and return its number, or -1 for none."""
        if remark is None:
            return -1
        self.notes.append(remark)
        return len(self.notes) - 1

    # --- what events do ---------------------------------------------------------------------

    def write(self, edge: tuple[int, ...]) -> None:
        """Set the edge of a pair from a version on; it is no longer staged.

        Args:
            edge: The pair in one number, version, source, relation, origin, weight, anchor, count,
                and note or ``NOTE_KEPT``.
        """
        joined, version, *values = edge
        ends = split(joined)
        if values[-1] == NOTE_KEPT:
            values[-1] = self.rows.value("note", self.pairs[ends])
        self.relink(ends, version, tuple(values))

    def relink(self, ends: tuple[int, int], version: int, values: tuple[int, ...]) -> None:
        """Make *values* the row of a pair from *version* on; it is no longer staged."""
        pair = self.pairs.numbered(ends)
        if self.rows.row(pair) < 0:
            for end in ends:
                self.degrees[end] += 1
        if ends in self.staged.current:
            self.staged.drop(ends, version)
        self.rows.put(pair, version, values)

    def use(self, a: int, b: int, version: int, active_us: int) -> None:
        """Count one more use of the edge and refresh its anchor."""
        self.rows.change(self.pairs.number(a, b), version, {"count": 1}, anchor_us=active_us)

    def unlink(self, a: int, b: int, version: int) -> None:
        """Remove the edge of the pair from *version* on."""
        if self.row(a, b) >= 0:
            self.rows.close(self.pairs.number(a, b), version)
            self.degrees[a] -= 1
            self.degrees[b] -= 1

    def isolate(self, blocks: set[int], version: int) -> None:
        """Remove every edge, pending connection and staged pair of archived blocks."""
        for block in sorted(blocks):
            for pair in self.incident[block]:
                if self.rows.row(pair) >= 0:
                    low, high = self.ends(pair)
                    self.unlink(low, high, version)
            self.release(block, version)

    def release(self, block: int, version: int) -> None:
        """Remove every pending connection and staged pair of a block."""
        self.staged.drop_each(self.staged.of(block), version)
        for ends in self.pending.of(block):
            self.pending.drop(ends, version)

    def move(self, old: int, new: int, others: Iterable[int], version: int) -> None:
        """Re-attach the edges old-other to new, direction and everything else kept."""
        for other in others:
            source, *values = self.rows.values(self.pairs.number(old, other))
            self.unlink(old, other, version)
            self.relink(key(new, other), version, (new if source == old else other, *values))


def key(a: int, b: int) -> tuple[int, int]:
    """Return the pair in its canonical order of numbers."""
    return (a, b) if a < b else (b, a)
