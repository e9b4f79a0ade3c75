"""Words as what they count as: one stem for a word, its forms, its equals and its opposites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import Stemmer

from mnemic.projections.deliberation.wording import OPPOSITES, PREPOSITIONS, SAME, STOP

Terms: TypeAlias = frozenset[str]
NOTHING: Final[Terms] = frozenset()

BREAKS: Final = frozenset(",;:")
"""Signs that end a clause; they stand among the words."""
COPULAS: Final = frozenset("is are was were be remains".split())
_CLITIC: Final = re.compile(r"'(?:s|m|re|ve|ll|d)$")


def terms(words: Iterable[str]) -> Terms:
    """Return the stems of the words that say what a sentence is about."""
    whole = map(unclipped, words)
    return frozenset(stem(word) for word in whole if word not in STOP and word not in BREAKS) - {""}


def unclipped(word: str) -> str:
    """Return a word without what is clipped to it: *we've*, *gate's*."""
    return _CLITIC.sub("", word)


def stem(word: str) -> str:
    """Return what *word* counts as: the stem of its positive, common form."""
    bare = word.removesuffix("'s").removesuffix("'").strip("'.-")
    bare = OPPOSITES.get(bare, bare)
    found = _stemmed(SAME.get(bare, bare))
    return _SAME_STEMS.get(found, found)


def _stemmed(word: str) -> str:
    # A stemmer has inner state and would cache words of texts that get erased: see ``analysis``.
    found: str = Stemmer.Stemmer("english", 0).stemWord(word)
    return found


_SAME_STEMS: Final = {_stemmed(word): _stemmed(head) for word, head in SAME.items()}


def clause(words: Sequence[str], also: tuple[str, ...] = ()) -> Sequence[str]:
    """Return the words up to the next break."""
    for place, word in enumerate(words):
        if word in BREAKS or word in also:
            return words[:place]
    return words


def last_clause(words: Sequence[str]) -> Sequence[str]:
    """Return the words behind the last break."""
    return list(reversed(clause(list(reversed(words)))))


def object_of(words: Sequence[str]) -> Sequence[str]:
    """Return the words up to the next preposition, *and*, *or* or *because*."""
    for place, word in enumerate(words):
        if place and (word in PREPOSITIONS or word in {"and", "or", "because"}):
            return words[:place]
    return words
