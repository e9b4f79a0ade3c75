"""Extraction by rules: sentences in which a speaker says something lasting about themselves.

A fact is a sentence of the message, as it was said, so nothing in it can be made up; its author is
the speaker. The rules are patterns in four languages (``patterns``); they are made to be right, and
leave out much. The name of the extractor changes with every change of them.

What a person has one of at a time (a home, a job, a name, a favourite dish) updates what the same
person said of it before. Otherwise the rules by which statements are compared
(``kernel.statements``) say whether a sentence repeats or contradicts a known block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen

from mnemic.adapters.extractors.patterns import EMPTY, languages
from mnemic.kernel.ports import Extract, Fact, KnownBlock, Message, Span
from mnemic.kernel.statements import relation

CONFIDENCE: Final = 0.9
WORDS_MAX: Final = 40
"""Words of a sentence; a longer one says more than one thing."""
_SPEAKERS: Final = frozenset({None, "user", "assistant"})
_SENTENCES: Final = re.compile(r"(?<=[.!?…])(?<!\d\.)\s+|\n+")
_APOSTROPHES: Final = str.maketrans({"’": "'", "‘": "'", "ʼ": "'"})


@frozen(kw_only=True)
class Stated:
    """A sentence that states something, what kind of thing, and what it gives a value to."""

    text: str
    kind: str
    slot: str | None


class RulesExtractor:
    """Deterministic extractor that needs no model."""

    name = "rules-1"
    model = ""
    prompt = ""
    window = 64
    compares = True

    def extract(self, messages: Sequence[Message], known: Sequence[KnownBlock]) -> Extract:
        """Return the sentences of *messages* that state something lasting about their speakers."""
        facts: list[Fact] = []
        for place, message in enumerate(messages):
            if message.role in _SPEAKERS:
                facts += (
                    _fact(place, message, each, known) for each in statements(message.content)
                )
        return Extract(facts=tuple(facts))


def statements(text: str) -> Iterator[Stated]:
    """Yield the sentences of *text* that state something lasting about the speaker."""
    for part in _SENTENCES.split(text):
        sentence = part.strip()
        found = _stated(sentence)
        if found is not None:
            yield found


def _stated(sentence: str) -> Stated | None:
    if not sentence or "?" in sentence or sentence[0] in "[<#|" or sentence.startswith(">"):
        return None
    if len(sentence.split()) > WORDS_MAX or EMPTY.search(sentence):
        return None
    plain = sentence.translate(_APOSTROPHES)
    if any(language.unsure.search(plain) for language in languages()):
        return None
    for language in languages():
        opened = language.openers.match(plain)
        rest = plain[opened.end() :] if opened else plain
        for pattern in language.patterns:
            if (found := pattern.matches.match(rest)) is not None:
                of = found.groupdict().get("of")
                slot = pattern.slot if of is None else f"{pattern.slot}:{of.lower()}"
                return Stated(text=sentence, kind=pattern.kind, slot=slot)
    return None


def _fact(place: int, message: Message, stated: Stated, known: Sequence[KnownBlock]) -> Fact:
    """Return a sentence as a fact, with its relation to what the speaker said before."""
    how, other = "unrelated", None
    for number, block in enumerate(known):
        if block.author != message.author:
            continue
        found = _relation(stated, block, message)
        if found is not None:
            how, other = found, number
            break
    return Fact(
        text=stated.text,
        quotes=(Span(message=place, text=stated.text),),
        confidence=CONFIDENCE,
        relation=how,
        other=other,
    )


def _relation(stated: Stated, block: KnownBlock, message: Message) -> str | None:
    found = relation(block.content, stated.text)
    if found == "same":
        return found
    before = _stated(block.content.strip())
    if stated.slot is not None and before is not None and before.slot == stated.slot:
        is_later = (block.said_at or "") <= (message.said_at or "")
        return "updates" if is_later else None
    return "contradicts" if found == "contradicts" else None
