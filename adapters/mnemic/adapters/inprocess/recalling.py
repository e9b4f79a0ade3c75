"""recall and replay: from a question to an answer, a record of it, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from mnemic.adapters.inprocess.consolidation import embed, embedder_of
from mnemic.adapters.inprocess.opening import Models, check_embedder
from mnemic.adapters.inprocess.space import Command, Space, Written
from mnemic.kernel.errors import DecisionNotFound, FieldRefused, RecipeRetired
from mnemic.kernel.events import SIGNALS, Answer, AnswerRow, RecallRecorded, Recorded
from mnemic.kernel.identity import DecisionId, SessionId, decision_id, decision_version
from mnemic.kernel.policy import Frame
from mnemic.kernel.reading import ACTIVE, Moment
from mnemic.kernel.results import Difference, RecallResult, ReplayResult, unit
from mnemic.kernel.scoring import composite
from mnemic.kernel.texts import Embedding, Erased, Question
from mnemic.kernel.tokens import EstimatedTokens
from mnemic.kernel.vectors import Vector, pack, unpack
from mnemic.projections import answering, views
from mnemic.projections.answering import Limits, Packed
from mnemic.projections.retrieval import RECIPE, Inquiry, digest, rank
from mnemic.projections.views import View
from mnemic.projections.where import Where

TOP_K_MAX = 1000
BUDGET_MAX = 1_000_000
QUERY_LENGTH_MAX = 32_768
DAMAGED = "the log's bytes and its arithmetic disagree: run verify()"


@frozen(kw_only=True)
class Request:
    """A recall as a caller asked for it."""

    query: str | None
    frame: str = "attention"
    top_k: int | None = None
    token_budget: int | None = None
    where: Mapping[str, Any] | None = None
    session: SessionId | None = None
    """In which it is asked."""

    def checked(self) -> Request:
        """Return the request, with its filter in plain form, if it makes sense.

        Raises:
            FieldRefused: Naming the field.
        """
        if self.query is not None:
            if not isinstance(self.query, str) or len(self.query) > QUERY_LENGTH_MAX:
                raise FieldRefused(
                    f"query must be text of at most {QUERY_LENGTH_MAX} characters", field="query"
                )
            try:
                self.query.encode()
            except UnicodeEncodeError as error:
                raise FieldRefused(f"query is not valid text: {error}", field="query") from error
        for name, value, most in (
            ("top_k", self.top_k, TOP_K_MAX),
            ("token_budget", self.token_budget, BUDGET_MAX),
        ):
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most
            ):
                raise FieldRefused(f"{name} must be from 1 to {most}, got {value!r}", field=name)
        where = Where.parse(self.where).plain()
        return evolve(self, query=(self.query or "").strip() or None, where=where or None)


def answer(view: View, request: Request, vector: Vector | None, models: Models) -> Packed:
    """Return the answer of *view* to *request*."""
    frame = view.policy.frame(request.frame)
    inquiry = Inquiry(
        query=request.query,
        vector=vector,
        frame=frame,
        where=Where.parse(request.where),
        session=request.session,
    )
    return answering.pack(view, inquiry, rank(view, inquiry), _limits(request, frame, models))


def _limits(request: Request, frame: Frame, models: Models) -> Limits:
    budget = frame.token_budget if request.token_budget is None else request.token_budget
    return Limits(top_k=request.top_k, token_budget=budget, counter=models.tokens)


def question_vector(view: View, request: Request, models: Models) -> Vector | None:
    """Return the vector of a question; None without a question or without any vectors."""
    if request.query is None or view.embedder is None:
        return None
    embedder = embedder_of(models)
    check_embedder(view.embedder, embedder.identity)
    return embed(embedder, [request.query])[0]


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
            return _answered_before(space, models, decision_id(repeated.last))
        space.check_kept()
        space.state.timeline.policy.frame(request.frame)
        return None


def recall(
    space: Space, models: Models, request: Request, *, record: bool, command_id: str | None
) -> RecallResult:
    """Answer *request* on the live state, and record the decision if asked to."""
    with space.guard:
        space.catch_up()
        view = space.live()
    vector = question_vector(view, request, models)
    with space.guard:
        moment = space.moment()
        packed = answer(space.live(moment), request, vector, models)
    if not record:
        return packed.result
    event = _event(request, vector, packed, moment, recipe=_recipe(models))
    command = _command(request, command_id)
    outcome = space.execute(command, lambda _view, _at: Written((event,)))
    return answering.decided(packed.result, decision_id(outcome.last))


def _command(request: Request, command_id: str | None) -> Command:
    arguments = {
        "query": request.query,
        "frame": request.frame,
        "top_k": request.top_k,
        "token_budget": request.token_budget,
        "where": dict(request.where or {}),
    }
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
    )


# --- the past -------------------------------------------------------------------------------


def decision(space: Space, identifier: str) -> tuple[Recorded, RecallRecorded]:
    """Return the record of a decision.

    Raises:
        DecisionNotFound: No recorded recall has this id.
    """
    version = decision_version(identifier)
    recorded = None
    if version is not None and version <= space.state.version:
        recorded = space.event_at(version)
    if recorded is None or not isinstance(recorded.event, RecallRecorded):
        raise DecisionNotFound(f"no decision has the id {identifier!r}", decision_id=identifier)
    return recorded, recorded.event


def view_of(space: Space, event: RecallRecorded, now_us: int | None = None) -> View:
    """Return the state that a decision read; ages as of *now_us*, if not of when it was asked."""
    instant_us = event.asked_us if now_us is None else now_us
    return views.as_of(
        space.state, event.read_version, active_us=event.read_us, instant_us=instant_us
    )


def decision_name(recorded: Recorded) -> DecisionId:
    """Return the id of a recorded decision."""
    return decision_id(recorded.version)


def _answered_before(space: Space, models: Models, identifier: DecisionId) -> RecallResult:
    recorded, event = decision(space, identifier)
    models = _as_then(event, models)
    packed = answer(view_of(space, event), _request(recorded, event), _vector(event), models)
    return answering.decided(packed.result, identifier)


def _recipe(models: Models) -> str:
    """Return the name of how an answer comes about, with the token counter if it is a host's."""
    own = models.tokens.name != EstimatedTokens.name
    return f"{RECIPE}+{models.tokens.name}" if own else RECIPE


