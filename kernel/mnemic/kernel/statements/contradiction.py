"""How two texts relate: the same, more of the same, or a contradiction.

`relation` says *contradicts* when, without punctuation,

1. the texts are equal but for negators that one of them has more of;
2. they differ in one word, and the two words are opposites;
3. they differ in one phrase of at most three words, what comes before it holds a verb of state or a
   colon, and is at least as long as what comes after it: one thing with another value.

The relation only adds an edge and archives nothing, so errors are tolerable: one in five is wrong.

Source: DOMAIN 3; specs/same.toml, rule "relation".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen

from mnemic.kernel.statements.same import Text, extends, parsed, same
from mnemic.kernel.statements.statement import Statement, words_of
from mnemic.kernel.statements.vocabulary import FILLERS, NEGATORS, OPPOSITES, STATES
from mnemic.kernel.values import Value

PHRASE_MAX: Final = 3
"""Number of words of a value."""
_PLURAL_MIN: Final = 4


def relation(old: Text, new: Text) -> str | None:
    """Return ``"same"``, ``"extends"``, ``"contradicts"``, or None if nothing is known.

    Symmetric but for ``"extends"``.
    """
    one, two = parsed(old), parsed(new)
    if same(one, two):
        return "same"
    if extends(one, two):
        return "extends"
    return "contradicts" if contradicts(Wording.of(one), Wording.of(two)) else None


@frozen
class Wording(Value):
    """The words of a statement, as they are compared for a contradiction."""

    words: tuple[str, ...]
    """In lower case, with the colon of ``state: value`` and French *n'* apart."""
    negators: Counter[str]
    rest: tuple[str, ...]
    """The words that are neither negators nor fillers."""
    has_auxiliary: bool
    """Whether *do* or *does* is among the words."""
    asks: bool
    """Whether there is a question mark."""

    @classmethod
    def of(cls, statement: Statement) -> Wording:
        """Return the words of a statement."""
        tokens = statement.tokens
        words = tuple(_words(tokens))
        return cls(
            words=words,
            negators=Counter(word for word in words if word in NEGATORS),
            rest=tuple(word for word in words if word not in NEGATORS and word not in FILLERS),
            has_auxiliary="do" in words or "does" in words,
            asks="?" in tokens,
        )


def contradicts(one: Wording, two: Wording) -> bool:
    """Return whether one of two different statements denies the other, or gives another value.

    Both are taken to be neither the same nor an extension of each other.
    """
    if one.asks != two.asks or not one.words or not two.words:
        return False
    return _is_denied(one, two) or _is_revalued(one.words, two.words)


def _words(tokens: Sequence[str]) -> Iterator[str]:
    for each in tokens:
        match each.lower():
            case ":":
                yield ":"
            case "cannot":
                yield from ("can", "not")
            case elided if elided.startswith("n'"):
                yield from ("n'", elided[2:])
            case _:
                yield from words_of([each])


def _is_denied(one: Wording, two: Wording) -> bool:
    if one.negators == two.negators:
        return False
    if bool(one.negators - two.negators) == bool(two.negators - one.negators):
        return False
    if one.rest == two.rest:
        return True
    # "opens" and "does not open": the auxiliary takes the ending.
    if not (one.has_auxiliary or two.has_auxiliary):
        return False
    return [*map(_uninflected, one.rest)] == [*map(_uninflected, two.rest)]


def _uninflected(word: str) -> str:
    return word[:-1] if len(word) >= _PLURAL_MIN and word.endswith("s") else word


def _is_revalued(first: Sequence[str], second: Sequence[str]) -> bool:
    shorter = min(len(first), len(second))
    head = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    tail = next(
        (at for at in range(shorter - head) if first[-1 - at] != second[-1 - at]), shorter - head
    )
    one, two = first[head : len(first) - tail], second[head : len(second) - tail]
    if not 0 < len(one) <= PHRASE_MAX or not 0 < len(two) <= PHRASE_MAX:
        return False
    if len(one) == len(two) == 1 and two[0] in OPPOSITES.get(one[0], ()):
        return True
    return head >= tail and any(word in STATES or word == ":" for word in first[:head])
