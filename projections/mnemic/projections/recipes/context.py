"""Recipe ``recall-2``: what was said around a text counts with it. Frozen.

Every part is in [0, 1]; all but the last are absolute and owe nothing to other candidates:

``lexical``  BM25 (english-1, k1 .9, b .3) as a share of what a text that answers everything would
             reach. A text counts the words of its neighbours in the same sitting as its own: .6 of
             those one step away, .36 two, .216 three, .13 four. An answer rarely repeats the words
             of the question before it. Names of authors ask who, not what, and are left out of the
             question unless nothing else is left.
``cosine``   Of the text's vector with the question's, at least 0.
``author``   1 where the question names who said it.
``date``     Closeness of ``created_at`` to a date in the question.
``rarity``   How unusual the words were when they were learned: small talk repeats itself, facts
             do not.

``corrected``  What a text loses to a newer one that says almost the same: of two noted as
             near-duplicates the older matches less than the newer. It counts -1.

Their weighted sum is the strength of the match. Relevance puts it beside the others:

    relevance = 1 / (1 + exp(-(strength - reference) / width))

The reference is the strength of the block at a tenth of those eligible, at the third to the twelfth
of them, or a floor if that is higher: where nothing matches a weak match stays weak. Strengths lie
close together; without the curve, recency would decide between the blocks that answer and all
others.

Source: measured on dialogues, see benchmarks/retrieval.py. Weights, floor, rank and width are of
the policy; they were fitted by listwise softmax and rounded.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import NANO, nano, weighted_each
from mnemic.kernel.policy import Policy
from mnemic.kernel.vectors import Vector
from mnemic.projections.columns import Rows
from mnemic.projections.order import ranked
from mnemic.projections.proximity import Near
from mnemic.projections.recipes import dates
from mnemic.projections.recipes.match import Curve, Ints, Match, nth_best
from mnemic.projections.recipes.plain import cosine
from mnemic.projections.sequence import Sequence
from mnemic.projections.views import View

NAME: Final = "recall-2"
EVIDENCE: Final = ("lexical", "cosine", "author", "date")
PARTS: Final = (*EVIDENCE, "rarity", "corrected")
SEARCHES: Final = ("lexical", "cosine", "strength")

SPREAD: Final = (600, 360, 216, 130)
"""What a word counts one, two, three and four steps away, in thousandths of one of the text's own.

