"""Operations on past decisions and their outcomes: what_if, backtest, tune and calibrate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from mnemic.adapters.inprocess.engine.commands import Command, Progress, RunnerChoice
from mnemic.adapters.inprocess.operations.host import Host
from mnemic.adapters.inprocess.registry import operation
from mnemic.adapters.inprocess.time_points import HORIZON_HOURS
from mnemic.adapters.inprocess.view import HOURS_MAX
from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.space import decide_adopt_policy
from mnemic.kernel.errors import FieldRefused, PolicyRefused
from mnemic.kernel.model.identity import PolicyId
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.policy import Policy
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.validation import unit_interval
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.adapters.inprocess.replay.calibration import Fit
    from mnemic.adapters.inprocess.replay.plots import PlottedBacktest
    from mnemic.kernel.results import CalibrateResult, Tuning, WhatIf

POLICIES_MAX = 100
EVALUATIONS_MAX = 10_000
DIGITS = 6
"""Decimal digits of a reported loss."""
POLICIES = (
    "Pass one policy, a list, or a mapping of names to policies; such as memory.policy, or "
    "attrs.evolve(memory.policy, name=..., top_k=10)."
)


class ExperimentOperations(Host):
    """Operations that learn from past decisions. Only ``calibrate`` writes."""

    @operation("POST ./decisions/{decision_id}/what-if", "Decisions")
    def what_if(
        self,
        decision_id: str,
        *,
        policy: Policy | None = None,
        query: str | None = None,
        frame: str | None = None,
        top_k: int | None = None,
        without: Mapping[str, Any] | None = None,
    ) -> WhatIf:
        """Return a past decision and what it would have been with some of its inputs changed.

        The memory is taken as it was when the decision was made, with every block, edge, use and
        outcome of that moment and none from later; only what is given here is replaced. So the
        answer shows the effect of other inputs on the same state. It does not show what the memory
        would have become under that policy.

        Args:
            decision_id: A recorded recall.
            policy: Another policy.
            query: Another question; empty: none, blocks rank without relevance. None: the same. It
                is embedded with the model that was in force then.
            frame: Another frame; None: the same.
            top_k: Another limit; None: the same.
            without: Leave out the blocks of these writes. A selector as for ``quarantine``: the
                answer is as though what they learned were not in memory. What it had led to stays:
                blocks that it superseded, and edges and evidence of others.

        Raises:
            DecisionNotFound, RecipeRetired: See each.
            DecisionSealed: It read text that has been erased since.
            FieldRefused, PolicyRefused, FrameUnknown: A changed input is invalid.
            EmbedderMismatch, VectorRefused: The model of that time is not available for *query*.
        """
        from mnemic.adapters.inprocess.replay import what_if as what_if_engine
        from mnemic.projections.descent.selection import Selection

        supposed = what_if_engine.Supposition(
            policy=policy,
            query=query,
            frame=frame,
            top_k=top_k,
            without=None if without is None else Selection.parse(without),
        )
        return what_if_engine.what_if(self._open(), self._models, decision_id, supposed)

    @operation("POST ./backtest", "Decisions", local={"runner", "rows"})
    def backtest(
        self,
        policies: Mapping[str, Policy] | Sequence[Policy] | Policy,
        *,
        from_: float | None = None,
        to: float | None = None,
        objective: str = "ndcg",
        horizon_hours: float = HORIZON_HOURS,
        seed: int = 0,
        progress: Progress | None = None,
        runner: RunnerChoice = None,
        rows: str | Path | None = None,
    ) -> PlottedBacktest:
        """Answer past decisions again under other policies, and score all by later outcomes.

        Every decision is answered as of its own moment; later events affect scores only. A block is
        judged by the outcomes that name the decision, or else by outcomes and labels that name the
        block; all within the horizon. Other blocks are unjudged: measures are over the judged
        blocks, with bounds for the unjudged ones counted as useless and as decisive.

        It is a one-step counterfactual on the recorded memory, and not a forecast: ``caveats`` of
        the result says when not to trust it.

        Args:
            policies: Policies to compare, by name; those of a list by their own names. The recorded
                answers are always the first row.
            from_: Active hour from which decisions count.
            to: Active hour up to which decisions count.
            objective: The measure to maximize: ``ndcg`` (the right blocks in the right order),
                ``hit`` (at least one useful block) or ``reward`` (average usefulness).
            horizon_hours: How long after a decision outcomes and labels count, in active hours.
            seed: Seed of the resampling; the same seed gives the same intervals.
            progress: Called with the number of decisions done and the total.
            runner: Where decisions are answered: ``inprocess`` (the default), ``processes``: on all
                processors of this machine, ``ray``: on a cluster, ``auto``: on processes where
                that pays; or a host's own ``StartRunner``. The result is the same.
            rows: A file in which answers are kept, so that a run that was stopped goes on when it
                is repeated; None: nothing is kept.

        Raises:
            PolicyRefused: One is not a policy, or two share a name.
            FieldRefused: An argument is invalid; the error names it.
            Unavailable: The extra ``ray`` is missing, or workers ended again and again.
            StoreFailed: The file of rows cannot be read or written.
        """
        from mnemic.adapters.inprocess.replay import backtest as backtest_engine
        from mnemic.adapters.inprocess.replay.backtest_scores import OBJECTIVES, tally
        from mnemic.adapters.runners.kept_rows import KeptRows

        named = policies_by_name(policies)
        from_us = _hours("from_", 0.0 if from_ is None else from_)
        to_us = _hours("to", HOURS_MAX if to is None else to)
        if from_us > to_us:
            raise FieldRefused(f"from_ {from_!r} is after to {to!r}", field="from_")
        if objective not in OBJECTIVES:
            raise FieldRefused(
                f"objective must be one of {', '.join(OBJECTIVES)}, got {objective!r}",
                field="objective",
            )
        _check_seed(seed)
        plan = backtest_engine.Plan(
            names=tuple(named),
            policies=tuple(named.values()),
            from_us=from_us,
            to_us=to_us,
            objective=objective,
            horizon_us=_hours("horizon_hours", horizon_hours),
            seed=seed,
        )
        with KeptRows(rows) as kept:
            trial = backtest_engine.run(
                self._open(), self._models, plan, progress, runner=runner, rows=kept
            )
        return tally(trial, plan)

    @operation("POST ./tune", "Decisions", local={"runner", "rows"})
    def tune(
        self,
        *,
        frame: str | None = None,
        parameters: Sequence[str] = ("weights", "rates", "top_k"),
        place_cost: float = 0.1,
        horizon_hours: float = HORIZON_HOURS,
        evaluations: int = 300,
        seed: int = 0,
        progress: Progress | None = None,
        runner: RunnerChoice = None,
        rows: str | Path | None = None,
    ) -> Tuning:
        """Propose a policy from past decisions and their outcomes, judged by later ones.

        A seeded search varies one frame of the policy in force and compares candidates by the
        earlier decisions, corrected for the probability with which each block was shown. The best
        one is judged by the later decisions, which the search has not seen: the result says by how
        much it is better, with an interval, and ``verdict`` whether that may be chance. Nothing is
        adopted: ``adopt_policy`` does that.

        Args:
            frame: The frame to tune; None: the default frame of the policy in force.
            parameters: What may change: ``weights`` (of the frame's signals), ``rates`` (by which
                memories fade) and ``top_k``.
            place_cost: What a place in an answer has to be worth, in useful blocks: a block that is
                useful less often is better left out. Range: [0, 1].
            horizon_hours: How long after a decision outcomes and labels count, in active hours.
            evaluations: How many candidates are tried, 10,000 at most.
            seed: Seed of the search and of the intervals; the same seed gives the same result.
            progress: Called with the number of candidates tried and the total.
            runner: Where decisions are answered, see ``backtest``.
            rows: A file in which answers are kept, see ``backtest``.

        Raises:
            TooFewOutcomes: There are too few judged decisions or sessions, or all outcomes are
                equal.
            FieldRefused: An argument is invalid, or no decision used the frame.
            FrameUnknown: The policy in force has no such frame.
            Unavailable: The extra ``tune`` is missing; or see ``backtest``.
            StoreFailed: The file of rows cannot be read or written.
        """
        from mnemic.adapters.inprocess.replay import tuning
        from mnemic.adapters.inprocess.replay.policy_search import checked_parameters
        from mnemic.adapters.runners.kept_rows import KeptRows

        space = self._open()
        _check_seed(seed)
        if type(evaluations) is not int or not 1 <= evaluations <= EVALUATIONS_MAX:
            raise FieldRefused(
                f"evaluations must be a whole number from 1 to {EVALUATIONS_MAX}, "
                f"got {evaluations!r}",
                field="evaluations",
            )
        unit_interval("place_cost", place_cost)
        plan = tuning.Plan(
            frame=space.view().policy.frame(frame).name,
            parameters=checked_parameters(parameters),
            place_cost=place_cost,
            horizon_us=_hours("horizon_hours", horizon_hours),
            evaluations=evaluations,
            seed=seed,
        )
        with KeptRows(rows) as kept:
            return tuning.tune(
                space, self._models, plan, progress=progress, runner=runner, rows=kept
            )

    @operation("POST ./calibrate", "Upkeep", "admin", same_twice=True)
    def calibrate(self, *, command_id: str | None = None) -> CalibrateResult:
        """Fit the probabilities of recalls to the outcomes that followed, and adopt the policy.

        Judged are the returned blocks of recorded recalls, as ``backtest`` judges them: useful
        above a half, useless below. The log-odds that are shipped are scaled and shifted, for
        blocks and for ``answerable``; nothing else of the policy changes, and with few outcomes
        little does. Repeated on the same outcomes it changes nothing.

        Args:
            command_id: See the class.

        Raises:
            TooFewOutcomes: There are fewer than 50 judged blocks, or fewer than 10 of one kind.
        """
        from mnemic.adapters.inprocess.replay import calibration

        def decide(view: View, _: Instant) -> Decision[Any]:
            fit = calibration.fitted(
                self._space, view, horizon_us=_hours("horizon_hours", HORIZON_HOURS)
            )
            if fit.policy == view.policy:
                fit = evolve(fit, policy=view.policy)  # also the id of its bytes
            return Decision(decide_adopt_policy(view, fit.policy).events, (fit, view.policy.id))

        outcome = self._open().prepared(Command("calibrate", {}, command_id), decide)
        return _calibrated(*outcome.result)


def _calibrated(fit: Fit, before: PolicyId) -> CalibrateResult:
    from mnemic.kernel.results import CalibrateResult
    from mnemic.projections.evaluation import platt

    judged, useful = fit.judged, sum(fit.judged.useful)
    after = [fit.scaling(each) for each in judged.odds]
    return CalibrateResult(
        policy_id=fit.policy.id,
        before_id=before,
        useful=useful,
        useless=len(judged.useful) - useful,
        decisions=len(judged.answered),
        slope=fit.scaling.slope,
        shift=fit.scaling.shift,
        answerable_fitted=fit.with_answerable,
        log_loss_before=round(platt.log_loss(judged.before, judged.useful), DIGITS),
        log_loss_after=round(platt.log_loss(after, judged.useful), DIGITS),
    )


def policies_by_name(policies: object) -> dict[str, Policy]:
    """Return the policies of a backtest by name.

    Raises:
        PolicyRefused: One is not a policy, two share a name, or there are too many.
    """
    from mnemic.kernel.results import RECORDED

    if isinstance(policies, Policy):
        policies = [policies]
    if isinstance(policies, Mapping):
        pairs = list(policies.items())
    elif isinstance(policies, Sequence) and not isinstance(policies, str):
        pairs = [(getattr(policy, "name", ""), policy) for policy in policies]
    else:
        raise PolicyRefused(
            f"neither policies nor policies by name: {policies!r:.100}", recovery=POLICIES
        )
    if len(pairs) > POLICIES_MAX:
        raise PolicyRefused(f"{len(pairs)} policies; compare at most {POLICIES_MAX}")
    found: dict[str, Policy] = {}
    for name, policy in pairs:
        if not isinstance(policy, Policy):
            raise PolicyRefused(f"not a policy: {policy!r:.100}", recovery=POLICIES)
        if name in found:
            raise PolicyRefused(
                f"two of the policies are called {name!r}",
                recovery='Name each: backtest({"one": first, "two": second}).',
            )
        if not isinstance(name, str) or not name or name == RECORDED:
            raise PolicyRefused(
                f"a policy cannot be called {name!r} in a backtest",
                recovery=f"Choose another name; {RECORDED!r} are the answers as they were, which "
                "are always compared.",
            )
        found[name] = policy
    return found


def _check_seed(seed: object) -> None:
    """Refuse a seed that is not a whole number."""
    if type(seed) is not int:
        raise FieldRefused(f"seed must be a whole number, got {seed!r}", field="seed")


def _hours(field: str, hours: object) -> int:
    """Return hours as microseconds of active time.

    Raises:
        FieldRefused: It is not a number of hours.
    """
    if isinstance(hours, bool) or not isinstance(hours, int | float):
        raise FieldRefused(f"{field} must be a number of hours, got {hours!r}", field=field)
    if not 0.0 <= hours <= HOURS_MAX:
        raise FieldRefused(f"{field} must be from 0 to {HOURS_MAX:g}, got {hours!r}", field=field)
    return round(hours * MICROS_PER_HOUR)
