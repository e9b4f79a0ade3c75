"""What an analyst says, as far as it can be used. It never stands in the way of a promotion."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from mnemic.kernel.decisions.learning import checked_content, checked_tags, unit_interval
from mnemic.kernel.errors import Refused
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Analysis, Analyst

Verdict = tuple[Analysis | None, str]
"""An analysis and ``done``, or none and ``none`` (nobody was asked) or ``failed``."""


def analyse(analyst: Analyst | None, texts: Sequence[str], policy: Policy) -> list[Verdict]:
    """Return one verdict per text; whatever an analyst does, learning goes on."""
    if analyst is None:
        return [(None, "none")] * len(texts)
    try:
        found: list[object] = list(analyst.analyse(texts))
    except Exception:  # noqa: BLE001 - a model may fail in any way
        found = []
    if len(found) != len(texts):
        return [(None, "failed")] * len(texts)
    return [_verdict(each, policy) for each in found]


def _verdict(given: object, policy: Policy) -> Verdict:
    """Hold an analysis to the limits of a lesson."""
    if not isinstance(given, Analysis):
        return None, "failed"
    try:
        tags = checked_tags(given.tags, policy)
        if given.alignment is not None:
            unit_interval("alignment", given.alignment)
        if given.summary is not None:
            checked_content(given.summary, policy)
    except Refused:
        return None, "failed"
    return evolve(given, tags=tags), "done"
