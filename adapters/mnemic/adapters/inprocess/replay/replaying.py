"""The operation ``replay``: computes a past decision again and compares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import evolve

from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.recall import decision_records
from mnemic.adapters.inprocess.recall.computing import computing
from mnemic.adapters.inprocess.replay.reevaluation import (
    Decision,
    Rerun,
    decisions,
    reruns,
)
from mnemic.kernel.errors import FrameUnknown
from mnemic.kernel.events import SIGNALS, Answer, AnswerRow, RecallRecorded
from mnemic.kernel.model.identity import BlockId, short
from mnemic.kernel.results import (
    NAMED_MAX,
    Difference,
    ReplayResult,
    unit,
)
from mnemic.kernel.scoring import probability
from mnemic.kernel.scoring.signals import composite
from mnemic.projections.descent.selection import Selection
from mnemic.projections.retrieval import packing, recipes, recorded_recalls
from mnemic.projections.retrieval.abstention import Judgment
from mnemic.projections.retrieval.ranking import digest
from mnemic.projections.retrieval.request import answer
from mnemic.projections.state.state import FOLD_VERSION
from mnemic.projections.view import View

DAMAGED = "the stored signals, scores and digest do not agree with each other: run verify()"


def replay(space: SessionHandle, models: Models, identifier: str) -> ReplayResult:
    """Compute a past decision again from the state it read, and compare.

    Raises:
        DecisionNotFound: No recorded recall has this id.
        RecipeRetired: It was made by a recipe that this release no longer carries.
    """
    recorded, event = decision_records.decision(space, identifier)
    return _replayed(space, models, Decision(recorded=recorded, event=event))


def outcomes(
    space: SessionHandle, models: Models, versions: Sequence[int], without: Selection | None
) -> Iterator[tuple[str, ReplayResult | None]]:
    """Yield the outcome of each decision, and its replay where it differs from the record."""
    if without is not None:
        yield from _left_out(space, models, versions, without)
        return
    for rerun in reruns(space, models, decisions(space, versions), (None,)):
        decision = rerun.decision
        if rerun.obstacle is not None:
            yield rerun.obstacle, None
        elif decision.event.explored is None and _is_same(rerun):
            yield "reproduced", None
        else:
            # Compared in full, including the random draw.
            found = _replayed(space, models, decision)
            yield found.outcome, found if found.outcome == "differs" else None


def _left_out(
    space: SessionHandle, models: Models, versions: Sequence[int], without: Selection
) -> Iterator[tuple[str, ReplayResult | None]]:
    """Yield the outcome of each decision without some blocks, and how it would have come out."""
    for rerun in reruns(space, models, decisions(space, versions), (None,), without=without):
        event, view = rerun.decision.event, rerun.view
        if rerun.obstacle is not None:
            yield rerun.obstacle, None
            continue
        found = rerun.answers[0]
        if event.explored is not None:
            found = _drawn(view, models, rerun.decision)
        if found is None:
            yield "recipe-retired", None
            continue
        if found.blocks == event.answer.blocks:
            yield "reproduced", None
            continue
        yield (
            "differs",
            ReplayResult(
                decision_id=rerun.decision.id,
                outcome="differs",
                version=event.read_version,
                hour=view.point.hour,
                recorded_digest=event.digest,
                replayed_digest=packing.digest_of(view, found.rows),
                recombines=_recombines(view, event),
                differences=_differences(view, event.answer, found),
                cause="blocks were left out",
                suspect="without",
            ),
        )


def _drawn(view: View, models: Models, decision: Decision) -> Answer:
    """Return the answer to a decision that drew a block at random."""
    recorded, event = decision.recorded, decision.event
    request = evolve(recorded_recalls.request_of(recorded, event), statistics=())
    models = recorded_recalls.as_then(event, models)
    return answer(view, request, recorded_recalls.vector_of(event), models).found.answer


def _is_same(rerun: Rerun) -> bool:
    event, found, judgment = rerun.decision.event, rerun.answers[0], rerun.judgments[0]
    return (
        found is not None
        and found.rows == event.answer.rows
        and judgment == Judgment(event.answerable, event.verdict)
        and packing.digest_of(rerun.view, found.rows) == event.digest
    )


def _replayed(space: SessionHandle, models: Models, decision: Decision) -> ReplayResult:
    """Compute a decision again and compare everything.

    Raises:
        RecipeRetired: It was made by a recipe that this release no longer carries.
    """
    recorded, event = decision.recorded, decision.event
    models = recorded_recalls.as_then(event, models)
    view = recorded_recalls.view_of(space.state, event)
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
    if recorded_recalls.is_lost(event):
        return evolve(found, outcome="lost", cause=_lost(recombines=recombines))
    if recorded_recalls.is_sealed(view, event):
        gone = [view.id(number) for number in recorded_recalls.missing(view, event)]
        return evolve(found, cause=_sealed(gone, recombines=recombines))
    request, vector = (
        recorded_recalls.request_of(recorded, event),
        recorded_recalls.vector_of(event),
    )
    try:
        with computing():
            packed = answer(view, request, vector, models)
    except FrameUnknown:
        return _differing(found, view, event)
    differences = _differences(view, event.answer, packed.found.answer)
    same = not differences and packed.result.digest == event.digest
    found_again = (packed.found.explored, packed.found.answerable, packed.found.verdict)
    same &= found_again == (event.explored, event.answerable, event.verdict)
    if not same and space.log_state.missing is not None:
        return evolve(found, outcome="lost", cause=_lost(recombines=recombines))
    if not same and recorded_recalls.erased_since(view):
        # The text of an archived block may still count, by the tags that its successor took over,
        # and that of a candidate that was not listed.
        gone = [view.id(number) for number in recorded_recalls.erased_since(view)]
        return evolve(found, cause=_sealed(gone, recombines=recombines))
    found = evolve(
        found,
        outcome="reproduced",
        cause=None,
        replayed_digest=packed.result.digest,
        differences=differences,
        recall=packing.decided(packed.result, found.decision_id),
    )
    return found if same else _differing(found, view, event)


def _sealed(gone: Sequence[str], *, recombines: bool) -> str:
    """Return why a decision cannot be computed again, and what can be said of its record."""
    listed = ", ".join(short(each) for each in gone[:NAMED_MAX])
    more = f" and {len(gone) - NAMED_MAX} more" if len(gone) > NAMED_MAX else ""
    why = f"it depended on text erased since: {listed}{more}" if gone else "it was erased itself"
    return f"{why}; {_stored(recombines=recombines)}"


def _lost(*, recombines: bool) -> str:
    return f"texts or vectors of this space are lost; {_stored(recombines=recombines)}"


def _stored(*, recombines: bool) -> str:
    return "the stored signals add up" if recombines else DAMAGED


# --- causes ---------------------------------------------------------------------------------


def _differing(found: ReplayResult, view: View, event: RecallRecorded) -> ReplayResult:
    suspect, cause = _suspicion(view, event, recombines=found.recombines)
    return evolve(found, outcome="differs", suspect=suspect, cause=cause)


def _suspicion(view: View, event: RecallRecorded, *, recombines: bool) -> tuple[str, str]:
    """Return the likely cause of a difference from the record, and the evidence for it."""
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
        f"the record is consistent, so the state it read is computed differently today: by "
        f"{reading}, or by a log that was overwritten"
    )
    return "state", cause


def _recombines(view: View, event: RecallRecorded) -> bool:
    """Return whether the stored signals and the frame give the stored scores and digest."""
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
    ) and _probabilities_recombine(view, event, asked=asked)


def _probabilities_recombine(view: View, event: RecallRecorded, *, asked: bool) -> bool:
    """Return whether the stored parts give the stored probabilities, where there are any."""
    recipe = recipes.recipe(event.recipe.partition("+")[0])
    if not recipe.graded or not asked or not event.answer.rows:
        return True
    rows = np.array([row.signals[len(SIGNALS) :] for row in event.answer.rows], dtype=np.int64)
    if rows.shape[1] != len(recipe.parts):
        return False
    parts = dict(zip(recipe.parts, rows.T, strict=True))
    evidence = [parts[name] for name in probability.PARTS]
    found = probability.probabilities(view.policy, evidence)
    return bool((found == parts["probability"]).all())


# --- differences ----------------------------------------------------------------------------


def _differences(view: View, recorded: Answer, replayed: Answer) -> tuple[Difference, ...]:
    """Return the differing blocks of two answers, in the order of the replay, then the record."""
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
"""A place in an answer, from 1, and its row."""


def _ranked(answered: Answer) -> dict[int, Ranked]:
    return {row.block: (rank, row) for rank, row in enumerate(answered.rows, start=1)}


def _change(before: Ranked | None, after: Ranked | None) -> str:
    if before is None or after is None:
        return "entered" if before is None else "left"
    if before[0] != after[0]:
        return "moved"
    return "score" if before[1].score != after[1].score else "signals"


def _id(view: View, number: int) -> BlockId:
    """Return the id of a block; a forged record may name one that never existed."""
    ids = view.state.catalogue.ids
    return ids[number] if 0 <= number < len(ids) else BlockId(f"no block {number}")
