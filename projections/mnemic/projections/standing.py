"""What stands: the rows of every table at one version, shared by all views of that version.

Rules of this module:

1. What was found for a version is never written to again, so views may share it, and one version's
   rows may be another's where nothing happened in between.
2. A later version's rows are those of an earlier one with the changes between put in; where no
   earlier one is at hand they are found by a mask. Both ways give the same rows.
3. The few versions asked for last are kept, and they belong to one fold: a state that is replaced
   takes them along.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.columns import Rows, Series, Versions, grown
from mnemic.projections.mappings import Ledgered
from mnemic.projections.present import Present

if TYPE_CHECKING:
    from mnemic.projections.graph import Sighting
    from mnemic.projections.state import State

Ints = NDArray[np.int64]

KEPT_MAX: Final = 8
"""Versions whose rows are kept: about 3 MB each with 100,000 blocks and 450,000 pairs, and 2 MB
more where somebody asked who was active."""


class Slice:
    """One table at one version: at the head as it moves, or at rows that were found before."""

    def __init__(self, table: Versions, rows: Rows | None) -> None:
        self._table = table
        self._rows = rows
        self._asked: tuple[Ints, int, Ints] | None = None
        """The keys asked for last, how many rows the table had then, and the keys' rows: a query
        reads one column after the other of the same blocks."""

    @property
    def count(self) -> int:
        """How many rows the table has, those of all versions."""
        return self._table.count

    @property
    def rows(self) -> Rows:
        """The standing row of every key, -1 where there is none."""
        return self._table.head if self._rows is None else self._rows

    def keys(self, first: int) -> Rows:
        """Return whose rows those of the table are from the row *first* on."""
        return self._table.keys(first)

    def get(self, name: str, key: int) -> int:
        """Return one value of one key."""
        if self._rows is None:
            return self._table.value(key, name)
        return int(self._table.column(name)[self._rows[key]])

    def column(self, name: str, keys: Ints) -> Ints:
        """Return one value for each of *keys*, an array that is not written to afterwards."""
        return self._table.column(name)[self._rows_of(keys)].astype(np.int64, copy=False)

    def _rows_of(self, keys: Ints) -> Ints:
        count, asked = self._table.count, self._asked
        if asked is not None and asked[0] is keys and asked[1] == count:
            return asked[2]
        rows = self.rows[keys].astype(np.intp, copy=False)
        self._asked = (keys, count, rows)
        return rows

    def stands(self, key: int) -> bool:
        """Whether a row of *key* stands."""
        if self._rows is None:
            return self._table.row(key) >= 0
        return key < len(self._rows) and bool(self._rows[key] >= 0)


class Standing:
    """Every table at one version."""

    def __init__(
        self, state: State, version: int | None, *, earlier: Standing | None = None
    ) -> None:
        """Find the rows.

        Args:
            state: The fold.
            version: One that was folded; None: its head, as it moves.
            earlier: What stands at an earlier version of the same fold.
        """
        catalogue, graph = state.catalogue, state.graph
        self.version = version
        self.blocks = len(catalogue.ids)
        self.pairs = len(graph.pairs)

        def at(name: str, table: Versions, keys: int) -> Slice:
            if version is None:
                return Slice(table, None)
            if earlier is None or earlier.version is None:
                return Slice(table, table.standing(version, keys))
            before: Slice = getattr(earlier, name)
            rows = table.moved(before.rows, earlier.version, version, keys)
            return before if rows is before.rows else Slice(table, rows)

        self.life = at("life", catalogue.life, self.blocks)
        self.strength = at("strength", catalogue.strength, self.blocks)
        self.evidence = at("evidence", catalogue.evidence, self.blocks)
        self.uses = at("uses", catalogue.uses, self.blocks)
        self.edge_rows = at("edge_rows", graph.rows, self.pairs)
        self._mappings: dict[Any, dict[Any, Any]] = {}
        self._past = state.past
        self._present: Present | None = None
        self._before: tuple[Present, Rows] | None = None
        """Who was present at some earlier version, and the rows of their lives then."""
        if earlier is not None:
            self._before = earlier.known_present()

    def mapping(self, ledgered: Ledgered[Any]) -> dict[Any, Any]:
        """Return what stands in a small ledger; a version of the past asks each once."""
        if self.version is None:
            return ledgered.current
        if ledgered not in self._mappings:
            self._mappings[ledgered] = ledgered.at(self.version)
        return self._mappings[ledgered]

    def present(self) -> Present:
        """Return the active blocks."""
        if self.version is None:
            return self._past.present(self.life, self.blocks)
        if self._present is None:
            self._present = self._found()
            self._before = None
        return self._present

    def known_present(self) -> tuple[Present, Rows] | None:
        """Return who is present, or was at some earlier version, and the rows of their lives."""
        return self._before if self._present is None else (self._present, self.life.rows)

    def _found(self) -> Present:
        if self._before is None:
            return Present.found(self.life, self.blocks)
        before, rows = self._before
        now = self.life.rows
        if now is rows:
            return before
        changed = np.flatnonzero(now[: len(rows)] != rows)
        return before.moved(self.life, np.concatenate((changed, np.arange(len(rows), len(now)))))


class Past:
    """The versions of one fold that were asked for last."""

    def __init__(self) -> None:
        self._kept: dict[int, Standing] = {}
        """The one asked for last at the end."""
        self._noted = Series(np.int32)
        self._block = Series(np.int32)
        self._other = Series(np.int32)
        self._head: tuple[Present, int] | None = None
        """Who is present at the head, and how many rows lives had when that was found."""
        self._predecessors: dict[int, set[int]] = {}
        self._succeeded = 0
        """Rows of lives that were looked at for successors."""
        self._speakers = np.zeros(0, dtype=np.int32)
        self._spoken = 0
        """Rows of lives that were looked at for texts."""

    def at(self, state: State, version: int) -> Standing:
        """Return what stands at *version*, which was folded into *state*: always the same one."""
        found = self._kept.pop(version, None)
        if found is None:
            before = max((kept for kept in self._kept if kept < version), default=None)
            earlier = None if before is None else self._kept[before]
            found = Standing(state, version, earlier=earlier)
        self._kept[version] = found
        if len(self._kept) > KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        return found

    def present(self, life: Slice, blocks: int) -> Present:
        """Return the active blocks of the head.

        Args:
            life: What stands there.
            blocks: How many there are, active or not.
        """
        rows, head = life.count, self._head
        if head is not None and head[1] == rows:
            return head[0]
        if head is None:
            found = Present.found(life, blocks)
        else:
            found = head[0].moved(life, np.unique(life.keys(head[1])).astype(np.int64))
        self._head = found, rows
        return found

    def predecessors(self, lives: Versions, block: int) -> list[int]:
        """Return the blocks that *block* succeeded at any version of the fold, rising.

        Which of them it succeeds at a version, the rows of that version say.
        """
        rows = lives.count
        if rows != self._succeeded:
            successors = lives.column("successor")[self._succeeded : rows]
            ceding = np.flatnonzero(successors >= 0)
            olds = lives.keys(self._succeeded)[ceding]
            for old, new in zip(olds.tolist(), successors[ceding].tolist(), strict=True):
                self._predecessors.setdefault(new, set()).add(old)
            self._succeeded = rows
        return sorted(self._predecessors.get(block, ()))

    def speakers(self, lives: Versions) -> Rows:
        """Return, by document, the block that says it."""
        rows = lives.count
        if rows != self._spoken:
            texts = lives.column("text")[self._spoken : rows]
            last = max(len(self._speakers), int(texts.max(initial=-1)) + 1)
            self._speakers = grown(self._speakers, last)
            # A document has one block for ever, so whoever holds this reads what he did.
            self._speakers[texts] = lives.keys(self._spoken)
            self._spoken = rows
        return self._speakers

    def sighted(self, sightings: Ledgered[Sighting], version: int) -> Ints:
        """Return the near-duplicate pairs noted by *version*, in order, shape (pairs, 2).

        A note once made is never taken back, so those of a version are the first so many.
        """
        for ends in islice(sightings.current, len(self._noted), None):
            sighting = sightings.current[ends]
            self._noted.append(sightings.since(ends))
            self._block.append(sighting.block)
            self._other.append(sighting.other)
        count = int(np.searchsorted(self._noted.values, version, side="right"))
        ends = self._block.values[:count], self._other.values[:count]
        return np.stack(ends, axis=1).astype(np.int64)
