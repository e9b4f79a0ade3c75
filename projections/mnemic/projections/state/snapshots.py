"""Version snapshots: the rows of every table at one version, shared by all views of that version.

Rules of this module:

1. The rows found for a version are never written to again, so views may share them, and two
   versions may share rows if nothing happened in between.
2. A version's rows are those of the nearest one that is cached, earlier or later, with the changes
   between applied or undone; if none is, they are found by a mask. Both ways give the same rows.
3. The published version and the few most recently requested ones are kept, and they belong to one
   state: the cache of a state that is replaced goes with it.
4. Readers share everything here without a lock. A value is computed from what no longer changes,
   and replaces the one before by one assignment: two threads that compute it at once get equal
   values, and either may stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.late import late_property
from mnemic.projections.blocks.catalogue import Catalogue
from mnemic.projections.graph.graph import Graph, NearDuplicatePair
from mnemic.projections.state.active_blocks import ActiveBlocks
from mnemic.projections.state.table_views import TableView
from mnemic.projections.storage.columns import Rows, VersionedTable
from mnemic.projections.storage.endings import NEVER
from mnemic.projections.storage.growable_array import grown
from mnemic.projections.storage.sorted_arrays import distinct
from mnemic.projections.storage.versioned_maps import VersionedMap

Ints = NDArray[np.int64]

NO_BLOCKS: Final[Ints] = np.zeros(0, dtype=np.int64)
_BITS: Final = 32
KEPT_MAX: Final = 8
"""Number of versions whose rows are kept: about 3 MB each with 100,000 blocks and 450,000 pairs."""
COLUMNS_MAX: Final = 2
"""Number of versions, of these, whose active blocks and columns over them are kept as well, and the
published one: about 25 MB each after a recall."""


class Tables(Protocol):
    """The parts of a state that are read here."""

    catalogue: Catalogue
    graph: Graph
    past: SnapshotCache


class VersionSnapshot:
    """Every table at one version. What it holds is found when it is first needed.

    Args:
        state: The state.
        version: A version that was applied; None: its head, which moves, for the writer alone.
    """

    def __init__(self, state: Tables, version: int | None) -> None:
        self.version = version
        self.blocks = len(state.catalogue.ids)
        self.pairs = len(state.graph.pairs)
        self._catalogue = state.catalogue
        self._graph = state.graph
        self._past = state.past
        self.kept: dict[Any, Any] = {}
        """Cache of what was computed for all views of this version, see ``ActiveColumns``."""
        self.mappings: dict[Any, dict[Any, Any]] = {}
        """The content of the versioned maps that were needed."""
        self.known_present: Present | None = None
        """The active blocks, once they were needed."""
        self._quarantined: Ints | None = None

    @late_property
    def life(self) -> TableView:
        """The blocks."""
        return self._view("life", self._catalogue.life, self.blocks)

    @late_property
    def strength(self) -> TableView:
        """When blocks were reinforced, and how they decay."""
        table = self._catalogue.strength
        return self._view("strength", table, self.blocks)

    @late_property
    def evidence(self) -> TableView:
        """Outcomes by block."""
        table = self._catalogue.evidence
        return self._view("evidence", table, self.blocks)

    @late_property
    def uses(self) -> TableView:
        """Retrievals by block."""
        return self._view("uses", self._catalogue.uses, self.blocks)

    @late_property
    def edge_rows(self) -> TableView:
        """Edges by pair."""
        table = self._graph.rows
        return self._view("edge_rows", table, self.pairs)

    def _view(self, name: str, table: VersionedTable, keys: int) -> TableView:
        """Return the table that is kept as the property *name*."""
        other = None
        if self.version is not None:
            nearest = self._past.nearest(self.version, lambda each: name in vars(each))
            other = None if nearest is None else getattr(nearest, name)
            self._past.keep(self)
        return TableView(table, self.version, keys, other)

    def mapping(self, ledgered: VersionedMap[Any]) -> dict[Any, Any]:
        """Return the content of a versioned map; do not write to it."""
        version = self.version
        if version is None:
            return ledgered.current
        content = self.mappings.get(ledgered)
        if content is None:
            nearest = self._past.nearest(version, lambda each: ledgered in each.mappings)
            if nearest is None:
                content = ledgered.at(version)
            else:
                content = ledgered.moved(nearest.mappings[ledgered], nearest.version or 0, version)
            self.mappings[ledgered] = content
            self._past.keep(self)
        return content

    def present(self) -> ActiveBlocks:
        """Return the active blocks."""
        if self.version is None:
            return self._past.present(self.life, self.blocks, self.quarantined())
        known = self.known_present
        if known is None:
            life, quarantined = self.life, self.quarantined()
            nearest = self._past.nearest(self.version, lambda each: each.known_present is not None)
            other = None if nearest is None else nearest.known_present
            present = found(life, self.blocks, quarantined, other)
            known = self.known_present = present, life.count, quarantined
        return known[0]

    def forget_columns(self) -> None:
        """Forget the active blocks and what was computed of them; readers keep what they hold."""
        self.known_present, self.kept = None, {}

    def quarantined(self) -> Ints:
        """Return the numbers of the blocks in quarantine, ascending."""
        quarantined = self._quarantined
        if quarantined is None:
            quarantine = self._catalogue.quarantine
            if self.version is None:
                quarantined = self._past.quarantined(quarantine)
            else:
                quarantined = _sorted(self.mapping(quarantine))
            self._quarantined = quarantined
        return quarantined


Present: TypeAlias = tuple[ActiveBlocks, int, Ints]
"""Active blocks, the number of life rows by then, and the blocks in quarantine."""


def found(life: TableView, blocks: int, quarantined: Ints, other: Present | None) -> ActiveBlocks:
    """Return the active blocks of a version.

    Args:
        life: The life table at that version.
        blocks: Number of blocks, active or not.
        quarantined: Numbers of the blocks in quarantine, ascending.
        other: The active blocks of another version, if they are known.
    """
    if other is None:
        return ActiveBlocks.found(life, blocks, quarantined)
    present, rows, quarantined_before = other
    changed = life.keys_since(rows).astype(np.int64)
    if quarantined is not quarantined_before and (len(quarantined) or len(quarantined_before)):
        changed = np.concatenate((changed, np.setxor1d(quarantined, quarantined_before)))
    return present.moved(life, distinct(changed)[0], quarantined) if len(changed) else present


class SnapshotCache:
    """Snapshots of one state: that of the published version, and those requested last."""

    def __init__(self) -> None:
        self.published: VersionSnapshot | None = None
        """The snapshot of the version that was published last."""
        self._kept: tuple[VersionSnapshot, ...] = ()
        """Snapshots that were used, the latest first."""
        self._head: Present | None = None
        """The active blocks of the head, for the writer."""
        self.rendered: dict[Any, Any] = {}
        """Cache of texts as answers show them, see ``retrieval.lines``."""
        self._quarantined: tuple[tuple[int, int], Ints] | None = None
        """The blocks in quarantine at the head, and the edition of the map they were read from."""
        self._successions: tuple[int, Ints, Ints] = 0, NO_BLOCKS, NO_BLOCKS
        """Number of life rows scanned; each block that was superseded, and its successor."""
        self._disputed: tuple[int, Ints] = 0, NO_BLOCKS
        """Number of rows of edges scanned, and the pairs with contradictions."""
        self._contradictions: tuple[Ints, Rows, Ints] | None = None
        """Pairs that were contradictions, their rows, and the ends of those that still are."""
        self._speakers: tuple[int, Rows] = 0, np.zeros(0, dtype=np.int32)
        """Number of life rows scanned, and by document the block that has this text."""
        self._sighted: Ints = np.zeros((0, 2), dtype=np.int64)

    def at(self, state: Tables, version: int) -> VersionSnapshot:
        """Return the snapshot of *version* of *state*, one that exists if possible."""
        published = self.published
        if published is not None and published.version == version:
            return published
        known = next((each for each in self._kept if each.version == version), None)
        if known is None:
            known = VersionSnapshot(state, version)
        self.keep(known)
        return known

    def publish(self, state: Tables, version: int) -> VersionSnapshot:
        """Return the snapshot of the head, which is *version*, and keep it for readers."""
        published = self.published = VersionSnapshot(state, version)
        return published

    def keep(self, snapshot: VersionSnapshot) -> None:
        """Keep a snapshot that was used, and forget the one that was not for the longest time."""
        kept = self._kept
        if not kept or kept[0] is not snapshot:
            kept = snapshot, *(each for each in kept if each is not snapshot)
            for each in kept[COLUMNS_MAX:]:
                if each is not self.published:
                    each.forget_columns()
            self._kept = kept[:KEPT_MAX]

    def nearest(
        self, version: int, has: Callable[[VersionSnapshot], bool]
    ) -> VersionSnapshot | None:
        """Return the kept snapshot nearest to *version* that has something; of two, the earlier.

        Args:
            version: A version; its own snapshot does not count.
            has: Whether a snapshot has what is needed.
        """
        found, best = None, (NEVER, False)
        for each in self._kept:
            if each.version is None or each.version == version:
                continue
            distance = abs(each.version - version), each.version > version
            if distance < best and has(each):
                found, best = each, distance
        return found

    def present(self, life: TableView, blocks: int, quarantined: Ints) -> ActiveBlocks:
        """Return the active blocks of the head, for the writer.

        Args:
            life: The life table at the head.
            blocks: Number of blocks, active or not.
            quarantined: Numbers of the blocks in quarantine, as ``quarantined`` returned them.
        """
        before = self._head
        for each in self._kept:
            known = each.known_present
            if known is not None and (before is None or before[1] < known[1]):
                before = known
        present = found(life, blocks, quarantined, before)
        self._head = present, life.count, quarantined
        return present

    def quarantined(self, quarantine: VersionedMap[int]) -> Ints:
        """Return the numbers of the blocks in quarantine at the head, ascending; for the writer.

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
        old, new = self.successions(lives)
        found: list[int] = np.sort(old[new == block]).tolist()
        return found

    def successions(self, lives: VersionedTable) -> tuple[Ints, Ints]:
        """Return every block that was superseded at any version, and its successor."""
        scanned, old, new = self._successions
        rows = lives.count
        if rows > scanned:
            successors = lives.column("successor")[scanned:rows]
            ceding = np.flatnonzero(successors >= 0)
            if len(ceding):
                old = np.concatenate((old, lives.keys(scanned, rows)[ceding].astype(np.int64)))
                new = np.concatenate((new, successors[ceding].astype(np.int64)))
                _, first = np.unique((old << _BITS) | new, return_index=True)
                first.sort()
                old, new = old[first], new[first]
            self._successions = rows, old, new
        return old, new

    def disputed(self, edges: VersionedTable, contradicts: int) -> Ints:
        """Return the pairs that had an edge of contradiction at any version, ascending.

        Args:
            edges: The rows of edges, by pair.
            contradicts: Number of that relation.
        """
        scanned, pairs = self._disputed
        rows = edges.count
        if rows > scanned:
            found = np.flatnonzero(edges.column("relation")[scanned:rows] == contradicts)
            if len(found):
                pairs = np.union1d(pairs, edges.keys(scanned, rows)[found].astype(np.int64))
            self._disputed = rows, pairs
        return pairs

    def contradictions(self, pairs: Ints, rows: Rows, make: Callable[[], Ints]) -> Ints:
        """Return what *make* does, or what it did for the same rows.

        Args:
            pairs: Pairs of blocks.
            rows: The row of each in the table of edges.
            make: From these to the ends of those that are contradictions.
        """
        known = self._contradictions
        if (
            known is None
            or not np.array_equal(known[1], rows)
            or not np.array_equal(known[0], pairs)
        ):
            known = self._contradictions = pairs, rows, make()
        return known[2]

    def speakers(self, lives: VersionedTable) -> Rows:
        """Return, by document, the block that has this text."""
        scanned, speakers = self._speakers
        rows = lives.count
        if rows > scanned:
            texts = lives.column("text")[scanned:rows]
            # A document belongs to one block for ever, so an array handed out earlier stays valid,
            # and two threads write the same.
            speakers = grown(speakers, int(texts.max()) + 1)
            speakers[texts] = lives.keys(scanned, rows)
            self._speakers = rows, speakers
        return speakers

    def sighted(self, sightings: VersionedMap[NearDuplicatePair], version: int) -> Ints:
        """Return the near-duplicate pairs noted by *version*, in order, shape (pairs, 2).

        A note is never removed, so the notes of a version are a prefix of all notes.
        """
        count, sighted = sightings.count_at(version), self._sighted
        if count > len(sighted):
            fresh = [(each.block, each.other) for _, each in sightings.entries(len(sighted), count)]
            sighted = np.concatenate((sighted, np.array(fresh, dtype=np.int64)))
            self._sighted = sighted
        return sighted if count == len(sighted) else sighted[:count]


def _sorted(numbers: Collection[int]) -> Ints:
    """Return some numbers as an array, ascending."""
    return np.array(sorted(numbers), dtype=np.int64) if numbers else NO_BLOCKS
