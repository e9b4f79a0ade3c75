"""The operation ``calibrate``: fits the probabilities of a space to the outcomes of its recalls.

The steps: recorded decisions with probabilities → the judgments of their returned blocks by later
outcomes and labels → a scaling of the log-odds of blocks, and one of ``answerable`` → a policy that
differs in these numbers only.

Nothing is answered again: a record holds every part of a probability, also where text was erased.
The scaling is relative to the default numbers, not to those in force, so calibrating twice
on the same outcomes changes nothing.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from attrs import define, evolve, field, frozen

from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.replay import backtest, reevaluation
from mnemic.adapters.inprocess.replay.reevaluation import Decision
from mnemic.kernel.errors import TooFewOutcomes
from mnemic.kernel.events import SIGNALS
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import DEFAULT, LOGIT, PROBABILITY_WEIGHTS, Policy
from mnemic.kernel.scoring.probability import PARTS, log_odds
from mnemic.kernel.values import Value
from mnemic.projections.evaluation import platt
from mnemic.projections.evaluation.platt import Scaling
from mnemic.projections.evaluation.relevance_judgments import RelevanceJudgments
from mnemic.projections.retrieval.recipes import RECIPES
from mnemic.projections.view import View

BLOCKS_LEAST: Final = 50
"""Least number of judged blocks, useful and useless ones together."""
EACH_LEAST: Final = 10
"""Least number of useful ones, and of useless ones."""
DECISIONS_LEAST: Final = 20
"""Least number of judged decisions, at least ``EACH_LEAST`` of either kind, by which ``answerable``
is fitted; with fewer it is unchanged."""
DIGITS: Final = 6


@define
class Judged:
    """What was judged, in the order of the log."""

    odds: list[float] = field(factory=list)
    """Log-odds of each judged block, by the numbers shipped."""
    before: list[float] = field(factory=list)
    """The same by the policy in force."""
    useful: list[bool] = field(factory=list)
    best: list[float] = field(factory=list)
    """Greatest log-odds of each judged decision."""
    answered: list[bool] = field(factory=list)
    """Whether any of its blocks was useful."""


@frozen(kw_only=True)
class Fit(Value):
    """A fitted policy, and how it was found."""

    policy: Policy
    judged: Judged
    scaling: Scaling
    with_answerable: bool
    """Whether ``answerable`` was fitted too."""


def fitted(space: SessionHandle, view: View, *, horizon_us: int) -> Fit:
    """Return the policy in force with probabilities fitted to the outcomes known to *view*.

    Raises:
        TooFewOutcomes: There are not enough judgments, or of one kind only.
    """
    judged = _judged(space, view, horizon_us)
    useful = sum(judged.useful)
    useless = len(judged.useful) - useful
    if useful + useless < BLOCKS_LEAST or min(useful, useless) < EACH_LEAST:
        raise TooFewOutcomes(
            f"{useful} returned blocks were judged useful and {useless} useless; it takes "
            f"{BLOCKS_LEAST}, at least {EACH_LEAST} of either kind",
            useful=useful,
            useless=useless,
        )
    policy = _shipped(view.policy)
    blocks = platt.scaling(judged.odds, judged.useful)
    answers = Scaling()
    answered = sum(judged.answered)
    enough = len(judged.answered) >= DECISIONS_LEAST
    enough &= min(answered, len(judged.answered) - answered) >= EACH_LEAST
    if enough:
        steps = [policy.answerable_slope * each + policy.answerable_bias for each in judged.best]
        answers = platt.scaling(steps, judged.answered)
    return Fit(
        policy=_scaled(policy, blocks, answers),
        judged=judged,
        scaling=blocks,
        with_answerable=enough,
    )


def _shipped(policy: Policy) -> Policy:
    """Return *policy* with the probabilities that are shipped."""
    names = (*PROBABILITY_WEIGHTS, "probability_bias", "answerable_slope", "answerable_bias")
    shipped: dict[str, Any] = {name: getattr(DEFAULT, name) for name in names}
    return evolve(policy, **shipped)


def _scaled(policy: Policy, blocks: Scaling, answers: Scaling) -> Policy:
    """Return *policy* with both scalings applied."""
    changes: dict[str, Any] = {
        name: round(blocks.slope * getattr(policy, name), DIGITS) for name in PROBABILITY_WEIGHTS
    }
    # The log-odds of blocks that `answerable` reads have another scale from now on.
    slope = answers.slope * policy.answerable_slope / blocks.slope
    bias = answers(policy.answerable_bias) - slope * blocks.shift
    return evolve(
        policy,
        probability_bias=round(blocks(policy.probability_bias), DIGITS),
        answerable_slope=round(slope, DIGITS),
        answerable_bias=round(min(LOGIT.high, max(LOGIT.low, bias)), DIGITS),
        **changes,
    )


def _judged(space: SessionHandle, view: View, horizon_us: int) -> Judged:
    found, shipped = Judged(), _shipped(view.policy)
    asked = reevaluation.decision_versions(view)
    evidence = backtest.judgment_evidence(space, view, asked, horizon_us=horizon_us)
    judgments = RelevanceJudgments(evidence, horizon_us=horizon_us)
    for decision in reevaluation.decisions(space, asked):
        odds = _odds(shipped, decision)
        recorded = decision.recorded
        gains = judgments.gains(recorded.version, recorded.active_us, odds)
        labels = {number: 2 * gain > NANO for number, gain in gains.items() if 2 * gain != NANO}
        if not labels:
            continue
        before = _odds(view.policy, decision)
        found.odds += [odds[number] for number in labels]
        found.before += [before[number] for number in labels]
        found.useful += labels.values()
        found.best.append(max(odds.values()))
        found.answered.append(any(labels.values()))
    return found


def _odds(policy: Policy, decision: Decision) -> dict[int, float]:
    """Return the log-odds of each returned block; none of a decision without probabilities."""
    event = decision.event
    recipe = RECIPES.get(event.recipe.partition("+")[0])
    if recipe is None or not recipe.graded or event.answerable < 0 or not event.answer.rows:
        return {}
    rows = np.array([row.signals[len(SIGNALS) :] for row in event.answer.rows], dtype=np.int64)
    at = [recipe.parts.index(name) for name in PARTS]
    odds = (log_odds(policy, tuple(rows[:, at].T)) / NANO).tolist()
    return {row.block: each for row, each in zip(event.answer.rows, odds, strict=True)}
