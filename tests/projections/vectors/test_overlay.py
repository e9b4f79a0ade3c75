"""Tests for the overlay: vectors that are compared before they are in the log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.vectors.overlay import Overlay

ONE, TWO = np.array([100, 0], dtype=np.int16), np.array([0, 100], dtype=np.int16)


class AppendedTo(VectorIndex):
    """An index to which another thread appends a block whenever it is looked at."""

    @property
    def rows(self) -> int:
        found = super().rows
        self.append(found, ONE)
        return found

    @property
    def block_of(self) -> NDArray[np.int64]:
        found = super().block_of
        self.append(len(found), ONE)
        return found


def test_extra_vectors_have_their_blocks_while_another_thread_appends() -> None:
    base = AppendedTo()
    for block in range(3):
        base.append(block, ONE)
    overlay = Overlay(base, [71, 72], [TWO, TWO])
    rows = [overlay.first, overlay.first + 1]
    assert overlay.block_of[rows].tolist() == [71, 72]
    found = list(overlay.pairs([TWO], np.array(rows), floor=1))
    assert [overlay.block_of[each.rows].tolist() for each in found] == [[71, 72]]
