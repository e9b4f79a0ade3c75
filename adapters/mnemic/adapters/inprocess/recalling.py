"""recall: an answer on the live state, and a record of it."""

from __future__ import annotations

import json
from typing import Any

from attrs import asdict, evolve, frozen

from mnemic.adapters.inprocess import records
from mnemic.adapters.inprocess.asking import (
    Request,
    answer,
    inquiry,
    limits,
    question_vector,
)
from mnemic.adapters.inprocess.commands import Command, Outcome, Written
from mnemic.adapters.inprocess.opening import Models, check_embedder
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.arithmetic import nano
from mnemic.kernel.decisions import exploring
from mnemic.kernel.decisions.coretrieval import decide_effects
from mnemic.kernel.errors import StoreBusy
from mnemic.kernel.events import RecallRecorded
from mnemic.kernel.identity import DecisionId, decision_id
from mnemic.kernel.ports import CommandRow
from mnemic.kernel.reading import Moment
from mnemic.kernel.results import RecallResult
from mnemic.kernel.texts import Embedding, Question
from mnemic.kernel.vectors import Vector, pack
from mnemic.projections import answering, views
from mnemic.projections.answering import Packed
from mnemic.projections.retrieval import rank
from mnemic.projections.suggesting import suggest
from mnemic.projections.views import View


def answered(
    space: Space, models: Models, request: Request, command_id: str | None
) -> RecallResult | None:
    """Return what *request* was answered under this id, if it was.

    Raises:
        CommandIdReused: The id was used for another request.
        FrameUnknown, SpaceErased: The request cannot be answered.
    """
    with space.guard:
        space.catch_up()
        repeated = space.remembered(_command(request, command_id))
        if repeated is not None:
            before = _answered_before(space, models, decision_id(repeated.last))
            return _as_recorded(space, request, repeated.last, before)
        space.check_kept()
        space.state.timeline.policy.frame(request.frame)
        return None


def recall(
    space: Space, models: Models, request: Request, *, record: bool, command_id: str | None
) -> RecallResult:
    """Answer *request* on the live state, and record the decision if asked to.

    Raises:
        EmbedderMismatch: The space holds vectors of another embedder, by now at least.
    """
    with space.guard:
        space.catch_up()
        adopted = space.live().embedder
    vector = question_vector(adopted, request, models)
    while True:
        with space.guard:
            if adopted is not None:
                check_embedder(space.live().embedder, adopted)
            try:
                found = _found(space, models, request, vector)
                if not record:
                    return suggested(found.view, request, found.packed.result)
            except StoreBusy:
                # Of vectors that stand elsewhere some may have been erased, by somebody whose
                # word is in the log by now.
                if not space.catch_up():
                    raise
                continue
        try:
            return _recorded(space, models, found, command_id)
        except _SessionOver:
            request = evolve(request, session=space.session)


@frozen(kw_only=True, eq=False)
class _Found:
    """An answer, and everything that it came of."""

    request: Request
    vector: Vector | None
    moment: Moment
    view: View
    packed: Packed


def _found(space: Space, models: Models, request: Request, vector: Vector | None) -> _Found:
    """Return what *request* finds right now; the guard is held."""
    moment = space.moment()
    view = space.live(moment)
    if vector is not None and space.graphs is not None:
        request = evolve(request, near=space.graphs.near())
    if nano(request.explore):
        request = _explored(space, view, request, vector=vector, models=models)
    packed = answer(view, request, vector, models)
    return _Found(request=request, vector=vector, moment=moment, view=view, packed=packed)


