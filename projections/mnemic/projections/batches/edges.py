"""Edges of a batch: what is linked, used and unlinked, until the end of the batch.

Rules of this module:

1. Which row a write ends, and what of an earlier row stays, is found for all writes together.
   To unlink where no edge stands is to do nothing, so nobody has to know at the time of writing.
2. Pairs that wait, are barred, staged or sighted are a matter of mappings: these move on at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.adjacency import join
from mnemic.projections.batches.tables import Flat
from mnemic.projections.graph import Graph
from mnemic.projections.runs import Ints, Runs

USED: Final = -1
"""Stands for the source of an edge that is used once more."""
UNLINKED: Final = -2
"""Stands for the source of an edge that goes."""
NOTE_KEPT: Final = -2
"""Stands for the note of the row before."""
MOVED: Final = -3
"""Stands for the source of an edge that takes over what the write before it takes away. Instead of
relation, origin and weight it says from which block, to which, and who is at the other end."""
_WIDTH: Final = 9


class Edges:
    """What a batch writes to the edges of a graph; it is written to in place of the graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.pending = graph.pending
        self.barred = graph.barred
        self.sightings = graph.sightings
        self.staged = graph.staged
        self.refreshed = graph.refreshed
        self.relations = graph.relations
        self.origins = graph.origins
        self.note = graph.note
        self.add_block = graph.add_block
        self.flat = Flat(_WIDTH)
        """Write after write: the pair in one number, version, source, relation, origin, weight,
        anchor, count and note."""
        self._isolated: list[tuple[int, int, int]] = []
        """Blocks that lost all edges: after how many writes, which block, at which version."""

    # --- what events do ---------------------------------------------------------------------

    def link(
        self,
        source: int,
        target: int,
        version: int,
        *,
        relation: str,
        origin: str,
        weight: int,
        anchor_us: int,
        count: int = 0,
        note: int = -1,
    ) -> None:
        """Let this edge stand for the pair from *version* on; it is not staged any longer."""
        ends = (source, target) if source < target else (target, source)
        self.staged.drop(ends, version)
        self.flat += (
            join(*ends),
            version,
            source,
            self.relations.number(relation),
            self.origins.number(origin),
            weight,
            anchor_us,
            count,
            note,
        )

    def use(self, a: int, b: int, version: int, active_us: int) -> None:
        """Count one more use of the edge and refresh its anchor."""
        pair = join(a, b) if a < b else join(b, a)
        self.flat += (pair, version, USED, 0, 0, 0, active_us, 0, 0)

    def unlink(self, a: int, b: int, version: int) -> None:
        """Let no edge stand for the pair from *version* on."""
        pair = join(a, b) if a < b else join(b, a)
        self.flat += (pair, version, UNLINKED, 0, 0, 0, 0, 0, 0)

    def isolate(self, blocks: set[int], version: int) -> None:
        """Take away every edge, pending connection and staged pair of archived blocks."""
        writes = self.flat.rows
        for block in sorted(blocks):
            self._isolated.append((writes, block, version))
            self._graph.release(block, version)

    def move(self, old: int, new: int, others: Iterable[int], version: int) -> None:
        """Re-attach the edges old-other to new, direction and everything else kept."""
        for other in others:
            self.unlink(old, other, version)
            low, high = (new, other) if new < other else (other, new)
            if (low, high) in self.staged.current:
                self.staged.drop((low, high), version)
            self.flat += (join(low, high), version, MOVED, old, new, other, 0, 0, 0)

    # --- at the end -------------------------------------------------------------------------

    def settle(self) -> None:
        """Write everything to the graph, once."""
        if not self.flat.rows and not self._isolated:
            return
        graph, writes = self._graph, self.flat.columns()
        linked = writes[2] != UNLINKED
        writes[0] = graph.pairs.numbered_each(writes[0], linked)
        writes = self._with_isolated(writes)
        writes = writes[:, writes[0] >= 0]
        if writes.shape[1]:
            self._write(writes)

    def _with_isolated(self, writes: Ints) -> Ints:
        """Return the writes, and in their places those that take edges from isolated blocks."""
        if not self._isolated:
            return writes
        after, blocks, versions = np.array(self._isolated, dtype=np.int64).T
        low, high = self._graph.low, self._graph.high
        asked = np.zeros(len(self._graph.degrees), dtype=np.bool_)
        asked[blocks] = True
        pairs = np.flatnonzero(asked[low] | asked[high])
        # By block, since a block may be isolated more than once and a pair have two such blocks.
        ends = np.concatenate((low[pairs], high[pairs]))
        order = np.argsort(ends, kind="stable")
        ends, pairs = ends[order], np.concatenate((pairs, pairs))[order]
        first, last = ends.searchsorted(blocks), ends.searchsorted(blocks, side="right")
        found = np.concatenate([pairs[slice(*each)] for each in zip(first, last, strict=True)])
        more = np.zeros((_WIDTH, len(found)), dtype=np.int64)
        more[0], more[1], more[2] = found, np.repeat(versions, last - first), UNLINKED
        places = np.repeat(after, last - first)
        return np.insert(writes, places, more, axis=1)

    def _write(self, writes: Ints) -> None:
        pairs, since, source, *_ = writes
        rows, runs = self._graph.rows, Runs(pairs)
        before = rows.rows_of(runs.keys)
        stood = [rows.values_of(name, before) for name in rows.names]
        stands = source != UNLINKED
        moved = np.flatnonzero(source == MOVED)
        old, new, other = writes[3:6, moved]
        # A write that unlinks is filled in with what stood until then, and that is what moves. It
        # may have been moved there by this very batch: so again, until nothing changes any more.
        filled = _filled(runs, writes, stood)
        while len(moved):
            taken = np.stack([column[moved - 1] for column in filled])
            taken[0] = np.where(taken[0] == old, new, other)
            if np.array_equal(writes[2:, moved], taken):
                break
            writes[2:, moved] = taken
            filled = _filled(runs, writes, stood)
        rows.extend(runs, since, filled, stands=stands)
        self._count_degrees(runs.keys, before >= 0)

    def _count_degrees(self, pairs: Ints, stood: NDArray[np.bool_]) -> None:
        """Count the edges of each block again, at whose pairs something changed."""
        graph = self._graph
        stands = graph.rows.rows_of(pairs) >= 0
        change = stands.astype(np.int32) - stood
        degrees = np.frombuffer(graph.degrees, dtype=np.int32)
        for ends in (graph.low, graph.high):
            np.add.at(degrees, ends[pairs], change)


def _filled(runs: Runs, writes: Ints, stood: Sequence[Ints]) -> list[Ints]:
    """Return the values that each write leaves behind, or of an edge that goes the last ones.

    Args:
        runs: The writes by pair.
        writes: All of them; a moved edge has the values that are known so far.
        stood: By column, what stood before the batch, by pair.
    """
    source, relation, origin, weight, anchor_us, count, note = writes[2:]
    used, stands = source == USED, source != UNLINKED
    linked = stands & ~used
    gaps, note_gaps = runs.gaps(linked), runs.gaps(linked & (note != NOTE_KEPT))
    return [
        runs.carried(source, gaps, stood[0]),
        runs.carried(relation, gaps, stood[1]),
        runs.carried(origin, gaps, stood[2]),
        runs.carried(weight, gaps, stood[3]),
        runs.carried(anchor_us, runs.gaps(stands), stood[4]),
        runs.counted(count, gaps, used.astype(np.int64), stood[5]),
        runs.carried(note, note_gaps, stood[6]),
    ]
