"""Translation of extractions into results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mnemic.adapters.inprocess.extraction.running import Run
from mnemic.kernel.events import ExtractedFact, FactsExtracted, RefusedFact
from mnemic.kernel.extraction.deciding import quoted
from mnemic.kernel.extraction.grounding import REASONS
from mnemic.kernel.model.blocks import STATUSES
from mnemic.kernel.model.texts import BlockText, Remark
from mnemic.kernel.results import ExtractionResult, FactResult, Quotation, RefusedFactResult
from mnemic.projections.state.state import State
from mnemic.projections.view import View, as_of
from mnemic.projections.view.block_results import find
from mnemic.projections.view.extracted import Finding

FINISHED = "done"


def extraction_result(state: State, run: Run) -> ExtractionResult:
    """Return what a run of an extractor did, as of its last event."""
    events = [event for _, event in run.events]
    view = as_of(state, max((version for version, _ in run.events), default=state.version))
    read = sum(len(each.messages) for each in events if each.status != "failed")
    return ExtractionResult(
        extractor=run.extractor,
        model=run.model,
        prompt=run.prompt,
        status=status_of(events, run.unread),
        read=read,
        unread=run.unread,
        facts=tuple(_facts(view, run.events)),
        refused=tuple(_refused(each) for event in events for each in event.refused),
        refused_count=sum(each.refused_count for each in events),
        problems=run.details,
    )


def status_of(events: Sequence[FactsExtracted], unread: int) -> str:
    """Return how an extraction went that left *unread* messages."""
    if unread:
        return "failed" if all(each.status == "failed" for each in events) else "partial"
    if not events:
        return "skipped"
    return FINISHED if all(each.status == FINISHED for each in events) else "partial"


def finding_result(view: View, finding: Finding) -> FactResult:
    """Return one fact of an extraction, with its quotations as they read in a view."""
    return _fact(view, finding.fact, finding.extraction.event, finding.extraction.version)


def _facts(view: View, events: Iterable[tuple[int, FactsExtracted]]) -> Iterator[FactResult]:
    for version, event in events:
        for fact in event.facts:
            yield _fact(view, fact, event, version)


def _fact(view: View, fact: ExtractedFact, event: FactsExtracted, version: int) -> FactResult:
    number = find(view, fact.block_id)
    text = view.text(number)
    words = quoted(view, fact.quotes)
    return FactResult(
        block_id=fact.block_id,
        content=text.content if isinstance(text, BlockText) else None,
        status=STATUSES[view.status(number)],
        action=fact.action,
        quotes=tuple(
            Quotation(message_id=each.message, text=word, start=each.start, end=each.end)
            for each, word in zip(fact.quotes, words, strict=True)
        ),
        relation=fact.relation,
        other_id=fact.other,
        effect=fact.effect,
        extractor=event.extractor,
        model=event.model,
        version=version,
    )


def _refused(refused: RefusedFact) -> RefusedFactResult:
    return RefusedFactResult(
        reason=refused.reason,
        detail=REASONS.get(refused.reason, "it cannot be learned"),
        text=refused.text.text if isinstance(refused.text, Remark) else None,
        message_ids=refused.messages,
    )
