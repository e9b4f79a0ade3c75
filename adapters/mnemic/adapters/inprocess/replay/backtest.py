"""The operation ``backtest``: answers past decisions under other policies and scores the answers.

The steps of a backtest: decisions of a range of hours → each answered again as of its own moment →
later outcomes and labels of the blocks in any of its answers → measures per decision → means with
intervals per policy. Events after a decision affect its scores and never its answers.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from attrs import define, evolve, field, frozen

from mnemic.adapters.inprocess.engine.commands import Progress
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.replay import reevaluation
from mnemic.adapters.inprocess.replay.reevaluation import Decision, Rerun
from mnemic.kernel.events import Answer, Recorded, Reverted
from mnemic.kernel.model.identity import DecisionId, SessionId
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO
from mnemic.kernel.policy import Policy
from mnemic.kernel.values import Value
from mnemic.projections.evaluation.measures import Measured, measure
from mnemic.projections.evaluation.relevance_judgments import (
    Evidence,
    RelevanceJudgments,
    TakenBack,
    evidence,
)
from mnemic.projections.retrieval import packing
from mnemic.projections.view import View

FEEDBACK_TOPICS: Final = ("outcome-recorded.", "composition-labelled.")
"""Prefixes of the topics of events that judge blocks or compositions."""


@frozen(kw_only=True)
class Plan(Value):
    """What to compare, on which decisions, and by which measure."""

    names: tuple[str, ...]
    policies: tuple[Policy, ...]
    from_us: int
    """Active time of the first decisions that count."""
    to_us: int
    objective: str
    horizon_us: int
    seed: int


@frozen(kw_only=True)
class Case(Value):
    """The measures of all answers to one decision; the answers themselves are not kept."""

    id: DecisionId
    active_us: int
    """Active time of the decision."""
    session_id: SessionId | None
    measured: tuple[Measured | None, ...]
    """The recorded answer, then each policy; None where it has no such frame."""
    tells_apart: bool
    """Whether the judged blocks have different gains."""

    @property
    def hour(self) -> float:
        """Active hour of the decision."""
        return self.active_us / MICROS_PER_HOUR

    @property
    def is_judged(self) -> bool:
        """Whether a block of any of its answers is judged."""
        return any(each is not None and each.hit is not None for each in self.measured)

    @property
    def group(self) -> str:
        """Resampling group: its session, or the decision itself if it has none."""
        session = self.session_id
        return f"decision {self.id}" if session is None else f"session {session}"


@define
class Trial:
    """Raw results of a run."""

    cases: list[Case] = field(factory=list)
    left_out: Counter[str] = field(factory=Counter)
    explored: int = 0
    shown: list[list[tuple[int, int]]] = field(factory=list)
    """By policy: gain and propensity, in nano-units, of the shown blocks that it would show."""
    digests: list[Any] = field(factory=list)
    """By policy: running digest of all its answers."""


def run(space: SessionHandle, models: Models, plan: Plan, progress: Progress | None) -> Trial:
    """Answer every decision of the plan again, and measure all answers."""
    now = space.view()
    after, upto = _version_range(now, plan)
    asked = reevaluation.decision_versions(now, after=after, upto=upto)
    judgments = RelevanceJudgments(
        judgment_evidence(space, now, asked, horizon_us=plan.horizon_us),
        horizon_us=plan.horizon_us,
    )
    rows = 1 + len(plan.policies)
    trial = Trial(shown=[[] for _ in range(rows)], digests=[hashlib.sha256() for _ in range(rows)])
    drawn: list[Decision] = []
    # Read lazily: all decisions at once would be very many small objects.
    decisions = reevaluation.decisions(space, asked)
    reruns = reevaluation.reruns(space, models, decisions, plan.policies)
    for done, rerun in enumerate(reruns, start=1):
        if rerun.obstacle is not None:
            trial.left_out[rerun.obstacle] += 1
        else:
            answers: list[Answer | None] = [rerun.decision.event.answer, *rerun.answers]
            trial.cases.append(_case(rerun, answers, judgments, trial))
            explored = rerun.decision.event.explored
            trial.explored += explored is not None
            if explored is not None and explored.drawn:
                drawn.append(rerun.decision)
            elif explored is not None:
                _collect_shown(rerun, answers, judgments, trial)
        if progress is not None:
            progress(done, len(asked))
    # Decisions changed by a random draw are answered again without the draw.
    silent = [evolve(each, event=evolve(each.event, explored=None)) for each in drawn]
    again = reevaluation.reruns(space, models, silent, (None, *plan.policies))
    for decision, rerun in zip(drawn, again, strict=True):
        _collect_shown(evolve(rerun, decision=decision), rerun.answers, judgments, trial)
    return trial


def _version_range(now: View, plan: Plan) -> tuple[int, int]:
    """Return the version before the range of hours, and the last one in it."""
    timeline, last = now.state.timeline, now.version
    if timeline.space_erased is not None or last < 0:
        return last, last
    after = timeline.version_at_hour(plan.from_us - 1, head=last) if plan.from_us > 0 else -1
    return after, timeline.version_at_hour(plan.to_us, head=last)


def judgment_evidence(
    space: SessionHandle, now: View, asked: Sequence[int], *, horizon_us: int
) -> Iterator[Evidence]:
    """Yield the judgments of blocks between the first decision and the last one's horizon.

    Args:
        space: The space.
        now: The view whose past is read.
        asked: Versions of the decisions, ascending.
        horizon_us: Active time after the last decision up to which judgments count.
    """
    if not asked:
        return
    timeline = now.state.timeline
    first, last = asked[0], asked[-1]
    until_us = int(timeline.active_us.values[last]) + horizon_us
    upto = timeline.version_at_hour(until_us, head=now.version)
    taken_back = TakenBack(_reverts(space, now, after=first))
    for record, payloads in space.log.read(first, upto):
        if record.topic.startswith(FEEDBACK_TOPICS):
            found = evidence(now, space.decoded(record, payloads), taken_back)
            if found is not None:
                yield found


def _reverts(space: SessionHandle, now: View, *, after: int) -> Iterator[Recorded]:
    """Yield every revert after a version that a view knows: whenever it happened, it counts."""
    for version in reevaluation.versions(now, Reverted, after=after):
        recorded = space.event_at(version)
        if recorded is not None:
            yield recorded


def _case(
    rerun: Rerun, answers: Sequence[Answer | None], judgments: RelevanceJudgments, trial: Trial
) -> Case:
    """Measure every answer to one decision against the same judgments."""
    recorded = rerun.decision.recorded
    for digest, answer in zip(trial.digests, answers, strict=True):
        result = "-" if answer is None else packing.digest_of(rerun.view, answer.rows)
        digest.update(f"{rerun.decision.id} {result}\n".encode())
    blocks = [_blocks(answer) for answer in answers]
    pool = dict.fromkeys(block for row in blocks for block in row)
    gains = judgments.gains(recorded.version, recorded.active_us, pool)
    longest = max(map(len, blocks))
    measured = tuple(
        None
        if answer is None
        else measure([gains.get(block) for block in row], gains.values(), k=longest)
        for answer, row in zip(answers, blocks, strict=True)
    )
    apart = len(set(gains.values())) > 1
    return Case(
        id=rerun.decision.id,
        active_us=recorded.active_us,
        session_id=recorded.session_id,
        measured=measured,
        tells_apart=apart,
    )


def _blocks(answer: Answer | None) -> list[int]:
    return [] if answer is None else [row.block for row in answer.rows]


def _collect_shown(
    rerun: Rerun, silent: Sequence[Answer | None], judgments: RelevanceJudgments, trial: Trial
) -> None:
    """Collect the blocks that were shown and would be shown without exploration.

    Corrected estimates are computed from these.

    Args:
        rerun: A decision with exploration.
        silent: By policy, its answers without the random draw.
        judgments: The judgments of blocks.
        trial: Receives each shown block's gain with its probability of being shown.
    """
    recorded, event = rerun.decision.recorded, rerun.decision.event
    frame = rerun.view.policy.frame(event.frame)
    open_place = packing.contested(rerun.view, frame, event.answer)
    gains = judgments.gains(recorded.version, recorded.active_us, _blocks(event.answer))
    for terms, answer in zip(trial.shown, silent, strict=True):
        would_show = set(_blocks(answer))
        terms.extend(
            (gain, event.propensity if block == open_place else NANO)
            for block, gain in gains.items()
            if block in would_show
        )
