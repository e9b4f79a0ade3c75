"""The operation ``backtest``: answers past decisions under other policies and scores the answers.

The steps of a backtest: decisions of a range of hours → each answered again as of its own moment →
later outcomes and labels of the blocks in any of its answers → measures per decision → means with
intervals per policy. Events after a decision affect its scores and never its answers.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import define, field, frozen

from mnemic.adapters.inprocess.engine.commands import Progress, RunnerChoice
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.replay import reevaluation
from mnemic.adapters.inprocess.replay.policy_answers import Answering, answering
from mnemic.adapters.inprocess.replay.space_work import SpaceWork, started
from mnemic.adapters.runners.kept_rows import KeptRows
from mnemic.kernel.events import Recorded, Reverted
from mnemic.kernel.model.identity import DecisionId, SessionId, decision_id
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
        """Resampling group, see ``resampling_group``."""
        return resampling_group(self.id, self.session_id)


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


def run(
    space: SessionHandle,
    models: Models,
    plan: Plan,
    progress: Progress | None,
    *,
    runner: RunnerChoice = None,
    rows: KeptRows | None = None,
) -> Trial:
    """Answer every decision of the plan again, and measure all answers.

    Args:
        space: The space.
        models: The models of its host.
        plan: What to compare.
        progress: Called with the number of decisions done and the total.
        runner: Where decisions are answered; None: in this process.
        rows: Answers of earlier runs, to which those of this one are added.
    """
    now = space.view()
    work = SpaceWork.on(space, models, answering)
    kept = KeptRows() if rows is None else rows
    answers = len(_asked(now, plan)) * (1 + len(plan.policies))
    with started(runner, work, answers=answers) as workers:
        return tried(space, now, plan, Answering(now, space, kept, workers), progress=progress)


def tried(
    space: SessionHandle,
    now: View,
    plan: Plan,
    answering: Answering,
    *,
    progress: Progress | None = None,
) -> Trial:
    """Do what ``run`` does, on a runner that has been started.

    Args:
        space: As for ``run``.
        now: The space as it is.
        plan: As for ``run``.
        answering: Answers the decisions, with their random draws.
        progress: As for ``run``.
    """
    asked = _asked(now, plan)
    judgments = RelevanceJudgments(
        judgment_evidence(space, now, asked, horizon_us=plan.horizon_us),
        horizon_us=plan.horizon_us,
    )
    count = 1 + len(plan.policies)
    trial = Trial(
        shown=[[] for _ in range(count)], digests=[hashlib.sha256() for _ in range(count)]
    )
    done = 0
    for found in answering.answers(asked, plan.policies):
        for place, facts in enumerate(found.recorded):
            _add(trial, facts, [row[place] for row in found.policies], judgments)
        done += len(found.recorded)
        if progress is not None:
            progress(done, len(asked))
    return trial


def _add(
    trial: Trial,
    facts: Mapping[str, Any],
    answers: Sequence[Mapping[str, Any] | None],
    judgments: RelevanceJudgments,
) -> None:
    """Add one decision to a trial."""
    if facts["obstacle"] is not None:
        trial.left_out[facts["obstacle"]] += 1
        return
    found = [facts, *(each for each in answers if each is not None)]
    trial.cases.append(_case(facts, found, judgments, trial))
    if "open" not in facts:
        return
    trial.explored += 1
    _collect_shown(facts, [each.get("silent", each["blocks"]) for each in found], judgments, trial)


def resampling_group(decision: DecisionId, session: SessionId | None) -> str:
    """Return the group of a decision: its session, or the decision itself if it has none."""
    return f"decision {decision}" if session is None else f"session {session}"


def _asked(now: View, plan: Plan) -> list[int]:
    after, upto = _version_range(now, plan)
    return reevaluation.decision_versions(now, after=after, upto=upto)


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
    facts: Mapping[str, Any],
    found: Sequence[Mapping[str, Any]],
    judgments: RelevanceJudgments,
    trial: Trial,
) -> Case:
    """Measure every answer to one decision against the same judgments."""
    identifier = decision_id(facts["version"])
    for digest, each in zip(trial.digests, found, strict=True):
        digest.update(f"{identifier} {each['digest']}\n".encode())
    pool = dict.fromkeys(block for each in found for block in each["blocks"] or ())
    gains = judgments.gains(facts["version"], facts["active_us"], pool)
    longest = max(len(each["blocks"] or ()) for each in found)
    measured = tuple(
        None
        if each["blocks"] is None
        else measure([gains.get(block) for block in each["blocks"]], gains.values(), k=longest)
        for each in found
    )
    return Case(
        id=identifier,
        active_us=facts["active_us"],
        session_id=facts["session"],
        measured=measured,
        tells_apart=len(set(gains.values())) > 1,
    )


def _collect_shown(
    facts: Mapping[str, Any],
    silent: Sequence[Sequence[int] | None],
    judgments: RelevanceJudgments,
    trial: Trial,
) -> None:
    """Collect the blocks that were shown and would be shown without exploration.

    Corrected estimates are computed from these.

    Args:
        facts: Of a decision with exploration.
        silent: By policy, its answers without the random draw.
        judgments: The judgments of blocks.
        trial: Receives each shown block's gain with its probability of being shown.
    """
    gains = judgments.gains(facts["version"], facts["active_us"], facts["blocks"])
    for terms, blocks in zip(trial.shown, silent, strict=True):
        would_show = set(blocks or ())
        terms.extend(
            (gain, facts["propensity"] if block == facts["open"] else NANO)
            for block, gain in gains.items()
            if block in would_show
        )
