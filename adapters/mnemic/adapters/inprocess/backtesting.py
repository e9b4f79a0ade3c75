"""backtest: past decisions answered again under other policies, scored by what happened afterwards.

The way of a backtest: decisions of a stretch of hours → each answered again as of its own moment →
what was said afterwards of the blocks in any of its answers → measures per decision → means with
intervals per policy. What happened after a decision reaches its scores and never its answers.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from attrs import define, evolve, field, frozen

from mnemic.adapters.inprocess import rerunning
from mnemic.adapters.inprocess.opening import Models
from mnemic.adapters.inprocess.rerunning import Decision, Rerun
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.arithmetic import MICROS_PER_HOUR, NANO
from mnemic.kernel.events import Answer, Recorded, Reverted
from mnemic.kernel.identity import DecisionId, SessionId
from mnemic.kernel.policy import Policy
from mnemic.projections import answering
from mnemic.projections.judgements import Evidence, Judgements, TakenBack, evidence
from mnemic.projections.measures import Measured, measure

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do, in decisions."""

TELLING: Final = ("outcome-recorded.", "composition-labelled.")
"""Topics of the events that say how something went."""


@frozen(kw_only=True)
class Plan:
    """What is to be compared, on what, and by which measure."""

    names: tuple[str, ...]
    policies: tuple[Policy, ...]
    from_us: int
    """Active time of the first decisions that count."""
    to_us: int
    objective: str
    horizon_us: int
    seed: int


@frozen(kw_only=True)
class Case:
    """One decision with all its answers, measured; the answers themselves are let go of."""

    id: DecisionId
    active_us: int
    """Active time of the decision."""
    session_id: SessionId | None
    measured: tuple[Measured | None, ...]
    """What was recorded, then each policy; None where it has no such frame."""
    tells_apart: bool
    """Whether not all that is judged fared alike."""

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
        """What it hangs together with: its session, or nothing."""
        session = self.session_id
        return f"decision {self.id}" if session is None else f"session {session}"


@define
class Trial:
    """Everything that a run found out, before it is summed up."""

    cases: list[Case] = field(factory=list)
    left_out: Counter[str] = field(factory=Counter)
    explored: int = 0
    shown: list[list[tuple[int, int]]] = field(factory=list)
    """By policy: gain and propensity of what was shown and would have been, in nano-units."""
    digests: list[Any] = field(factory=list)
    """By policy: of all its answers so far."""


def run(space: Space, models: Models, plan: Plan, progress: Progress | None) -> Trial:
    """Answer every decision of the plan again, and measure all answers."""
    with space.guard:
        space.catch_up()
        after, upto = _stretch(space, plan)
        asked = rerunning.decision_versions(space, after=after, upto=upto)
        judgements = Judgements(_told(space, plan, asked), horizon_us=plan.horizon_us)
    rows = 1 + len(plan.policies)
    trial = Trial(shown=[[] for _ in range(rows)], digests=[hashlib.sha256() for _ in range(rows)])
    lucky: list[Decision] = []
    # Read as they are answered: all at once they would be very many small objects.
    decisions = rerunning.decisions(space, asked)
    reruns = rerunning.reruns(space, models, decisions, plan.policies)
    for done, rerun in enumerate(reruns, start=1):
        if rerun.obstacle is not None:
            trial.left_out[rerun.obstacle] += 1
        else:
            answers: list[Answer | None] = [rerun.decision.event.answer, *rerun.answers]
            trial.cases.append(_case(rerun, answers, judgements, trial))
            explored = rerun.decision.event.explored
            trial.explored += explored is not None
            if explored is not None and explored.drawn:
                lucky.append(rerun.decision)
            elif explored is not None:
                with space.guard:
                    _gather(rerun, answers, judgements, trial)
        if progress is not None:
            progress(done, len(asked))
    # Those that chance changed are asked again as if it had kept silent.
    silent = [evolve(each, event=evolve(each.event, explored=None)) for each in lucky]
    again = rerunning.reruns(space, models, silent, (None, *plan.policies))
    for decision, rerun in zip(lucky, again, strict=True):
        with space.guard:
            _gather(evolve(rerun, decision=decision), rerun.answers, judgements, trial)
    return trial


def _stretch(space: Space, plan: Plan) -> tuple[int, int]:
    """Return the version before the stretch of hours, and its last one."""
    timeline, last = space.state.timeline, space.state.version
    if timeline.space_erased is not None or last < 0:
        return last, last
    after = timeline.version_at_hour(plan.from_us - 1) if plan.from_us > 0 else -1
    return after, min(last, timeline.version_at_hour(plan.to_us))


def _told(space: Space, plan: Plan, asked: Sequence[int]) -> Iterator[Evidence]:
    """Yield what the log tells of blocks between the first decision and the last one's horizon.

    Args:
        space: Where.
        plan: With the horizon.
        asked: Versions of the decisions, rising.
    """
    if not asked:
        return
    now, timeline = space.live(), space.state.timeline
    first, last = asked[0], asked[-1]
    until_us = int(timeline.active_us.values[last]) + plan.horizon_us
    upto = timeline.version_at_hour(until_us)
    taken_back = TakenBack(_reverts(space, after=first))
    for record, payloads in space.log.read(first, upto):
        if record.topic.startswith(TELLING):
            found = evidence(now, space.codec.decode(record, payloads), taken_back)
            if found is not None:
                yield found


def _reverts(space: Space, *, after: int) -> Iterator[Recorded]:
    """Yield every revert behind a version, up to the end of the log: none is too late."""
    for version in rerunning.versions(space, Reverted, after=after):
        recorded = space.event_at(version)
        if recorded is not None:
            yield recorded


def _case(
    rerun: Rerun, answers: Sequence[Answer | None], judgements: Judgements, trial: Trial
) -> Case:
    """Measure every answer to one decision against the same judgements."""
    recorded = rerun.decision.recorded
    for digest, answer in zip(trial.digests, answers, strict=True):
        told = "-" if answer is None else answering.digest_of(rerun.view, answer)
        digest.update(f"{rerun.decision.id} {told}\n".encode())
    blocks = [_blocks(answer) for answer in answers]
    pool = dict.fromkeys(block for row in blocks for block in row)
    gains = judgements.gains(recorded.version, recorded.active_us, pool)
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


def _gather(
    rerun: Rerun, silent: Sequence[Answer | None], judgements: Judgements, trial: Trial
) -> None:
    """Gather what was shown and would be shown without chance: what estimates can rest on.

    Args:
        rerun: A decision in which chance had a say.
        silent: By policy, its answers as if chance had kept silent.
        judgements: How blocks served.
        trial: Takes each shown block in, with how probable it was to be shown.
    """
    recorded, event = rerun.decision.recorded, rerun.decision.event
    frame = rerun.view.policy.frame(event.frame)
    open_place = answering.contested(rerun.view, frame, event.answer)
    gains = judgements.gains(recorded.version, recorded.active_us, _blocks(event.answer))
    for terms, answer in zip(trial.shown, silent, strict=True):
        would_show = set(_blocks(answer))
        terms.extend(
            (gain, event.propensity if block == open_place else NANO)
            for block, gain in gains.items()
            if block in would_show
        )
