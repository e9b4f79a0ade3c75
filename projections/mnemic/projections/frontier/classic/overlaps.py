"""Overlaps of every two blocks of a window, counted for all pairs at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.view import View

Ints = NDArray[np.int64]

RARE_MAX: Final = 64
"""Words that at most this many bags hold are counted pair by pair. Measured; not critical."""


def shared_words(bags: Sequence[Iterable[str]]) -> NDArray[np.int32]:
    """Return how many words two bags share, for every pair with the first before the second.

    Words that many bags hold go through a matrix product, the rare ones pair by pair.
    """
    size = len(bags)
    holders: dict[str, list[int]] = {}
    for place, bag in enumerate(bags):
        for word in bag:
            holders.setdefault(word, []).append(place)
    frequent = [held for held in holders.values() if len(held) > RARE_MAX]
    table = np.zeros((size, len(frequent)), dtype=np.float32)
    for column, held in enumerate(frequent):
        table[held, column] = 1.0
    shared: NDArray[np.int32] = (table @ table.T).astype(np.int32)
    rare: dict[int, list[list[int]]] = {}
    for held in holders.values():
        if 1 < len(held) <= RARE_MAX:
            rare.setdefault(len(held), []).append(held)
    ends = [_flat(np.array(group), size) for group in rare.values()]
    if ends:
        shared += np.bincount(np.concatenate(ends), minlength=size * size).reshape(size, size)
    return shared


def _flat(held: Ints, size: int) -> Ints:
    """Return every pair of each row of *held*, as one number each."""
    first, second = np.triu_indices(held.shape[1], k=1)
    return (held[:, first] * size + held[:, second]).ravel()


def cosine_band(view: View, numbers: Ints, *, least: int, below: int) -> NDArray[np.int32]:
    """Return the cosine of every two blocks where it is in [least, below), else 0. Nano-units."""
    cosines = np.zeros((len(numbers), len(numbers)), dtype=np.int32)
    row = view.life.column("vector", numbers)
    having = np.flatnonzero(row >= 0)
    if not len(having):
        return cosines
    place_of = np.full(view.index.rows, -1, dtype=np.int64)
    place_of[row[having]] = having
    queries = view.index.vectors(row[having])
    for found in view.index.pairs(queries, row[having], floor=least):
        inside = found.cosines < below
        ends = having[found.queries[inside]], place_of[found.rows[inside]]
        cosines[ends] = found.cosines[inside]
    return cosines