With the author, the date and the steps themselves worth most: without the spread recall@10 falls
by 8 points, without authors by 3, without dates by 2, without rarity by 1.
"""

RANK_LEAST: Final = 3
CROWD: Final = 10
"""Of so many eligible blocks one is half relevant or more, from three of them to the policy's rank:
in a small memory twelve would be nearly all."""

BESIDE: Final = 4
"""Where vectors are searched approximately, for each candidate that a search may bring so many
blocks are looked at that are strong without."""

CORRECTION: Final = 1_000_000
"""How much weaker at least the older of two near-duplicates matches, nano-units."""


def weights(policy: Policy) -> tuple[int, ...]:
    """Return what each part counts, nano-units."""
    return (*policy.relevance_weights, -NANO)


def match(
    view: View, query: str, vector: Vector | None, pool: Ints, *, near: Near | None = None
) -> Match:
    """Return how well each block of *pool* matches."""
    policy, lexicon, sequence = view.policy, view.state.lexicon, view.state.sequence
    alive, documents = view.documents(pool)
    asked = lexicon.terms(query)
    authors = _named(sequence, alive, asked)
    names = frozenset().union(*map(sequence.name_terms, authors))
    about = [term for term in asked if term not in names] or asked
    counts = lexicon.counts(about, alive).spread(sequence.links, SPREAD)
    found = None if near is None or vector is None else near(view, vector, pool)
    parts = (
        counts.strengths(documents),
        cosine(view, None if found is not None else vector, pool),
        _said(sequence.author, authors, documents),
        _dated(view, query, pool),
        lexicon.rarity.take(documents),
    )
    strength = weighted_each(weights(policy)[:-1], parts)
    if found is not None and vector is not None:
        return Glimpse(
            view=view, vector=vector, pool=pool, parts=parts, partial=strength, near=found
        ).match()
    corrected = _corrected(view, pool, strength)
    strength = strength - corrected
    evidence = np.maximum.reduce(parts[: len(EVIDENCE)])
    floor = nano(policy.relevance_floor)
    return Match(
        pool=pool,
        parts=(*parts, corrected),
        strength=strength,
        # Rare words alone answer nothing.
        searches=(parts[0], parts[1], np.where(evidence > 0, strength, 0)),
        curve=Curve(
            reference=nth_best(strength, reference_rank(policy, len(pool)), floor),
            width=nano(policy.relevance_width),
        ),
    )


@frozen(kw_only=True, eq=False)
class Glimpse:
    """A match in which only some vectors are looked at: of blocks that can be strong.

    Those are the near ones that somebody else has found, and those that are strongest without any
    cosine. A block that is neither has a low cosine and little else. Of what is looked at every
    number is the same as if all were; the reference is the strength at its rank among them. What
    is not looked at is found by its words or not at all, until ``Match.over`` asks for it.
    """

    view: View
    vector: Vector
    pool: Ints
    parts: tuple[Ints, ...]
    """As in ``PARTS`` but the last, without any cosine."""
    partial: Ints
    """The strength without cosine and correction."""
    near: Ints
    """Numbers of the near blocks, rising."""

    def match(self) -> Match:
        """Return how well each block matches, as far as it is looked at."""
        seen = np.zeros(len(self.pool), dtype=np.bool_)
        seen[np.searchsorted(self.pool, self.near)] = True
        beside = BESIDE * self.view.policy.candidates
        if beside and len(self.pool):
            ids = self.view.state.catalogue.ids
            seen[ranked(self.partial, self.pool, ids, k=beside)] = True
        return self._of(seen, None)

    def _of(self, seen: NDArray[np.bool_], curve: Curve | None) -> Match:
        """Return the match that looks at those blocks; *curve* as it was before, if it was."""
        view, policy, pool = self.view, self.view.policy, self.pool
        seen = _with_versions(view, pool, seen)
        places = np.flatnonzero(seen)
        lexical, nothing, *others = self.parts
        cosines, strength, corrected = (np.zeros_like(nothing) for _ in range(3))
        cosines[places] = cosine(view, self.vector, pool[places])
        parts = [part[places] for part in (lexical, cosines, *others)]
        strengths = weighted_each(weights(policy)[:-1], parts)
        corrected[places] = _corrected(view, pool[places], strengths)
        strength[places] = strengths - corrected[places]
        searched = np.zeros_like(strength)
        evident = places[np.maximum.reduce(parts[: len(EVIDENCE)]) > 0]
        searched[evident] = strength[evident]
        if curve is None:
            rank = reference_rank(policy, len(pool))
            floor, width = nano(policy.relevance_floor), nano(policy.relevance_width)
            curve = Curve(reference=nth_best(strength[places], rank, floor), width=width)

        def widened(more: Ints) -> Match:
            wider = seen.copy()
            wider[more] = True
            return self._of(wider, curve)

        return Match(
            pool=pool,
            parts=(lexical, cosines, *others, corrected),
            strength=strength,
            searches=(lexical, cosines, searched),
            curve=curve,
            near=self.near,
            widened=widened,
        )


def reference_rank(policy: Policy, eligible: int) -> int:
    """Return the rank that is half relevant: a tenth of the blocks, within its limits."""
    return min(policy.relevance_rank, max(RANK_LEAST, eligible // CROWD))


def _corrected(view: View, pool: Ints, strength: Ints) -> Ints:
    """Return what each block of the pool loses to a newer near-duplicate in it."""
    lost, places = np.zeros_like(strength), _versions(view, pool)
    if not len(places):
        return lost
    learned = view.life.column("learned", pool[places.ravel()]).reshape(-1, 2)
    turn = learned.argsort(axis=1)
    older, newer = np.take_along_axis(places, turn, axis=1).T
    learned_older, learned_newer = np.take_along_axis(learned, turn, axis=1).T
    # The newest first, so that of several versions each stands below the next.
    order = np.lexsort((-learned_older, -learned_newer))
    concerned = np.unique(places)
    left = dict(zip(concerned.tolist(), strength[concerned].tolist(), strict=True))
    for old, new in zip(older[order].tolist(), newer[order].tolist(), strict=True):
        left[old] = min(left[old], max(0, left[new] - CORRECTION))
    lost[concerned] = strength[concerned] - np.fromiter(left.values(), dtype=np.int64)
    return lost


def _versions(view: View, pool: Ints) -> Ints:
    """Return the near-duplicate pairs within the pool by their places in it, shape (pairs, 2)."""
    ends = view.sighted()
    if not len(ends) or not len(pool):
        return np.zeros((0, 2), dtype=np.int64)
    # Asked of the few, not by a mask of all.
    places = np.searchsorted(pool[:-1], ends)
    found: Ints = places[(pool[places] == ends).all(axis=1)]
    return found


def _with_versions(view: View, pool: Ints, seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return *seen* and whatever else a correction of it hangs on."""
    wider, pairs = seen.copy(), _versions(view, pool)
    while True:
        among = wider[pairs]
        half = pairs[among.any(axis=1) & ~among.all(axis=1)]
        if not len(half):
            return wider
        wider[half] = True


def _dated(view: View, query: str, pool: Ints) -> Ints:
    """Return how close each block of the pool lies to the dates that the question names."""
    if not any(dates.named(query)):
        return np.zeros(len(pool), dtype=np.int64)
    return dates.closeness(query, view.life.column("created_us", pool))


def _said(author: Rows, authors: list[int], documents: Ints) -> Ints:
    """Return one whole where one of *authors* said a document."""
    if not authors:
        return np.zeros(len(documents), dtype=np.int64)
    return np.where(np.isin(author[documents], authors), NANO, 0)


def _named(sequence: Sequence, alive: NDArray[np.bool_], asked: list[str]) -> list[int]:
    """Return the authors that a question names, of those who said something that is alive."""
    named = sequence.authors_named(asked)
    if not named:
        return []
    speaking = set(np.unique(sequence.author[: len(alive)][alive]).tolist())
    return [author for author in named if author in speaking]
