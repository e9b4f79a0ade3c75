"""``SyncView``: the memory as it was, with every query and nothing that writes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mnemic.adapters.inprocess import recalling, records
from mnemic.adapters.inprocess.admission import admitting
from mnemic.adapters.inprocess.asking import Request, answer, question_vector
from mnemic.adapters.inprocess.deliberating import (
    Asked,
    checked_depth,
    checked_request,
    reference,
)
from mnemic.adapters.inprocess.opening import Models
from mnemic.adapters.inprocess.queries import Queries
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.decisions.learning import instant
from mnemic.kernel.errors import FieldRefused, PointOutOfRange
from mnemic.kernel.results import DeepReference, RecallResult
from mnemic.projections import views
from mnemic.projections.deliberation.evidence import DEPTH
from mnemic.projections.views import View

HOURS_MAX = 1e9
"""More active hours than any log will see; keeps microseconds within 64 bits."""


@admitting
class SyncView(Queries):
    """A read-only view at one point. It stays exact whatever is written later."""

    def __init__(self, space: Space, models: Models, view: View) -> None:
        self._space = space
        self._models = models
        self._fixed = view

    def _view(self) -> View:
        with self._space.guard:
            if not self._space.is_closed:
                self._space.catch_up()  # others may have erased words that this view shows
            if self._fixed.state is not self._space.state:
                # The space folded again after an erasure: words are gone from every view.
                point = self._fixed.point
                self._fixed = views.as_of(
                    self._space.state,
                    point.version,
                    active_us=point.active_us,
                    instant_us=point.instant_us,
                )
            return self._fixed

    @property
    def version(self) -> int:
        """The version the view stands at."""
        return self._fixed.point.version

    @property
    def hour(self) -> float:
        """The active hours decay is evaluated at."""
        return self._fixed.point.hour

    def recall(
        self,
        query: str | None = None,
        *,
        frame: str = "attention",
        top_k: int | None = None,
        token_budget: int | None = None,
        where: Mapping[str, Any] | None = None,
        suggest: bool = False,
    ) -> RecallResult:
        """Return what a recall would have returned here; nothing is recorded.

        Raises:
            FrameUnknown, FieldRefused, EmbedderMismatch, VectorRefused: See each.
        """
        request = Request(
            query=query,
            frame=frame,
            top_k=top_k,
            token_budget=token_budget,
            where=where,
            suggest=suggest,
        ).checked()
        vector = question_vector(self._view().embedder, request, self._models)
        with self._space.guard:
            view = self._view()
            found = answer(view, request, vector, self._models)
            return recalling.suggested(view, request, found.result)

    def deep_reference(self, query: str, *, depth: int = DEPTH) -> DeepReference:
        """Return what memory held about a question here, by the rules alone; nothing is recorded.

        Raises:
            FieldRefused, EmbedderMismatch, VectorRefused: See each.
        """
        request, depth = checked_request(query), checked_depth(depth)
        adopted = self._view().embedder
        asked = Asked(
            query=query,
            depth=depth,
            request=request,
            adopted=adopted,
            vector=question_vector(adopted, request, self._models),
            models=self._models,
        )
        with self._space.guard:
            return reference(self._view(), asked)


def known_at(view: SyncView, version: int, now: str | datetime | None = None) -> SyncView:
    """Return the view of the same hour as it was when the log ended at *version*.

    An hour may still go on. A door that keeps no views names both, so that a view stays exact
    whatever is written later.

    Args:
        view: Of an hour.
        version: What was written later is left out.
        now: Evaluate ages at this instant instead of the point's own.

    Raises:
        FieldRefused, PointOutOfRange: The log has no such version.
    """
    space = view._space  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    with space.guard:
        point = view._view().point  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        known = space.state.timeline.checked_version(_whole(version))
        fixed = views.as_of(
            space.state,
            min(known, point.version),
            active_us=point.active_us,
            instant_us=instant("now", now),
        )
    return SyncView(space, view._models, fixed)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def view_at(
    space: Space,
    *,
    hour: float | None,
    version: int | None,
    at: str | datetime | None,
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
    with space.guard:
        if decision is not None:
            return records.view_of(space, records.decision(space, decision)[1], now_us)
        active_us = None
        if hour is not None:
            active_us = _active_us(hour)
            found = space.state.timeline.version_at_hour(active_us)
        elif version is not None:
            found = space.state.timeline.checked_version(_whole(version))
        else:
            found = space.state.timeline.version_at_instant(_required(at))
        return views.as_of(space.state, found, active_us=active_us, instant_us=now_us)


def _active_us(hour: object) -> int:
    ok = isinstance(hour, int | float) and not isinstance(hour, bool)
    if not ok or not 0.0 <= hour <= HOURS_MAX:  # type: ignore[operator]
        raise PointOutOfRange(f"hour must be from 0, got {hour!r}", point="hour")
    return round(hour * MICROS_PER_HOUR)  # type: ignore[operator]


def _whole(version: object) -> int:
    if not isinstance(version, int) or isinstance(version, bool):
        raise FieldRefused(f"version must be a whole number, got {version!r}", field="version")
    return version


def _required(at: str | datetime | None) -> int:
    found = instant("at", at)
    assert found is not None  # noqa: S101 - at is the one point that was named
    return found
