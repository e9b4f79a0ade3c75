"""The frontier in mode ``classic``: pairs that were never composed, scored as clients expect.

Every pair of a window is considered, so values are computed for all pairs at once, and
scores are columns of nano-units. A window has 2,250 blocks at most, 2.5 million pairs.

The original behaviour is kept, flaws included: any composition consumes its pairs, labels are a set
and affect every pair of their members, old blocks are ignored. ``frontier.pairs`` corrects them.

Source: DOMAIN section 8, reference composed-graph section 2; specs/ledger.toml.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import NANO, weighted_each
from mnemic.kernel.results import unit
from mnemic.kernel.results.frontier import ClassicCandidate
from mnemic.projections.frontier import wording
from mnemic.projections.frontier.classic.overlaps import cosine_band, shared_words
from mnemic.projections.frontier.classic.window import Window, labels_in, window
from mnemic.projections.frontier.outcomes import adjustment, signal
from mnemic.projections.frontier.terms import is_boundary, most_specific
from mnemic.projections.view import View
from mnemic.projections.view.block_results import origin_of

Ints = NDArray[np.int64]

SCORE_MIN: Final = 1_600_000_000
BAND_FROM: Final = 450_000_000
BAND_TO: Final = 850_000_000
"""Upper end (excluded) of the cosine band: pairs that are related but do not say the same."""
TAG_ANCHOR: Final = 450_000_000
TERM_ANCHOR: Final = 250_000_000
ANCHOR_TERMS_MAX: Final = 5
BOUNDARY_MAX: Final = 4
BRIDGE_WEIGHTS: Final = (300_000_000, 200_000_000, 250_000_000, 150_000_000, 100_000_000)
"""Of tag distance, other categories, boundary tags, a shared term, a shared tag."""
ROWS_AT_ONCE: Final = 128


def candidates(view: View, *, tags: Sequence[str] = (), limit: int) -> tuple[ClassicCandidate, ...]:
    """Return the best pairs that were never composed, best first, ties by first and second id.

    Args:
        view: The view to search.
        tags: At least one of the two must have one of these, or one in its namespace.
        limit: Maximum number of pairs, at least 1.
    """
    nodes = window(view, tags)
    pairs = _Pairs(view, nodes)
    found = [_best(pairs.scored(rows), nodes, limit) for rows in _chunks(len(nodes.numbers))]
    if not found:
        return ()
    best = _best(_joined(found), nodes, limit)
    return tuple(_shown(view, nodes, best, place) for place in range(len(best.score)))


# --- all pairs at once ----------------------------------------------------------------------


@frozen(kw_only=True, eq=False)
class _Scored:
    """Pairs as columns; ends are positions in the window, scores nano-units."""

    first: Ints
    second: Ints
    score: Ints
    novelty: Ints
    bridge: Ints
    trust: Ints
    adjustment: Ints

    def at(self, places: Ints) -> _Scored:
        """Return some of them, in the order of *places*."""
        names = type(self).__annotations__
        return _Scored(**{name: getattr(self, name)[places] for name in names})


class _Pairs:
    """What every two blocks of the window share."""

    def __init__(self, view: View, nodes: Window) -> None:
        self._nodes = nodes
        self._tags = shared_words(nodes.tags)
        self._terms = shared_words(nodes.terms)
        boundaries = [tuple(filter(is_boundary, tags)) for tags in nodes.tags]
        self._boundaries = shared_words(boundaries)
        self._tag_count = np.array([len(tags) for tags in nodes.tags], dtype=np.int64)
        self._boundary_count = np.array([len(tags) for tags in boundaries], dtype=np.int64)
        self._band = cosine_band(view, nodes.numbers, least=BAND_FROM, below=BAND_TO)
        self._masks, self._mask = np.unique(nodes.outcomes, return_inverse=True)
        self._adjustments = np.array(
            [[adjustment(labels_in(one | other)) for other in self._masks] for one in self._masks],
            dtype=np.int64,
        )

    def scored(self, rows: slice) -> _Scored:
        """Return the eligible pairs of *rows* with later blocks whose score suffices."""
        nodes = self._nodes
        admitted = (self._tags[rows] > 0) | (self._terms[rows] > 0) | (self._band[rows] > 0)
        admitted &= ~nodes.composed[rows] & (nodes.wanted[rows, None] | nodes.wanted[None, :])
        first, second = np.nonzero(np.triu(admitted, k=rows.start + 1))
        first += rows.start
        scored = self._score(first, second)
        return scored.at(np.flatnonzero(scored.score >= SCORE_MIN))

    def _score(self, first: Ints, second: Ints) -> _Scored:
        nodes, ends = self._nodes, (first, second)
        tags, terms = self._tags[ends].astype(np.int64), self._terms[ends].astype(np.int64)
        novelty, trust = _novelty(nodes.degree[first], nodes.degree[second]), _mean(nodes, ends)
        bridge = self._bridge(first, second, tags, terms)
        anchor = TAG_ANCHOR * tags + TERM_ANCHOR * np.minimum(terms, ANCHOR_TERMS_MAX)
        band = self._band[ends].astype(np.int64)
        band_anchor = np.where(band > 0, NANO + 2 * (band - BAND_FROM), 0)
        adjusted = self._adjustments[self._mask[first], self._mask[second]]
        return _Scored(
            first=first,
            second=second,
            score=anchor + band_anchor + 2 * bridge + (3 * novelty + 1) // 2 + trust + adjusted,
            novelty=novelty,
            bridge=bridge,
            trust=trust,
            adjustment=adjusted,
        )

    def _bridge(self, first: Ints, second: Ints, tags: Ints, terms: Ints) -> Ints:
        either = self._tag_count[first] + self._tag_count[second] - tags
        # Two blocks without any tag have distance 0.
        apart = np.where(either > 0, NANO - _share(tags, np.maximum(either, 1)), 0)
        boundaries = self._boundary_count[first] + self._boundary_count[second]
        boundaries -= self._boundaries[first, second]
        category = self._nodes.category
        return weighted_each(
            BRIDGE_WEIGHTS,
            (
                apart,
                NANO * (category[first] != category[second]),
                np.minimum(boundaries, BOUNDARY_MAX) * (NANO // BOUNDARY_MAX),
                NANO * (terms > 0),
                NANO * (tags > 0),
            ),
        )


def _novelty(degree: Ints, other: Ints) -> Ints:
    """Return the mean of 1/(1 + degree) of both ends."""
    return _share(2 + degree + other, 2 * (1 + degree) * (1 + other))


def _mean(nodes: Window, ends: tuple[Ints, Ints]) -> Ints:
    """Return the mean retention of both ends."""
    mean: Ints = (nodes.retention[ends[0]] + nodes.retention[ends[1]] + 1) // 2
    return mean


def _share(part: Ints, whole: Ints) -> Ints:
    """Return part/whole of small counts in nano-units, rounded half up."""
    shares: Ints = (part * NANO + whole // 2) // whole
    return shares


def _chunks(rows: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_AT_ONCE) for start in range(0, rows, ROWS_AT_ONCE))


def _joined(parts: Sequence[_Scored]) -> _Scored:
    names = _Scored.__annotations__
    return _Scored(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    )


def _best(scored: _Scored, nodes: Window, limit: int) -> _Scored:
    """Return the best *limit* pairs, best first, ties by the ids of first and second."""
    places = np.arange(len(scored.score))
    if limit < len(places):
        bar = np.partition(scored.score, len(places) - limit)[len(places) - limit]
        places = np.flatnonzero(scored.score >= bar)
    few = scored.at(places)
    order = np.lexsort((nodes.id_rank[few.second], nodes.id_rank[few.first], -few.score))
    return few.at(order[:limit])


# --- rendering a pair -----------------------------------------------------------------------


def _shown(view: View, nodes: Window, best: _Scored, place: int) -> ClassicCandidate:
    first, second = int(best.first[place]), int(best.second[place])
    one, other = int(nodes.numbers[first]), int(nodes.numbers[second])
    tags = tuple(sorted({*nodes.tags[first]} & {*nodes.tags[second]}))
    either = {*nodes.tags[first], *nodes.tags[second]}
    boundaries = tuple(sorted(filter(is_boundary, either)))
    terms = most_specific(nodes.terms[first] & nodes.terms[second])
    outcomes = tuple(sorted(labels_in(int(nodes.outcomes[first] | nodes.outcomes[second]))))
    categories = view.category(one), view.category(other)
    return ClassicCandidate(
        first_id=view.id(one),
        second_id=view.id(other),
        score=unit(int(best.score[place])),
        novelty_score=unit(int(best.novelty[place])),
        bridge_score=unit(int(best.bridge[place])),
        trust_score=unit(int(best.trust[place])),
        outcome_score_adjustment=unit(int(best.adjustment[place])),
        shared_tags=tags,
        boundary_tags=boundaries,
        shared_terms=terms,
        prior_outcomes=outcomes,
        outcome_signal=signal(outcomes),
        first_category=categories[0],
        second_category=categories[1],
        first_preview=wording.preview(view, one),
        second_preview=wording.preview(view, other),
        first_origin=origin_of(view, one),
        second_origin=origin_of(view, other),
        reason=wording.reason(categories, boundaries, wording.anchor(tags, terms)),
        composition_question=wording.question(categories, boundaries or tags, terms),
    )
