"""replay: a past decision computed again from the state it read, and compared."""

from __future__ import annotations

from attrs import evolve

from mnemic.adapters.inprocess import records
from mnemic.adapters.inprocess.asking import answer
from mnemic.adapters.inprocess.opening import Models
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.events import SIGNALS, Answer, AnswerRow, RecallRecorded
from mnemic.kernel.identity import decision_id
from mnemic.kernel.results import Difference, ReplayResult, unit
from mnemic.kernel.scoring import composite
from mnemic.projections import answering
from mnemic.projections.retrieval import digest
from mnemic.projections.views import View

DAMAGED = "the log's bytes and its arithmetic disagree: run verify()"


def replay(space: Space, models: Models, identifier: str) -> ReplayResult:
    """Compute a past decision again from the state it read, and compare.

    Raises:
        DecisionNotFound: No recorded recall has this id.
        RecipeRetired: It was made by a recipe that this release no longer carries.
    """
    with space.guard:
        space.catch_up()
        recorded, event = records.decision(space, identifier)
        models = records.as_then(event, models)
        view = records.view_of(space, event)
        stored = _stored_digest(view, event)
        recombines = stored == event.digest and _recombines(view, event)
        found = ReplayResult(
            decision_id=decision_id(recorded.version),
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
        packed = answer(view, request, vector, models)
        differences = _differences(view, event.answer, packed.answer)
        same = not differences and packed.result.digest == event.digest
        if not same and records.erased_since(view):
            # The words of an archived block can still have come in by the tags it handed on.
            return found
        return evolve(
            found,
            outcome="reproduced" if same else "differs",
            replayed_digest=packed.result.digest,
            differences=differences,
            cause=None if same else _cause(view, event),
            recall=answering.decided(packed.result, found.decision_id),
        )


def _cause(view: View, event: RecallRecorded) -> str:
    """Name what made a replay part from its record."""
    if view.policy.id != event.policy_id:
        return f"it was made under policy {event.policy_id}, the view has {view.policy.id}"
    return DAMAGED


def _stored_digest(view: View, event: RecallRecorded) -> str:
    return digest([(view.id(row.block), row.score) for row in event.answer.rows])


def _recombines(view: View, event: RecallRecorded) -> bool:
    """Whether the stored signals, weighed by the frame, give the stored scores."""
    asked = event.answer.rows[0].signals[0] >= 0 if event.answer.rows else True
    weights = view.policy.frame(event.frame).weights(asked=asked)
    return all(
        composite(weights, [max(0, value) for value in row.signals[: len(SIGNALS)]]) == row.score
        for row in event.answer.rows
    )


def _differences(view: View, recorded: Answer, replayed: Answer) -> tuple[Difference, ...]:
    """Return rank by rank where two answers part."""
    found = []
    longest = max(len(recorded.rows), len(replayed.rows))
    for place in range(longest):
        was, now = _row(recorded, place), _row(replayed, place)
        if was != now:
            found.append(
                Difference(
                    rank=place + 1,
                    recorded=None if was is None else view.id(was.block),
                    recorded_score=None if was is None else unit(was.score),
                    replayed=None if now is None else view.id(now.block),
                    replayed_score=None if now is None else unit(now.score),
                )
            )
    return tuple(found)


def _row(answered: Answer, place: int) -> AnswerRow | None:
    return answered.rows[place] if place < len(answered.rows) else None
