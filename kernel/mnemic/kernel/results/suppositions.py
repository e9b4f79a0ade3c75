"""What a past decision would have come to, had something about it been otherwise."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.identity import BlockId, DecisionId, short
from mnemic.kernel.results.recalls import RecallResult
from mnemic.kernel.results.shape import Result, plural


@frozen(kw_only=True, str=False)
class Shift(Result):
    """What one signal added to a score, or one part to a match, before and after."""

    name: str
    before: float
    after: float
    delta: float
    """After less before."""
    apart: float
    """What of it sets the block apart: less the mean of all blocks of both answers. What lifts or
    lowers all alike moves nobody."""

    @property
    def summary(self) -> str:
        return f"{self.name} {self.apart:+.3f}"


@frozen(kw_only=True, str=False)
class Move(Result):
    """What became of one block: where it stood, where it would stand, and by which signal."""

    block_id: BlockId
    content: str
    change: str
    """``entered``, ``left``, ``moved`` or ``stayed``."""
    rank_before: int | None
    """Its place in the answer, from 1; None: not in it."""
    rank_after: int | None
    score_before: float | None
    """Also of a block that was scored and not returned; None: it was no candidate."""
    score_after: float | None
    shifts: tuple[Shift, ...] = ()
    """By signal, what sets it apart most first; empty where it was scored on one side only."""
    parts: tuple[Shift, ...] = ()
    """The same by part of the strength of its match."""
    cause: str
    """In half a line, what moved it."""

    @property
    def summary(self) -> str:
        ranks = (self.rank_before, self.rank_after)
        places = " to ".join(f"#{rank}" for rank in dict.fromkeys(ranks) if rank is not None)
        return f"{short(self.block_id)} {self.change} {places}: {self.cause}"


@frozen(kw_only=True, str=False)
class WhatIf(Result):
    """A past decision beside what it would have been: same state, other numbers or words.

    The memory is taken as it stood. What it would have become under the other policy, with other
    blocks used, scored and tied to each other since, is another question that nobody can answer.
    """

    decision_id: DecisionId
    version: int
    """The version the decision read."""
    hour: float
    supposed: tuple[str, ...]
    """What was otherwise: of ``policy``, ``query``, ``frame`` and ``top_k``."""
    recorded: RecallResult
    """The answer as it was."""
    answer: RecallResult
    """The answer as it would have been; it has no decision id."""
    moves: tuple[Move, ...]
    """Every block of either answer, by rank after, then by rank before."""
    warnings: tuple[str, ...] = ()

    @property
    def entered(self) -> tuple[BlockId, ...]:
        """Blocks that only the supposed answer has."""
        return self._those("entered")

    @property
    def left(self) -> tuple[BlockId, ...]:
        """Blocks that only the recorded answer has."""
        return self._those("left")

    @property
    def moved(self) -> tuple[BlockId, ...]:
        """Blocks of both that stand elsewhere."""
        return self._those("moved")

    def _those(self, change: str) -> tuple[BlockId, ...]:
        return tuple(move.block_id for move in self.moves if move.change == change)

    @property
    def summary(self) -> str:
        head = f"{self.decision_id} with another {' and '.join(self.supposed)}"
        changes = [move for move in self.moves if move.change != "stayed"]
        if not changes:
            return f"{head}: the same {plural(len(self.moves), 'block')} in the same order."
        counts = f"{len(self.entered)} entered, {len(self.left)} left, {len(self.moved)} moved"
        return f"{head}: {counts}; {changes[0].summary}."
