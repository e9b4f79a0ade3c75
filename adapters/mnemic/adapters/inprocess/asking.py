"""From a question to an answer, on any view."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from mnemic.adapters.inprocess.consolidation import embed, embedder_of
from mnemic.adapters.inprocess.opening import Models, check_embedder
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import EmbedderIdentity, Exploration
from mnemic.kernel.identity import SessionId
from mnemic.kernel.policy import Frame
from mnemic.kernel.vectors import Vector
from mnemic.projections import answering
from mnemic.projections.answering import Limits, Packed
from mnemic.projections.proximity import Near
from mnemic.projections.recipes import Recipe
from mnemic.projections.retrieval import Inquiry, rank
from mnemic.projections.views import View
from mnemic.projections.where import Gate, Where

TOP_K_MAX = 1000
BUDGET_MAX = 1_000_000
QUERY_LENGTH_MAX = 32_768
FILTER_LENGTH_MAX = 65_536
"""In characters of its JSON. A recorded recall keeps its filter for ever."""


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
    suggest: bool = False
    """Whether connections are suggested beside the answer. It never enters the record."""
    explore: float = 0.0
    """How probable it is that chance has a say in the last place. Range: [0, 1]."""
    explored: Exploration | None = None
    """What chance decided, once it has."""
    near: Near | None = None
    """Who says which vectors are near; None: all are looked at."""

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
                raise FieldRefused(
                    f"{name} must be a whole number from 1 to {most}, got {value!r}", field=name
                )
        if not isinstance(self.suggest, bool):
            raise FieldRefused(
                f"suggest must be true or false, got {self.suggest!r}", field="suggest"
            )
        explore = self.explore
        ok = isinstance(explore, int | float) and not isinstance(explore, bool)
        if not ok or not 0.0 <= explore <= 1.0:
            raise FieldRefused(f"explore must be from 0 to 1, got {explore!r}", field="explore")
        where = Where.parse(self.where).plain()
        size = len(json.dumps(where))
        if size > FILTER_LENGTH_MAX:
            raise FieldRefused(
                f"where has {size} characters as JSON, the limit is {FILTER_LENGTH_MAX}",
                recovery="Filter by fewer or shorter words.",
                field="where",
            )
        return evolve(self, query=(self.query or "").strip() or None, where=where or None)


def answer(view: View, request: Request, vector: Vector | None, models: Models) -> Packed:
    """Return the answer of *view* to *request*."""
    asked = inquiry(view, request, vector, models.recipe)
    return answering.pack(view, asked, rank(view, asked), limits(request, asked.frame, models))


def inquiry(view: View, request: Request, vector: Vector | None, recipe: Recipe) -> Inquiry:
    """Return what *request* asks of *view*."""
    frame = view.policy.frame(request.frame)
    gate = Gate(frame=frame, where=Where.parse(request.where), session=request.session)
    return Inquiry(query=request.query, vector=vector, gate=gate, recipe=recipe, near=request.near)


def limits(request: Request, frame: Frame, models: Models) -> Limits:
    """Return how much an answer may hold."""
    budget = frame.token_budget if request.token_budget is None else request.token_budget
    return Limits(
        top_k=request.top_k,
        token_budget=budget,
        counter=models.tokens,
        explored=request.explored,
    )


def question_vector(
    adopted: EmbedderIdentity | None, request: Request, models: Models
) -> Vector | None:
    """Return the vector of a question; None without a question or without any vectors.

    Args:
        adopted: The embedder in force where it is asked. The model takes its time, and the guard
            is not held; so it may be another one when the answer is looked for.
        request: With the question.
        models: Of the host.
    """
    if request.query is None or adopted is None:
        return None
    embedder = embedder_of(models, adopted)
    check_embedder(adopted, embedder.identity)
    return embed(embedder, [request.query])[0]
