"""Results of a policy search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from mnemic.kernel.model.identity import PolicyId
from mnemic.kernel.results.backtests import Backtest, Gap
from mnemic.kernel.results.shape import Result, plural

BETTER, UNCLEAR, NOTHING = "better", "unclear", "nothing"
VERDICTS = (BETTER, UNCLEAR, NOTHING)


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

    The unit of ``gap`` and ``fitted`` is useful blocks per answer, less *place_cost* for each place
    taken; they say by how much the proposal is better than the policy in force.
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
    fitted: Gap | None
    """On the earlier decisions, which it was chosen by: too good by design."""
    gap: Gap | None
    """On the later decisions."""
    effective: float
    """Effective sample size behind ``gap``: judged blocks of one of both answers only."""
    backtest: Backtest | None
    """Both policies on all later decisions, by the measures of ``backtest``."""
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
