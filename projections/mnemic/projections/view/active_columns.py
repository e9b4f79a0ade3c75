"""Columns over the active blocks of a view: one value per block, found by its place among them.

A recall reads them by places, so its stages share masks and index arrays, and nothing is looked up
by number between them. Each column is computed on first use and kept: what follows from the set of
active blocks alone, with that set, which is the same object for all versions that share it; the
rest with the snapshot of its version. A column whose values follow from the row of each block in a
table is moved on from one version to the next: only for blocks with another row it is computed
again. Nothing here is written to once it was computed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import is_not
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import NANO, product_each
from mnemic.kernel.scoring.signals import frequency, usefulness
from mnemic.projections.blocks.threads import STEPS
from mnemic.projections.state.active_blocks import Bools
from mnemic.projections.storage.sorted_arrays import places
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.view.block_view import BlockView

Ints = NDArray[np.int64]
At: TypeAlias = Ints | slice
"""Places among the active blocks, ascending; or all of them, as ``EVERY``."""

EVERY: Final = slice(None)

MATCHES_MAX: Final = 2**22
"""Number of matches that a cache of terms may hold before it starts again."""


class ActiveColumns:
    """The active blocks of one view.

    Args:
        view: The view.
        index: Its vectors.
    """

    def __init__(self, view: BlockView, index: VectorIndex) -> None:
        self.view = view
        self._index = index
        self.present = present = view.present
        self.numbers = present.numbers
        self.count = len(present.numbers)
        self._of_set: dict[Any, Any] = present.kept
        self._of_version: dict[Any, Any] = view.kept

    def _kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what follows from the set of active blocks alone."""
        found = self._of_set.get(key)
        if found is None:
            found = self._of_set[key] = make()
        return found

    # --- places -------------------------------------------------------------------------------

    def places(self, numbers: Ints) -> At:
        """Return the places of some active blocks, given by number, ascending."""
        return EVERY if numbers is self.numbers else places(self.numbers, numbers)

    def numbers_at(self, at: At) -> Ints:
        """Return the numbers of the blocks at some places; the same array for all of them."""
        return self.numbers if isinstance(at, slice) else self.numbers[at]

    def size(self, at: At) -> int:
        """Return how many places these are."""
        return self.count if isinstance(at, slice) else len(at)

    def listed(self, at: At) -> Ints:
        """Return these places as an array."""
        return np.arange(self.count) if isinstance(at, slice) else at

    def mask(self, at: At) -> Bools:
        """Return which places are among *at*, and false once more at the end: for place -1."""
        marked = np.zeros(self.count + 1, dtype=np.bool_)
        marked[: self.count][at] = True
        return marked

    def of_numbers(self, numbers: NDArray[Any]) -> Ints:
        """Return the place of each block; -1 for one that is not active."""
        by_number: Ints = self._kept("of_numbers", self._by_number)
        # A number behind the last active one clips to a -1 at the end.
        return by_number.take(numbers, mode="clip")

    def _by_number(self) -> Ints:
        last = int(self.numbers[-1]) if self.count else -1
        return _inverse(self.numbers, last + 2)

    def of_documents(self, documents: NDArray[Any]) -> Ints:
        """Return the place of the block that has each text; -1 if it is not active, or ``NONE``."""
        by_document: Ints = self._kept("of_documents", self._by_document)
        # Shifted by one, so that -1 has a slot of its own; those beyond the end clip to the last.
        return by_document.take(documents + 1, mode="clip")

    def _by_document(self) -> Ints:
        return _inverse(self.documents + 1, len(self.present.alive) + 2)

    def zeros(self, at: At) -> Ints:
        """Return a zero for each place; for all of them always the same array, not writable."""
        if not isinstance(at, slice):
            return np.zeros(len(at), dtype=np.int64)
        found: Ints = self._kept("zeros", self._zeros)
        return found

    def _zeros(self) -> Ints:
        zeros = np.zeros(self.count, dtype=np.int64)
        zeros.flags.writeable = False
        return zeros

    # --- what the set of active blocks decides ------------------------------------------------

    @property
    def documents(self) -> Ints:
        """The document of each block's text."""
        found: Ints = self._kept("documents", lambda: self.present.texts.astype(np.int64))
        return found

    @property
    def vectors(self) -> Ints:
        """The row of each block's vector."""
        found: Ints = self._kept("vectors", lambda: self.present.vectors.astype(np.int64))
        return found

    @property
    def distinct(self) -> Ints:
        """How untypical each vector is, nano-units."""
        typicalities = self._index.typicalities
        found: Ints = self._kept(
            ("distinct", self.view.embedder), lambda: NANO - typicalities(self.vectors)
        )
        return found

    @property
    def authors(self) -> Ints:
        """The author of each text."""
        author = self.view.state.sequence.author
        found: Ints = self._kept("authors", lambda: author[self.documents])
        return found

    @property
    def living_authors(self) -> frozenset[int]:
        """The authors of the texts."""
        found: frozenset[int] = self._kept("living_authors", self._living_authors)
        return found

    def _living_authors(self) -> frozenset[int]:
        texts = np.bincount(self.authors + 1)  # by author, ``NOBODY`` first
        return frozenset((texts.nonzero()[0] - 1).tolist())

    @property
    def neighbours(self) -> tuple[Ints, Ints]:
        """The places of the texts before and after each, -1 where there is none."""
        found: tuple[Ints, Ints] = self._kept("neighbours", self._neighbours)
        return found

    def _neighbours(self) -> tuple[Ints, Ints]:
        links = self.view.state.sequence.links
        # Links to texts that are not active may still be appended; these have no place anyway.
        before, after = (links[:, side].take(self.documents) for side in (0, STEPS))
        return self.of_documents(before), self.of_documents(after)

    @property
    def lengths(self) -> Ints:
        """Terms of each text."""
        lexicon = self.view.state.lexicon
        found: Ints = self._kept("lengths", lambda: lexicon.lengths.take(self.documents))
        return found

    def terms(self, kind: Any) -> dict[Any, Any]:
        """Return a cache of what terms of questions match in the active texts.

        Args:
            kind: How they are matched; each has a cache of its own.
        """
        found: dict[Any, Any] = self._kept(("terms", kind), dict)
        if len(found) * self.count > MATCHES_MAX:
            found = self._of_set["terms", kind] = {}
        return found

    def of_set(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what *make* computes of the set of active blocks alone, computed once."""
        return self._kept(key, make)

    def following(self, key: Any, make: Callable[[], Any], *sources: object) -> Any:
        """Return what *make* computes of the set of active blocks and of *sources*.

        Args:
            key: What it is called in the cache.
            make: Computes it.
            sources: Immutable, and the same objects as long as nothing in them has changed.
        """
        known = self._of_set.get(key)
        if known is None or any(map(is_not, known[0], sources)):
            known = self._of_set[key] = sources, make()
        return known[1]

    def derived(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what *make* computes of the facts of this version, computed once."""
        found = self._of_version.get((self.present, key))
        if found is None:
            found = self._of_version[self.present, key] = make()
        return found

    # --- what the version decides -------------------------------------------------------------

    def life(self, name: str) -> Ints:
        """A column of the life table."""
        return self._followed("life", name)

    def strength(self, name: str) -> Ints:
        """A column of the strength table."""
        return self._followed("strength", name)

    def _followed(self, table: str, key: Any, make: Callable[[Ints], Ints] | None = None) -> Ints:
        """Return a column that follows from the rows of a table.

        Args:
            table: The name of the table.
            key: What it is called in the cache.
            make: From numbers of blocks to their values, each by its row alone; None: they are in
                the column of the table that is called *key*.
        """
        found: Ints | None = self._of_version.get((self.present, table, key))
        if found is None:
            make = make or partial(getattr(self.view, table).column, key)
            found = self._of_version[self.present, table, key] = self._moved(table, key, make)
        return found

    def _moved(self, table: str, key: Any, make: Callable[[Ints], Ints]) -> Ints:
        rows = getattr(self.view, table).rows
        known: _Followed | None = self._of_set.get((table, key))
        if known is not None and known.table is rows:
            return known.values
        step = self._step(table, rows, None if known is None else known.rows)
        if known is None:
            values = make(self.numbers)
        else:
            values = known.values
            if len(step.changed):
                values = values.copy()
                values[step.changed] = make(step.numbers)
        self._of_set[table, key] = _Followed(rows, step.rows, values)
        return values

    def _step(self, table: str, rows: NDArray[Any], before: NDArray[Any] | None) -> _Step:
        """Return how the rows of the active blocks differ from those before, found once a table.

        Args:
            table: The name of the table.
            rows: The row of every block.
            before: Those of the active blocks by which a column is known; None: it is not.
        """
        step: _Step | None = self._of_set.get(("step", table))
        if step is None or step.table is not rows or step.before is not before:
            own = rows[self.numbers] if step is None or step.table is not rows else step.rows
            changed = self.numbers[:0] if before is None else (own != before).nonzero()[0]
            step = _Step(rows, before, own, changed, self.numbers[changed])
            self._of_set["step", table] = step
        return step

    # --- what the policy decides --------------------------------------------------------------

    @property
    def ceilings(self) -> Ints:
        """The score ceiling of each block, nano-units."""
        return self._judged("life", "ceilings", self.view.ceilings)

    @property
    def shares(self) -> Ints:
        """The share of an answer that each block's zone may take, nano-units."""
        return self._judged("life", "shares", self.view.shares)

    def signal(self, name: str) -> Ints:
        """Return the signal ``usefulness``, ``confidence`` or ``frequency`` of each block."""
        if name not in self.view.policy.zone_discounted:
            return self._signal(name)
        values, ceilings = self._signal(name), self.ceilings
        key = "discounted", name, self.view.policy.id
        found: Ints = self.following(key, lambda: product_each(values, ceilings), values, ceilings)
        return found

    def _signal(self, name: str) -> Ints:
        policy, view = self.view.policy, self.view
        if name == "usefulness":
            return self._judged(
                "evidence",
                name,
                lambda numbers: usefulness(
                    *(
                        policy.prior + view.evidence.column(each, numbers)
                        for each in ("alpha", "beta")
                    )
                ),
            )
        if name == "frequency":
            return self._judged(
                "uses",
                name,
                lambda numbers: frequency(view.uses.column("retrievals", numbers), policy),
            )
        return self.life("confidence")

    def _judged(self, table: str, name: str, make: Callable[[Ints], Ints]) -> Ints:
        return self._followed(table, (name, self.view.policy.id), make)


class _Step(NamedTuple):
    """Which active blocks have another row in a table than before."""

    table: NDArray[Any]
    """The row of every block."""
    before: NDArray[Any] | None
    """Those of the active blocks before; None: there are none."""
    rows: NDArray[Any]
    """Those of the active blocks."""
    changed: Ints
    """The places of the blocks with another row."""
    numbers: Ints
    """The numbers of these blocks."""


class _Followed(NamedTuple):
    """A column at one version, and the rows that it follows from."""

    table: NDArray[Any]
    """The row of every block."""
    rows: NDArray[Any]
    """Those of the active blocks."""
    values: Ints


def _inverse(values: Ints, size: int) -> Ints:
    """Return, by value, the place of each of *values*, and -1 for every other below *size*."""
    inverse = np.full(size, -1, dtype=np.int64)
    inverse[values] = np.arange(len(values))
    return inverse
