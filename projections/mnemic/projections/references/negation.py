"""Rejections in a sentence: Y in *X, not Y*, *Y is deprecated*, *from Y to X*, *left Y*."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mnemic.projections.references.stems import (
    COPULAS,
    NOTHING,
    Terms,
    clause,
    last_clause,
    object_of,
    terms,
)
from mnemic.projections.references.vocabulary import (
    GONE,
    LEAVING,
    MOVING,
    NEGATORS,
    PREPOSITIONS,
)

_GOING_ON: Final = PREPOSITIONS | frozenset("one because yet even as when if than".split())
"""After *, not* these words introduce something other than a rejected thing."""


class Rejection(NamedTuple):
    """What a sentence rejects, and what it still asserts."""

    gone: Terms
    instead: Terms
    """What replaced it."""
    kept: Sequence[str]
    """The words that still assert something."""


def rejection(words: Sequence[str]) -> Rejection:
    """Return what the sentence of *words* rejects, by the first matching form."""
    for read in (_moved, _replaced, _instead, _left, _is_gone):
        found = read(words)
        if found is not None:
            return Rejection(*found)
    return Rejection(NOTHING, NOTHING, words)


Turned = tuple[Terms, Terms, Sequence[str]]


def _moved(words: Sequence[str]) -> Turned | None:
    """Parse *moved ... from Y to X*."""
    if not MOVING.intersection(words) or "from" not in words:
        return None
    start = words.index("from")
    if "to" not in words[start:]:
        return None
    turn = words.index("to", start)
    new = clause(words[turn + 1 :])
    gone = terms(words[start + 1 : turn])
    return (gone, terms(new), [*words[:start], *words[turn + 1 :]]) if gone else None


def _replaced(words: Sequence[str]) -> Turned | None:
    """Parse *replaced Y with X*, *Y was replaced by X* and *X replaces Y*."""
    for place, word in enumerate(words):
        if word in {"replaced", "replace", "replaces", "superseded", "supersedes", "swapped"}:
            before, after = words[:place], words[place + 1 :]
            for link in ("by", "with", "for"):
                if link in after:
                    turn = after.index(link)
                    new = clause(after[turn + 1 :])
                    old = before if link == "by" else after[:turn]
                    rest = after[turn + 1 :] if link == "by" else [*before, *after[turn + 1 :]]
                    return terms(clause(old)), terms(object_of(new)), rest
            return terms(clause(after)), terms(before), before
    return None


def _instead(words: Sequence[str]) -> Turned | None:
    """Parse *X instead of Y*, *X rather than Y* and *X, not Y*."""
    for place in range(1, len(words) - 1):
        pair = (words[place], words[place + 1])
        new, old = words[:place], words[place + 2 :]
        is_not = pair == (",", "not") and old and old[0] not in _GOING_ON
        if not is_not and pair not in {("instead", "of"), ("rather", "than")}:
            continue
        cut = object_of(clause(old))
        return terms(cut), terms(new) - terms(cut), [*new, *old[len(cut) :]]
    return None


_UNDONE: Final = NEGATORS | frozenset("been has have was to".split())


def _left(words: Sequence[str]) -> Turned | None:
    """Parse *Petra left Y and ...*."""
    for place, word in enumerate(words[1:], start=1):
        if word in LEAVING and not COPULAS.intersection(words[:place]):
            if _UNDONE & set(words[max(0, place - 2) : place]):
                continue
            cut = clause(words[place + 1 :], also=("and",))
            if terms(cut):
                rest = words[place + 1 + len(cut) :]
                return terms(cut), terms(rest), [*words[:place], *rest]
    return None


def _is_gone(words: Sequence[str]) -> Turned | None:
    """Parse *Y is deprecated* and *the deprecated Y*."""
    for place, word in enumerate(words):
        if word not in GONE or NEGATORS.intersection(words[max(0, place - 3) : place]):
            continue
        before = words[:place]
        if COPULAS.intersection(before) or {"been", "got"}.intersection(before):
            return terms(last_clause(before)), NOTHING, [*before, *words[place + 1 :]]
    return None
