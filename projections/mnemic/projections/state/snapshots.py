"""Version snapshots: the rows of every table at one version, shared by all views of that version.

Rules of this module:

1. The rows found for a version are never written to again, so views may share them, and two
   versions may share rows if nothing happened in between.
2. A later version's rows are those of an earlier one with the changes between applied; if no
   earlier one is cached, they are found by a mask. Both ways give the same rows.
3. The published version and the few most recently requested ones are kept, and they belong to one
   state: the cache of a state that is replaced goes with it.
4. Readers share everything here without a lock. A value is computed from what no longer changes,
   and replaces the one before by one assignment: two threads that compute it at once get equal
   values, and either may stay.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.blocks.catalogue import Catalogue
from mnemic.projections.graph.graph import Graph, NearDuplicatePair
from mnemic.projections.state.active_blocks import ActiveBlocks
from mnemic.projections.state.table_views import TableView
from mnemic.projections.storage.columns import Rows, VersionedTable, grown
from mnemic.projections.storage.versioned_maps import VersionedMap

Ints = NDArray[np.int64]

NO_BLOCKS: Final[Ints] = np.zeros(0, dtype=np.int64)
NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})
_BITS: Final = 32
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
        """Note what there is; rows are found when they are first needed.

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
            before: TableView | None = None if earlier is None else getattr(earlier, name)
            return TableView(table, version, keys, before)

        self.life = at("life", catalogue.life, self.blocks)
        self.strength = at("strength", catalogue.strength, self.blocks)
        self.evidence = at("evidence", catalogue.evidence, self.blocks)
        self.uses = at("uses", catalogue.uses, self.blocks)
        self.edge_rows = at("edge_rows", graph.rows, self.pairs)
        self._past = state.past
        self._quarantine = catalogue.quarantine
        self._quarantined: Ints | None = None
        self._present: ActiveBlocks | None = None
        self._mappings: dict[Any, dict[Any, Any]] = {}
        self._earlier: Mapping[Any, tuple[dict[Any, Any], int]] = NOTHING
        """By versioned map: its content at an earlier version, and that version."""
        self._before: Present | None = None
        """The active blocks of some earlier version."""
        if earlier is not None:
            self._earlier = earlier.known_mappings()
            self._before = earlier.known_present()

    def mapping(self, ledgered: VersionedMap[Any]) -> dict[Any, Any]:
        """Return the content of a versioned map; do not write to it."""
        if self.version is None:
            return ledgered.current
        content = self._mappings.get(ledgered)
        if content is None:
            before = self._earlier.get(ledgered)
            if before is None:
                content = ledgered.at(self.version)
            else:
                content = ledgered.moved(*before, self.version)
            self._mappings[ledgered] = content
        return content

    def known_mappings(self) -> Mapping[Any, tuple[dict[Any, Any], int]]:
        """Return what ``_earlier`` is, of this or some earlier version."""
        if self.version is None or not self._mappings:
            return self._earlier
        version = self.version
        own = {each: (content, version) for each, content in self._mappings.copy().items()}
        return {**self._earlier, **own}

    def present(self) -> ActiveBlocks:
        """Return the active blocks."""
        if self.version is None:
            return self._past.present(self.life, self.blocks, self.quarantined())
        present = self._present
        if present is None:
            before = self._before  # other threads may find the same blocks, and clear it
            present = self._present = found(self.life, self.blocks, self.quarantined(), before)
            self._before = None
        return present

    def quarantined(self) -> Ints:
        """Return the numbers of the blocks in quarantine, ascending."""
        quarantined = self._quarantined
        if quarantined is None:
            if self.version is None:
                quarantined = self._past.quarantined(self._quarantine)
            else:
                quarantined = _sorted(self.mapping(self._quarantine))
            self._quarantined = quarantined
        return quarantined

    def known_present(self) -> Present | None:
        """Return the active blocks, or those of some earlier version while they are not known."""
        before, present = self._before, self._present  # in this order: one of them is known
        return before if present is None else (present, self.life.count, self.quarantined())


