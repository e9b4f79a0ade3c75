"""replay and replay_all: past decisions computed again from the state they read, and compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from attrs import evolve

from mnemic.adapters.inprocess import records
from mnemic.adapters.inprocess.asking import answer
from mnemic.adapters.inprocess.opening import Models
from mnemic.adapters.inprocess.rerunning import (
    Decision,
    decision_versions,
    decisions,
    reruns,
)
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.errors import FieldRefused, FrameUnknown
from mnemic.kernel.events import SIGNALS, Answer, AnswerRow, RecallRecorded
from mnemic.kernel.identity import BlockId
from mnemic.kernel.results import Difference, ReplayResult, ReplaySummary, SuspectCount, unit
from mnemic.kernel.scoring import composite
from mnemic.projections import answering
from mnemic.projections.retrieval import digest
from mnemic.projections.state import FOLD_VERSION
from mnemic.projections.views import View

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do, in decisions."""

DAMAGED = "the stored signals, scores and digest do not agree with each other: run verify()"
TOLD_MAX = 10
"""Decisions that differ and are told block by block."""


def replay(space: Space, models: Models, identifier: str) -> ReplayResult:
    """Compute a past decision again from the state it read, and compare.

    Raises:
        DecisionNotFound: No recorded recall has this id.
        RecipeRetired: It was made by a recipe that this release no longer carries.
    """
    with space.guard:
        space.catch_up()
        recorded, event = records.decision(space, identifier)
        return _replayed(space, models, Decision(recorded=recorded, event=event))


def replay_all(
    space: Space,
    models: Models,
    *,
    after: int | None = None,
    upto: int | None = None,
    progress: Progress | None = None,
) -> ReplaySummary:
    """Compute every decision with version in (after, upto] again, and count what came of it.

    Raises:
        FieldRefused: A version is no whole number.
        LogCorrupt: At the first decision that cannot be read.
    """
    with space.guard:
        space.catch_up()
        first = -1 if after is None else _version("after", after)
        last = space.state.version if upto is None else _version("upto", upto)
        versions = decision_versions(space, after=first, upto=last)
    outcomes: Counter[str] = Counter()
    suspects: Counter[str] = Counter()
    told: list[ReplayResult] = []
    for done, (outcome, found) in enumerate(_outcomes(space, models, versions), start=1):
        outcomes[outcome] += 1
        if found is not None:
            suspects[str(found.suspect)] += 1
            told += [evolve(found, recall=None)][: TOLD_MAX - len(told)]
        if progress is not None:
            progress(done, len(versions))
    return ReplaySummary(
        decisions=outcomes.total(),
        reproduced=outcomes["reproduced"],
        differs=outcomes["differs"],
        sealed=outcomes["sealed"],
        retired=outcomes["recipe-retired"],
        first_version=versions[0] if versions else None,
        last_version=versions[-1] if versions else None,
        suspects=tuple(
            SuspectCount(suspect=suspect, decisions=count)
            for suspect, count in sorted(suspects.items(), key=lambda each: (-each[1], each[0]))
        ),
        differences=tuple(told),
    )


def _outcomes(
    space: Space, models: Models, versions: Sequence[int]
) -> Iterator[tuple[str, ReplayResult | None]]:
    """Yield the outcome of each decision, and how it parts from its record where it differs."""
    for rerun in reruns(space, models, decisions(space, versions), (None,)):
        decision = rerun.decision
        if rerun.obstacle is not None:
            yield rerun.obstacle, None
        elif decision.event.explored is None and _is_same(rerun.view, decision, rerun.answers[0]):
            yield "reproduced", None
        else:
            # Told in full, and what chance decided is compared too.
            with space.guard:
                found = _replayed(space, models, decision)
            yield found.outcome, found if found.outcome == "differs" else None


def _is_same(view: View, decision: Decision, found: Answer | None) -> bool:
    event = decision.event
    return (
        found is not None
        and found.rows == event.answer.rows
        and answering.digest_of(view, found) == event.digest
    )


