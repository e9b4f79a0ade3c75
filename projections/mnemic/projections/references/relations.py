"""Relations in a sentence: two things in an order, and a thing with a single value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from attrs import frozen

from mnemic.kernel.values import Value
from mnemic.projections.references.stems import (
    BREAKS,
    COPULAS,
    Terms,
    object_of,
    stem,
    terms,
)
from mnemic.projections.references.vocabulary import (
    ATTRIBUTES,
    OWNING,
    PLACED,
    POSSESSIVES,
    PREFERRING,
    PREPOSITIONS,
    SAME,
    SINGLING,
    SUBORDINATES,
)


@frozen(kw_only=True)
class Order(Value):
    """Two things in an order: the first is preferred, earlier, or more of something."""

    relation: str
    first: Terms
    second: Terms


@frozen(kw_only=True)
class Slot(Value):
    """A thing and its single value: its owner, its place, its name."""

    of: Terms
    value: Terms
    said: str


# --- orders ---------------------------------------------------------------------------------


def order(words: Sequence[str]) -> Order | None:
    """Parse *X over Y*, *X is faster than Y*, *X before Y*, *X first, then Y*."""
    if words and words[0] in _TIMES and "," in words:
        turn = words.index(",")  # Before Y, X.
        return _ordered("time", words[turn + 1 :], words[1:turn], swapped=words[0] == "after")
    for place, word in enumerate(words):
        left, right = words[:place], words[place + 1 :]
        if terms(left) and terms(right):
            found = _ordered_by(word, left, right)
            if found is not None:
                return found
    return None


_TIMES: Final = frozenset({"before", "after"})
_MERE_THANS: Final = frozenset("rather other more less fewer".split())


def _ordered_by(word: str, left: Sequence[str], right: Sequence[str]) -> Order | None:
    """Return the order that *word* establishes between the phrases before and after it."""
    if word in {"over", "to"}:
        verbs = PREFERRING if word == "over" else _PREFER
        start = next((at for at, each in enumerate(left) if each in verbs), None)
        if start is not None:
            return _ordered("preference", left[start + 1 :], object_of(right))
    if word == "than" and left[-1] not in _MERE_THANS:
        return _ordered(f"more {stem(left[-1])}", left[:-1], object_of(right))
    if word in _TIMES or (word == "then" and left[-1] in {",", "and"}):
        return _ordered("time", left, right, swapped=word == "after")
    return None


_PREFER: Final = frozenset("prefer prefers preferred".split())


def _ordered(
    relation: str, first: Sequence[str], second: Sequence[str], *, swapped: bool = False
) -> Order | None:
    one, two = terms(first), terms(second)
    if not one or not two:
        return None
    return Order(relation=relation, first=two if swapped else one, second=one if swapped else two)


# --- single values --------------------------------------------------------------------------


def slots(words: Sequence[str]) -> Iterable[Slot]:
    """Yield the single values that the sentence states."""
    words = _before_subordinate(words)
    for place in range(1, len(words)):
        before, word, after = words[:place], words[place], words[place + 1 :]
        if word in COPULAS:
            return _copular(before, after)
        if SAME.get(word, word) in OWNING and word not in ATTRIBUTES:
            if before[-1] not in POSSESSIVES:
                return [_owned(before, word, after)]
        elif stem(word) in _PLACED_STEMS and after and after[0] in PREPOSITIONS and terms(before):
            return [_placed(before, word, after[0], after[1:])]
    return []


def _owned(owner: Sequence[str], verb: str, what: Sequence[str]) -> Slot:
    return Slot(of=terms(what) | {stem(verb)}, value=terms(owner), said=" ".join(owner))


_PLACED_STEMS: Final = frozenset(stem(word) for word in PLACED)
_OWNING_STEMS: Final = frozenset(stem(word) for word in OWNING)


def _copular(subject: Sequence[str], predicate: Sequence[str]) -> Iterable[Slot]:
    said = [word for word in predicate if word not in {"now", "currently", "still", "always"}]
    match said:
        case [verb, preposition, _, *_] if preposition in PREPOSITIONS:
            if stem(verb) in _PLACED_STEMS:
                yield _placed(subject, verb, preposition, said[2:])
                return
        case _:
            pass
    if _is_attribute(subject):
        yield Slot(of=terms(subject), value=terms(said), said=" ".join(said))
    if _is_attribute(said) and "of" in said:
        yield Slot(of=terms(said), value=terms(subject), said=" ".join(subject))


def _placed(subject: Sequence[str], verb: str, preposition: str, value: Sequence[str]) -> Slot:
    relation = stem(verb)
    is_owned = preposition == "by" and relation in _OWNING_STEMS
    place = relation if is_owned else f"{relation}>{preposition}"
    return Slot(of=terms(subject) | {place}, value=terms(value), said=" ".join(value))


def _is_attribute(words: Sequence[str]) -> bool:
    """Whether a phrase names something of which a thing has exactly one."""
    head = words[: words.index("of")] if "of" in words else words
    if not head:
        return False
    return head[-1] in ATTRIBUTES or bool(SINGLING.intersection(head[:-1]))


def _before_subordinate(words: Sequence[str]) -> Sequence[str]:
    for place, word in enumerate(words):
        if place and (word in BREAKS or word in SUBORDINATES):
            return words[:place]
    return words
