"""What a re-extraction changes: facts gained, lost and replaced, and answers that would differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.replay import reevaluation
from mnemic.adapters.inprocess.replay.reevaluation import Decision
from mnemic.kernel.errors import FrameUnknown, RecipeRetired
from mnemic.kernel.events import Quote
from mnemic.kernel.model.blocks import ACTIVE, INBOX
from mnemic.kernel.model.texts import BlockText, Question
from mnemic.kernel.results import ChangedDecision, FactChange
from mnemic.projections.blocks.extractions import Extraction
from mnemic.projections.retrieval import packing, recorded_recalls
from mnemic.projections.retrieval.ranking import rank
from mnemic.projections.retrieval.request import inquiry, limits
from mnemic.projections.state.state import State
from mnemic.projections.view import View, as_of
from mnemic.projections.view.extracted import findings_of, sources_of

Ints = NDArray[np.int64]
DECISIONS_MAX: Final = 500
"""Recorded recalls that are compared, the latest first chosen."""


@frozen(kw_only=True)
class Difference:
    """Blocks that are in memory on one side only, by number."""

    before: View
    after: View
    replaced: dict[int, int]
    """By each fact that another one replaces, that one."""
    lost: tuple[int, ...]
    gained: tuple[int, ...]
    refused_count: int = 0
    sources: dict[int, set[int]] = field(factory=dict)
    """The messages that each fact rests on that is here now, and was not."""

    def changes(self) -> dict[str, tuple[FactChange, ...]]:
        """Return the changes for a result, by the name of its field."""
        return {
            "gained": tuple(self._change(None, each) for each in self.gained),
            "lost": tuple(self._change(each, None) for each in self.lost),
            "changed": tuple(self._change(old, new) for old, new in self.replaced.items()),
        }

    def _change(self, before: int | None, after: int | None) -> FactChange:
        view = self.after
        return FactChange(
            before_id=None if before is None else view.id(before),
            before=None if before is None else _content(view, before),
            after_id=None if after is None else view.id(after),
            after=None if after is None else _content(view, after),
        )


def _content(view: View, number: int) -> str | None:
    text = view.text(number)
    return text.content if isinstance(text, BlockText) else None


def difference(state: State, before: int, after: int) -> Difference:
    """Return what the extractions between two versions of a log changed."""
    old, new = as_of(state, before), as_of(state, after)
    found = list(state.extractions.between(before, after))
    facts = dict.fromkeys(_facts(new, found))
    read = {number for each in found for number in map(new.number, each.event.messages)}
    alone, shared = new.resting_on({number for number in read if number is not None})
    retired = [*alone, *shared, *_revised(new, found)]
    lost = [each for each in dict.fromkeys(retired) if _alive(old, each) and not _alive(new, each)]
    revived = (each for number in lost for each in new.predecessors(number))
    gained = [
        each
        for each in dict.fromkeys([*facts, *revived])
        if _alive(new, each) and not _alive(old, each)
    ]
    replaced = dict(_replaced(new, lost, gained))
    replacing = set(replaced.values())
    return Difference(
        before=old,
        after=new,
        replaced=replaced,
        lost=tuple(each for each in lost if each not in replaced),
        gained=tuple(each for each in gained if each not in replacing),
        refused_count=sum(each.event.refused_count for each in found),
        sources={each: sources_of(new, each) for each in gained},
    )


def _alive(view: View, number: int) -> bool:
    """Whether a block was known and in the inbox or active."""
    return view.life.has(number) and view.status(number) in (INBOX, ACTIVE)


def _facts(view: View, found: Sequence[Extraction]) -> Iterator[int]:
    numbers = view.state.catalogue.numbers
    yield from (numbers[fact.block_id] for each in found for fact in each.event.facts)


def _revised(view: View, found: Sequence[Extraction]) -> Iterator[int]:
    """Yield the blocks that a fact superseded."""
    numbers = view.state.catalogue.numbers
    for each in found:
        for fact in each.event.facts:
            if fact.effect == "revised" and fact.other is not None:
                yield numbers[fact.other]


def _replaced(view: View, lost: Sequence[int], gained: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield each lost fact with the one in its place: its successor, or what quotes the same."""
    left = list(gained)
    predecessors = view.predecessors_of(gained)
    quotes = {each: _quotes(view, each) for each in gained}
    for old in lost:
        own = _quotes(view, old)
        new = next(
            (each for each in left if old in predecessors[each]),
            next((each for each in left if _overlap(own, quotes[each])), None),
        )
        if new is not None:
            left.remove(new)
            yield old, new