Present: TypeAlias = tuple[ActiveBlocks, int, Ints]
"""Active blocks, the number of life rows by then, and the blocks in quarantine."""


def found(life: TableView, blocks: int, quarantined: Ints, before: Present | None) -> ActiveBlocks:
    """Return the active blocks of a version.

    Args:
        life: The life table at that version.
        blocks: Number of blocks, active or not.
        quarantined: Numbers of the blocks in quarantine, ascending.
        before: The active blocks of an earlier version, if they are known.
    """
    if before is None:
        return ActiveBlocks.found(life, blocks, quarantined)
    present, rows, quarantined_before = before
    changed = life.keys(rows).astype(np.int64)
    if quarantined is not quarantined_before and (len(quarantined) or len(quarantined_before)):
        changed = np.concatenate((changed, np.setxor1d(quarantined, quarantined_before)))
    return present.moved(life, np.unique(changed), quarantined) if len(changed) else present


class SnapshotCache:
    """Snapshots of one state: that of the published version, and those requested last."""

    def __init__(self) -> None:
        self.published: VersionSnapshot | None = None
        """The snapshot of the version that was published last."""
        self._kept: tuple[VersionSnapshot, ...] = ()
        """Snapshots of other versions, most recently used first."""
        self._head: Present | None = None
        """The active blocks of the head, for the writer."""
        self._quarantined: tuple[tuple[int, int], Ints] | None = None
        """The blocks in quarantine at the head, and the edition of the map they were read from."""
        self._successions: tuple[int, Ints, Ints] = 0, NO_BLOCKS, NO_BLOCKS
        """Number of life rows scanned; each block that was superseded, and its successor."""
        self._disputed: tuple[int, Ints] = 0, NO_BLOCKS
        """Number of rows of edges scanned, and the pairs with contradictions."""
        self._speakers: tuple[int, Rows] = 0, np.zeros(0, dtype=np.int32)
        """Number of life rows scanned, and by document the block that has this text."""
        self._sighted: Ints = np.zeros((0, 2), dtype=np.int64)

    def at(self, state: Tables, version: int) -> VersionSnapshot:
        """Return the snapshot of *version* of *state*, one that exists if possible."""
        published, kept = self.published, self._kept
        if published is not None and published.version == version:
            return published
        known = next((each for each in kept if each.version == version), None)
        if known is None:
            among = kept if published is None else (*kept, published)
            before = [each for each in among if (each.version or 0) < version]
            earlier = max(before, key=lambda each: each.version or 0, default=None)
            known = VersionSnapshot(state, version, earlier=earlier)
        if not kept or known is not kept[0]:
            self._kept = (known, *(each for each in kept if each is not known))[:KEPT_MAX]
        return known

    def publish(self, state: Tables, version: int) -> VersionSnapshot:
        """Return the snapshot of the head, which is *version*; every buffered row is written."""
        published = VersionSnapshot(state, version, earlier=self.published)
        self.published = published
        return published

    def present(self, life: TableView, blocks: int, quarantined: Ints) -> ActiveBlocks:
        """Return the active blocks of the head, for the writer.

        Args:
            life: The life table at the head.
            blocks: Number of blocks, active or not.
            quarantined: Numbers of the blocks in quarantine, as ``quarantined`` returned them.
        """
        published = None if self.published is None else self.published.known_present()
        before = self._head
        if published is not None and (before is None or before[1] < published[1]):
            before = published
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
                old = np.concatenate((old, lives.keys(scanned, rows)[ceding]))
                new = np.concatenate((new, successors[ceding]))
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
            fresh = [
                (each.block, each.other) for _, each in sightings.entries(len(sighted), count)
            ]
            sighted = np.concatenate((sighted, np.array(fresh, dtype=np.int64)))
            self._sighted = sighted
        return sighted[:count]


def _sorted(numbers: Collection[int]) -> Ints:
    """Return some numbers as an array, ascending."""
    return np.array(sorted(numbers), dtype=np.int64) if numbers else NO_BLOCKS
