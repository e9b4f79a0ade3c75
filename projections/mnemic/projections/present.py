"""Who is present: the active blocks at one version, and what every recall asks about all of them.

A recall looks at few blocks closely, but it has to know which there are. That is found once and
moved on: what stands at a later version is what stood at an earlier one, with the blocks put in or
taken out whose rows came or went in between. So a writer between two recalls costs what it changed,
and copies of a few arrays at most. What was handed out is never written to again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.reading import ACTIVE
from mnemic.kernel.scoring import UNKNOWN
from mnemic.projections.columns import Rows

if TYPE_CHECKING:
    from mnemic.projections.standing import Slice

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_DOCUMENT: Final[Bools] = np.zeros(0, dtype=np.bool_)


@frozen(kw_only=True, eq=False)
class Present:
    """The active blocks, rising by number; one value per block in every column."""

    numbers: Ints
    texts: Rows
    """What each says, by its document number."""
    vectors: Rows
    """The row of each in the index of the embedder in force."""
    expiring: Ints
    """Numbers of those that expire some day."""
    alive: Bools
    """By document, whether one of these blocks says it; beyond the end none does."""

    @classmethod
    def found(cls, life: Slice, blocks: int) -> Present:
        """Return the active ones of the first *blocks* blocks, by looking at each."""
        known = np.flatnonzero(life.rows[:blocks] >= 0)
        numbers = known[life.column("status", known) == ACTIVE]
        texts, vectors, expires_us = _columns(life, numbers)
        return cls(
            numbers=numbers,
            texts=texts,
            vectors=vectors,
            expiring=numbers[expires_us != UNKNOWN],
            alive=_marked(NO_DOCUMENT, texts[:0], texts),
        )

    def among(self, life: Slice, numbers: Ints) -> Present:
        """Return what this would be if only some of these blocks were there: *numbers*, rising."""
        texts, vectors, expires_us = _columns(life, numbers)
        return Present(
            numbers=numbers,
            texts=texts,
            vectors=vectors,
            expiring=numbers[expires_us != UNKNOWN],
            alive=_marked(np.zeros_like(self.alive), texts[:0], texts),
        )

    def moved(self, life: Slice, changed: Ints) -> Present:
        """Return what ``found`` does at a later version.

        Args:
            life: What stands at that version.
            changed: Numbers of the blocks that have another row there, rising.
        Returns:
            This very one, where nothing of it has changed.
        """
        standing = changed[life.rows[changed] >= 0]
        fresh = standing[life.column("status", standing) == ACTIVE]
        texts, vectors, expires_us = _columns(life, fresh)
        held = places(self.numbers, changed)
        held = held[held >= 0]
        expiring = fresh[expires_us != UNKNOWN]
        if (
            np.array_equal(self.numbers[held], fresh)
            and np.array_equal(self.texts[held], texts)
            and np.array_equal(self.vectors[held], vectors)
            and np.array_equal(np.intersect1d(self.expiring, changed), expiring)
        ):
            return self
        left = np.delete(self.numbers, held)
        into = np.searchsorted(left, fresh)
        return Present(
            numbers=_inserted(left, into, fresh),
            texts=_inserted(np.delete(self.texts, held), into, texts),
            vectors=_inserted(np.delete(self.vectors, held), into, vectors),
            expiring=np.union1d(np.setdiff1d(self.expiring, changed), expiring),
            alive=_marked(self.alive, self.texts[held], texts),
        )


def places(rising: NDArray[Any], wanted: NDArray[Any]) -> Ints:
    """Return where each of *wanted* stands in *rising*, which has no value twice; -1: nowhere."""
    if not len(rising):
        return np.full(len(wanted), -1, dtype=np.int64)
    found = np.searchsorted(rising[:-1], wanted)
    return np.where(rising[found] == wanted, found, -1)


def _columns(life: Slice, numbers: Ints) -> tuple[Rows, Rows, Ints]:
    text, vector = (life.column(name, numbers) for name in ("text", "vector"))
    return text.astype(np.int32), vector.astype(np.int32), life.column("expires_us", numbers)


def _inserted(column: NDArray[Any], into: Ints, values: NDArray[Any]) -> NDArray[Any]:
    if not len(into):
        return column
    # Most often what is new is the latest.
    behind = into[0] == len(column)
    return np.concatenate((column, values)) if behind else np.insert(column, into, values)


def _marked(marks: Bools, gone: Rows, fresh: Rows) -> Bools:
    """Return *marks* without those at *gone* and with those at *fresh*."""
    marked = np.zeros(max(len(marks), int(fresh.max(initial=-1)) + 1), dtype=np.bool_)
    marked[: len(marks)] = marks
    marked[gone] = False
    marked[fresh] = True
    return marked
