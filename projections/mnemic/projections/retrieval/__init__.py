"""Recall: filters, ranking, signals, expansion, budget and packing.

``answer`` takes a checked ``Request`` through all of it. What it returns is what ``decide_recall``
records, and ``replayed`` gives a recorded answer again. What is exported is imported when it is
first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mnemic.kernel.late import late_export

if TYPE_CHECKING:
    from mnemic.projections.retrieval.packing import Packed
    from mnemic.projections.retrieval.recall_method import RecallMethod
    from mnemic.projections.retrieval.recorded_recalls import replayed
    from mnemic.projections.retrieval.request import Request, answer, explored

__all__ = ["Packed", "RecallMethod", "Request", "answer", "explored", "replayed"]


def __getattr__(name: str) -> Any:
    return late_export(name, globals(), exported=__all__, modules=_modules())


def _modules() -> Iterator[ModuleType]:
    from mnemic.projections.retrieval import recall_method

    yield recall_method
    from mnemic.projections.retrieval import recorded_recalls, request

    yield from (request, recorded_recalls)
