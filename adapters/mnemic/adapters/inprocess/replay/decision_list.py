"""The operation ``decisions``: recorded recalls, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.replay import reevaluation
from mnemic.adapters.inprocess.time_points import HORIZON_HOURS
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import Reverted
from mnemic.kernel.model.texts import Erased, Question
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.results import AnsweredBlock, DecisionPage, DecisionSummary, unit
from mnemic.kernel.timestamps import iso
from mnemic.projections.evaluation.decisions import Outcome, outcomes, selected
from mnemic.projections.evaluation.relevance_judgments import TakenBack
from mnemic.projections.view import View

LIMIT_MAX: Final = 200
DIGITS: Final = 9
"""Decimal digits of an outcome."""
READ_MAX: Final = 1000
"""Most decisions that are read for one page: with a text to look for, it may be a short one."""


def listed(
    space: SessionHandle,
    view: View,
    *,
    of: str | None,
    outcome: str | None,
    text: str | None,
    order: str,
    after: int | None,
    limit: int,
) -> DecisionPage:
    """Return a page of recorded recalls.

    Raises:
        FieldRefused: An argument is not valid.
        BlockNotFound: The block was not learned by then.
    """
    if type(limit) is not int or not 1 <= limit <= LIMIT_MAX:
        raise FieldRefused(f"limit must be from 1 to {LIMIT_MAX}, got {limit!r}", field="limit")
    if text is not None and not isinstance(text, str):
        raise FieldRefused(f"text must be text, got {text!r:.100}", field="text")
    went = _outcomes(space, view)
    total, versions = selected(view, went, of=of, outcome=outcome, order=order, after=after)
    wanted = (text or "").casefold()
    items: list[DecisionSummary] = []
    read = 0
    for each in _summaries(space, view, versions[:READ_MAX], went, together=limit):
        read += 1
        if wanted in (each.query or "").casefold():
            items.append(each)
            if len(items) == limit:
                break
    last = versions[read - 1] if 0 < read < len(versions) else None
    return DecisionPage(items=tuple(items), total=total, next_after=last)


def _outcomes(space: SessionHandle, view: View) -> dict[int, Outcome]:
    """Return how each decision went, computed once for all pages of one version."""
    found: dict[int, Outcome] | None = view.kept.get("outcomes")
    if found is None:
        horizon_us = round(HORIZON_HOURS * MICROS_PER_HOUR)
        found = outcomes(view, _taken_back(space, view), horizon_us=horizon_us)
        view.kept["outcomes"] = found
    return found


def _taken_back(space: SessionHandle, view: View) -> TakenBack | None:
    """Return the outcomes that were reverted by the time of the view; None: none was."""
    reverts = reevaluation.versions(view, Reverted)
    return TakenBack(reevaluation.events(space, reverts)) if reverts else None


def _summaries(
    space: SessionHandle,
    view: View,
    versions: Sequence[int],
    went: Mapping[int, Outcome],
    *,
    together: int,
) -> Iterator[DecisionSummary]:
    """Yield decisions in the order of *versions*, some read *together* from the log."""
    for first in range(0, len(versions), together):
        page = versions[first : first + together]
        found = {
            decision.recorded.version: decision
            for decision in reevaluation.decisions(space, sorted(page))
        }
        for version in page:
            yield _summary(view, found[version], went.get(version))


def _summary(
    view: View, decision: reevaluation.Decision, outcome: Outcome | None
) -> DecisionSummary:
    recorded, event = decision.recorded, decision.event
    return DecisionSummary(
        decision_id=decision.id,
        version=recorded.version,
        read_version=event.read_version,
        hour=event.read_us / MICROS_PER_HOUR,
        recorded_at=iso(recorded.recorded_us),
        actor=recorded.actor,
        session_id=recorded.session_id,
        query=event.asked.query if isinstance(event.asked, Question) else None,
        sealed=isinstance(event.asked, Erased),
        frame=event.frame,
        verdict=event.verdict,
        answerable=None if event.answerable < 0 else unit(event.answerable),
        outcome=None if outcome is None else round(outcome.mean, DIGITS),
        judged=0 if outcome is None else outcome.judged,
        named=outcome is not None and outcome.named,
        answer=tuple(
            AnsweredBlock(block_id=view.id(row.block), score=unit(row.score))
            for row in event.answer.rows
        ),
    )
