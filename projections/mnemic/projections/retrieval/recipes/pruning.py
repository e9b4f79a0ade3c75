"""Candidate pruning: selection of the blocks of a pool that are scored exactly.

``exactly``   selects blocks such that no other can displace them within the error bound. It
              scans all eligible blocks with rough numbers and a known error bound.
``pruned``    selects the results of an approximate search, and the strongest of those that match
              the question by more than their vectors. It scans nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.values import Value
from mnemic.projections.retrieval.recipes.match import Ints
from mnemic.projections.retrieval.recipes.question import Asked, fractions, weights
from mnemic.projections.storage.order import kth_greatest, reached_by
from mnemic.projections.vectors.index import ROUGH

Floats = NDArray[np.float32]

ERROR: Final = 2 * ROUGH
"""Maximum error of a rough strength: that of a cosine, and a rounding of each part and sum."""
SLACK: Final = 2
"""Multiple of the requested number that is scored, since corrections remove some again."""
WIDER: Final = 4
"""The same multiple for a retry, if that was not enough."""


@frozen(kw_only=True)
class Sizes(Value):
    """Limits of candidate pruning."""

    holders: int = 16_384
    """Documents that hold the rarest words of a question, used to find blocks that are not near."""
    overlooked: int = 4096
    """Number of blocks whose cosine is looked up, to select the strong ones."""
    beside: int = 4
    """For each candidate of a search, number of strong blocks that are scored exactly."""


SIZES: Final = Sizes()


class Scan(NamedTuple):
    """Blocks to score, and upper bounds for the others."""

    at: Ints
    """Places; among them the best blocks of each search by one part, up to the candidate limit."""
    others: int
    """No other block is stronger, nano-units; -1 if there is none."""
    others_evident: int
    """The same bound for others with evidence besides rarity."""


def exactly(asked: Asked, wanted: int) -> Iterator[Scan]:
    """Yield ever wider scans of the pool, as long as they leave anything out.

    Args:
        asked: The question.
        wanted: How many of the strongest are needed.
    """
    pool, most = asked.columns.listed(asked.places), asked.view.policy.candidates
    rough = _Rough.of(asked)
    best = _best(rough.lexical, most), _best(rough.cosine, most)
    count = SLACK * wanted
    while 0 < count < len(pool):
        places, others = _strongest(rough.strength, count)
        chosen = np.zeros(len(pool), dtype=np.bool_)
        for some in (*best, places):
            chosen[some] = True
        evident = others
        if asked.vector is None:  # with a vector almost any block has some evidence
            more, evident = _evident(rough, count)
            chosen[more] = True
        yield Scan(pool[chosen], others, evident)
        count *= WIDER


def _evident(rough: _Rough, count: int) -> tuple[Ints, int]:
    """Return the strongest blocks that have evidence besides rarity, as ``_strongest`` does."""
    others, evident = -1, (rough.evidence > 0).nonzero()[0]
    if count < len(evident):
        places, others = _strongest(rough.strength[evident], count)
        evident = evident[places]
    return evident, others


@frozen(kw_only=True, eq=False)
class _Rough:
    """Rough values for each block of a pool, as fractions."""

    lexical: Floats
    cosine: Floats
    """At least 0; empty without a vector."""
    evidence: Floats
    """Without a vector, above 0 for blocks with evidence besides rarity."""
    strength: Floats

    @classmethod
    def of(cls, asked: Asked) -> _Rough:
        """Compute the rough values of the pool of a question."""
        at = asked.places
        lexical, nearness, author, date, _ = (
            np.float32(weight / NANO) for weight in weights(asked.view.policy)
        )
        settled = asked.rough_settled
        strength = settled.copy() if isinstance(at, slice) else settled[at]
        evidence = found = asked.words.rough_strengths(at)
        strength += found * lexical
        if asked.authors:
            said = fractions(asked.said(at))
            strength += said * author
            evidence = evidence + said
        if asked.dated:
            close = fractions(asked.close(at))
            strength += close * date
            evidence = evidence + close
        cosines = strength[:0]
        if asked.vector is not None:
            cosines = asked.rough_cosines(at)
            strength += cosines * nearness
        asked.add_rough_bonus(strength, at)
        return cls(lexical=found, cosine=cosines, evidence=evidence, strength=strength)


def _strongest(rough: Floats, count: int) -> tuple[Ints, int]:
    """Return positions of the *count* roughly strongest blocks, and the maximum of the others."""
    few = (rough >= reached_by(rough, count)).nonzero()[0]
    values = rough[few]
    kth = len(values) - count
    least = np.partition(values, kth)[kth]
    return few[values >= least], math.ceil((float(least) + ERROR) * NANO)


def _best(rough: Floats, count: int) -> Ints:
    """Return the positions of all that may be among the *count* greatest values above 0."""
    if not count:
        return np.arange(0)
    low = float(reached_by(rough, count)) - 2 * ERROR if count < len(rough) else 0
    few = (rough >= np.float32(low)).nonzero()[0] if low > 0 else (rough > 0).nonzero()[0]
    if len(few) <= count:
        return few
    values = rough[few]
    kth = len(values) - count
    least = float(np.partition(values, kth)[kth]) - 2 * ERROR
    return few[values >= np.float32(least)]


def pruned(asked: Asked, near: Ints, sizes: Sizes = SIZES) -> Ints:
    """Return the places to score: a function of the view, the question and the near blocks.

    1. The *near* blocks.
    2. Of the eligible blocks that contain a rare word of the question, themselves or in a
       neighbour, that are by a named author, or that are close to a named date:
       the ``candidates`` that match the rare words best.
    3. Of these the ``overlooked`` strongest without any cosine, and of those the ``beside`` times
       ``candidates`` that are strongest with it; only the rare words count.

    The rare words are the rarest ones that at most ``holders`` documents hold together, and the
    single rarest in any case. Of equals the block that was learned first comes first.

    Age does not count here, in any recipe.

    Blocks left out have a low cosine and only common words. For the scored blocks every number
    is the same as if all were scored. The others are not found, unless edges lead to them.
    """
    columns, most = asked.columns, asked.view.policy.candidates
    telling = asked.counts.telling(sizes.holders)
    words = asked.in_context(telling)
    marked = columns.mask(asked.eligible(words.documents))
    marked[_named(asked)] = True
    marked[_close(asked)] = True
    at = marked[:-1].nonzero()[0]
    lexical = words.of(columns.documents[at])
    rest = asked.said(at), asked.close(at), asked.rarity(at)
    partial = asked.strengths((lexical, np.zeros_like(lexical), *rest))
    some = _first(partial, sizes.overlooked)
    cosines = asked.cosines(at[some])
    strength = asked.strengths((lexical[some], cosines, *(part[some] for part in rest)))
    strongest = some[_first(strength, sizes.beside * most)]
    chosen = columns.mask(columns.places(near))
    chosen[at[_first(lexical, most)]] = True
    chosen[at[strongest]] = True
    return chosen[:-1].nonzero()[0]


def _first(values: Ints, count: int) -> Ints:
    """Return the positions of the *count* greatest values, ascending; the first ones of equals."""
    if count >= len(values):
        return np.arange(len(values))
    least = kth_greatest(values, count) if count else int(values.max()) + 1
    chosen = values > least
    equals = (values == least).nonzero()[0]
    chosen[equals[: count - int(np.count_nonzero(chosen))]] = True
    found: Ints = chosen.nonzero()[0]
    return found


def _named(asked: Asked) -> Ints:
    """Return the places of the pool with texts by a named author."""
    if not asked.authors:
        return np.zeros(0, dtype=np.int64)
    author = asked.view.state.sequence.author
    documents = [(author == each).nonzero()[0] for each in asked.authors]
    return asked.eligible(np.concatenate(documents))


def _close(asked: Asked) -> Ints:
    """Return the places of the pool that are close to a named date."""
    if not asked.dated:
        return np.zeros(0, dtype=np.int64)
    return asked.columns.listed(asked.places)[asked.close(asked.places) > 0]
