"""Verbs that suppose: what_if and backtest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mnemic.adapters.inprocess import backtesting, supposing
from mnemic.adapters.inprocess.backtesting import Plan, Progress
from mnemic.adapters.inprocess.host import Host
from mnemic.adapters.inprocess.snapshot import HOURS_MAX
from mnemic.adapters.inprocess.supposing import Supposition
from mnemic.adapters.inprocess.tallying import OBJECTIVES, tally
from mnemic.adapters.plots import PlottedBacktest
from mnemic.kernel.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.errors import FieldRefused, PolicyRefused
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import RECORDED, WhatIf

POLICIES_MAX = 100
HORIZON_HOURS = 24.0
"""Active hours after a decision in which something said still speaks of it: one FSRS day."""


class ExperimentVerbs(Host):
    """Other answers to what was asked before. Nothing here writes."""

    def what_if(
        self,
        decision_id: str,
        *,
        policy: Policy | None = None,
        query: str | None = None,
        frame: str | None = None,
        top_k: int | None = None,
    ) -> WhatIf:
        """Return a past decision beside what it would have been, had something been otherwise.

        The memory is taken as it stood when the decision was asked, with every block, edge, use
        and outcome of that moment and none from later; only what is given here is replaced. So
        the answer says what other numbers would have made of the same state. It does not say what
        the memory would have become, had it lived under that policy.

        Args:
            decision_id: A recorded recall.
            policy: Other numbers.
            query: Another question; empty: none, blocks rank without relevance. It is embedded
                with the model that ruled then.
            frame: Another frame.
            top_k: Another limit.

        Raises:
            DecisionNotFound, RecipeRetired: See each.
            DecisionSealed: It saw words that are erased since.
            FieldRefused, PolicyRefused, FrameUnknown: What is supposed makes no sense.
            EmbedderMismatch, VectorRefused: The model of that time is not here to read *query*.
        """
        supposed = Supposition(policy=policy, query=query, frame=frame, top_k=top_k)
        return supposing.what_if(self._open(), self._models, decision_id, supposed)

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
    ) -> PlottedBacktest:
        """Answer past decisions again under other policies, and score all by what came of them.

        Every decision is answered as of its own moment; what happened afterwards reaches scores
        only. A block is judged by the outcomes that name the decision, or else by outcomes and
        labels that speak of the block; all within the horizon. The rest is unjudged: measures are
        over what is judged, with bounds for the rest counted as useless and as decisive.

        It is a one-step counterfactual on the recorded memory, and no forecast: ``caveats`` of
        the result says when not to trust it.

        Args:
            policies: What to compare, by name; of a list each goes by its own. What was recorded
                is always the first row.
            from_: Active hour of the first decisions that count.
            to: Of the last ones.
            objective: What the best is best at, and what is drawn: ``ndcg`` (the right blocks in
                the right order), ``hit`` (something served) or ``reward`` (how well on average).
            horizon_hours: How long after a decision something still speaks of it, active hours.
            seed: Of the resampling; the same seed gives the same intervals.
            progress: Called with what is done and what there is to do, in decisions.

        Raises:
            PolicyRefused: One is no policy, or two share a name.
            FieldRefused: Naming the argument.
        """
        named = _named(policies)
        from_us = _hours("from_", 0.0 if from_ is None else from_)
        to_us = _hours("to", HOURS_MAX if to is None else to)
        if from_us > to_us:
            raise FieldRefused(f"from_ {from_!r} lies behind to {to!r}", field="from_")
        if objective not in OBJECTIVES:
            raise FieldRefused(
                f"objective must be one of {', '.join(OBJECTIVES)}, got {objective!r}",
                field="objective",
            )
        if type(seed) is not int:
            raise FieldRefused(f"seed must be a whole number, got {seed!r}", field="seed")
        plan = Plan(
            names=tuple(named),
            policies=tuple(named.values()),
            from_us=from_us,
            to_us=to_us,
            objective=objective,
            horizon_us=_hours("horizon_hours", horizon_hours),
            seed=seed,
        )
        return tally(backtesting.run(self._open(), self._models, plan, progress), plan)


def _named(policies: object) -> dict[str, Policy]:
    """Return the policies of a backtest by name.

    Raises:
        PolicyRefused: One is no policy, two share a name, or they are too many.
    """
    if isinstance(policies, Policy):
        policies = [policies]
    if isinstance(policies, Mapping):
        pairs = list(policies.items())
    elif isinstance(policies, Sequence) and not isinstance(policies, str):
        pairs = [(getattr(policy, "name", ""), policy) for policy in policies]
    else:
        raise PolicyRefused(f"neither policies nor policies by name: {policies!r:.100}")
    if len(pairs) > POLICIES_MAX:
        raise PolicyRefused(f"{len(pairs)} policies; compare at most {POLICIES_MAX}")
    found: dict[str, Policy] = {}
    for name, policy in pairs:
        if not isinstance(policy, Policy):
            raise PolicyRefused(f"not a policy: {policy!r:.100}")
        if not isinstance(name, str) or not name or name in found or name == RECORDED:
            raise PolicyRefused(
                f"a policy cannot go by the name {name!r} here",
                recovery="Give a mapping with a name of its own for each; what was recorded is "
                f"always compared, as {RECORDED!r}.",
            )
        found[name] = policy
    return found


def _hours(field: str, hours: object) -> int:
    """Return hours as microseconds of active time.

    Raises:
        FieldRefused: It is no number of hours.
    """
    if isinstance(hours, bool) or not isinstance(hours, int | float):
        raise FieldRefused(f"{field} must be a number of hours, got {hours!r}", field=field)
    if not 0.0 <= hours <= HOURS_MAX:
        raise FieldRefused(f"{field} must be from 0 to {HOURS_MAX:g}, got {hours!r}", field=field)
    return round(hours * MICROS_PER_HOUR)
