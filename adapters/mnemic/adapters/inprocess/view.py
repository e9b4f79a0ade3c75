"""``SyncView``: the memory as it was at one point, with all queries and no writing operation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Protocol

from mnemic.adapters.inprocess.argument_limits import checks_arguments
from mnemic.adapters.inprocess.engine.embedding import question_vector
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.id_arguments import completes_short_ids
from mnemic.adapters.inprocess.queries import Queries
from mnemic.adapters.inprocess.recall import decision_records
from mnemic.adapters.system.days import day_or_instant
from mnemic.kernel.errors import FieldRefused, PointOutOfRange
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.scope import checked_scope
from mnemic.kernel.timestamps import instant, iso
from mnemic.projections.references import DEPTH
from mnemic.projections.view import View, as_of, published_version

if TYPE_CHECKING:
    from mnemic.kernel.results import DeepReference, Detail, RecallResult


class AtPoint(Protocol):
    """A view, of a memory of this process or on a server."""

    @property
    def version(self) -> int:
        """The version of the log that it shows."""
        ...

    @property
    def hour(self) -> float:
        """The active hours decay is evaluated at."""
        ...


def view_in_words(view: AtPoint, space: str, recorded_at: str | None) -> str:
    """Return how a view prints.

    Args:
        view: The view.
        space: The name of its space.
        recorded_at: When its version was recorded, ISO 8601; None: it has no event.
    """
    when = "" if recorded_at is None else f", recorded {recorded_at[:19]} UTC"
    of = f"{type(view).__name__} of {space!r}"
    return f"<{of} as of version {view.version}{when}, {view.hour:.2f} active hours>"


HOURS_MAX = 1e9
"""More active hours than any log will see; keeps microseconds within 64 bits."""


@checks_arguments
@completes_short_ids
class SyncView(Queries):
    """A read-only view of the memory at one point; later writes do not change it."""

    def __init__(
        self,
        space: SessionHandle,
        models: Models,
        view: View,
        scope: Mapping[str, str] | None = None,
    ) -> None:
        self._space = space
        self._scope = checked_scope(scope)
        self._models = models
        self._fixed = view
        self._replacements = space.log_state.replacements

    def _view(self) -> View:
        log_state = self._space.log_state
        if not log_state.is_closed:
            self._space.snapshot()  # others may have erased text that this view shows
        log_state.check_unreplaced(self._replacements)
        state, fixed = log_state.published.snapshot.state, self._fixed
        if fixed.state is not state:
            # The log was folded again after an erasure: the text is gone from every view.
            point = fixed.point
            fixed = self._fixed = as_of(
                state, point.version, active_us=point.active_us, instant_us=point.instant_us
            )
        return fixed

    def __repr__(self) -> str:
        recorded = self._fixed.state.timeline.recorded_us.values
        at = iso(int(recorded[self.version])) if 0 <= self.version < len(recorded) else None
        return view_in_words(self, self._space.log.name, at)

    @property
    def version(self) -> int:
        """The version of the log that the view shows."""
        return self._fixed.point.version

    @property
    def hour(self) -> float:
        """The active hours decay is evaluated at."""
        return self._fixed.point.hour

    def recall(
        self,
        query: str | None = None,
        *,
        frame: str | None = None,
        top_k: int | None = None,
        token_budget: int | None = None,
        where: Mapping[str, Any] | None = None,
        scope: Mapping[str, str] | None = None,
        asked_by: str | None = None,
        min_probability: float | None = None,
        suggest: bool = False,
        detail: Detail | None = None,
    ) -> RecallResult:
        """Return what a recall would have returned here; nothing is recorded.

        Raises:
            FrameUnknown, FieldRefused, EmbedderMismatch, VectorRefused: See each.
        """
        from mnemic.adapters.inprocess.recall import recalling
        from mnemic.adapters.inprocess.recall.computing import computing
        from mnemic.kernel.results import checked_detail
        from mnemic.projections.retrieval.request import Request, answer, asker, within_scope

        scope, detail = {**self._scope, **checked_scope(scope)}, checked_detail(detail)
        request = Request(
            query=query,
            frame=frame,
            top_k=top_k,
            token_budget=token_budget,
            where=within_scope(where, scope),
            asked_by=asker(asked_by, scope),
            min_probability=min_probability,
            suggest=suggest,
        ).checked()
        vector = question_vector(self._view().embedder, request, self._models)
        view = self._view()
        with computing():
            found = answer(view, request, vector, self._models)
        return recalling.in_detail(recalling.suggested(view, request, found.result), detail)

    def ask_again(self, decision_id: str) -> RecallResult:
        """Answer the question of a past decision here; nothing is recorded.

        Raises:
            DecisionNotFound, DecisionSealed, FrameUnknown, EmbedderMismatch, VectorRefused: See
                each.
        """
        from mnemic.adapters.inprocess.recall.asking_again import ask_again

        return ask_again(self._space, self._models, self._view(), decision_id)

    def deep_reference(self, query: str, *, depth: int = DEPTH) -> DeepReference:
        """Return what memory held about a question here, without an analyst; nothing is recorded.

        Raises:
            FieldRefused, EmbedderMismatch, VectorRefused: See each.
        """
        from mnemic.adapters.inprocess.recall.references import (
            Asked,
            checked_depth,
            checked_request,
            reference,
        )

        request, depth = checked_request(query, self._scope), checked_depth(depth)
        adopted = self._view().embedder
        asked = Asked(
            query=query,
            depth=depth,
            request=request,
            adopted=adopted,
            vector=question_vector(adopted, request, self._models),
            models=self._models,
        )
        return reference(self._view(), asked)


def known_at(view: SyncView, version: int, now: str | datetime | None = None) -> SyncView:
    """Return the view of the same hour as it was when the log ended at *version*.

    More events may be appended in the same hour. An interface that keeps no views names hour and
    version, so that later writes do not change a view.

    Args:
        view: A view at an hour.
        version: Later events are left out.
        now: Evaluate ages at this instant instead of the point's own.

    Raises:
        FieldRefused, PointOutOfRange: The log has no such version.
    """
    space = view._space  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    shown = view._view()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    head = published_version(shown.state)
    known = shown.state.timeline.checked_version(_whole(version), head=head)
    fixed = as_of(
        shown.state,
        min(known, shown.version),
        active_us=shown.point.active_us,
        instant_us=instant("now", now),
    )
    return SyncView(space, view._models, fixed, view._scope)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def view_at(
    space: SessionHandle,
    *,
    hour: float | None,
    version: int | None,
    at: str | date | None,
    decision: str | None,
    now: str | datetime | None,
) -> View:
    """Return the view at the one point that was named.

    Raises:
        FieldRefused: None or several were named, or one cannot be read.
        PointOutOfRange, DecisionNotFound: There is no such point.
    """
    if sum(point is not None for point in (hour, version, at, decision)) != 1:
        raise FieldRefused(
            "name one point of the past",
            recovery="Give exactly one of hour, version, at and decision.",
        )
    now_us = instant("now", now)
    snapshot = space.snapshot()
    timeline, head = snapshot.state.timeline, snapshot.version
    if decision is not None:
        from mnemic.projections.retrieval import recorded_recalls

        event = decision_records.decision(space, decision)[1]
        return recorded_recalls.view_of(snapshot.state, event, now_us)
    active_us = None
    if hour is not None:
        active_us = _active_us(hour)
        found = timeline.version_at_hour(active_us, head=head)
    elif version is not None:
        found = timeline.checked_version(_whole(version), head=head)
    else:
        found = timeline.version_at_instant(_required(at), head=head)
    return snapshot.as_of(found, active_us=active_us, instant_us=now_us)


def _active_us(hour: object) -> int:
    ok = isinstance(hour, int | float) and not isinstance(hour, bool)
    if not ok or not 0.0 <= hour <= HOURS_MAX:  # type: ignore[operator]
        raise PointOutOfRange(f"hour must be from 0, got {hour!r}", point="hour")
    return round(hour * MICROS_PER_HOUR)  # type: ignore[operator]


def _whole(version: object) -> int:
    if not isinstance(version, int) or isinstance(version, bool):
        raise FieldRefused(f"version must be a whole number, got {version!r}", field="version")
    return version


def _required(at: str | date | None) -> int:
    found = day_or_instant("at", at)
    assert found is not None  # noqa: S101 - at is the one point that was named
    return found
