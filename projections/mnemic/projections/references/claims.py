"""Parsing a sentence as far as contradiction detection needs it: topic, polarity and amounts.

1. Numbers are extracted first (``quantities``), then what a sentence rejects (*not Y*, *instead of
   Y*, *Y is deprecated*, *from Y to X*), then ordered pairs (*X over Y*, *X before Y*).
2. Negations are counted, the negative words of ``vocabulary.OPPOSITES`` among them: an odd number
   makes the sentence a denial. So "not enabled" and "disabled" mean the same.
3. The remaining words, without function words, are reduced to stems: the terms of the sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import field, frozen

from mnemic.kernel.values import Value
from mnemic.projections.references import quantities
from mnemic.projections.references.negation import rejection
from mnemic.projections.references.quantities import Quantity
from mnemic.projections.references.relations import (
    Order,
    Slot,
    order,
    slots,
)
from mnemic.projections.references.stems import (
    BREAKS,
    COPULAS,
    NOTHING,
    Terms,
    stem,
    terms,
    unclipped,
)
from mnemic.projections.references.translation import anglicised
from mnemic.projections.references.vocabulary import (
    ASSERTING_PHRASES,
    CONDITIONS,
    DENYING_PHRASES,
    EXISTENTIAL,
    HAPPENED,
    NEGATORS,
    ONCE,
    OPPOSITES,
)

SENTENCES_MAX: Final = 12
"""Maximum number of sentences of one text that are compared."""
SENTENCE_LENGTH_MAX: Final = 400

_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'"})
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD: Final = re.compile(r"[^\W_]+(?:[-'+#.][^\W_]+)*|[,;:]")
_BOUNDS: Final = re.compile(r"\b(?:no|not) (?:more|less|fewer) than\b|\b(?:not|never) exceed\b")
_DENIED: Final = re.compile("|".join(rf"\b{phrase}\b" for phrase in DENYING_PHRASES))
_ASSERTED: Final = re.compile("|".join(rf"\b{phrase}\b" for phrase in ASSERTING_PHRASES))
SCOPE: Final = 2
"""Number of terms after a negator that are in its scope."""
PAST_LENGTH_MIN: Final = 5
"""Minimum length of a word in -ed that is probably a past tense."""
_CLAUSES: Final = frozenset("and but because so since".split())


@frozen(kw_only=True)
class Claim(Value):
    """One parsed sentence."""

    said: str
    terms: Terms
    denied: bool
    opposites: Terms = NOTHING
    """Terms that are written as their opposite."""
    at_issue: Terms = NOTHING
    """Terms that a denial is about: its opposites, and the first two after each negator."""
    spelled: Mapping[str, str] = field(factory=dict, eq=False, repr=False)
    """By term the word that it was derived from."""
    amounts: tuple[Quantity, ...] = ()
    labels: tuple[Quantity, ...] = ()
    conditions: Terms = NOTHING
    """Terms after an *if*, *when* or *unless*."""
    gone: Terms = NOTHING
    """What the sentence says is no longer valid, or is not to be used."""
    instead: Terms = NOTHING
    """What replaced it."""
    order: Order | None = None
    slots: tuple[Slot, ...] = ()
    names: Terms = NOTHING
    """Terms that are written like names, except for the first word."""
    existential: bool = False
    happened: bool = False
    """A past event that may also have happened on other days."""


@frozen(kw_only=True)
class Statement(Value):
    """A text as contradiction detection reads it."""

    claims: tuple[Claim, ...]
    terms: Terms


def statement(text: str) -> Statement:
    """Return *text* parsed, up to ``SENTENCES_MAX`` sentences."""
    plain = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    sentences = [each.strip() for each in _SENTENCE.split(plain) if each.strip()]
    found = tuple(claim(each[:SENTENCE_LENGTH_MAX]) for each in sentences[:SENTENCES_MAX])
    return Statement(claims=found, terms=NOTHING.union(*(each.terms for each in found)))


def claim(sentence: str) -> Claim:
    """Return one sentence, parsed."""
    lowered = anglicised(sentence.lower())
    rest, amounts, labels = quantities.read(lowered, stem)
    rest = _DENIED.sub(" not ", _ASSERTED.sub(" ", _BOUNDS.sub(" ", rest)))
    words = _WORD.findall(rest)
    gone, instead, kept = rejection(words)
    denials = [] if gone else [at for at, word in enumerate(kept) if word in NEGATORS]
    content = [word for word in kept if word not in BREAKS and word not in NEGATORS]
    opposites = [word for word in content if word in OPPOSITES]
    bare = [word for word in words if word not in NEGATORS]
    return Claim(
        said=sentence,
        terms=terms(content),
        denied=(len(denials) + len(opposites)) % 2 == 1,
        opposites=terms(opposites),
        at_issue=terms(opposites).union(*(_scope(kept[at + 1 :]) for at in denials)),
        spelled={stem(word): word for word in map(unclipped, reversed(words))},
        amounts=amounts,
        labels=labels,
        conditions=_conditions(words),
        gone=gone,
        instead=instead,
        order=order(words),
        slots=tuple(slots(bare)),
        names=_names(sentence),
        existential=bool(EXISTENTIAL.intersection(words)),
        happened=_happened(words),
    )


def _scope(words: Sequence[str]) -> Terms:
    """Return the first two terms of *words*, which are in the scope of a negator before them."""
    found: list[str] = []
    for word in words:
        if word in BREAKS or word in _CLAUSES or len(found) == SCOPE:
            break
        if terms((word,)) and word not in NEGATORS:
            found.append(word)
    return terms(found)


def _names(sentence: str) -> Terms:
    """Return the stems of words that are capitalised other than at the start of a sentence."""
    words = _WORD.findall(sentence)[1:]
    return frozenset(stem(word.lower()) for word in words if word[:1].isupper())


def _happened(words: Sequence[str]) -> bool:
    if ONCE.intersection(words) or COPULAS.intersection(words):
        return False
    return any(word in HAPPENED or _is_past(word) for word in words)


def _is_past(word: str) -> bool:
    return word.endswith("ed") and len(word) >= PAST_LENGTH_MIN


def _conditions(words: Sequence[str]) -> Terms:
    found: list[str] = []
    inside = False
    for word in words:
        if word in CONDITIONS:
            inside = True
        elif word in BREAKS:
            inside = False
        elif inside:
            found.append(word)
    return terms(found)
