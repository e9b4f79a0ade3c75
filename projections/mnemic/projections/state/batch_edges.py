"""Edge writes of a batch: links, uses and unlinks, buffered until the end of the batch.

Rules of this module:

1. Which row a write closes, and which values carry over from it, is computed for all writes
   together. Unlinking a pair without an edge does nothing, so no existence check is needed at the
   time of writing.
2. Pending, barred, staged and near-duplicate pairs are kept in maps, which are updated immediately.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.graph.adjacency import join
from mnemic.projections.graph.graph import NOTE_KEPT, Graph
from mnemic.projections.state.batch_tables import Flat
from mnemic.projections.storage.grouped_writes import Gaps, GroupedWrites, Ints

USED: Final = -1
"""Source of a write that counts one more use of an edge."""
UNLINKED: Final = -2
"""Source of a write that removes an edge."""
MOVED: Final = -3
"""Source of an edge that takes over the values removed by the write before it. Instead of
relation, origin and weight it has the old block, the new block, and the block at the other end."""
_WIDTH: Final = 9
_COUNT: Final = 5
"""Position of the use count among the values of an edge."""


class Edges:
    """The writes of a batch to the edges of a graph; used by handlers in place of the graph."""

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
        self.write = self.flat.extend
        """One write after another: the pair in one number, version, source, relation, origin,
        weight, anchor, count and note."""
        self._isolated: list[tuple[int, int, int]] = []
        """Blocks that lost all edges: number of writes before, block, version."""

    # --- what events do ---------------------------------------------------------------------

    def use(self, a: int, b: int, version: int, active_us: int) -> None:
        """Count one more use of the edge and refresh its anchor."""
        pair = join(a, b) if a < b else join(b, a)
        self.flat += (pair, version, USED, 0, 0, 0, active_us, 0, 0)

    def unlink(self, a: int, b: int, version: int) -> None:
        """Remove the edge of the pair from *version* on."""
        pair = join(a, b) if a < b else join(b, a)
        self.flat += (pair, version, UNLINKED, 0, 0, 0, 0, 0, 0)

    def isolate(self, blocks: set[int], version: int) -> None:
        """Remove every edge, pending connection and staged pair of archived blocks."""
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
        """Return the writes with those inserted that remove the edges of isolated blocks."""
        if not self._isolated:
            return writes
        after, blocks, versions = np.array(self._isolated, dtype=np.int64).T
        low, high = self._graph.low, self._graph.high
        asked = np.zeros(len(self._graph.degrees), dtype=np.bool_)
        asked[blocks] = True
        pairs = np.flatnonzero(asked[low] | asked[high])
        # By block, since a block may be isolated more than once and both blocks of a pair may be.
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
        rows, runs = self._graph.rows, GroupedWrites(pairs)
        before = rows.rows_of(runs.keys)
        values_before = [rows.values_of(name, before) for name in rows.names]
        puts_row = source != UNLINKED
        moved = np.flatnonzero(source == MOVED)
        if len(moved):
            _move(moved, runs, writes, values_before)
        filled = _filled(runs, writes, values_before)
        rows.extend(runs, since, filled, puts_row=puts_row)
        self._count_degrees(runs.keys, before >= 0)

    def _count_degrees(self, pairs: Ints, linked_before: NDArray[np.bool_]) -> None:
        """Recount the edges of each block that has a changed pair."""
        graph = self._graph
        linked = graph.rows.rows_of(pairs) >= 0
        change = linked.astype(np.int32) - linked_before
        degrees = np.frombuffer(graph.degrees, dtype=np.int32)
        for ends in (graph.low, graph.high):
            np.add.at(degrees, ends[pairs], change)


def _move(moved: Ints, runs: GroupedWrites, writes: Ints, values_before: Sequence[Ints]) -> None:
    """Fill in moved edges with the values removed by the writes before them.

    That edge may have been moved there by the same batch: then it is filled in first. A text that
    is corrected again and again moves its edges in thousands of steps, so each step looks only at
    the edges that still have to move.

    Args:
        moved: Which writes are moved edges.
        runs: The writes by pair.
        writes: All of them.
        values_before: As for ``_filled``.
    """
    table = np.concatenate((writes[2:], np.stack(values_before)), axis=1)
    # Every column has gaps: a moved edge is removed first.
    gaps = np.stack([each for each in _gaps(runs, writes) if each is not None])
    nothing = np.zeros_like(writes[2])
    more = runs.counted(nothing, gaps[_COUNT], _uses(writes), np.zeros_like(runs.keys))
    is_due = np.zeros(table.shape[1], dtype=np.bool_)
    is_due[moved] = True
    while len(moved):
        places = gaps[:, moved - 1]
        late = is_due[places].any(axis=0)
        now, moved = moved[~late], moved[late]
        taken = np.take_along_axis(table, places[:, ~late], axis=1)
        taken[_COUNT] += more[now - 1]
        old, new, other = table[1:4, now]
        taken[0] = np.where(taken[0] == old, new, other)
        table[:, now] = taken
        is_due[now] = False
    writes[2:] = table[:, : len(nothing)]


def _filled(runs: GroupedWrites, writes: Ints, values_before: Sequence[Ints]) -> list[Ints]:
    """Return the values after each write; for a removed edge, its last values.

    Args:
        runs: The writes by pair.
        writes: All of them; moved edges are filled in.
        values_before: By column, the values before the batch, by pair.
    """
    gaps = _gaps(runs, writes)
    filled = list(map(runs.carried, writes[2:], gaps, values_before))
    counts, before = writes[2 + _COUNT], values_before[_COUNT]
    filled[_COUNT] = runs.counted(counts, gaps[_COUNT], _uses(writes), before)
    return filled


def _gaps(runs: GroupedWrites, writes: Ints) -> tuple[Gaps | None, ...]:
    """Return the fill sources of the gaps of each column."""
    source, note = writes[2], writes[-1]
    puts_row = source != UNLINKED
    linked = puts_row & (source != USED)
    gaps, note_gaps = runs.gaps(linked), runs.gaps(linked & (note != NOTE_KEPT))
    return gaps, gaps, gaps, gaps, runs.gaps(puts_row), gaps, note_gaps


def _uses(writes: Ints) -> Ints:
    """Return the number of uses that each write adds: one or none."""
    uses: Ints = (writes[2] == USED).astype(np.int64)
    return uses
