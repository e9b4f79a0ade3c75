"""Ids of the blocks that a session handle used recently, so that callers need not keep them.

They are not in the log: each session handle has its own, and they are lost on closing.
"""

from __future__ import annotations

from collections.abc import Iterable

from mnemic.kernel.model.identity import BlockId


class RecentIds:
    """Ids of blocks learned, recalled and scored since the session began, or since opening."""

    def __init__(self) -> None:
        self.last_learned: BlockId | None = None
        self.last_recalled: tuple[BlockId, ...] = ()
        self._touched: dict[BlockId, None] = {}
        """An ordered set: each id once, in the order of first use."""

    @property
    def touched(self) -> tuple[BlockId, ...]:
        """Every block that was learned, recalled or scored, in the order of first use."""
        return tuple(self._touched)

    def learn(self, block: BlockId, *, known: bool = False) -> None:
        """Record a learned block; one that was *known* before is used, but not the last learned."""
        if not known:
            self.last_learned = block
        self._touched.setdefault(block)

    def recall(self, blocks: Iterable[BlockId]) -> None:
        """Record the blocks that a recall returned."""
        self.last_recalled = tuple(blocks)
        self.touch(self.last_recalled)

    def touch(self, blocks: Iterable[BlockId]) -> None:
        """Record blocks that were used."""
        self._touched.update(dict.fromkeys(blocks))
