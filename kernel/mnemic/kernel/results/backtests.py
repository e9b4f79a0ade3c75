"""Results of a backtest and of a policy search: policies compared on the same past decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from mnemic.kernel.model.identity import PolicyId
from mnemic.kernel.results.shape import Result, plural

RECORDED = "recorded"
"""Name of the row for the recorded answers."""
BETTER, UNCLEAR, NOTHING = "better", "unclear", "nothing"
"""Verdicts of a policy search."""


@frozen(kw_only=True, str=False)
class Estimate(Result):
    """Mean of a measure over decisions, with a confidence interval and bounds."""

    mean: float
    """Mean over what is judged."""
    low: float | None
    """*low* and *high* bound 95 of 100 resamplings of the sessions; None if all decisions are of
    one session, so that the variance is unknown."""
    high: float | None
    floor: float
    """Mean with every unjudged place counted as useless. Like *ceiling*, over all decisions in
    which something of any compared answer is judged."""
    ceiling: float
    """Mean with every unjudged place counted as decisive."""
    decisions: int
    """Number of decisions in the mean."""

    @property
    def summary(self) -> str:
        return _with_interval(self, ".3f")


@frozen(kw_only=True, str=False)
class Gap(Result):
    """Difference between a policy and what was recorded, paired by decision."""

    mean: float
    low: float | None
    high: float | None
    decisions: int
    """Number of decisions for which both values exist."""

    @property
    def sure(self) -> bool:
        """Whether the interval excludes 0."""
        above = self.low is not None and self.low > 0.0
        return above or (self.high is not None and self.high < 0.0)

    @property
    def summary(self) -> str:
        return _with_interval(self, "+.3f")


@frozen(kw_only=True, str=False)
class Corrected(Result):
    """Mean gain of shown blocks, each weighted by the inverse of its probability to be shown."""

    mean: float
    decisions: int
    """Number of decisions with exploration."""
    blocks: int
    """Number of shown and judged blocks that the policy would also have shown."""
    effective: float
    """Effective sample size of these blocks."""

    @property
    def summary(self) -> str:
        return f"{self.mean:.3f} of {plural(self.blocks, 'block')} in {self.decisions} explored"


@frozen(kw_only=True, str=False)
class Window(Result):
    """The objective over a range of active hours."""

    from_hour: float
    to_hour: float
    estimate: Estimate | None
    """None if there is no data."""

    @property
    def summary(self) -> str:
        estimate = "-" if self.estimate is None else self.estimate.summary
        return f"{self.from_hour:.1f} to {self.to_hour:.1f}: {estimate}"


@frozen(kw_only=True, str=False)
class PolicyScore(Result):
    """Scores of one policy, evaluated decision by decision."""

    name: str
    policy_id: PolicyId | None
    """None for the recorded answers, which were given under the policies of their time."""
    answered: int
    """Number of decisions that it answers."""
    unanswered: int
    """Number of decisions in a frame that the policy does not have."""
    places: int
    """Number of blocks in all its answers."""
    judged: int
    """Number of those blocks that are judged."""
    ndcg: Estimate | None
    hit: Estimate | None
    reward: Estimate | None
    ndcg_gap: Gap | None = None
    """Difference to what was recorded; None for the recorded answers themselves."""
    hit_gap: Gap | None = None
    reward_gap: Gap | None = None
    corrected: Corrected | None = None
    """None unless recalls explored."""
    windows: tuple[Window, ...] = ()
    """The objective over time, oldest first."""
    digest: str
    """Digest of all its answers in order, 16 hex characters."""

    @property
    def coverage(self) -> float:
        """Share of its places that are judged."""
        return self.judged / self.places if self.places else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and ``coverage`` as plain values."""
        return {**super().to_dict(), "coverage": self.coverage}

    def estimate(self, objective: str) -> Estimate | None:
        """Return the estimate of ``ndcg``, ``hit`` or ``reward``."""
        found: Estimate | None = getattr(self, objective)
        return found

    def gap(self, objective: str) -> Gap | None:
        """Return the difference to what was recorded, by objective."""
        found: Gap | None = getattr(self, f"{objective}_gap")
        return found

    @property
    def summary(self) -> str:
        estimates = " ".join(
            f"{name} {'-' if (found := self.estimate(name)) is None else found.summary}"
            for name in ("ndcg", "hit", "reward")
        )
        return f"{self.name}: {estimates}, {self.coverage:.0%} judged"


