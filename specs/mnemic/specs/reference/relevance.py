"""Match of a block with a question by recipes recall-1 and recall-2 (DOMAIN section 6).

Every part is computed for one block after the other from the texts themselves.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from attrs import frozen

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.numeric.arithmetic import (
    NANO,
    exp,
    ln,
    nano,
)
from mnemic.kernel.policy import Policy
from mnemic.specs.reference import dates
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import pair
from mnemic.specs.reference.scoring import cosine, fraction, times, weighted_sum
from mnemic.specs.reference.threads import (
    Analyse,
    Said,
    everything_said,
    living,
    neighbours,
)

K1 = 0.9
B = 0.3
GRID = 2**30
"""Matches and logarithms are summed as whole multiples of 1 / this number."""
STEPS = (600, 360, 216, 130)
"""Weight of a neighbour's word in thousandths, one to four steps away."""
DAMPING = 3

PLAIN_PARTS = ("lexical", "cosine")
CONTEXT_PARTS = ("lexical", "cosine", "author", "date", "rarity", "corrected")
WEIGHED = CONTEXT_PARTS[:-1]
"""Parts with a weight in the policy; corrections are subtracted from their sum."""
LESS = NANO // 1000
"""Distance of the older of two near-duplicates below the newer."""

K = TypeVar("K", bound=Hashable)
Values = dict[BlockId, int]
"""Nano-units by block."""


@frozen(kw_only=True)
class Question:
    """Text of a question and its vector."""

    words: str
    vector: tuple[int, ...] | None
    analyse: Analyse
    others: Analyse
    """Returns the terms that a text has in its language beside these."""
    asked: Callable[[str, Collection[str]], list[tuple[str, ...]]]
    """Returns the terms of a question by their variants in some languages."""
    language: Callable[[str], str]
    """Returns the language of a text; that of the question decides how dates are spelled."""
    asked_by: str | None = None
    """Name or role of the asker."""
    active_us: int = 0
    """Active time at which it is asked."""
    instant_us: int = 0
    """Wall clock at which it is asked."""


@frozen(kw_only=True)
class PlainMatch:
    """Match of each block of a pool."""

    parts: dict[str, Values]
    relevance: Values
    searches: tuple[Values, ...]
    """Values by which candidates are searched; blocks at 0 are not found."""
    strength: Values | None = None
    """By which equal scores are ordered; None: by id alone."""


# --- recall-1 ---------------------------------------------------------------------------------


def plain(state: PlainState, question: Question, pool: list[BlockId]) -> PlainMatch:
    """Return the match of each block of *pool* with *question* by recall-1."""
    policy = state.policy
    alive = living(state, everything_said(state, question.analyse, question.others))
    asked = list(dict.fromkeys(question.analyse(question.words)))
    words = lexical(asked, alive, lambda text, term: float(text.count(term)))
    parts = {
        "lexical": {block: words[block] for block in pool},
        "cosine": {block: block_cosine(state, question, block) for block in pool},
    }
    share, gain = nano(policy.lexical_share), nano(policy.lexical_gain)
    relevance: Values = {}
    for block in pool:
        loud = min(NANO, times(words[block], gain))
        relevance[block] = weighted_sum([(share, loud), (NANO - share, parts["cosine"][block])])
    return PlainMatch(
        parts=parts, relevance=relevance, searches=(parts["lexical"], parts["cosine"])
    )


# --- recall-2 ---------------------------------------------------------------------------------


def contextual(state: PlainState, question: Question, pool: list[BlockId]) -> PlainMatch:
    """Return the match of each block of *pool* with *question* by recall-2."""
    policy = state.policy
    said = everything_said(state, question.analyse, question.others)
    alive = living(state, said)
    asked = list(dict.fromkeys(question.analyse(question.words)))
    names = set(chain.from_iterable(text.names for text in alive.values()))
    about = [term for term in asked if term not in names] or asked
    words = lexical(about, alive, in_context(said, alive.values()))
    unusual = rarities(said)
    parts: dict[str, Values] = {name: {} for name in WEIGHED}
    summed: Values = {}
    answers: set[BlockId] = set()
    for block in pool:
        text = alive[block]
        values = {
            "lexical": words[block],
            "cosine": block_cosine(state, question, block),
            "author": NANO if text.names & set(asked) else 0,
            "date": dates.closeness(question.words, state.blocks[block].created_at_us),
            "rarity": unusual[text.number],
        }
        for name, value in values.items():
            parts[name][block] = value
        summed[block] = strength_of(values, policy)
        # Rarity alone does not make a text an answer.
        if any(value for name, value in values.items() if name != "rarity"):
            answers.add(block)
    strength = corrected(state, summed)
    parts["corrected"] = {block: summed[block] - strength[block] for block in pool}
    overall = {block: strength[block] if block in answers else 0 for block in pool}
    middle = reference_of(strength.values(), policy)
    return PlainMatch(
        parts=parts,
        relevance={block: relevance_of(strength[block], middle, policy) for block in pool},
        searches=(parts["lexical"], parts["cosine"], overall),
    )


