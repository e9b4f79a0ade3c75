"""Requests for recall, and their answers on any view."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, frozen

from mnemic.kernel.decisions.recalling import DRAW, drawn
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import Exploration
from mnemic.kernel.model.filters import Where
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.policy import Frame
from mnemic.kernel.questions.aggregates import aggregate
from mnemic.kernel.scope import scoped
from mnemic.kernel.validation import checked_flag, checked_name
from mnemic.kernel.values import Value
from mnemic.projections.retrieval.abstention import judged
from mnemic.projections.retrieval.approximate_search import Near
from mnemic.projections.retrieval.filters import Eligibility
from mnemic.projections.retrieval.lines import lines
from mnemic.projections.retrieval.packing import Limits, Packed, contenders, pack
from mnemic.projections.retrieval.ranking import Inquiry, rank
from mnemic.projections.retrieval.recall_method import METHOD, RecallMethod
from mnemic.projections.retrieval.recipes import Recipe
from mnemic.projections.view import View

TOP_K_MAX = 1000
BUDGET_MAX = 1_000_000
QUERY_LENGTH_MAX = 32_768
FILTER_LENGTH_MAX = 65_536
"""In characters of its JSON. A recorded recall keeps its filter permanently."""


@frozen(kw_only=True)
class Request(Value):
    """A recall as a caller asked for it."""

    query: str | None
    frame: str | None = None
    """None: the policy's default frame."""
    top_k: int | None = None
    token_budget: int | None = None
    where: Mapping[str, Any] | None = None
    session: SessionId | None = None
    """The session of the request."""
    suggest: bool = False
    """Whether connections are suggested with the answer. It is never recorded."""
    explore: float = 0.0
    """Probability that the last place is drawn at random, see ``explored``. Range: [0, 1]."""
    explored: Exploration | None = None
    """The result of the draw, once there is one."""
    min_probability: float | None = None
    """Least probability of a returned block; None: the frame's floor. Range: [0, 1]."""
    near: Near | None = None
    """The approximate search for near vectors; None: all vectors are compared."""
    asked_by: str | None = None
    """Name or role of the asker; None: it is not known."""
    statistics: tuple[tuple[int, ...], ...] = ()
    """Word statistics, if the question is answered again."""

    def checked(self) -> Request:
        """Return the request, with its filter in plain form, if it is valid.

        Raises:
            FieldRefused: A field is invalid; the error names it.
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
        checked_flag("suggest", self.suggest)
        explore = self.explore
        ok = isinstance(explore, int | float) and not isinstance(explore, bool)
        if not ok or not 0.0 <= explore <= 1.0:
            raise FieldRefused(f"explore must be from 0 to 1, got {explore!r}", field="explore")
        self._check_min_probability()
        if self.asked_by is not None:
            checked_name("asked_by", self.asked_by)
        where = self._plain_filter()
        query = (self.query or "").strip() or None
        if query == self.query and where == self.where:
            return self
        return evolve(self, query=query, where=where)

    def _plain_filter(self) -> dict[str, Any] | None:
        """Return the filter in its plain form; None: it has no conditions."""
        if self.where is None:
            return None
        where = Where.parse(self.where).plain()
        size = len(json.dumps(where))
        if size > FILTER_LENGTH_MAX:
            raise FieldRefused(
                f"where has {size} characters as JSON, the limit is {FILTER_LENGTH_MAX}",
                recovery="Filter by fewer or shorter words.",
                field="where",
            )
        return where or None

    def _check_min_probability(self) -> None:
        least = self.min_probability
        if least is None:
            return
        ok = isinstance(least, int | float) and not isinstance(least, bool)
        if not ok or not 0.0 <= least <= 1.0:
            raise FieldRefused(
                f"min_probability must be from 0 to 1, got {least!r}", field="min_probability"
            )
        if self.query is None or not self.query.strip():
            raise FieldRefused(
                "min_probability of a recall without a question",
                recovery="Ask a question, or leave out min_probability.",
                field="min_probability",
            )


def within_scope(where: Mapping[str, Any] | None, scope: Mapping[str, str] | None) -> Any:
    """Return a filter that also requires the metadata of *scope*; one of another kind unchanged.

    Raises:
        FieldRefused: The filter names another user, agent or run.
    """
    if not scope or not (where is None or isinstance(where, Mapping)):
        return where
    given = dict(where or {})
    for key, value in scope.items():
        named = given.get(key)
        named = [named] if isinstance(named, str) else named
        if isinstance(named, list | tuple) and value not in named:
            raise FieldRefused(
                f"where says {key} {given[key]!r:.100}, the scope says {value!r}",
                recovery="Leave the key out of one of the two.",
                field="scope",
            )
    return {**given, "metadata": scoped(given.get("metadata"), scope)}


def asker(asked_by: str | None, scope: Mapping[str, str] | None) -> str | None:
    """Return the asker: as given, else the user of the scope."""
    return (scope or {}).get("user") if asked_by is None else asked_by


def answer(
    view: View, request: Request, vector: Vector | None, method: RecallMethod = METHOD
) -> Packed:
    """Return the answer of *view* to *request*.

    Args:
        view: The state to search.
        request: A checked request.
        vector: The vector of the question, from the embedder in force in the view; None without a
            question, or to search by words alone.
        method: How the answer is computed.
    """
    asked = inquiry(view, request, vector, method.recipe)
    return pack(view, asked, rank(view, asked), limits(request, asked.frame, method))


def explored(
    view: View,
    request: Request,
    vector: Vector | None,
    method: RecallMethod = METHOD,
    *,
    random_bytes: Callable[[int], bytes],
) -> Request:
    """Return *request* with the result of a draw for the last place of its answer, if it explores.

    Args:
        view: As for ``answer``, to which the result goes.
        request: As for ``answer``.
        vector: As for ``answer``.
        method: As for ``answer``.
        random_bytes: Returns as many random bytes as requested, such as ``Entropy.token``; called
            once, unless there is no candidate for the place.
    """
    rate = nano(request.explore)
    if not rate:
        return request
    pool = exploration_pool(view, request, vector, method)
    if not pool:
        return request
    return evolve(request, explored=drawn(random_bytes(DRAW), rate, len(pool)))


def exploration_pool(
    view: View, request: Request, vector: Vector | None, method: RecallMethod = METHOD
) -> list[int]:
    """Return the blocks among which exploration draws for the last place of an answer.

    The first is the one that has the place without a draw. See ``packing.contenders``.
    """
    asked = inquiry(view, request, vector, method.recipe)
    ranking = rank(view, asked)
    heading = judged(view.policy, asked.recipe, ranking).heading
    room = limits(request, asked.frame, method).headed(heading)
    _, line = lines(view, asked.recipe, ranking.passage)
    pool: list[int] = ranking.numbers[contenders(view.policy, ranking, room, line)].tolist()
    return pool


def inquiry(view: View, request: Request, vector: Vector | None, recipe: Recipe) -> Inquiry:
    """Return *request* as an inquiry for *view*."""
    frame = view.policy.frame(request.frame)
    eligibility = Eligibility(
        frame=frame, where=Where.parse(request.where), session=request.session
    )
    return Inquiry(
        query=request.query,
        vector=vector,
        eligibility=eligibility,
        recipe=recipe,
        near=request.near,
        asked_by=request.asked_by,
        statistics=request.statistics,
    )


def limits(request: Request, frame: Frame, method: RecallMethod) -> Limits:
    """Return the limits of an answer."""
    return Limits(
        top_k=request.top_k,
        is_aggregate=method.recipe.graded and aggregate(request.query or "") is not None,
        token_budget=request.token_budget,
        frame_budget=frame.token_budget,
        counter=method.tokens,
        explored=request.explored,
        floor=nano(frame.min_probability),
        min_probability=None if request.min_probability is None else nano(request.min_probability),
    )
