"""Which facts rest on which messages at a point of the log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from attrs import frozen

from mnemic.kernel.events import ExtractedFact
from mnemic.kernel.model.blocks import ACTIVE, INBOX
from mnemic.kernel.model.texts import Erased
from mnemic.kernel.values import Value
from mnemic.projections.blocks.extractions import Extraction
from mnemic.projections.view.block_view import BlockView


@frozen
class Finding(Value):
    """A fact of one extraction."""

    extraction: Extraction
    fact: ExtractedFact


def findings_in(view: BlockView, message: int) -> Iterator[Finding]:
    """Yield the facts that quote a message, in the order of extraction."""
    block = view.id(message)
    for each in view.state.extractions.of_message(message, view.point.version):
        for fact in each.event.facts:
            if any(quote.message == block for quote in fact.quotes):
                yield Finding(each, fact)


def findings_of(view: BlockView, number: int) -> Iterator[Finding]:
    """Yield the extractions of the fact in a block, in order."""
    block = view.id(number)
    for each in view.state.extractions.of_fact(number, view.point.version):
        for fact in each.event.facts:
            if fact.block_id == block:
                yield Finding(each, fact)


def sources_of(view: BlockView, number: int) -> set[int]:
    """Return the messages that a block rests on as a fact, erased ones included."""
    numbers = view.state.catalogue.numbers
    found = (each for finding in findings_of(view, number) for each in finding.fact.quotes)
    return {numbers[quote.message] for quote in found}


def retired_by(view: BlockView, old: int, new: int) -> str | None:
    """Return who said the fact that revised a block, and which extractor found it; None: none."""
    for finding in findings_of(view, new):
        if finding.fact.effect == "revised" and finding.fact.other == view.id(old):
            text = view.text(new)
            speaker = None if isinstance(text, Erased) else text.author
            return f"{speaker or view.actor(new)} ({finding.extraction.event.extractor})"
    return None


def is_said_otherwise(view: BlockView, number: int) -> bool:
    """Whether a block was learned or said again by anything but an extraction."""
    ranges = [
        range(each.version - each.event.preceding, each.version)
        for each in view.state.extractions.of_fact(number, view.point.version)
    ]
    return any(not any(version in each for each in ranges) for version in _said_at(view, number))


def _said_at(view: BlockView, number: int) -> set[int]:
    """Return the versions at which a block was learned or said again."""
    life = view.state.catalogue.life
    place, version = life.place("said"), view.point.version
    (trail,) = life.trails([number], version, lambda values: values[place]).values()
    return {said for _, said in trail if said is not None}


def facts_found_in(view: BlockView, messages: Iterable[int]) -> set[int]:
    """Return the facts that quote any of *messages*, erased ones included."""
    numbers = view.state.catalogue.numbers
    return {
        numbers[finding.fact.block_id]
        for message in messages
        for finding in findings_in(view, message)
    }


def resting_on(view: BlockView, messages: Collection[int]) -> tuple[list[int], list[int]]:
    """Return the facts that rest on *messages* alone, and those that rest on others too.

    A message that is erased already supports nothing. Both lists are ascending, without facts that
    are erased or among *messages*.
    """
    gone = set(messages)
    alone: list[int] = []
    shared: list[int] = []
    for fact in sorted(facts_found_in(view, messages) - gone):
        if isinstance(view.text(fact), Erased):
            continue
        left = (each for each in sources_of(view, fact) - gone)
        is_shared = is_said_otherwise(view, fact) or any(
            not isinstance(view.text(each), Erased) for each in left
        )
        (shared if is_shared else alone).append(fact)
    return alone, shared


def resting_on_erased(view: BlockView, messages: Collection[int]) -> tuple[list[int], list[int]]:
    """Return the facts that were found in erased messages: erased ones, and those that are not."""
    facts = sorted(facts_found_in(view, messages).difference(messages))
    gone = [each for each in facts if isinstance(view.text(each), Erased)]
    return gone, [each for each in facts if each not in gone]


def lost_facts(view: BlockView, after: int) -> list[int]:
    """Return the facts that rest on messages read again since, and that were not found again.

    Facts that rest on something else as well, and those that are archived, are not among them.

    Args:
        view: The view.
        after: The version after which the messages were read again.
    """
    numbers = view.state.catalogue.numbers
    events = [each.event for each in view.state.extractions.between(after, view.point.version)]
    read = {numbers[block] for each in events if each.status != "failed" for block in each.messages}
    found = {numbers[fact.block_id] for each in events for fact in each.facts}
    alone, _ = resting_on(view, read)
    return [each for each in alone if each not in found and view.status(each) in (INBOX, ACTIVE)]


def read_by(
    view: BlockView, message: int, extractor: tuple[str, str, str], *, after: int = -1
) -> bool:
    """Whether an extractor has read a message since it was last learned, without failing.

    Args:
        view: The view.
        message: The message.
        extractor: Its name, its model, and the digest of its prompt.
        after: Only what it has read after this version counts.
    """
    learned = max(view.life.get("learned", message), after)
    return any(
        each.version > learned
        and each.event.status != "failed"
        and (each.event.extractor, each.event.model, each.event.prompt) == extractor
        for each in view.state.extractions.of_message(message, view.point.version)
    )