def strength_of(parts: Mapping[str, int], policy: Policy) -> int:
    """Return the weighted sum of the parts that have a weight."""
    return weighted_sum(strength_terms(parts, policy))


def strength_terms(parts: Mapping[str, int], policy: Policy) -> list[tuple[int, int]]:
    """Return weight and value of each of ``WEIGHED``."""
    return [(nano(getattr(policy, f"relevance_{name}")), parts[name]) for name in WEIGHED]


def corrected(state: PlainState, strengths: Values) -> Values:
    """Return the strengths, with that of each text below those of newer near-duplicates.

    Computed from the newest to the oldest, so that each of several versions is below the next.
    """
    left: Values = {}
    newest_first = sorted(strengths, key=lambda block: -state.blocks[block].learned_version)
    for block in newest_first:
        newer = [left[other] for other in left if pair(block, other) in state.near]
        left[block] = min([strengths[block], *(max(0, value - LESS) for value in newer)])
    return left


def reference_of(strengths: Collection[int], policy: Policy) -> int:
    """Return the strength with relevance 1/2: that of a rank, or the floor if it is larger.

    The rank is a tenth of the eligible blocks, at least the third and at most that of the policy.
    """
    floor = nano(policy.relevance_floor)
    rank = min(policy.relevance_rank, max(3, len(strengths) // 10))
    if len(strengths) < rank:
        return floor
    return max(floor, sorted(strengths, reverse=True)[rank - 1])


def relevance_of(strength: int, middle: int, policy: Policy) -> int:
    """Return 1 / (1 + exp(-(strength - middle) / width))."""
    steps = float(strength - middle) / float(nano(policy.relevance_width))
    return nano(1.0 / (1.0 + exp(max(-50.0, min(50.0, -steps)))))


# --- parts ------------------------------------------------------------------------------------

Term = str | tuple[str, ...]
"""A term, or its variants in several languages."""
Counted = Callable[[Said, Term], float]
"""How often a term counts in a text."""


def lexical(asked: Sequence[Term], alive: Mapping[K, Said], counted: Counted) -> dict[K, int]:
    """Return BM25 as a share of the score of a text that matches every term fully.

    Args:
        asked: Terms, each once.
        alive: Texts of the active blocks, or their passages, to which statistics are limited.
        counted: Count of a term in one of them.
    """
    texts = alive.values()
    mean = sum(len(text.words) for text in texts) / max(1, len(texts))
    worth: dict[Term, float] = {}
    for term in asked:
        holding = sum(text.count(term) > 0 for text in texts)
        worth[term] = ln(1.0 + (len(texts) - holding + 0.5) / (holding + 0.5)) * (K1 + 1.0)
    reach = sum(round(bound * GRID) for bound in worth.values())
    found: dict[K, int] = {}
    for key, text in alive.items():
        total = 0
        for term, bound in worth.items():
            count = counted(text, term)
            if count:
                drag = K1 * ((1.0 - B) + B * (len(text.words) / mean))
                total += round(bound * count / (count + drag) * GRID)
        found[key] = nano(total / max(1, reach))
    return found


def in_context(
    said: Iterable[Said], alive: Iterable[Said], full_length: int | None = None
) -> Counted:
    """Return the count function of terms that includes the words of active neighbours.

    Args:
        said: All texts, or their passages, in order.
        alive: Those of active blocks.
        full_length: Terms from which on a text counts its neighbours less; None: never.
    """
    everything = {text.number: text for text in said}
    near = neighbours([*everything.values()], len(STEPS))
    lives = {text.number for text in alive}

    def counted(text: Said, term: Term) -> float:
        received = sum(
            STEPS[steps - 1] * everything[number].count(term)
            for number, steps in near[text.number]
            if number in lives
        )
        if full_length is not None and len(text.words) > full_length:
            received = received * full_length // len(text.words)
        return (1000 * text.count(term) + received) / 1000.0

    return counted


def rarities(said: list[Said]) -> list[int]:
    """Return the rarity of the words of each text at the time it was learned.

    What was recorded at its promotion stays, even if texts were erased since.
    """
    return [
        rarity(text.number, [_holding(said[: text.number], term) for term in set(text.words)])
        if text.rarity is None
        else text.rarity
        for text in said
    ]


def rarity(before: int, held: Sequence[int]) -> int:
    """Return the rarity of a text.

    Args:
        before: Number of texts before it.
        held: For each of its distinct terms, the number of those texts that contain it.
    """
    if not held:
        return 0
    total = sum(_log(before + 1.0) - _log(count + 0.5) for count in held)
    return fraction(total, (len(held) + DAMPING) * _log(2.0 * before + 2.0))


def _holding(texts: Sequence[Said], term: str) -> int:
    return sum(term in text.words for text in texts)


def _log(number: float) -> int:
    return round(ln(number) * GRID)


def block_cosine(state: PlainState, question: Question, block: BlockId) -> int:
    """Return the cosine of a block with the question, at least 0; 0 without a vector."""
    packed = state.blocks[block].vector
    if question.vector is None or packed is None:
        return 0
    return max(0, cosine(question.vector, struct.unpack(f"<{len(packed) // 2}h", packed)))