def _recorded(space: Space, models: Models, found: _Found, command_id: str | None) -> RecallResult:
    """Record an answer, and return it as its record tells it.

    Raises:
        _SessionOver: Nothing was written.
    """
    request, view, packed = found.request, found.view, found.packed
    recipe = records.recipe_name(models)
    event = _event(request, found.vector, packed, found.moment, recipe=recipe)
    if view.embedder is not None:
        event = evolve(event, embedder_id=view.embedder.id)
    returned = [row.block for row in packed.answer.rows]

    def decide(head: View, at: Moment) -> Written:
        # The answer stands as it was found; what it does is decided on what stands by now.
        if space.session != request.session:
            raise _SessionOver  # in the log it would seem to be asked where it was not
        effects = decide_effects(head, returned, space.session, at)
        return Written((evolve(event, **asdict(effects, recurse=False)),), extra=packed.result)

    def again(row: CommandRow) -> Outcome:
        before = _answered_before(space, models, decision_id(row.last))
        return Outcome(before, row.first, row.last, ())

    outcome = space.execute(_command(request, command_id), decide, again=again)
    result = answering.decided(outcome.extra, decision_id(outcome.last))
    with space.guard:
        return _as_recorded(space, request, outcome.last, result)


class _SessionOver(Exception):
    """The session in which something was asked has ended since. Never leaves this module."""


def _explored(
    space: Space, view: View, request: Request, *, vector: Vector | None, models: Models
) -> Request:
    """Return *request* with what chance decides about the last place of its answer."""
    asked = inquiry(view, request, vector, models.recipe)
    room = limits(request, asked.frame, models)
    pool = answering.contenders(view.policy, rank(view, asked), room, answering.lines(view))
    if not pool:
        return request
    luck = space.entropy.token(exploring.DRAW)
    return evolve(request, explored=exploring.drawn(luck, nano(request.explore), len(pool)))


def suggested(view: View, request: Request, result: RecallResult) -> RecallResult:
    """Return *result* with the connections that *view* suggests, if the request asks for any."""
    if not request.suggest:
        return result
    numbers = (view.number(block) for block in result.block_ids)
    returned = [number for number in numbers if number is not None]
    return evolve(result, suggested_connections=suggest(view, returned))


def _as_recorded(
    space: Space, request: Request, version: int, result: RecallResult
) -> RecallResult:
    """Return *result* with suggestions as they were once its record stood at *version*."""
    if not request.suggest:
        return result
    _, event = records.decision(space, decision_id(version))
    if space.state.version == version:
        view = space.live(Moment(event.read_us, event.asked_us))
    else:
        view = views.as_of(space.state, version, active_us=event.read_us, instant_us=event.asked_us)
    return suggested(view, request, result)


def _answered_before(space: Space, models: Models, identifier: DecisionId) -> RecallResult:
    recorded, event = records.decision(space, identifier)
    request, vector = records.request_of(recorded, event), records.vector_of(event)
    packed = answer(records.view_of(space, event), request, vector, records.as_then(event, models))
    return answering.decided(packed.result, identifier)


def _command(request: Request, command_id: str | None) -> Command:
    arguments: dict[str, Any] = {
        "query": request.query,
        "frame": request.frame,
        "top_k": request.top_k,
        "token_budget": request.token_budget,
        "where": dict(request.where or {}),
    }
    if request.explore:
        arguments["explore"] = request.explore  # not in ids of commands that leave chance no say
    return Command("recall", arguments, command_id)


def _event(
    request: Request, vector: Vector | None, packed: Packed, moment: Moment, *, recipe: str
) -> RecallRecorded:
    where = None
    if request.where:
        where = json.dumps(dict(request.where), sort_keys=True)
    return RecallRecorded(
        asked=Question(query=request.query, where=where),
        vector=None if vector is None else Embedding(packed=pack(vector)),
        answer=packed.answer,
        digest=packed.result.digest,
        policy_id=packed.result.policy_id,
        recipe=recipe,
        read_version=packed.result.version,
        read_us=moment.active_us,
        asked_us=moment.recorded_us,
        frame=request.frame,
        top_k=request.top_k,
        token_budget=request.token_budget,
        propensity=exploring.propensity(packed.explored),
        explored=packed.explored,
        retriever=packed.result.retriever,
        near=packed.near or (),
    )