def _as_then(event: RecallRecorded, models: Models) -> Models:
    """Return the models with the token counter that a decision used.

    Raises:
        RecipeRetired: This release has not got the recipe, or the host the counter.
    """
    recipe, _, counter = event.recipe.partition("+")
    if recipe != RECIPE:
        raise RecipeRetired(f"a decision was made by recipe {recipe}", recipe=event.recipe)
    if not counter:
        return evolve(models, tokens=EstimatedTokens())
    if counter != models.tokens.name:
        raise RecipeRetired(
            f"a decision counted tokens with {counter!r}",
            recovery=f"Open the space with the token counter {counter!r}.",
            recipe=event.recipe,
        )
    return models


def _request(recorded: Recorded, event: RecallRecorded) -> Request:
    asked = event.asked
    assert isinstance(asked, Question)  # noqa: S101 - an erased question is sealed before
    return Request(
        query=asked.query,
        frame=event.frame,
        top_k=event.top_k,
        token_budget=event.token_budget,
        where=None if asked.where is None else json.loads(asked.where),
        session=recorded.session_id,
    )


def _vector(event: RecallRecorded) -> Vector | None:
    return unpack(event.vector.packed) if isinstance(event.vector, Embedding) else None


def replay(space: Space, models: Models, identifier: str) -> ReplayResult:
    """Compute a past decision again from the state it read, and compare.

    Raises:
        DecisionNotFound: No recorded recall has this id.
        RecipeRetired: It was made by a recipe that this release no longer carries.
    """
    with space.guard:
        space.catch_up()
        recorded, event = decision(space, identifier)
        models = _as_then(event, models)
        view = view_of(space, event)
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
        if _sealed(view, event):
            return found
        packed = answer(view, _request(recorded, event), _vector(event), models)
        differences = _differences(view, event.answer, packed.answer)
        same = not differences and packed.result.digest == event.digest
        if not same and _erased_since(view):
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


def _sealed(view: View, event: RecallRecorded) -> bool:
    """Whether words that the decision could see are erased since."""
    if isinstance(event.asked, Erased) or isinstance(event.vector, Erased):
        return True
    return any(view.status(number) == ACTIVE for number in _erased_since(view))


def _erased_since(view: View) -> list[int]:
    """Return the blocks known to a view whose words were erased after it."""
    erased = view.state.timeline.erased_blocks
    return [
        number
        for number, version in erased.items()
        if version > view.point.version and view.life.stands(number)
    ]


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