@frozen(kw_only=True, str=False)
class Backtest(Result):
    """Past decisions answered again under other policies, scored by what happened afterwards.

    Each decision was answered on the state that it read at the time: effects of a policy on later
    decisions are not simulated. ``caveats`` says what the numbers mean and when not to trust them;
    read it first.
    """

    objective: str
    """``ndcg``, ``hit`` or ``reward``."""
    horizon_hours: float
    """How long after a decision an outcome still counts for it, active hours."""
    seed: int
    from_hour: float | None
    """Active hour of the first decision; None if there was none."""
    to_hour: float | None
    decisions: int
    """Number of decisions answered again."""
    judged: int
    """Number of those with at least one judged block."""
    told_apart: int
    """Number of those in which judged blocks differ in their gains: only these give information
    about the order."""
    sessions: int
    """Number of resampled units: sessions, and each decision outside of one."""
    explored: int
    """Number of decisions with exploration."""
    left_out: Mapping[str, int] = field(factory=dict)
    """Number of decisions that cannot be answered again, by reason: ``sealed``,
    ``recipe-retired``."""
    scores: tuple[PolicyScore, ...]
    """The recorded answers, then the policies in the given order."""
    caveats: tuple[str, ...] = ()
    """What the numbers mean and when not to trust them, the general first."""

    @property
    def best(self) -> PolicyScore | None:
        """The policy with the highest objective; the first of equals; None if nothing is judged."""
        judged = [
            (found.mean, score)
            for score in self.scores
            if (found := score.estimate(self.objective)) is not None
        ]
        return max(judged, key=lambda pair: pair[0])[1] if judged else None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the name of the best policy as plain values."""
        return {**super().to_dict(), "best": None if self.best is None else self.best.name}

    @property
    def table(self) -> str:
        """The scores as a text table, one line each."""
        heads = ("policy", "ndcg", "hit", "reward", f"{self.objective} gap", "bounds", "judged")
        rows = [heads, *(self._cells(score) for score in self.scores)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    def _cells(self, score: PolicyScore) -> tuple[str, ...]:
        estimates = [score.estimate(name) for name in ("ndcg", "hit", "reward")]
        gap, found = score.gap(self.objective), score.estimate(self.objective)
        return (
            score.name,
            *("-" if each is None else each.summary for each in estimates),
            "-" if gap is None else gap.summary,
            "-" if found is None else f"{found.floor:.3f} to {found.ceiling:.3f}",
            f"{score.coverage:.0%}",
        )

    @property
    def summary(self) -> str:
        head = f"{plural(self.decisions, 'decision')} answered again, {self.judged} judged"
        best = self.best
        if best is None:
            return f"{head}: there is nothing to compare. {self.caveats[0]}"
        found, gap = best.estimate(self.objective), best.gap(self.objective)
        if gap is None:
            verdict = f"nothing does better than what was recorded, {self.objective} {found}"
        else:
            chance = "" if gap.sure else ", which may be chance"
            verdict = (
                f"best {self.objective} {found} by {best.name}, {gap} against what was recorded"
                f"{chance}"
            )
        return f"{head}: {verdict}; {best.coverage:.0%} of its places judged. {self.caveats[0]}"


@frozen(kw_only=True, str=False)
class NetGap(Result):
    """Difference in useful blocks per answer, less the cost of the places taken."""

    mean: float
    """Unbounded, unlike that of a ``Gap``."""
    low: float | None
    high: float | None
    decisions: int

    @property
    def summary(self) -> str:
        return _with_interval(self, "+.3f")


@frozen(kw_only=True, str=False)
class PolicyChange(Result):
    """One number in which a proposed policy differs from the one in force."""

    name: str
    """Field of the policy, as ``top_k``, or of the frame, as ``answer.recency``."""
    before: float
    after: float

    @property
    def summary(self) -> str:
        return f"{self.name} {self.before:g} to {self.after:g}"


@frozen(kw_only=True, str=False)
class Tuning(Result):
    """A policy proposed from past decisions, judged by later ones. Nothing was adopted.

    ``gap`` and ``fitted`` say by how much the proposal is better than the policy in force.
    """

    verdict: str
    """``better``: the interval of ``gap`` lies above 0, and rests on enough judged blocks.
    ``unclear``: it does not. ``nothing``: no policy was better on the earlier decisions."""
    frame: str
    seed: int
    place_cost: float
    """What a place has to be worth, in useful blocks."""
    tried: int
    """Number of different policies that were scored."""
    policy: Mapping[str, Any] | None
    """The proposed policy, all fields; None if nothing was found."""
    policy_id: PolicyId | None
    before_id: PolicyId
    """The policy in force."""
    changes: tuple[PolicyChange, ...] = ()
    """Where the two differ."""
    earlier: int
    """Number of judged decisions that the search was fitted to."""
    later: int
    """Number of judged decisions that it was judged by; all of them later."""
    sessions: int
    """Number of resampled units among the later ones."""
    explored: int
    """Number of all these decisions with exploration."""
    split_hour: float
    """Active hour of the first of the later ones."""
    fitted: NetGap | None
    """On the earlier decisions, which it was chosen by: too good by design."""
    gap: NetGap | None
    """On the later decisions."""
    effective: float
    """Effective sample size behind ``gap``: judged blocks of one of both answers only."""
    scores: tuple[PolicyScore, ...]
    """What was recorded, the policy in force, and the proposal, on all later decisions, by the
    measures of ``backtest``; empty if nothing was found."""
    caveats: tuple[str, ...]
    """What the numbers mean and when not to trust them."""

    @property
    def is_better(self) -> bool:
        """Whether the later decisions support the proposal."""
        return self.verdict == BETTER

    @property
    def summary(self) -> str:
        policies = "1 policy" if self.tried == 1 else f"{self.tried} policies"
        head = f"{policies} tried on {plural(self.earlier, 'decision')}"
        if self.gap is None:
            return f"{head}: none was better than the policy in force."
        changes = ", ".join(each.summary for each in self.changes)
        found = f"{self.gap} useful blocks per answer on {self.later} later ones"
        if self.is_better:
            return f"{head}: {changes} is better, {found}."
        return f"{head}: {changes} may be no better, {found}. Keep the policy in force."


def _with_interval(found: Estimate | Gap | NetGap, digits: str) -> str:
    """Return a mean and, if it is known, its interval, in a format of numbers."""
    if found.low is None or found.high is None:
        return f"{found.mean:{digits}}"
    return f"{found.mean:{digits}} [{found.low:{digits}}, {found.high:{digits}}]"
