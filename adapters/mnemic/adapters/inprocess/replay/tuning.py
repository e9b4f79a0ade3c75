"""The operation ``tune``: proposes a policy from past decisions, and judges it by later ones.

The steps: judged decisions of one frame → split in time, at a session → a search on the earlier
ones, by outcomes known before the split → the best candidate against the policy in force on the
later ones, by the outcomes after it → an interval, and a verdict. Nothing is adopted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import define, frozen

from mnemic.adapters.inprocess.engine.commands import Progress, RunnerChoice
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.replay import backtest, policy_search, reevaluation
from mnemic.adapters.inprocess.replay.backtest_scores import DIGITS, ends, rounded, tally
from mnemic.adapters.inprocess.replay.policy_answers import Answering, answering
from mnemic.adapters.inprocess.replay.policy_search import Best, Candidates
from mnemic.adapters.inprocess.replay.space_work import SpaceWork, started
from mnemic.adapters.runners.kept_rows import KeptRows
from mnemic.kernel.errors import FieldRefused, TooFewOutcomes
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO, nano
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import Backtest, NetGap, Tuning
from mnemic.kernel.results.backtests import BETTER, NOTHING, UNCLEAR
from mnemic.projections.evaluation.bootstrap import intervals
from mnemic.projections.evaluation.net_value import (
    Comparison,
    Shown,
    cautious,
    compared,
    effective,
)
from mnemic.projections.evaluation.relevance_judgments import Evidence, RelevanceJudgments
from mnemic.projections.evaluation.warnings import FEW_EFFECTIVE, ONE_STEP

EARLIER: Final = 0.6
"""Share of the judged decisions that the search is fitted to."""
EARLIER_LEAST, LATER_LEAST = 30, 20
"""Least number of judged decisions in either part."""
SESSIONS_LEAST: Final = 15
"""Least number of sessions among the later ones: they are what is resampled."""
MORE: Final = (
    "Report with outcome(decision_id=..., ...) which recalled blocks served and which did not, in "
    "more sessions; recall(explore=0.1) shows others now and then."
)


@frozen(kw_only=True)
class Plan:
    """What to search, and how."""

    frame: str
    parameters: tuple[str, ...]
    place_cost: float
    horizon_us: int
    evaluations: int
    seed: int


@frozen(kw_only=True)
class Judged:
    """A decision with at least one judged block, before it is answered again."""

    version: int
    active_us: int
    group: str


@define
class Part:
    """Judged decisions of one part of the history, with the facts of each."""

    from_us: int
    """Active time of the first."""
    versions: list[int]
    shown: list[Shown]
    in_force: list[Sequence[int]]
    """Answers of the policy in force."""

    @property
    def groups(self) -> list[Any]:
        """The resampling group of each."""
        return [each.group for each in self.shown]


def tune(
    space: SessionHandle,
    models: Models,
    plan: Plan,
    *,
    progress: Progress | None = None,
    runner: RunnerChoice = None,
    rows: KeptRows | None = None,
) -> Tuning:
    """Search a policy on the earlier decisions, and judge it by the later ones.

    Raises:
        TooFewOutcomes: The history is too small, or its outcomes are all equal.
        FieldRefused: No decision used the frame.
        FrameUnknown: The policy in force has no such frame.
    """
    now = space.view()
    now.policy.frame(plan.frame)  # refuses an unknown one
    asked = reevaluation.decision_versions(now)
    evidence = list(backtest.judgment_evidence(space, now, asked, horizon_us=plan.horizon_us))
    judged = _judged(space, asked, evidence, plan)
    earlier, later = _split(judged)
    policy_search.require_cmaes()
    work = SpaceWork.on(space, models, answering)
    kept = KeptRows() if rows is None else rows
    with started(runner, work, answers=len(earlier) * plan.evaluations) as workers:
        trial = _Trial(
            in_force=now.policy,
            answering=Answering(now, space, kept, workers, silent=True),
            evidence=evidence,
            plan=plan,
        )
        first = trial.part(earlier, upto=later[0].version)
        second = trial.part(later, upto=None)
        _check_apart("earlier", first)
        _check_apart("later", second)
        candidates = Candidates(now.policy, plan.frame, plan.parameters)
        best = policy_search.search(
            candidates,
            lambda policies: trial.scores(first, policies),
            evaluations=plan.evaluations,
            seed=plan.seed,
            progress=progress,
        )
        if best.score <= 0.0:
            return _result(plan, candidates, best, _Verdict(first, second))
        fitted = trial.comparisons(first, best.policy)
        found = trial.comparisons(second, best.policy)
        tested = _backtest_plan(plan, later, {"in force": now.policy, "tuned": best.policy})
        drawn = Answering(now, space, kept, workers)
        scores = tally(backtest.tried(space, now, tested, drawn), tested)
    verdict = _Verdict(first, second, fitted, found, scores)
    return _result(plan, candidates, best, verdict)


# --- what was judged ------------------------------------------------------------------------


def _judged(
    space: SessionHandle, asked: Sequence[int], evidence: Iterable[Evidence], plan: Plan
) -> list[Judged]:
    """Return the judged decisions of the frame, in the order of the log.

    Raises:
        TooFewOutcomes: There are none.
        FieldRefused: No decision used the frame.
    """
    judgments, frame = RelevanceJudgments(evidence, horizon_us=plan.horizon_us), plan.frame
    frames: Counter[str] = Counter()
    found: list[Judged] = []
    for decision in reevaluation.decisions(space, asked):
        recorded, event = decision.recorded, decision.event
        frames[event.frame] += 1
        if event.frame != frame:
            continue
        blocks = event.answer.blocks
        if judgments.gains(recorded.version, recorded.active_us, blocks):
            group = backtest.resampling_group(decision.id, recorded.session_id)
            found.append(
                Judged(version=recorded.version, active_us=recorded.active_us, group=group)
            )
    if not frames:
        raise TooFewOutcomes("no recall was recorded", recovery=MORE, decisions=0)
    if not frames[frame]:
        used = ", ".join(f"{name} ({count})" for name, count in frames.most_common())
        raise FieldRefused(
            f"no recorded recall used frame {frame!r}",
            recovery=f"Name a frame that was used: {used}.",
            field="frame",
        )
    if not found:
        raise TooFewOutcomes(
            f"no outcome followed any of {frames[frame]} recalls in frame {frame!r}",
            recovery=MORE,
            decisions=frames[frame],
            judged=0,
        )
    return found


def _split(judged: Sequence[Judged]) -> tuple[list[Judged], list[Judged]]:
    """Return the earlier decisions and the later ones; no session is in both.

    Raises:
        TooFewOutcomes: There are not enough in either part, or too few sessions.
    """
    cut = round(EARLIER * len(judged))
    later = list(judged[cut:])
    groups = {each.group for each in later}
    earlier = [each for each in judged[:cut] if each.group not in groups]
    enough = len(earlier) >= EARLIER_LEAST and len(later) >= LATER_LEAST
    if not enough or len(groups) < SESSIONS_LEAST:
        raise TooFewOutcomes(
            f"{len(judged)} recalls of this frame were judged: {len(earlier)} earlier ones to fit "
            f"to, and {len(later)} later ones in {len(groups)} sessions to judge by; it takes "
            f"{EARLIER_LEAST}, and {LATER_LEAST} in {SESSIONS_LEAST}",
            recovery=MORE,
            judged=len(judged),
            earlier=len(earlier),
            later=len(later),
            sessions=len(groups),
        )
    return earlier, later


def _check_apart(which: str, part: Part) -> None:
    """Refuse a part whose outcomes tell no policy from another.

    Raises:
        TooFewOutcomes: They are all equal, or every decision is sealed.
    """
    gains = {gain for each in part.shown for gain in each.gains.values()}
    if len(gains) > 1:
        return
    equal = f"are all {gains.pop() / NANO:g}" if gains else "are about recalls that are sealed"
    raise TooFewOutcomes(
        f"the outcomes of the {which} recalls {equal}, so they tell no policy from another",
        recovery=MORE,
        judged=len(part.shown),
    )


# --- answers --------------------------------------------------------------------------------


@frozen(kw_only=True)
class _Trial:
    """Answers policies to the decisions of a part, and compares them with the one in force."""

    in_force: Policy
    answering: Answering
    evidence: Sequence[Evidence]
    plan: Plan

    def part(self, judged: Sequence[Judged], *, upto: int | None) -> Part:
        """Return what the decisions showed, by the evidence before version *upto*."""
        evidence = [each for each in self.evidence if upto is None or each.version < upto]
        judgments = RelevanceJudgments(evidence, horizon_us=self.plan.horizon_us)
        groups = {each.version: each.group for each in judged}
        part = Part(judged[0].active_us, [], [], [])
        for found in self.answering.answers(list(groups), [self.in_force]):
            (own,) = found.policies
            for facts, answer in zip(found.recorded, own, strict=True):
                if answer is None or answer["blocks"] is None:
                    continue  # sealed, or its recipe is retired
                version = facts["version"]
                gains = judgments.gains(version, facts["active_us"], facts["blocks"])
                part.versions.append(version)
                part.shown.append(_shown(facts, gains, groups[version]))
                part.in_force.append(answer["blocks"])
        return part

    def scores(self, part: Part, policies: Sequence[Policy]) -> list[float]:
        """Return the score of each policy on a part, by which a search compares them."""
        return [cautious(each, part.groups) for each in self._compared(part, policies)]

    def comparisons(self, part: Part, policy: Policy) -> list[Comparison]:
        """Return by how much a policy is better than the one in force, decision by decision."""
        (found,) = self._compared(part, [policy])
        return found

    def _compared(self, part: Part, policies: Sequence[Policy]) -> list[list[Comparison]]:
        found: list[list[Comparison]] = [[] for _ in policies]
        cost = nano(self.plan.place_cost)
        known = iter(zip(part.shown, part.in_force, strict=True))
        for answers in self.answering.answers(part.versions, policies):
            for place in range(len(answers.recorded)):
                shown, in_force = next(known)
                for row, column in zip(answers.policies, found, strict=True):
                    blocks = (row[place] or {}).get("blocks") or ()
                    column.append(compared(shown, blocks, in_force, cost=cost))
        return found


def _shown(facts: Mapping[str, Any], gains: Mapping[int, int], group: str) -> Shown:
    chances = dict.fromkeys(facts["blocks"], NANO)
    possible = set(chances)
    if facts.get("open") is not None:
        chances[facts["open"]] = facts["propensity"]
        possible.update(facts["pool"])
    return Shown(chances=chances, possible=frozenset(possible), gains=gains, group=group)


# --- the result -----------------------------------------------------------------------------


def _backtest_plan(
    plan: Plan, later: Sequence[Judged], policies: Mapping[str, Policy]
) -> backtest.Plan:
    return backtest.Plan(
        names=tuple(policies),
        policies=tuple(policies.values()),
        from_us=later[0].active_us,
        to_us=later[-1].active_us,
        objective="reward",
        horizon_us=plan.horizon_us,
        seed=plan.seed,
    )


@frozen
class _Verdict:
    """Both parts of the history, with the comparisons on them if a policy was found."""

    earlier: Part
    later: Part
    fitted: Sequence[Comparison] | None = None
    found: Sequence[Comparison] | None = None
    tested: Backtest | None = None


def _result(plan: Plan, candidates: Candidates, best: Best, on: _Verdict) -> Tuning:
    policy = None if on.found is None else best.policy
    gap = None if on.found is None else _gap(on.later, on.found, seed=plan.seed)
    known = round(effective(on.found or ()), DIGITS)
    explored = sum(each.is_explored for part in (on.earlier, on.later) for each in part.shown)
    verdict = NOTHING if gap is None else UNCLEAR
    if gap is not None and gap.low is not None and gap.low > 0.0 and known >= FEW_EFFECTIVE:
        verdict = BETTER
    return Tuning(
        verdict=verdict,
        frame=plan.frame,
        seed=plan.seed,
        place_cost=plan.place_cost,
        tried=best.tried,
        policy=None if policy is None else json.loads(policy.body),
        policy_id=None if policy is None else policy.id,
        before_id=candidates.in_force.id,
        changes=() if policy is None else tuple(candidates.changes(policy)),
        earlier=len(on.earlier.shown),
        later=len(on.later.shown),
        sessions=len(set(on.later.groups)),
        explored=explored,
        split_hour=on.later.from_us / MICROS_PER_HOUR,
        fitted=None if on.fitted is None else _gap(on.earlier, on.fitted, seed=plan.seed),
        gap=gap,
        effective=known,
        scores=() if on.tested is None else on.tested.scores,
        caveats=tuple(_caveats(plan, gap, known, explored)),
    )


def _gap(part: Part, found: Sequence[Comparison], *, seed: int) -> NetGap:
    (interval,) = intervals([[each.value for each in found]], part.groups, seed=seed)
    assert interval is not None  # noqa: S101 - no part is empty
    low, high = ends(interval)
    return NetGap(mean=rounded(interval.mean), low=low, high=high, decisions=len(found))


def _caveats(plan: Plan, gap: NetGap | None, known: float, explored: int) -> Iterator[str]:
    yield ONE_STEP
    yield (
        "A place that the proposal gives to a block which could not have been shown counts as "
        f"useless, and every place costs {plan.place_cost:g} of a useful block."
    )
    if not explored:
        yield (
            "No recall explored, so nothing is known of blocks that were not returned: a proposal "
            "can only gain by leaving blocks out. recall(explore=0.1) tells more."
        )
    if "rates" in plan.parameters:
        yield (
            "Rates change what fades and what is archived from now on; only their effect on the "
            "order of answers was tried."
        )
    if gap is not None and known < FEW_EFFECTIVE:
        yield (
            f"The gap rests on an effective sample of {known:.1f} judged blocks: too few for a "
            "conclusion."
        )
