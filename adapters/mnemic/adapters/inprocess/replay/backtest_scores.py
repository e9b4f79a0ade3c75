"""Scores of a backtest from its cases: means, intervals, gaps, and windows of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from attrs import frozen

from mnemic.adapters.inprocess.replay.backtest import Case, Plan, Trial
from mnemic.adapters.inprocess.replay.plots import PlottedBacktest
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO
from mnemic.kernel.results import (
    RECORDED,
    Corrected,
    Estimate,
    Gap,
    PolicyScore,
    Window,
    unit,
)
from mnemic.kernel.values import Value
from mnemic.projections.evaluation.bootstrap import Interval, intervals
from mnemic.projections.evaluation.measures import Measure, self_normalised
from mnemic.projections.evaluation.warnings import caveats

OBJECTIVES: Final = ("ndcg", "hit", "reward")
WINDOWS_MAX: Final = 12
"""Most windows of equal length between the first and the last decision."""
WINDOW_DECISIONS: Final = 5
"""Decisions that a window should hold on average."""
DIGITS: Final = 9

Column = list[int | None]
"""One value per case, in nano-units; None where there is none."""


class Key(NamedTuple):
    """Identifies a column."""

    row: int
    objective: str
    gap: bool = False
    """Whether it holds differences from the recorded answers."""
    window: int | None = None
    """None: over all windows."""


@frozen(kw_only=True)
class Span(Value):
    """A window of active hours, half-open; the last one includes its end."""

    from_hour: float
    to_hour: float
    last: bool

    def holds(self, case: Case) -> bool:
        """Whether a case falls into it."""
        return self.from_hour <= case.hour and (case.hour < self.to_hour or self.last)


def tally(trial: Trial, plan: Plan) -> PlottedBacktest:
    """Return the backtest with the scores of a run."""
    counted = _Tally(trial, plan)
    cases = trial.cases
    scores = tuple(counted.score(row, name) for row, name in enumerate((RECORDED, *plan.names)))
    facts = PlottedBacktest(
        objective=plan.objective,
        horizon_hours=plan.horizon_us / MICROS_PER_HOUR,
        seed=plan.seed,
        from_hour=cases[0].hour if cases else None,
        to_hour=cases[-1].hour if cases else None,
        decisions=len(cases),
        judged=sum(case.is_judged for case in cases),
        told_apart=sum(case.tells_apart for case in cases),
        sessions=len({case.group for case in cases}),
        explored=trial.explored,
        left_out=dict(sorted(trial.left_out.items())),
        scores=scores,
    )
    return facts.with_caveats(caveats(facts))


class _Tally:
    """The columns of a trial, with their means and intervals."""

    def __init__(self, trial: Trial, plan: Plan) -> None:
        self._trial = trial
        self._plan = plan
        self._windows = _spans(trial.cases)
        columns: dict[Key, Column] = {}
        for row in range(1 + len(plan.policies)):
            for objective in OBJECTIVES:
                columns[Key(row, objective)] = self._column(row, objective, _judged)
                columns[Key(row, objective, gap=True)] = self._gaps(row, objective)
            for place in range(len(self._windows)):
                key = Key(row, plan.objective, window=place)
                columns[key] = self._column(row, plan.objective, _judged, place)
        groups = [case.group for case in trial.cases]
        found = intervals(list(columns.values()), groups, seed=plan.seed)
        self._columns = columns
        self._found = dict(zip(columns, found, strict=True))

    def score(self, row: int, name: str) -> PolicyScore:
        """Return the score of one policy."""
        measured = [case.measured[row] for case in self._trial.cases]
        answered = [each for each in measured if each is not None]
        return PolicyScore(
            name=name,
            policy_id=self._plan.policies[row - 1].id if row else None,
            answered=len(answered),
            unanswered=len(measured) - len(answered),
            places=sum(each.places for each in answered),
            judged=sum(each.judged for each in answered),
            ndcg=self._estimate(Key(row, "ndcg")),
            hit=self._estimate(Key(row, "hit")),
            reward=self._estimate(Key(row, "reward")),
            ndcg_gap=self._gap(row, "ndcg"),
            hit_gap=self._gap(row, "hit"),
            reward_gap=self._gap(row, "reward"),
            corrected=self._corrected(row),
            windows=tuple(
                Window(
                    from_hour=window.from_hour,
                    to_hour=window.to_hour,
                    estimate=self._estimate(Key(row, self._plan.objective, window=place)),
                )
                for place, window in enumerate(self._windows)
            ),
            digest=self._trial.digests[row].hexdigest()[:16],
        )

    def _column(
        self,
        row: int,
        objective: str,
        side: Callable[[Measure], int | None],
        window: int | None = None,
    ) -> Column:
        inside = None if window is None else self._windows[window]
        column: Column = []
        for case in self._trial.cases:
            measured = case.measured[row]
            found = None if measured is None else getattr(measured, objective)
            if found is None or (inside is not None and not inside.holds(case)):
                column.append(None)
            else:
                column.append(side(found))
        return column

    def _gaps(self, row: int, objective: str) -> Column:
        ours = self._column(row, objective, _judged)
        theirs = self._column(0, objective, _judged)
        return [
            None if mine is None or other is None else mine - other
            for mine, other in zip(ours, theirs, strict=True)
        ]

    def _estimate(self, key: Key) -> Estimate | None:
        found = self._found[key]
        if found is None:
            return None
        sides = [
            _mean(self._column(key.row, key.objective, side, key.window))
            for side in (_floor, _ceiling)
        ]
        low, high = ends(found)
        return Estimate(
            mean=rounded(found.mean),
            low=low,
            high=high,
            floor=sides[0],
            ceiling=sides[1],
            decisions=_count(self._columns[key]),
        )

    def _gap(self, row: int, objective: str) -> Gap | None:
        key = Key(row, objective, gap=True)
        found = self._found[key]
        if found is None or row == 0:
            return None
        low, high = ends(found)
        return Gap(
            mean=rounded(found.mean), low=low, high=high, decisions=_count(self._columns[key])
        )

    def _corrected(self, row: int) -> Corrected | None:
        found = self_normalised(self._trial.shown[row])
        if found is None:
            return None
        return Corrected(
            mean=unit(found.mean),
            decisions=self._trial.explored,
            blocks=found.blocks,
            effective=round(found.effective, DIGITS),
        )


def _judged(measure: Measure) -> int | None:
    return measure.judged


def _floor(measure: Measure) -> int:
    return measure.floor


def _ceiling(measure: Measure) -> int:
    return measure.ceiling


def _spans(cases: Sequence[Case]) -> list[Span]:
    """Return windows of equal length from the first case to the last."""
    if not cases:
        return []
    first, last = cases[0].hour, cases[-1].hour
    count = 1 if first == last else min(WINDOWS_MAX, max(1, len(cases) // WINDOW_DECISIONS))
    ends = [first + (last - first) * place / count for place in range(count)] + [last]
    return [
        Span(from_hour=start, to_hour=end, last=place == count - 1)
        for place, (start, end) in enumerate(pairwise(ends))
    ]


def rounded(nano_units: float) -> float:
    """Return nano-units as a number with ``DIGITS`` digits."""
    return round(nano_units / NANO, DIGITS)


def ends(found: Interval) -> tuple[float | None, float | None]:
    """Return the ends of an interval, see ``rounded``; None if the variance is unknown."""
    if found.low is None or found.high is None:
        return None, None
    return rounded(found.low), rounded(found.high)


def _count(column: Column) -> int:
    return sum(value is not None for value in column)


def _mean(column: Column) -> float:
    values = [value for value in column if value is not None]
    return rounded(sum(values) / len(values))
