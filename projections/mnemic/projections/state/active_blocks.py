"""Active blocks: the blocks active at one version, and the columns of them every recall reads.

A block in quarantine is not active, even if its row has that status.

A recall looks at few blocks closely, but it has to know which there are. That is computed once and
then updated: the active blocks of a version are those of another one, with blocks inserted or
removed whose rows were opened or closed in between. So the cost after a write is proportional to
what it changed, plus copies of a few arrays. Arrays that were handed out are never written to
again.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.projections.state.table_views import TableView
from mnemic.projections.storage.columns import Rows
from mnemic.projections.storage.sorted_arrays import places

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_DOCUMENT: Final[Bools] = np.zeros(0, dtype=np.bool_)


@frozen(kw_only=True, eq=False)
class ActiveBlocks:
    """The active blocks, ascending by number; one value per block in every column."""

    numbers: Ints
    texts: Rows
    """The document number of each block's text."""
    vectors: Rows
    """The row of each in the vector index of the current embedder."""
    expiring: Ints
    """Numbers of the blocks with an expiry date."""
    alive: Bools
    """By document, whether an active block has this text; false beyond the end."""
    kept: dict[Any, Any] = field(factory=dict, init=False)
    """Cache of what follows from this set alone, see ``ActiveColumns``."""

    @classmethod
    def found(cls, life: TableView, blocks: int, quarantined: Ints) -> ActiveBlocks:
        """Return the active ones of the first *blocks* blocks, by looking at each."""
        known = np.flatnonzero(life.rows[:blocks] >= 0)
        numbers = _active(life, known, quarantined)
        texts, vectors, expires_us = _columns(life, numbers)
        return cls(
            numbers=numbers,
            texts=texts,
            vectors=vectors,
            expiring=numbers[expires_us != UNKNOWN],
            alive=_marked(NO_DOCUMENT, texts[:0], texts),
        )

    def among(self, life: TableView, numbers: Ints) -> ActiveBlocks:
        """Return this set restricted to *numbers*, ascending."""
        texts, vectors, expires_us = _columns(life, numbers)
        return ActiveBlocks(
            numbers=numbers,
            texts=texts,
            vectors=vectors,
            expiring=numbers[expires_us != UNKNOWN],
            alive=_marked(np.zeros_like(self.alive), texts[:0], texts),
        )

    def moved(self, life: TableView, changed: Ints, quarantined: Ints) -> ActiveBlocks:
        """Return what ``found`` does at another version.

        Args:
            life: The life table at that version.
            changed: Numbers of the blocks that may have another row there, or were put into
                quarantine or released in between, ascending.
            quarantined: Numbers of the blocks in quarantine there, ascending.
        Returns:
            This object itself, if nothing in it has changed.
        """
        rows = life.rows
        existing = changed[changed < len(rows)]  # behind them are blocks of later versions
        existing = existing[rows[existing] >= 0]
        fresh = _active(life, existing, quarantined)
        texts, vectors, expires_us = _columns(life, fresh)
        held = places(self.numbers, changed)
        held = held[held >= 0]
        expiring = fresh[expires_us != UNKNOWN]
        expired = places(changed, self.expiring) >= 0
        if (
            np.array_equal(self.numbers[held], fresh)
            and np.array_equal(self.texts[held], texts)
            and np.array_equal(self.vectors[held], vectors)
            and np.array_equal(self.expiring[expired], expiring)
        ):
            return self
        left = np.delete(self.numbers, held)
        into = np.searchsorted(left, fresh)
        return ActiveBlocks(
            numbers=_inserted(left, into, fresh),
            texts=_inserted(np.delete(self.texts, held), into, texts),
            vectors=_inserted(np.delete(self.vectors, held), into, vectors),
            expiring=np.sort(np.concatenate((self.expiring[~expired], expiring))),
            alive=_marked(self.alive, self.texts[held], texts),
        )


def _active(life: TableView, numbers: Ints, quarantined: Ints) -> Ints:
    numbers = numbers[life.column("status", numbers) == ACTIVE]
    return numbers[places(quarantined, numbers) < 0] if len(quarantined) else numbers


def _columns(life: TableView, numbers: Ints) -> tuple[Rows, Rows, Ints]:
    text, vector = (life.column(name, numbers) for name in ("text", "vector"))
    return text.astype(np.int32), vector.astype(np.int32), life.column("expires_us", numbers)


def _inserted(column: NDArray[Any], into: Ints, values: NDArray[Any]) -> NDArray[Any]:
    if not len(into):
        return column
    # New blocks usually have the highest numbers.
    behind = into[0] == len(column)
    return np.concatenate((column, values)) if behind else np.insert(column, into, values)


def _marked(marks: Bools, gone: Rows, fresh: Rows) -> Bools:
    """Return *marks* cleared at *gone* and set at *fresh*."""
    marked = np.zeros(max(len(marks), int(fresh.max(initial=-1)) + 1), dtype=np.bool_)
    marked[: len(marks)] = marks
    marked[gone] = False
    marked[fresh] = True
    return marked
