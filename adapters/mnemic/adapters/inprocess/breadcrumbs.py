"""Breadcrumbs: which blocks this handle touched lately, so that nobody has to carry ids around.

They are this process's own and stand in no log: another handle on the same space has others, and a
closed memory's are gone.
"""

from __future__ import annotations

from collections.abc import Iterable

from mnemic.kernel.identity import BlockId


class Breadcrumbs:
    """What was learned, recalled and scored since the session began, or since opening."""

    def __init__(self) -> None:
        self.last_learned: BlockId | None = None
        self.last_recalled: tuple[BlockId, ...] = ()
        self._touched: dict[BlockId, None] = {}
        """A dict for its order: by first touch, each once."""

    @property
    def touched(self) -> tuple[BlockId, ...]:
        """Every block that was learned, recalled or scored, in the order of the first time."""
        return tuple(self._touched)

    def learn(self, block: BlockId, *, known: bool = False) -> None:
        """Note what was learned; what was *known* already is touched, but not learned."""
        if not known:
            self.last_learned = block
        self._touched.setdefault(block)

    def recall(self, blocks: Iterable[BlockId]) -> None:
        """Note what a recall returned."""
        self.last_recalled = tuple(blocks)
        self.touch(self.last_recalled)

    def touch(self, blocks: Iterable[BlockId]) -> None:
        """Note blocks that were used."""
        self._touched.update(dict.fromkeys(blocks))
