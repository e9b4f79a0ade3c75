"""The operation ``recall``: answers a request on the live state, and records the decision."""

from __future__ import annotations

from typing import Any

from attrs import evolve, frozen

from mnemic.adapters.inprocess.engine.commands import Command, Outcome
from mnemic.adapters.inprocess.engine.embedding import question_vector
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.recall import decision_records
from mnemic.adapters.inprocess.recall.computing import computing
from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.recalling import decide_recall
from mnemic.kernel.decisions.space import check_embedder
from mnemic.kernel.model.identity import DecisionId, decision_id
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.ports import CommandRow
from mnemic.kernel.results import Detail, RecallResult
from mnemic.kernel.timestamps import Instant
from mnemic.projections.retrieval import packing, recorded_recalls
from mnemic.projections.retrieval.packing import Packed
from mnemic.projections.retrieval.request import (
    Request,
    answer,
    explored,
)
from mnemic.projections.retrieval.suggestions import suggest
from mnemic.projections.view import Snapshot, View, as_of


def answered(
    space: SessionHandle,
    models: Models,
    request: Request,
    snapshot: Snapshot,
    *,
    command_id: str | None,
) -> RecallResult | None:
    """Return the earlier answer to *request* under this id, if there is one.

    Raises:
        CommandIdReused: The id was used for another request.
        FrameUnknown, SpaceErased: The request cannot be answered.
    """
    repeated = space.remembered(_command(request, command_id))
    if repeated is not None:
        before = _answered_before(space, models, decision_id(repeated.last))
        return _as_recorded(space, request, repeated.last, before)
    space.check_not_erased(snapshot)
    snapshot.policy.frame(request.frame)
    return None


def recall(
    space: SessionHandle,
    models: Models,
    request: Request,
    snapshot: Snapshot,
    *,
    record: bool,
    command_id: str | None,
) -> RecallResult:
    """Answer *request* from a snapshot just taken, and record the decision if requested.

    Raises:
        EmbedderMismatch: The space holds vectors of another embedder, or has been moved to one.
    """
    replacements = space.caller.informed  # counted before the snapshot was taken
    adopted = snapshot.embedder
    vector = question_vector(adopted, request, models)
    while True:
        if space.state is not snapshot.state:  # text was erased meanwhile
            snapshot = space.snapshot()
        if adopted is not None:
            check_embedder(snapshot.embedder, adopted)
        view = space.view_of(snapshot)
        with computing():
            found = _found(space, models, request, vector, view=view, replacements=replacements)
        if not record:
            return suggested(view, request, found.packed.result)
        try:
            return _recorded(space, models, found, command_id)
        except _SessionEnded:
            snapshot = space.snapshot()
            request = evolve(request, session=space.session)


@frozen(kw_only=True, eq=False)
class _Found:
    """An answer, and what it was computed from."""

    request: Request
    view: View
    packed: Packed
    replacements: int
    """How often the log had been found to be another history by then."""


def _found(
    space: SessionHandle,
    models: Models,
    request: Request,
    vector: Vector | None,
    *,
    view: View,
    replacements: int,
) -> _Found:
    """Return the answer to *request* that a view gives."""
    near = None if vector is None or space.graphs is None else space.graphs.near()
    if near is not None:
        request = evolve(request, near=near)
    request = explored(view, request, vector, models, random_bytes=space.caller.entropy.token)
    packed = answer(view, request, vector, models)
    return _Found(request=request, view=view, packed=packed, replacements=replacements)


def _recorded(
    space: SessionHandle, models: Models, found: _Found, command_id: str | None
) -> RecallResult:
    """Record an answer, and return it as recorded.

    Raises:
        _SessionEnded: Nothing was written.
    """
    request, packed = found.request, found.packed

    def decide(head: View, at: Instant) -> Decision[RecallResult]:
        # The answer is recorded as it was found; its effects are decided on the current head.
        if space.caller.session_among(head.open_sessions()) != request.session:
            raise _SessionEnded  # the log would record it in the wrong session
        return Decision(decide_recall(head, packed.asked, packed.found, at).events, packed.result)

    def again(row: CommandRow) -> Outcome:
        before = _answered_before(space, models, decision_id(row.last))
        return Outcome(before, row.first, row.last, ())

    command = evolve(_command(request, command_id), replacements=found.replacements)
    outcome = space.execute(command, decide, again=again)
    result = packing.decided(outcome.result, decision_id(outcome.last))
    return _as_recorded(space, request, outcome.last, result)


class _SessionEnded(Exception):
    """The session of a request ended before it was recorded. Never leaves this module."""


def in_detail(answer: RecallResult, detail: Detail) -> RecallResult:
    """Return an answer with as much detail as requested."""
    if detail == "full":
        return answer
    from mnemic.kernel.results import detailed  # its classes take long to make

    return detailed(answer, detail)


def suggested(view: View, request: Request, result: RecallResult) -> RecallResult:
    """Return *result* with the connections that *view* suggests, if they were requested."""
    if not request.suggest:
        return result
    numbers = (view.number(block) for block in result.block_ids)
    returned = [number for number in numbers if number is not None]
    return result.with_fields(suggested_connections=suggest(view, returned))


def _as_recorded(
    space: SessionHandle, request: Request, version: int, result: RecallResult
) -> RecallResult:
    """Return *result* with the suggestions of the state after its record at *version*."""
    if not request.suggest:
        return result
    _, event = decision_records.decision(space, decision_id(version))
    state = space.snapshot().state
    view = as_of(state, version, active_us=event.read_us, instant_us=event.asked_us)
    return suggested(view, request, result)


def _answered_before(space: SessionHandle, models: Models, identifier: DecisionId) -> RecallResult:
    recorded, _ = decision_records.decision(space, identifier)
    packed = recorded_recalls.replayed(space.snapshot().state, recorded, models)
    return packing.decided(packed.result, identifier)


def _command(request: Request, command_id: str | None) -> Command:
    arguments: dict[str, Any] = {
        "query": request.query,
        # Before there was a default frame, this was the one: older command ids stay valid.
        "frame": "attention" if request.frame is None else request.frame,
        "top_k": request.top_k,
        "token_budget": request.token_budget,
        "where": dict(request.where or {}),
    }
    if request.explore:
        arguments["explore"] = request.explore  # omitted if 0, so that older command ids stay valid
    if request.min_probability is not None:
        arguments["min_probability"] = request.min_probability
    if request.asked_by is not None:
        arguments["asked_by"] = request.asked_by
    return Command("recall", arguments, command_id)