def _replayed(space: Space, models: Models, decision: Decision) -> ReplayResult:
    """Compute a decision again and compare everything.

    Raises:
        RecipeRetired: It was made by a recipe that this release no longer carries.
    """
    recorded, event = decision.recorded, decision.event
    models = records.as_then(event, models)
    view = records.view_of(space, event)
    recombines = _recombines(view, event)
    found = ReplayResult(
        decision_id=decision.id,
        outcome="sealed",
        version=event.read_version,
        hour=view.point.hour,
        recorded_digest=event.digest,
        replayed_digest=None,
        recombines=recombines,
        cause="the stored signals add up" if recombines else DAMAGED,
    )
    if records.is_sealed(view, event):
        return found
    request, vector = records.request_of(recorded, event), records.vector_of(event)
    try:
        packed = answer(view, request, vector, models)
    except FrameUnknown:
        return _differing(found, view, event)
    differences = _differences(view, event.answer, packed.answer)
    same = not differences and packed.result.digest == event.digest
    same &= packed.explored == event.explored
    if not same and records.erased_since(view):
        # The words of an archived block can still have come in by the tags it handed on.
        return found
    found = evolve(
        found,
        outcome="reproduced",
        cause=None,
        replayed_digest=packed.result.digest,
        differences=differences,
        recall=answering.decided(packed.result, found.decision_id),
    )
    return found if same else _differing(found, view, event)


# --- why ------------------------------------------------------------------------------------


def _differing(found: ReplayResult, view: View, event: RecallRecorded) -> ReplayResult:
    suspect, cause = _suspicion(view, event, recombines=found.recombines)
    return evolve(found, outcome="differs", suspect=suspect, cause=cause)


def _suspicion(view: View, event: RecallRecorded, *, recombines: bool) -> tuple[str, str]:
    """Name what made a replay part from its record, and how that shows."""
    if view.policy.id != event.policy_id:
        return (
            "policy",
            f"it was made under policy {event.policy_id}, the view has {view.policy.id}",
        )
    embedder = "" if view.embedder is None else view.embedder.id
    if event.embedder_id and event.embedder_id != embedder:
        return (
            "embedder",
            f"its vectors were of embedder {event.embedder_id}, the view has {embedder or 'none'}",
        )
    if not recombines:
        return "record", DAMAGED
    reading = f"this release's fold (version {FOLD_VERSION}) or its recipe {event.recipe}"
    cause = (
        f"the record agrees with itself, so what it read reads otherwise today: by {reading}, or "
        "by a log that was written over"
    )
    return "state", cause


def _recombines(view: View, event: RecallRecorded) -> bool:
    """Whether the stored signals, weighed by the frame, give the stored scores and digest."""
    rows = event.answer.rows
    if any(not 0 <= row.block < len(view.state.catalogue.ids) for row in rows):
        return False
    if digest([(view.id(row.block), row.score) for row in rows]) != event.digest:
        return False
    asked = rows[0].signals[0] >= 0 if rows else True
    try:
        weights = view.policy.frame(event.frame).weights(asked=asked)
    except FrameUnknown:
        return False
    return all(
        composite(weights, [max(0, value) for value in row.signals[: len(SIGNALS)]]) == row.score
        for row in rows
    )


# --- where ----------------------------------------------------------------------------------


def _differences(view: View, recorded: Answer, replayed: Answer) -> tuple[Difference, ...]:
    """Return block by block where two answers part, in the order of the replay, then the record."""
    was, now = _ranked(recorded), _ranked(replayed)
    found = []
    for number in dict.fromkeys((*now, *was)):
        before, after = was.get(number), now.get(number)
        if before == after:
            continue
        found.append(
            Difference(
                block_id=_id(view, number),
                change=_change(before, after),
                recorded_rank=None if before is None else before[0],
                recorded_score=None if before is None else unit(before[1].score),
                replayed_rank=None if after is None else after[0],
                replayed_score=None if after is None else unit(after[1].score),
            )
        )
    return tuple(found)


Ranked = tuple[int, AnswerRow]
"""A place in an answer, from 1, and what stands there."""


def _ranked(answered: Answer) -> dict[int, Ranked]:
    return {row.block: (rank, row) for rank, row in enumerate(answered.rows, start=1)}


def _change(before: Ranked | None, after: Ranked | None) -> str:
    if before is None or after is None:
        return "entered" if before is None else "left"
    if before[0] != after[0]:
        return "moved"
    return "score" if before[1].score != after[1].score else "signals"


def _id(view: View, number: int) -> BlockId:
    """Return the id of a block; a forged record may name one that never was."""
    ids = view.state.catalogue.ids
    return ids[number] if 0 <= number < len(ids) else BlockId(f"no block {number}")


def _version(name: str, given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise FieldRefused(f"{name} must be a version, got {given!r}", field=name)
    return given
