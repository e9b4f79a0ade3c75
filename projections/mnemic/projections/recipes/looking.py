"""Which blocks of a pool are worth looking at closely.

``exactly``   names those that no other block can push out, whatever the last digits say. It runs
              over all eligible blocks with rough numbers, and is certain of its error.
``glimpsed``  names those that somebody found near, and the strongest of those that answer the
              question by more than nearness. It runs over nothing but these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import NANO
from mnemic.projections.index import ROUGH
from mnemic.projections.recipes.match import Ints
from mnemic.projections.recipes.plain import cosine
from mnemic.projections.recipes.question import SPREAD, Asked, weights

Floats = NDArray[np.float32]

ERROR: Final = 2 * ROUGH
"""How far a rough strength may lie off: that of a cosine, and a rounding of each part and sum."""
SLACK: Final = 2
"""So many times as many as are wanted are looked at, since corrections take some away again."""
WIDER: Final = 4
"""So many times as many, where that was not enough."""

FOLD: Final = 32
"""Values of which one is compared with others."""


@frozen(kw_only=True)
class Sizes:
    """How far a glimpse goes."""

    holders: int = 16_384
    """Documents that hold the rarest words of a question, by which it finds what is not near."""
    overlooked: int = 4096
    """Blocks of which it looks up the cosine, to tell which are strong."""
    beside: int = 4
    """For each candidate that a search may bring, so many of the strong are looked at closely."""


SIZES: Final = Sizes()


class Scan(NamedTuple):
    """Blocks to look at, and how much the others can reach at most."""

    numbers: Ints
    """Rising; among them the best of each search by one part, as many as may be candidates."""
    others: int
    """No other block is stronger, nano-units; -1 if there is none."""
    others_evident: int
    """Nor is any other that anything but its rarity speaks for."""


def exactly(asked: Asked, wanted: int) -> Iterator[Scan]:
    """Yield ever wider scans of the pool, as long as they leave anything out.

    Args:
        asked: The question.
        wanted: How many of the strongest are sought.
    """
    pool, most = asked.pool, asked.view.policy.candidates
    rough = _Rough.of(asked)
    best = [pool[_best(rough.lexical, most)], pool[_best(rough.cosine, most)]]
    count = SLACK * wanted
    while 0 < count < len(pool):
        places, others = _strongest(rough.strength, count)
        scan = Scan(asked.view.union(*best, pool[places]), others, others)
        # With a vector almost anything may have some evidence; without one few do.
        yield scan if asked.vector is not None else _beside(scan, pool, rough, count)
        count *= WIDER


def _beside(scan: Scan, pool: Ints, rough: _Rough, count: int) -> Scan:
    """Return *scan* with the strongest of those that anything but rarity speaks for."""
    others, evident = -1, np.flatnonzero(rough.evidence > 0)
    if count < len(evident):
        places, others = _strongest(rough.strength[evident], count)
        evident = evident[places]
    return scan._replace(numbers=np.union1d(scan.numbers, pool[evident]), others_evident=others)


@frozen(kw_only=True, eq=False)
class _Rough:
    """What is roughly known of each block of a pool, as fractions."""

    lexical: Floats
    cosine: Floats
    """At least 0; empty without a vector."""
    evidence: Floats
    """Without a vector, above 0 where anything but rarity speaks for a block."""
    strength: Floats

    @classmethod
    def of(cls, asked: Asked) -> _Rough:
        """Run over the pool of a question."""
        view, pool, words = asked.view, asked.pool, asked.words.value
        documents = view.documents(pool)[1]
        lexical, nearness, author, date, rarity = (
            np.float32(weight / NANO) for weight in weights(view.policy)
        )
        strength = _fractions(view.state.lexicon.rarity.take(documents))
        strength *= rarity
        answers = np.zeros(len(view.speakers()), dtype=np.float32)
        answers[words.documents] = _fractions(words.strengths)
        found = answers.take(documents)
        evidence = found
        strength += found * lexical
        if asked.authors:
            said = _fractions(asked.said(documents))
            strength += said * author
            evidence = evidence + said
        if asked.dated:
            close = _fractions(asked.close(pool))
            strength += close * date
            evidence = evidence + close
        cosines = strength[:0]
        if asked.vector is not None:
            cosines = view.rough_cosines(asked.vector, pool)
            np.maximum(cosines, 0, out=cosines)
            strength += cosines * nearness
        return cls(lexical=found, cosine=cosines, evidence=evidence, strength=strength)


def _fractions(nanos: Ints) -> Floats:
    fractions = nanos.astype(np.float32)
    fractions *= np.float32(1 / NANO)
    return fractions


def _strongest(rough: Floats, count: int) -> tuple[Ints, int]:
    """Return the places of the *count* roughly strongest, of more, and the most of all others."""
    few = np.flatnonzero(rough >= _low(rough, count))
    values = rough[few]
    kth = len(values) - count
    least = np.partition(values, kth)[kth]
    return few[values >= least], math.ceil((float(least) + ERROR) * NANO)


def _best(rough: Floats, count: int) -> Ints:
    """Return the places of all that may be among the *count* greatest values above 0."""
    if not count:
        return np.arange(0)
    low = _low(rough, count) - 2 * ERROR if count < len(rough) else 0
    few = np.flatnonzero(rough >= np.float32(low)) if low > 0 else np.flatnonzero(rough > 0)
    if len(few) <= count:
        return few
    values = rough[few]
    kth = len(values) - count
    least = float(np.partition(values, kth)[kth]) - 2 * ERROR
    return few[values >= np.float32(least)]


def _low(values: Floats, count: int) -> float:
    """Return what *count* of the values reach at least, and most likely few more.

    Each is the greatest of some that lie far apart: to run over all of them once takes a third of
    the time of a partition, and a tenth where most are alike.
    """
    width = len(values) // FOLD
    if width <= count:
        return float(values.min())
    greatest = values[: FOLD * width].reshape(FOLD, width).max(axis=0)
    return float(np.partition(greatest, width - count)[width - count])


def glimpsed(asked: Asked, near: Ints, sizes: Sizes = SIZES) -> Ints:
    """Return what a glimpse looks at: a function of the view, the question and what is near.

    1. The *near* blocks.
    2. Of the eligible blocks that answer a telling word of the question, themselves or by a
       neighbour, that were said by somebody who is named, or that are close to a date that is
       named: the ``candidates`` that answer the telling words best.
    3. Of these the ``overlooked`` strongest without any cosine, and of those the ``beside`` times
       ``candidates`` that are strongest with it; no word counts but the telling ones.

    Telling are the rarest words, as many as ``holders`` documents hold at most, and the rarest
    in any case. Of equals the block comes first that was learned first.

    What is left out has a low cosine, and words that many have. Of what is looked at every number
    is the same as if all were. What is not looked at is not found, until edges lead there.
    """
    view, most = asked.view, asked.view.policy.candidates
    telling = asked.counts.telling(sizes.holders)
    words = telling.spread(view.state.sequence.links, SPREAD).matches()
    numbers = view.union(asked.eligible(words.documents)[1], _named(asked), _close(asked))
    documents = view.documents(numbers)[1]
    lexical = words.of(documents)
    rest = asked.said(documents), asked.close(numbers), view.state.lexicon.rarity.take(documents)
    partial = asked.strengths((lexical, np.zeros_like(lexical), *rest))
    some = _first(partial, sizes.overlooked)
    cosines = cosine(view, asked.vector, numbers[some])
    strength = asked.strengths((lexical[some], cosines, *(part[some] for part in rest)))
    strongest = some[_first(strength, sizes.beside * most)]
    return view.union(near, numbers[_first(lexical, most)], numbers[strongest])


def _first(values: Ints, count: int) -> Ints:
    """Return the places of the *count* greatest values, rising; of equals those that come first."""
    if count >= len(values):
        return np.arange(len(values))
    kth = len(values) - count
    least = np.partition(values, kth)[kth] if count else values.max() + 1
    chosen = values > least
    equals = np.flatnonzero(values == least)
    chosen[equals[: count - int(np.count_nonzero(chosen))]] = True
    return np.flatnonzero(chosen)


def _named(asked: Asked) -> Ints:
    """Return the blocks of the pool that were said by somebody who is named."""
    if not asked.authors:
        return asked.pool[:0]
    author = asked.view.state.sequence.author
    documents = [np.flatnonzero(author == each) for each in asked.authors]
    return asked.eligible(np.concatenate(documents))[1]


def _close(asked: Asked) -> Ints:
    """Return the blocks of the pool that are close to a date that is named."""
    return asked.pool[asked.close(asked.pool) > 0] if asked.dated else asked.pool[:0]
