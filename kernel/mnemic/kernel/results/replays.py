"""Results of computing past decisions again: as they were, and with other inputs."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.model.identity import BlockId, DecisionId, SessionId, short
from mnemic.kernel.rendering import quoted
from mnemic.kernel.results.blocks import Origin
from mnemic.kernel.results.recalls import RecallResult, ReplayResult
from mnemic.kernel.results.shape import Result, plural


@frozen(kw_only=True, str=False)
class SuspectCount(Result):
    """Number of decisions that differ from their record for one reason."""

    suspect: str
    """As ``ReplayResult.suspect``."""
    decisions: int

    @property
    def summary(self) -> str:
        return f"{self.suspect}: {plural(self.decisions, 'decision')}"


@frozen(kw_only=True, str=False)
class ReplaySummary(Result):
    """Result of computing every decision of a log range again and comparing it with its record."""

    decisions: int
    reproduced: int
    differs: int
    sealed: int
    """Decisions that read text erased since: only the stored signals can be checked."""
    retired: int
    """Decisions by a recipe or a token counter that is not available: they cannot be checked."""
    lost: int = 0
    """Decisions that read text which is lost: they cannot be computed again."""
    first_version: int | None
    """Version of the first decision; None if there are none."""
    last_version: int | None
    suspects: tuple[SuspectCount, ...] = ()
    """Reasons why decisions differ from their records, the most frequent first."""
    differences: tuple[ReplayResult, ...] = ()
    """The first decisions that differ, at most 10, block by block."""
    changed: tuple[DecisionId, ...] = ()
    """The first decisions that differ, at most 1,000, in the order of the log."""

    @property
    def is_exact(self) -> bool:
        """Whether no decision differs from its record, and none is lost."""
        return self.differs == self.lost == 0

    @property
    def summary(self) -> str:
        if not self.decisions:
            return "No decisions."
        counted = [f"Reproduced {self.reproduced} of {plural(self.decisions, 'decision')}"]
        counted += [
            f"{count} {what}"
            for count, what in (
                (self.differs, "differ" if self.differs > 1 else "differs"),
                (self.sealed, "sealed"),
                (self.lost, "lost"),
                (self.retired, "of a retired recipe"),
            )
            if count
        ]
        return ", ".join(counted) + "."


@frozen(kw_only=True, str=False)
class Shift(Result):
    """Contribution of one signal to a score, or of one part to a match, before and after."""

    name: str
    before: float
    after: float
    delta: float
    """After minus before."""
    apart: float
    """*delta* minus the mean delta of all blocks of both answers: a shift that all blocks share
    changes no rank."""

    @property
    def summary(self) -> str:
        return f"{self.name} {self.apart:+.3f}"


@frozen(kw_only=True, str=False)
class Move(Result):
    """The change in rank of one block, and the signal that caused it."""

    block_id: BlockId
    content: str
    origin: Origin
    """Where its text comes from."""
    change: str
    """``entered``, ``left``, ``moved`` or ``stayed``."""
    rank_before: int | None
    """Its rank in the answer, from 1; None: not in it."""
    rank_after: int | None
    score_before: float | None
    """Also of a block that was scored and not returned; None: it was no candidate."""
    score_after: float | None
    shifts: tuple[Shift, ...] = ()
    """By signal, largest *apart* first; empty if it was scored on one side only."""
    parts: tuple[Shift, ...] = ()
    """The same by part of the strength of its match."""
    cause: str
    """Cause of the move, as a short phrase."""

    @property
    def summary(self) -> str:
        ranks = (self.rank_before, self.rank_after)
        places = " to ".join(f"#{rank}" for rank in dict.fromkeys(ranks) if rank is not None)
        return f"{short(self.block_id)} {self.change} {places}: {self.cause}"


@frozen(kw_only=True, str=False)
class WhatIf(Result):
    """A past decision compared with the answer under another policy, query, frame or size.

    Both are computed on the same past state. How that state would have developed under the other
    policy, with other blocks used, scored and connected since, cannot be determined.
    """

    decision_id: DecisionId
    version: int
    """The version the decision read."""
    hour: float
    supposed: tuple[str, ...]
    """The changed inputs, out of ``policy``, ``query``, ``frame``, ``top_k`` and ``without``."""
    recorded: RecallResult
    """The recorded answer."""
    answer: RecallResult
    """The answer under the changed inputs; it has no decision id."""
    moves: tuple[Move, ...]
    """Every block of either answer, by rank after, then by rank before."""
    warnings: tuple[str, ...] = ()

    @property
    def entered(self) -> tuple[BlockId, ...]:
        """Blocks that only the answer under the changed inputs has."""
        return self._those("entered")

    @property
    def left(self) -> tuple[BlockId, ...]:
        """Blocks that only the recorded answer has."""
        return self._those("left")

    @property
    def moved(self) -> tuple[BlockId, ...]:
        """Blocks of both answers whose ranks differ."""
        return self._those("moved")

    def _those(self, change: str) -> tuple[BlockId, ...]:
        return tuple(move.block_id for move in self.moves if move.change == change)

    @property
    def summary(self) -> str:
        others = " and ".join(name for name in self.supposed if name != "without")
        left_out = " without some blocks" if "without" in self.supposed else ""
        head = f"{self.decision_id}{f' with another {others}' if others else ''}{left_out}"
        changes = [move for move in self.moves if move.change != "stayed"]
        if not changes:
            return f"{head}: the same {plural(len(self.moves), 'block')} in the same order."
        counts = f"{len(self.entered)} entered, {len(self.left)} left, {len(self.moved)} moved"
        return f"{head}: {counts}; {changes[0].summary}."


# --- lists of decisions ----------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class AnsweredBlock(Result):
    """A returned block of a recorded recall."""

    block_id: BlockId
    score: float

    @property
    def summary(self) -> str:
        return f"{self.block_id} {self.score:.3f}"


@frozen(kw_only=True, str=False)
class DecisionSummary(Result):
    """One recorded recall, and how it went."""

    decision_id: DecisionId
    version: int
    """Version of its event."""
    read_version: int
    """The version that it read."""
    hour: float
    """Active hours at which it was scored."""
    recorded_at: str
    """ISO 8601, UTC."""
    actor: str
    session_id: SessionId | None = None
    query: str | None
    """None: there was none, or it is erased."""
    sealed: bool = False
    """Whether the question was erased."""
    frame: str
    verdict: str = ""
    """``yes``, ``weak`` or ``no``, as recorded; "" by recipes without one."""
    answerable: float | None = None
    outcome: float | None = None
    """Weighted mean of the outcomes that name it, or else of those that followed for its blocks
    without naming a decision, within 24 active hours; None without any."""
    judged: int = 0
    """How many times a block of its answer was scored by them."""
    named: bool = False
    """Whether these outcomes name it."""
    answer: tuple[AnsweredBlock, ...] = ()
    """Its blocks, best first."""

    @property
    def summary(self) -> str:
        asked = quoted(self.query or "") if self.query else "[erased]" if self.sealed else "-"
        went = "not scored" if self.outcome is None else f"outcome {self.outcome:.2f}"
        return f"{self.decision_id} {asked}: {plural(len(self.answer), 'block')}, {went}"


@frozen(kw_only=True, str=False)
class DecisionPage(Result):
    """One page of recorded recalls."""

    items: tuple[DecisionSummary, ...]
    total: int
    """How many match all conditions but the text, on all pages."""
    next_after: int | None = None
    """Pass as ``after`` for the next page; None at the end."""

    @property
    def summary(self) -> str:
        more = "" if self.next_after is None else f"; more after {self.next_after}"
        return f"{plural(len(self.items), 'decision')} of {self.total}{more}."
