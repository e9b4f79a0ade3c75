"""Stems: one stem for a word, its inflections, its synonyms and its opposites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import Stemmer

from mnemic.projections.references.vocabulary import (
    OPPOSITES,
    PREPOSITIONS,
    SAME,
    STOP,
)

Terms: TypeAlias = frozenset[str]
NOTHING: Final[Terms] = frozenset()

BREAKS: Final = frozenset(",;:")
"""Punctuation that ends a clause; kept among the words."""
COPULAS: Final = frozenset("is are was were be remains".split())
_CLITIC: Final = re.compile(r"'(?:s|m|re|ve|ll|d)$")


def terms(words: Iterable[str]) -> Terms:
    """Return the stems of the content words."""
    whole = map(unclipped, words)
    return frozenset(stem(word) for word in whole if word not in STOP and word not in BREAKS) - {""}


def unclipped(word: str) -> str:
    """Return a word without its clitic: *we've*, *gate's*."""
    return _CLITIC.sub("", word)


def stem(word: str) -> str:
    """Return the stem of *word* in its positive, common form."""
    bare = word.removesuffix("'s").removesuffix("'").strip("'.-")
    bare = OPPOSITES.get(bare, bare)
    found = _stemmed(SAME.get(bare, bare))
    return _SAME_STEMS.get(found, found)


def _stemmed(word: str) -> str:
    # A stemmer has internal state and would cache words of texts that get erased: see ``analysis``.
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
    """Return the words after the last break."""
    return list(reversed(clause(list(reversed(words)))))


def object_of(words: Sequence[str]) -> Sequence[str]:
    """Return the words up to the next preposition, *and*, *or* or *because*."""
    for place, word in enumerate(words):
        if place and (word in PREPOSITIONS or word in {"and", "or", "because"}):
            return words[:place]
    return words
