"""Version snapshots: the rows of every table at one version, shared by all views of that version.

Rules of this module:

1. The rows found for a version are never written to again, so views may share them, and two
   versions may share rows if nothing happened in between.
2. A later version's rows are those of an earlier one with the changes between applied; if no
   earlier one is cached, they are found by a mask. Both ways give the same rows.
3. The few most recently requested versions are kept, and they belong to one state: the cache of a
   state that is replaced goes with it.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.blocks.catalogue import Catalogue
from mnemic.projections.graph.graph import Graph, NearDuplicatePair
from mnemic.projections.state.active_blocks import ActiveBlocks
from mnemic.projections.state.table_views import TableView
from mnemic.projections.storage.columns import (
    GrowableArray,
    Rows,
    VersionedTable,
    grown,
)
from mnemic.projections.storage.versioned_maps import VersionedMap

Ints = NDArray[np.int64]

KEPT_MAX: Final = 8
"""Number of versions whose rows are kept: about 3 MB each with 100,000 blocks and 450,000 pairs,
and 2 MB more if the active blocks were requested."""


class Tables(Protocol):
    """The parts of a state that are read here."""

    catalogue: Catalogue
    graph: Graph
    past: SnapshotCache


class VersionSnapshot:
    """Every table at one version."""

    def __init__(
        self, state: Tables, version: int | None, *, earlier: VersionSnapshot | None = None
    ) -> None:
        """Find the rows.

        Args:
            state: The state.
            version: A version that was applied; None: its head, which moves.
            earlier: The snapshot of an earlier version of the same state.
        """
        catalogue, graph = state.catalogue, state.graph
        self.version = version
        self.blocks = len(catalogue.ids)
        self.pairs = len(graph.pairs)

        def at(name: str, table: VersionedTable, keys: int) -> TableView:
            if version is None:
                return TableView(table, None)
            if earlier is None or earlier.version is None:
                return TableView(table, table.rows_at(version, keys))
            before: TableView = getattr(earlier, name)
            rows = table.moved(before.rows, earlier.version, version, keys)
            return before if rows is before.rows else TableView(table, rows)

        self.life = at("life", catalogue.life, self.blocks)
        self.strength = at("strength", catalogue.strength, self.blocks)
        self.evidence = at("evidence", catalogue.evidence, self.blocks)
        self.uses = at("uses", catalogue.uses, self.blocks)
        self.edge_rows = at("edge_rows", graph.rows, self.pairs)
        self._mappings: dict[Any, dict[Any, Any]] = {}
        self._past = state.past
        self._present: ActiveBlocks | None = None
        self._quarantined: Ints | None = None
        self._quarantine = catalogue.quarantine
        self._before: tuple[ActiveBlocks, Rows, Ints] | None = None
        """The active blocks of some earlier version, and the life rows and the blocks in quarantine
        of that version."""
        if earlier is not None:
            self._before = earlier.known_present()

    def mapping(self, ledgered: VersionedMap[Any]) -> dict[Any, Any]:
        """Return the content of a versioned map; a past version reads each map once."""
        if self.version is None:
            return ledgered.current
        if ledgered not in self._mappings:
            self._mappings[ledgered] = ledgered.at(self.version)
        return self._mappings[ledgered]

    def present(self) -> ActiveBlocks:
        """Return the active blocks."""
        if self.version is None:
            apart = self._quarantined
            if apart is None:
                apart = self.quarantined()
            return self._past.present(self.life, self.blocks, apart)
        if self._present is None:
            self._present = self._found()
            self._before = None
        return self._present

    def quarantined(self) -> Ints:
        """Return the numbers of the blocks in quarantine, ascending."""
        if self._quarantined is None:
            if self.version is None:
                self._quarantined = self._past.quarantined(self._quarantine)
            else:
                self._quarantined = _sorted(self.mapping(self._quarantine))
        return self._quarantined

    def known_present(self) -> tuple[ActiveBlocks, Rows, Ints] | None:
        """Return what ``_before`` is, of this or some earlier version."""
        if self._present is None:
            return self._before
        return self._present, self.life.rows, self.quarantined()

    def _found(self) -> ActiveBlocks:
        quarantined = self.quarantined()
        if self._before is None:
            return ActiveBlocks.found(self.life, self.blocks, quarantined)
        before, rows, quarantined_before = self._before
        now = self.life.rows
        moved = np.setxor1d(quarantined, quarantined_before)
        if now is rows and not len(moved):
            return before
        changed = np.flatnonzero(now[: len(rows)] != rows)
        changed = np.concatenate((changed, np.arange(len(rows), len(now))))
        return before.moved(self.life, np.union1d(changed, moved), quarantined)


class SnapshotCache:
    """The most recently requested versions of one state."""

    def __init__(self) -> None:
        self._kept: dict[int, VersionSnapshot] = {}
        """The snapshots by version, most recently used last."""
        self._noted = GrowableArray(np.int32)
        self._block = GrowableArray(np.int32)
        self._other = GrowableArray(np.int32)
        self._head: tuple[ActiveBlocks, int, Ints] | None = None
        """The active blocks of the head, and the number of life rows and the blocks in quarantine
        when they were found."""
        self._quarantined: tuple[tuple[int, int], Ints] | None = None
        """The blocks in quarantine at the head, and the edition of the map they were read from."""
        self._predecessors: dict[int, set[int]] = {}
        self._succeeded = 0
        """Number of life rows already scanned for successors."""
        self._ceded = GrowableArray(np.int32)
        self._heir = GrowableArray(np.int32)
        """The pairs of ``_predecessors``: a block that was superseded, and its successor."""
        self._disputed: Ints = np.zeros(0, dtype=np.int64)
        self._related = 0
        """Number of rows of edges already scanned for contradictions."""
        self._speakers = np.zeros(0, dtype=np.int32)
        self._spoken = 0
        """Number of life rows already scanned for texts."""

    def at(self, state: Tables, version: int) -> VersionSnapshot:
        """Return the snapshot of *version* of *state*, always the same object."""
        found = self._kept.pop(version, None)
        if found is None:
            before = max((kept for kept in self._kept if kept < version), default=None)
            earlier = None if before is None else self._kept[before]
            found = VersionSnapshot(state, version, earlier=earlier)
        self._kept[version] = found
        if len(self._kept) > KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        return found

    def present(self, life: TableView, blocks: int, quarantined: Ints) -> ActiveBlocks:
        """Return the active blocks of the head.

        Args:
            life: The life table at the head.
            blocks: Number of blocks, active or not.
            quarantined: Numbers of the blocks in quarantine, as ``quarantined`` returned them.
        """
        rows, head = life.count, self._head
        if head is not None and head[1] == rows and head[2] is quarantined:
            return head[0]
        if head is None:
            found = ActiveBlocks.found(life, blocks, quarantined)
        else:
            changed = np.unique(life.keys(head[1])).astype(np.int64)
            changed = np.union1d(changed, np.setxor1d(quarantined, head[2]))
            found = head[0].moved(life, changed, quarantined)
        self._head = found, rows, quarantined
        return found

    def quarantined(self, quarantine: VersionedMap[int]) -> Ints:
        """Return the numbers of the blocks in quarantine at the head, ascending.

        It is the same array until one more is put there or released.
        """
        edition, known = quarantine.edition, self._quarantined
        if known is None or known[0] != edition:
            known = self._quarantined = edition, _sorted(quarantine.current)
        return known[1]

    def predecessors(self, lives: VersionedTable, block: int) -> list[int]:
        """Return the blocks that *block* succeeded at any version of the state, ascending.

        Which of them it succeeds at a version is determined by the rows of that version.
        """
        self._scan_successors(lives)
        return sorted(self._predecessors.get(block, ()))

    def successions(self, lives: VersionedTable) -> tuple[Ints, Ints]:
        """Return every block that was superseded at any version, and its successor."""
        self._scan_successors(lives)
        return self._ceded.values.astype(np.int64), self._heir.values.astype(np.int64)

    def _scan_successors(self, lives: VersionedTable) -> None:
        rows = lives.count
        if rows == self._succeeded:
            return
        successors = lives.column("successor")[self._succeeded : rows]
        ceding = np.flatnonzero(successors >= 0)
        olds = lives.keys(self._succeeded)[ceding]
        for old, new in zip(olds.tolist(), successors[ceding].tolist(), strict=True):
            known = self._predecessors.setdefault(new, set())
            if old not in known:
                known.add(old)
                self._ceded.append(old)
                self._heir.append(new)
        self._succeeded = rows

    def disputed(self, edges: VersionedTable, contradicts: int) -> Ints:
        """Return the pairs that had an edge of contradiction at any version, ascending.

        Args:
            edges: The rows of edges, by pair.
            contradicts: Number of that relation.
        """
        rows = edges.count
        if rows != self._related:
            found = np.flatnonzero(edges.column("relation")[self._related : rows] == contradicts)
            if len(found):
                pairs = edges.keys(self._related)[found].astype(np.int64)
                self._disputed = np.union1d(self._disputed, pairs)
            self._related = rows
        return self._disputed

    def speakers(self, lives: VersionedTable) -> Rows:
        """Return, by document, the block that has this text."""
        rows = lives.count
        if rows != self._spoken:
            texts = lives.column("text")[self._spoken : rows]
            last = max(len(self._speakers), int(texts.max(initial=-1)) + 1)
            self._speakers = grown(self._speakers, last)
            # A document belongs to one block for ever, so an array handed out earlier stays valid.
            self._speakers[texts] = lives.keys(self._spoken)
            self._spoken = rows
        return self._speakers

    def sighted(self, sightings: VersionedMap[NearDuplicatePair], version: int) -> Ints:
        """Return the near-duplicate pairs noted by *version*, in order, shape (pairs, 2).

        A note is never removed, so the notes of a version are a prefix of all notes.
        """
        for ends in islice(sightings.current, len(self._noted), None):
            sighting = sightings.current[ends]
            self._noted.append(sightings.since(ends))
            self._block.append(sighting.block)
            self._other.append(sighting.other)
        count = int(np.searchsorted(self._noted.values, version, side="right"))
        ends = self._block.values[:count], self._other.values[:count]
        return np.stack(ends, axis=1).astype(np.int64)


def _sorted(numbers: Collection[int]) -> Ints:
    """Return some numbers as an array, ascending."""
    return np.array(sorted(numbers), dtype=np.int64)
