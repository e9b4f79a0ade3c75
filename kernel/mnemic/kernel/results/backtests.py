"""What a backtest finds: policies beside each other on the same past decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from mnemic.kernel.identity import PolicyId
from mnemic.kernel.results.shape import Result, plural

RECORDED = "recorded"
"""The row of what was really answered."""


@frozen(kw_only=True, str=False)
class Estimate(Result):
    """The mean of a measure over decisions, how sure it is, and how far it can be off."""

    mean: float
    """Over what is judged."""
    low: float | None
    """Between low and high 95 of 100 resamplings of the sessions put it; None where all of it is
    of one session, and nothing says how much it varies."""
    high: float | None
    floor: float
    """With every unjudged place counted as useless. Like the ceiling, over all decisions in which
    something of any compared answer is judged."""
    ceiling: float
    """With every unjudged place counted as decisive."""
    decisions: int
    """That the mean could be told of."""

    @property
    def summary(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


@frozen(kw_only=True, str=False)
class Gap(Result):
    """By how much a policy did better than what was recorded, decision by decision."""

    mean: float
    low: float | None
    high: float | None
    decisions: int
    """That both could be told of."""

    @property
    def sure(self) -> bool:
        """Whether the interval leaves out 0."""
        above = self.low is not None and self.low > 0.0
        return above or (self.high is not None and self.high < 0.0)

    @property
    def summary(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.mean:+.3f}"
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


@frozen(kw_only=True, str=False)
class Corrected(Result):
    """The mean gain of shown blocks, each weighed by how improbable it was to be shown."""

    mean: float
    decisions: int
    """In which chance had a say."""
    blocks: int
    """Shown and judged blocks that the policy would have shown, too."""
    effective: float
    """As how many they are worth."""

    @property
    def summary(self) -> str:
        return f"{self.mean:.3f} of {plural(self.blocks, 'block')} in {self.decisions} explored"


@frozen(kw_only=True, str=False)
class Window(Result):
    """The objective over a stretch of active hours."""

    from_hour: float
    to_hour: float
    estimate: Estimate | None
    """None where nothing could be told."""

    @property
    def summary(self) -> str:
        told = "-" if self.estimate is None else self.estimate.summary
        return f"{self.from_hour:.1f} to {self.to_hour:.1f}: {told}"


@frozen(kw_only=True, str=False)
class PolicyScore(Result):
    """One policy: how it would have done, step by step."""

    name: str
    policy_id: PolicyId | None
    """None for what was recorded, under whichever policy was in force."""
    answered: int
    """Decisions that it has an answer to."""
    unanswered: int
    """Those that were asked in a frame which it has not got."""
    places: int
    """Blocks in all its answers together."""
    judged: int
    """Those of them that are judged."""
    ndcg: Estimate | None
    hit: Estimate | None
    reward: Estimate | None
    ndcg_gap: Gap | None = None
    """Beside what was recorded; None for that itself."""
    hit_gap: Gap | None = None
    reward_gap: Gap | None = None
    corrected: Corrected | None = None
    """Only where recalls explored."""
    windows: tuple[Window, ...] = ()
    """The objective over time, oldest first."""
    digest: str
    """Of all its answers in order, 16 hex characters."""

    @property
    def coverage(self) -> float:
        """Which part of its places is judged."""
        return self.judged / self.places if self.places else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and ``coverage`` as plain values."""
        return {**super().to_dict(), "coverage": self.coverage}

    def estimate(self, objective: str) -> Estimate | None:
        """Return the estimate of ``ndcg``, ``hit`` or ``reward``."""
        found: Estimate | None = getattr(self, objective)
        return found

    def gap(self, objective: str) -> Gap | None:
        """Return how far it is ahead of what was recorded."""
        found: Gap | None = getattr(self, f"{objective}_gap")
        return found

    @property
    def summary(self) -> str:
        told = " ".join(
            f"{name} {'-' if (found := self.estimate(name)) is None else found.summary}"
            for name in ("ndcg", "hit", "reward")
        )
        return f"{self.name}: {told}, {self.coverage:.0%} judged"


@frozen(kw_only=True, str=False)
class Backtest(Result):
    """Past decisions answered again under other policies, scored by what happened afterwards.

    Each decision was answered as of its own moment, on the memory as it stood: one step, not a
    life. ``caveats`` says what the numbers mean and when not to trust them; read it first.
    """

    objective: str
    """``ndcg``, ``hit`` or ``reward``."""
    horizon_hours: float
    """How long after a decision something still spoke of it, active hours."""
    seed: int
    from_hour: float | None
    """Of the first decision; None where there was none."""
    to_hour: float | None
    decisions: int
    """Answered again."""
    judged: int
    """Those of which something is judged."""
    told_apart: int
    """Those of them in which not everything that is judged fared alike: they alone say something
    about order."""
    sessions: int
    """What was resampled: sessions, and each decision outside of one."""
    explored: int
    """Decisions in which chance had a say."""
    left_out: Mapping[str, int] = field(factory=dict)
    """Decisions that cannot be answered again, by reason: ``sealed``, ``recipe-retired``."""
    scores: tuple[PolicyScore, ...]
    """What was recorded, then the policies as they were given."""
    caveats: tuple[str, ...] = ()
    """What the numbers mean and when not to trust them, the general first."""

    @property
    def best(self) -> PolicyScore | None:
        """The policy with the highest objective; of equals, the first; None: nothing is judged."""
        told = [
            (found.mean, score)
            for score in self.scores
            if (found := score.estimate(self.objective)) is not None
        ]
        return max(told, key=lambda pair: pair[0])[1] if told else None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the name of the best policy as plain values."""
        return {**super().to_dict(), "best": None if self.best is None else self.best.name}

    @property
    def table(self) -> str:
        """The scores as text, a line each."""
        heads = ("policy", "ndcg", "hit", "reward", f"{self.objective} gap", "bounds", "judged")
        rows = [heads, *(self._cells(score) for score in self.scores)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    def _cells(self, score: PolicyScore) -> tuple[str, ...]:
        told = [score.estimate(name) for name in ("ndcg", "hit", "reward")]
        gap, found = score.gap(self.objective), score.estimate(self.objective)
        return (
            score.name,
            *("-" if each is None else each.summary for each in told),
            "-" if gap is None else gap.summary,
            "-" if found is None else f"{found.floor:.3f} to {found.ceiling:.3f}",
            f"{score.coverage:.0%}",
        )

    @property
    def summary(self) -> str:
        head = f"{plural(self.decisions, 'decision')} answered again, {self.judged} judged"
        best = self.best
        if best is None:
            return f"{head}: nothing can be told. {self.caveats[0]}"
        found, gap = best.estimate(self.objective), best.gap(self.objective)
        if gap is None:
            told = f"nothing does better than what was recorded, {self.objective} {found}"
        else:
            chance = "" if gap.sure else ", which may be chance"
            told = (
                f"best {self.objective} {found} by {best.name}, {gap} beside what was recorded"
                f"{chance}"
            )
        return f"{head}: {told}; {best.coverage:.0%} of its places judged. {self.caveats[0]}"
