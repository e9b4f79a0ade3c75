"""Decision of an extraction: which proposed facts are accepted, and what is kept of the answer.

Rules of this module:

1. A fact is accepted only if it is grounded (``grounding``); what it does then is a matter of
   ``accepting``.
2. The event of the extraction comes last, so that it names only blocks that are known.
3. What a fork has accepted is decided once more, without its grounding: the texts of messages never
   change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import define, evolve, frozen

from mnemic.kernel.decision import Decision
from mnemic.kernel.events import (
    FactsExtracted,
    Quote,
    RefusedFact,
)
from mnemic.kernel.extraction.accepting import Acceptance, Call, message_of, number_of
from mnemic.kernel.extraction.grounding import Evidence, Spot, Ungrounded
from mnemic.kernel.model.texts import AnswerText, Erased, Remark
from mnemic.kernel.ports.extractors import Extract, Fact
from mnemic.kernel.reading import Reading
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.values import Value

FACTS_MAX: Final = 200
"""Facts of one answer; an answer with more is refused as a whole."""
REFUSED_KEPT: Final = 50
"""Refused facts that an event lists; the others are counted."""
TEXT_KEPT: Final = 200
"""Characters that are kept of a refused fact."""
ANSWER_KEPT: Final = 65_536
"""Characters that are kept of a raw answer."""
OWNERS_MAX: Final = 2
"""Messages to which a text of an answer may belong."""


def decide_extraction(
    reading: Reading, call: Call, extract: Extract, at: Instant
) -> Decision[FactsExtracted]:
    """Decide what becomes of the facts in an answer.

    Args:
        reading: The state before the command. Messages may have been erased since the call.
        call: What the extractor was shown.
        extract: Its answer.
        at: The time.
    """
    return _Extraction(reading=reading, call=call, at=at).decide(extract)


@frozen(kw_only=True)
class Accepted(Value):
    """A fact that a fork of the space has accepted."""

    fact: Fact
    spots: tuple[Spot, ...]
    """Where it is quoted. The texts of messages never change, so this is not checked again."""
    is_restated: bool = False
    """Whether an existing block holds it, whose text is that of the fact."""


@frozen(kw_only=True)
class Found(Value):
    """An extraction of a fork."""

    event: FactsExtracted
    accepted: tuple[Accepted, ...]
    """The facts that were accepted there."""


def decide_adoption(
    reading: Reading, call: Call, found: Found, at: Instant
) -> Decision[FactsExtracted]:
    """Decide what becomes of the facts of an extraction that was recorded on a fork.

    Args:
        reading: The state before the command. It may have moved on since the fork.
        call: What the extractor was shown there.
        found: What was recorded there.
        at: The time.
    """
    return _Extraction(reading=reading, call=call, at=at).adopt(found)


@define(kw_only=True)
class _Extraction(Acceptance):
    """An extraction, decided fact by fact."""

    def adopt(self, found: Found) -> Decision[FactsExtracted]:
        """Return the decision on what a fork has recorded."""
        recorded = found.event
        for each in found.accepted:
            self.take(each.fact, each.spots, is_restated=each.is_restated)
        kept = tuple(
            each if isinstance(each.text, Remark) and not self.gone else evolve(each, text=None)
            for each in recorded.refused
        )
        refused = (*kept, *map(self._refused, self.refused))
        answer = recorded.answer
        event = evolve(
            recorded,
            messages=self.call.messages,
            known=self.call.known,
            facts=tuple(self.facts),
            refused=refused[:REFUSED_KEPT],
            refused_count=recorded.refused_count + len(self.refused),
            answer=answer if isinstance(answer, AnswerText) and not self.gone else None,
            preceding=len(self.events),
        )
        return Decision((*self.events, event), event)

    def decide(self, extract: Extract) -> Decision[FactsExtracted]:
        """Return the decision on an answer."""
        reading, call = self.reading, self.call
        evidence = Evidence(messages=[message_of(reading, each) for each in self.numbers])
        problem, facts = extract.problem, extract.facts
        status = "done" if not problem else ("partial" if facts else "failed")
        if len(facts) > FACTS_MAX:
            problem, status = "too-many-facts", "failed"
            self.refused = [(problem, each) for each in facts]
            facts = ()
        for fact in facts:
            try:
                spots = evidence.check(fact)
            except Ungrounded as ungrounded:
                self.refused.append((ungrounded.reason, fact))
            else:
                self.take(fact, spots)
        event = FactsExtracted(
            extractor=call.extractor,
            model=call.model,
            prompt=call.prompt,
            messages=call.messages,
            known=call.known,
            status=status,
            problem=problem,
            facts=tuple(self.facts),
            refused=tuple(map(self._refused, self.refused[:REFUSED_KEPT])),
            refused_count=len(self.refused),
            answer=self._answer(extract.answer),
            preceding=len(self.events),
        )
        return Decision((*self.events, event), event)

    # --- what is kept of an answer --------------------------------------------------------------

    def _answer(self, answer: str | None) -> AnswerText | None:
        owners = tuple(dict.fromkeys(self.call.messages))
        if answer is None or self.gone or len(owners) > OWNERS_MAX:
            return None
        return AnswerText(text=_clean(answer[:ANSWER_KEPT]), length=len(answer), of=owners)

    def _refused(self, refused: tuple[str, Fact]) -> RefusedFact:
        reason, fact = refused
        shown = self.call.messages
        quoted = (shown[each.message] for each in fact.quotes if 0 <= each.message < len(shown))
        owners = tuple(dict.fromkeys(quoted))
        if not 0 < len(owners) <= OWNERS_MAX:
            owners = tuple(dict.fromkeys(shown))
        is_kept = not self.gone and len(owners) <= OWNERS_MAX
        text = Remark(text=_clean(fact.text[:TEXT_KEPT]), of=owners) if is_kept else None
        return RefusedFact(reason=reason, messages=owners[:OWNERS_MAX], text=text)


def _clean(text: str) -> str:
    """Return a text of a model in a form that can be stored."""
    return text.encode(errors="replace").decode()


def quoted(reading: Reading, quotes: Sequence[Quote]) -> tuple[str | None, ...]:
    """Return the words of some quotations; None where the message is erased."""
    found = []
    for each in quotes:
        text = reading.text(number_of(reading, each.message))
        found.append(None if isinstance(text, Erased) else text.content[each.start : each.end])
    return tuple(found)