def _quotes(view: View, number: int) -> list[Quote]:
    return [quote for finding in findings_of(view, number) for quote in finding.fact.quotes]


def _overlap(one: Sequence[Quote], other: Sequence[Quote]) -> bool:
    return any(
        a.message == b.message and a.start < b.end and b.start < a.end for a in one for b in other
    )


# --- decisions ------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Compared:
    """Recorded recalls that were answered on both sides."""

    changed: tuple[ChangedDecision, ...] = ()
    compared: int = 0
    left_out: int = 0


def compared(
    original: SessionHandle,
    models: Models,
    difference: Difference,
    since_us: int | None,
) -> Compared:
    """Answer recorded recalls on both sides of a difference.

    Both sides have the strengths, edges and ages of their own version, at one moment. In memory is
    what was there when the recall was made and still is, on the second side without the facts that
    are lost and with those that are gained, if their messages had been learned by then.

    Args:
        original: The space in which they were recorded.
        models: The models.
        difference: The two sides; the first is a version of the original.
        since_us: Only those recorded at or after; None: all.
    """
    if not (difference.gained or difference.lost or difference.replaced):
        return Compared()
    view = as_of(original.state, difference.before.version)
    recorded_us = view.state.timeline.recorded_us.values
    asked = [
        version
        for version in reevaluation.decision_versions(view)
        if since_us is None or recorded_us[version] >= since_us
    ][-DECISIONS_MAX:]
    changed: list[ChangedDecision] = []
    left_out = 0
    for each in reevaluation.decisions(original, asked):
        answers = _answers(view, models, difference, each)
        if answers is None:
            left_out += 1
        elif (found := _changed(difference.after, each, *answers)) is not None:
            changed.append(found)
    return Compared(changed=tuple(changed), compared=len(asked) - left_out, left_out=left_out)


def _answers(
    view: View, models: Models, difference: Difference, decision: Decision
) -> tuple[list[int], list[int]] | None:
    """Return the blocks of both answers; None: the recall cannot be answered again."""
    event = decision.event
    then = recorded_recalls.view_of(view.state, event)
    before, after = difference.before, difference.after
    if recorded_recalls.is_sealed(then, event) or then.embedder != after.embedder:
        return None
    version = event.read_version
    eligible = [
        number
        for number, sources in difference.sources.items()
        if all(after.life.get("learned", each) <= version for each in sources)
    ]
    known = then.present.numbers
    gained = np.intersect1d(np.array(eligible, dtype=np.int64), after.present.numbers)
    sides = (
        before.among(np.intersect1d(known, before.present.numbers)),
        after.among(np.union1d(np.intersect1d(known, after.present.numbers), gained)),
    )
    try:
        method = recorded_recalls.as_then(event, models)
        found = [_answer(side, decision, method) for side in sides]
    except (FrameUnknown, RecipeRetired):
        return None
    return found[0], found[1]


def _answer(view: View, decision: Decision, models: Models) -> list[int]:
    event = decision.event
    request = recorded_recalls.request_of(decision.recorded, event)
    request = evolve(request, statistics=(), explored=None, near=None)
    asked = inquiry(view, request, recorded_recalls.vector_of(event), models.recipe)
    answer, _ = packing.select(view, asked, rank(view, asked), limits(request, asked.frame, models))
    return answer.blocks


def _changed(
    view: View, decision: Decision, before: Sequence[int], after: Sequence[int]
) -> ChangedDecision | None:
    if set(before) == set(after):
        return None
    asked = decision.event.asked
    return ChangedDecision(
        decision_id=decision.id,
        query=asked.query if isinstance(asked, Question) else None,
        entered=tuple(view.id(each) for each in after if each not in before),
        left=tuple(view.id(each) for each in before if each not in after),
    )
