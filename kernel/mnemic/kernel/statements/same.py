"""Rules by which two texts make the same statement, the condition of supersession.

1. In doubt, texts are not the same: a duplicate costs a place, a wrong merge loses a fact.
2. `same`: the same words and marks in the same sentences, after spelling; or one sentence with an
   adverbial of time moved from its beginning to its end.
3. `extends`: all sentences of the older text, in its order and next to each other, within a longer
   one. A clause is not a sentence: *deploys are allowed on Friday* does not extend *deploys are
   allowed*.
4. Nothing is stemmed or dropped: tense, number, modality, quantifiers, prepositions, brackets,
   quotes and commas count.

Source: DOMAIN 3; specs/same.toml.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from typing import Final, TypeAlias

from mnemic.kernel.statements.statement import Statement, Token, keeps_case
from mnemic.kernel.statements.vocabulary import (
    CLAUSES,
    CONTEXTUAL,
    FRONT_OPENERS,
    NEGATORS,
    TIME_OPENERS,
    TIMES,
)

Text: TypeAlias = str | Statement
"""A text, or what `Statement.of` returned for it, which saves parsing it again."""

GROWTH_MAX: Final = 3
"""How many times as long an extension may be: a longer text is about something else."""
SHORT_TOKENS: Final = 4
"""Texts of fewer tokens may grow as if they had so many."""
FRONT_TOKENS: Final = range(2, 13)
"""Numbers of tokens of an adverbial."""
REST_TOKENS_MIN: Final = 2
_PUNCTUATION: Final = frozenset('"()[]{}:;,?.!')
_YEAR_DIGITS: Final = 4


def tokens(text: str) -> tuple[Token, ...]:
    """Return the tokens of *text*, of all sentences in order."""
    return Statement.of(text).tokens


def same(old: Text, new: Text) -> bool:
    """Return whether *old* and *new* make the same statement. Symmetric.

    A text without words is not the same as any text, itself included.
    """
    one, two = parsed(old), parsed(new)
    if not one.spelled or not two.spelled:
        return False
    return _equal(one, two) or _reordered(one, two) or _reordered(two, one)


def extends(old: Text, new: Text) -> bool:
    """Return whether *new* says all that *old* says, in the same sentences, and more."""
    one, two = parsed(old), parsed(new)
    ours, theirs = one.spelled.count("\n"), two.spelled.count("\n")
    if (
        not one.spelled
        or ours >= theirs
        or _length(two) > GROWTH_MAX * max(_length(one), SHORT_TOKENS)
    ):
        return False
    return _begins(one, two) or (not _depends_on_context(one) and _contains(one, two))


def statement_key(text: Text) -> int:
    """Return a number that is equal for all texts that are the `same`; 0 without words.

    Returns:
        63 bits of a digest of the words, sorted, without punctuation. Range: [0, 2^63).
    """
    return parsed(text).key


def sentence_keys(text: Text) -> tuple[int, ...]:
    """Return a key for each sentence, in order.

    If *new* extends *old*, then the keys of *old* are among those of *new*.
    """
    return parsed(text).sentence_keys


def parsed(text: Text) -> Statement:
    """Return *text* as a statement."""
    return Statement.of(text) if isinstance(text, str) else text


def _length(statement: Statement) -> int:
    return statement.spelled.count(" ") + statement.spelled.count("\n") + 1


def _equal(one: Statement, two: Statement) -> bool:
    if one.spelled == two.spelled:
        return True
    if not (one.caseless or two.caseless) or one.spelled.lower() != two.spelled.lower():
        return False
    return all(starmap(_folds, zip(one.spelled.split(), two.spelled.split(), strict=True)))


def _folds(one: Token, two: Token) -> bool:
    """Whether two tokens are equal, where their case may differ."""
    if one == two:
        return True
    return one.lower() == two.lower() and not keeps_case(one) and not keeps_case(two)


# --- order ----------------------------------------------------------------------------------


def _reordered(fronted: Statement, plain: Statement) -> bool:
    """Whether *plain* is *fronted* with the adverbial at its beginning put last."""
    if "\n" in fronted.spelled or "\n" in plain.spelled:
        return False
    old, new = fronted.spelled.split(" "), plain.spelled.split(" ")
    opener = old[0].lower()
    if opener not in FRONT_OPENERS and opener not in TIME_OPENERS:
        return False
    comma = old.index(",") if "," in old else None
    for length in FRONT_TOKENS if comma is None else (comma,):
        front, rest = old[:length], old[length + (comma is not None) :]
        if len(rest) < REST_TOKENS_MIN or length not in FRONT_TOKENS:
            continue
        moved = [*rest, *front]
        if (
            len(moved) == len(new)
            and _matches(moved, new, len(rest))
            and _is_adverbial(front)
            and _is_plain_clause(rest)
        ):
            return True
    return False


def _matches(moved: Sequence[Token], new: Sequence[Token], border: int) -> bool:
    """Whether the tokens are equal; the case of a first word may differ."""
    return all(
        one == two or (place in {0, border} and _folds(one, two))
        for place, (one, two) in enumerate(zip(moved, new, strict=True))
    )


def _is_adverbial(front: Sequence[Token]) -> bool:
    if not _PUNCTUATION.isdisjoint(front):
        return False
    return front[0].lower() in FRONT_OPENERS or any(map(_names_time, front[1:]))


def _names_time(token: Token) -> bool:
    if token[0].isdigit():
        return ":" in token or (len(token) == _YEAR_DIGITS and token.isdigit())
    return token.lower() in TIMES


def _is_plain_clause(rest: Sequence[Token]) -> bool:
    """Whether *rest* is one clause, so that an adverbial at either end belongs to all of it."""
    return all(
        token not in _PUNCTUATION and token.lower() not in CLAUSES and token.lower() not in NEGATORS
        for token in rest
    )


# --- extension ------------------------------------------------------------------------------


def _begins(one: Statement, two: Statement) -> bool:
    """Whether *two* begins with the sentences of *one*."""
    count = one.spelled.count("\n") + 1
    lines = two.spelled.split("\n", count)
    return _equal(one, Statement("\n".join(lines[:count]), two.caseless))


def _contains(one: Statement, two: Statement) -> bool:
    """Whether the sentences of *one* are somewhere in *two*, next to each other."""
    if f"\n{one.spelled}\n" in f"\n{two.spelled}\n":
        return True
    if not (one.caseless or two.caseless):
        return False
    # Of several places, the first decides: checking each would take quadratic time.
    before, found, _ = f"\n{two.spelled.lower()}\n".partition(f"\n{one.spelled.lower()}\n")
    if not found:
        return False
    first, count = before.count("\n"), one.spelled.count("\n") + 1
    lines = two.spelled.split("\n")[first : first + count]
    return _equal(one, Statement("\n".join(lines), two.caseless))


def _depends_on_context(statement: Statement) -> bool:
    """Whether what a text means may depend on what comes before it, as in ``it is broken``."""
    first = statement.spelled.partition("\n")[0].split(" ")
    return first[0].lower() in CONTEXTUAL or ":" in first or ":" in statement.tokens
