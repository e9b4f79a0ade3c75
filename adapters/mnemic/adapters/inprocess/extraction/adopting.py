"""Adoption of extractions that were made on a fork: decided once more, and written by one command.

Rules of this module:

1. No extractor is called: the facts, with what they quote, are those that the fork has recorded.
2. They are decided on a copy of the state, one extraction after the other, so that a later one may
   relate to a fact of an earlier one. The events of all are one decision.
3. Then the facts that rest on the same messages alone, and that were not found again, are reverted:
   they are archived, and what they had superseded comes back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext

from attrs import evolve

from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.reverting_selection import decide_revert_selection
from mnemic.kernel.events import Event, ExtractedFact, FactsExtracted, Recorded
from mnemic.kernel.extraction.accepting import ABOUT, Call
from mnemic.kernel.extraction.deciding import Accepted, Found, decide_adoption
from mnemic.kernel.extraction.grounding import Spot
from mnemic.kernel.model.identity import CommandId
from mnemic.kernel.model.texts import Erased
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.ports import Fact, Span
from mnemic.kernel.timestamps import Instant, iso
from mnemic.projections.state.apply import apply
from mnemic.projections.state.checkpoint import copied, freeze
from mnemic.projections.state.state import State
from mnemic.projections.view import View, live
from mnemic.projections.view.extracted import lost_facts, read_by
from mnemic.projections.view.log_selection import log_selection_of


def decide_retirement(view: View, after: int) -> Decision[None]:
    """Decide to archive the facts that messages bore that were read again, and that were not found.

    Args:
        view: The view.
        after: The version after which the messages were read again.
    """
    lost = lost_facts(view, after)
    if not lost:
        return Decision((), None)
    selection = log_selection_of(view, (), lost)
    return Decision(decide_revert_selection(view, selection, reason=None).events, None)


def proposals(fork: View, after: int) -> list[Found]:
    """Return the extractions of a fork after a version, with texts.

    A fact that is erased on the fork is left out.
    """
    events = (each.event for each in fork.state.extractions.between(after, fork.version))
    return [
        Found(event=event, accepted=tuple(_accepted(fork, event)))
        for event in events
        if event.status != "failed"
    ]


def _accepted(fork: View, event: FactsExtracted) -> Iterator[Accepted]:
    places = {block: place for place, block in enumerate(event.messages)}
    known = {block: place for place, block in enumerate(event.known)}
    for each in event.facts:
        spots = tuple(
            Spot(message=places[quote.message], start=quote.start, end=quote.end)
            for quote in each.quotes
        )
        fact = _fact(fork, each, spots, known.get(each.other) if each.other else None)
        if fact is not None:
            yield Accepted(fact=fact, spots=spots, is_restated=each.effect == "restated")


def _fact(fork: View, each: ExtractedFact, spots: Sequence[Spot], other: int | None) -> Fact | None:
    """Return a fact as it was proposed; None: its text, or that of a message, is erased."""
    numbers = fork.state.catalogue.numbers
    number = numbers[each.block_id]
    text, facts = fork.text(number), fork.facts(number)
    said = [fork.text(numbers[quote.message]) for quote in each.quotes]
    if isinstance(text, Erased):
        return None
    quotes: list[Span] = []
    for spot, message in zip(spots, said, strict=True):
        if isinstance(message, Erased):
            return None
        quotes.append(Span(message=spot.message, text=message.content[spot.start : spot.end]))
    from_us, until_us = facts.period.from_us, facts.period.until_us
    return Fact(
        text=text.content,
        quotes=tuple(quotes),
        about=json.loads(text.metadata or "{}").get(ABOUT),
        since=None if from_us is None else iso(from_us),
        until=None if until_us is None else iso(until_us),
        confidence=facts.confidence / NANO,
        relation=each.relation,
        other=other,
    )


def decide_adoptions(
    space: SessionHandle, view: View, at: Instant, found: Sequence[Found], *, after: int
) -> Decision[None]:
    """Decide what becomes of the extractions of a fork in the space that it was made of.

    Args:
        space: The original.
        view: Its present.
        at: The time.
        found: The extractions.
        after: The version up to which the two are the same. What an extractor has read here since
            is not adopted once more.
    """
    fresh = [each for each in found if _is_fresh(view, each.event, after)]
    if not fresh:
        return Decision((), None)
    log_state = space.log_state
    with nullcontext() if log_state.lock.is_mine else log_state.lock:
        parts = freeze(view.state)
    scratch = _Scratch(space, copied(parts), at)
    for each in fresh:
        scratch.add(decide_adoption(*scratch.asked(each), at).events)
    scratch.add(decide_retirement(scratch.view(), view.version).events)
    return Decision(tuple(scratch.events), None)


def _is_fresh(view: View, event: FactsExtracted, after: int) -> bool:
    """Whether a message of an extraction has not been read here by the same extractor since."""
    identity = (event.extractor, event.model, event.prompt)
    numbers = (view.number(block) for block in event.messages)
    return any(
        number is not None and not read_by(view, number, identity, after=after)
        for number in numbers
    )


class _Scratch:
    """A copy of a state, to which events are applied that are not written yet."""

    def __init__(self, space: SessionHandle, state: State, at: Instant) -> None:
        self._caller = space.caller
        self._state = state
        self._at = at
        self.events: list[Event] = []

    def view(self) -> View:
        return self._caller.seen_by(
            live(self._state, active_us=self._at.active_us, instant_us=self._at.recorded_us)
        )

    def asked(self, found: Found) -> tuple[View, Call, Found]:
        """Return the arguments of the decision of an extraction."""
        view, event = self.view(), found.event
        known = tuple(block for block in event.known if view.number(block) is not None)
        places = {event.known.index(block): place for place, block in enumerate(known)}
        accepted = tuple(_related(each, places) for each in found.accepted)
        call = Call(extractor=event.extractor, messages=event.messages, known=known)
        return view, call, Found(event=event, accepted=accepted)

    def add(self, events: Sequence[Event]) -> None:
        """Apply events, and keep them."""
        for event in events:
            recorded = Recorded(
                version=self._state.version + 1,
                active_us=self._at.active_us,
                recorded_us=self._at.recorded_us,
                command_id=CommandId("adoption"),
                event=event,
                actor=self._caller.actor,
            )
            apply(self._state, recorded)
        self.events += events


def _related(accepted: Accepted, places: dict[int, int]) -> Accepted:
    """Return a fact with the place of the block that it relates to, if that is known here."""
    fact = accepted.fact
    other = None if fact.other is None else places.get(fact.other)
    return evolve(accepted, fact=evolve(fact, other=other))
