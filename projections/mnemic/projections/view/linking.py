"""Candidate edges for blocks that were just promoted, and their near-duplicates.

The search is exact: it returns what scoring every pair one by one would. Three steps make it
cheap. A matrix product in blocks leaves the pairs whose cosine passes the guard. For these the
score without tags is computed from columns; tags can add at most their weight, so a pair that even
then falls short of the threshold, or of its block's k-th best score without tags, is discarded. The
others are scored in full; equal sets of tags are compared once.

Every comparison is between integer nano-units, and a bound that merely equals the bar is kept:
pairs of equal score are ordered by id, so a late one may still win.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

import numpy as np
from attrs import field, frozen
from attrs.validators import and_, ge, gt, le
from numpy.typing import NDArray

from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric import arithmetic
from mnemic.kernel.numeric.arithmetic import (
    MICROS_PER_HOUR,
    NANO,
    Integers,
    nano,
)
from mnemic.kernel.policy import Policy
from mnemic.kernel.values import Value
from mnemic.projections.storage.order import Ids, ranked, ranked_within
from mnemic.projections.vectors.nearby_pairs import Neighbourhood

_BLOCKS_AT_ONCE: Final = 256
_PAIRS_HELD: Final = 2**18
"""12 MiB of pairs."""

_ROUNDING: Final = 3
"""Maximum excess, by rounding each, of four weights that sum to one within 1e-9."""

_WHOLE_OR_LESS: Final = and_(ge(0), le(NANO))


@frozen(kw_only=True)
class LinkRule(Value):
    """The numbers of an edge's score; the four weights sum to at most one.

    Source: DOMAIN 4. The policy in force overrides every one.
    """

    cosine: int = field(default=550_000_000, validator=_WHOLE_OR_LESS)
    """Weight of the cosine. Nano-units."""
    tags: int = field(default=200_000_000, validator=_WHOLE_OR_LESS)
    """Weight of the Jaccard index of the tags. Nano-units."""
    category: int = field(default=150_000_000, validator=_WHOLE_OR_LESS)
    """Weight of the category. Nano-units."""
    temporal: int = field(default=100_000_000, validator=_WHOLE_OR_LESS)
    """Weight of nearness in active time. Nano-units."""
    cross_category: int = field(default=300_000_000, validator=_WHOLE_OR_LESS)
    """Category signal of two different categories; equal ones have the full signal. Nano-units."""
    sigma_us: int = field(default=8 * MICROS_PER_HOUR, validator=gt(0))
    """Width of the bell curve of temporal proximity. Active microseconds."""
    guard: int = field(default=300_000_000, validator=_WHOLE_OR_LESS)
    """Minimum cosine of an edge, regardless of what else the pair shares. Nano-units."""
    threshold: int = field(default=400_000_000, validator=_WHOLE_OR_LESS)
    """Lowest score of an edge. Nano-units."""
    best: int = field(default=5, validator=ge(1))
    """Number of candidates that a block keeps."""

    @classmethod
    def of(cls, policy: Policy) -> LinkRule:
        """Return the numbers of *policy*."""
        return cls(
            cosine=nano(policy.edge_cosine),
            tags=nano(policy.edge_tags),
            category=nano(policy.edge_category),
            temporal=nano(policy.edge_temporal),
            cross_category=nano(policy.cross_category),
            sigma_us=round(policy.temporal_sigma_hours * MICROS_PER_HOUR),
            guard=nano(policy.cosine_guard),
            threshold=nano(policy.edge_threshold),
            best=policy.edge_candidates,
        )

    def __attrs_post_init__(self) -> None:
        """Reject weights that sum to more than one, apart from rounding."""
        total = self.cosine + self.tags + self.category + self.temporal
        if total > NANO + _ROUNDING:
            raise ValueError(f"weights sum to {total} nano-units: pass at most {NANO}")


class ByOrdinal(Protocol):
    """One value per block: an array of all, or a column that is read on demand."""

    def __getitem__(self, ordinals: Integers, /) -> Integers:
        """Return the values of some blocks."""
        ...


class Column:
    """Values that are read on demand, a few of them replaced.

    Args:
        read: Returns the values of some blocks.
        blocks: Number of blocks.
        replaced: Values of some blocks that override those read.
    """

    def __init__(
        self,
        read: Callable[[Integers], Integers],
        blocks: int,
        replaced: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self._read = read
        self._ordinals = np.array(sorted(replaced), dtype=np.int64)
        self._values = np.array([replaced[each] for each in sorted(replaced)], dtype=np.int64)
        self._marked = np.zeros(blocks, dtype=np.bool_)
        self._marked[self._ordinals] = True

    def __getitem__(self, ordinals: Integers, /) -> Integers:
        """Return the values of some blocks."""
        values = self._read(ordinals)
        if not len(self._ordinals):
            return values
        among = np.flatnonzero(self._marked[ordinals])
        if len(among):
            values = values.copy()
            values[among] = self._values[np.searchsorted(self._ordinals, ordinals[among])]
        return values


def link_candidates(
    index: Neighbourhood,
    new: Integers,
    rows: Integers,
    *,
    row_of: ByOrdinal,
    category_of: ByOrdinal,
    reinforced_us: ByOrdinal,
    tag_set_of: ByOrdinal,
    tags_in: Callable[[int], frozenset[str]],
    ids: Ids,
    rule: LinkRule,
    pairs_held: int = _PAIRS_HELD,
) -> list[list[tuple[int, int]]]:
    """Return for each new block the best blocks to link it with.

    Args:
        index: Vectors of the blocks named.
        new: Ordinals of the blocks just promoted.
        rows: Rows in *index* of every active block, without repetition, the new ones included; a
            block without a vector has none, and the guard keeps it from any edge.
        row_of: Row of a new block, below 0 for none.
        category_of: Category by ordinal, in any numbering.
        reinforced_us: Active microseconds of the last reinforcement by ordinal; a block promoted
            in this run has the current hour there.
        tag_set_of: The tag set of a block, by ordinal. Range: [0, 2**31).
        tags_in: The tags in a set; called only for pairs that tags can decide.
        ids: Public ids by ordinal.
        rule: The numbers.
        pairs_held: When more pairs than this wait for their tags, they are settled before going
            on. It bounds memory and never changes the result.
    Returns:
        In the order of *new*: at most `rule.best` pairs of an ordinal and a score in nano-units,
        best first, ties by id. Every score reaches the threshold. No block is its own candidate.
    Source: DOMAIN 4, DESIGN 4.
    """
    linked: list[list[tuple[int, int]]] = []
    for start in range(0, len(new), _BLOCKS_AT_ONCE):
        batch = new[start : start + _BLOCKS_AT_ONCE]
        search = _Search(batch, rule, _SharedTags(batch, tag_set_of, tags_in), ids)
        places = np.flatnonzero(row_of[batch] >= 0)
        queries = [index.vector(row) for row in row_of[batch[places]].tolist()]
        categories, reinforced = category_of[batch], reinforced_us[batch]
        for found in index.pairs(queries, rows, floor=rule.guard):
            which, others = places[found.queries], index.block_of[found.rows]
            search.add(
                which=which,
                others=others,
                cosines=found.cosines,
                same_category=categories[which] == category_of[others],
                apart_us=reinforced[which] - reinforced_us[others],
            )
            if search.pairs_waiting > pairs_held:
                search.settle()
        linked.extend(search.result())
    return linked


def near_matches(
    index: Neighbourhood,
    queries: Sequence[Vector],
    rows: Integers,
    *,
    counts: Callable[[Integers], NDArray[np.bool_]],
    ids: Ids,
    floor: int,
    most: int,
) -> list[list[tuple[int, int]]]:
    """Return for each of *queries* the best blocks with a cosine of at least *floor*, best first.

    One pass serves a whole batch, whereas as many calls of `best_match` would each read the whole
    matrix; the first entry equals the result of `best_match`, if it reaches the floor.

    Args:
        index: Vectors of the blocks named.
        queries: Quantised vectors of the index's dimension.
        rows: Rows in *index* of the blocks to compare with, without repetition.
        counts: Which of some ordinals are eligible; called only for those that are near.
        ids: Public ids by ordinal.
        floor: Nano-units, >= 0.
        most: How many blocks to return for each.
    Returns:
        In the order of *queries*: pairs of an ordinal and nano-units, ties by id.
    """
    matches: list[list[tuple[int, int]]] = [[] for _ in queries]
    near: list[tuple[Integers, Integers, Integers]] = []
    for found in index.pairs(queries, rows, floor=floor):
        others = index.block_of[found.rows]
        chosen = np.flatnonzero(counts(others))
        near.append((found.queries[chosen], others[chosen], found.cosines[chosen]))
    if not near:
        return matches
    which, others, cosines = (np.concatenate(column) for column in zip(*near, strict=True))
    order = which.argsort(kind="stable")
    bounds = np.searchsorted(which[order], np.arange(len(queries) + 1))
    for query, (first, last) in enumerate(pairwise(bounds.tolist())):
        mine = order[first:last]
        best = mine[ranked(cosines[mine], others[mine], ids, k=most)]
        matches[query] = list(zip(others[best].tolist(), cosines[best].tolist(), strict=True))
    return matches


class _Pairs(NamedTuple):
    """Pairs whose tags have not been compared yet, as columns of one length."""

    which: Integers
    """Position among the new blocks."""
    others: Integers
    """Ordinal of the other block."""
    cosines: Integers
    categories: Integers
    nearness: Integers
    untagged: Integers
    """Score with no tag shared, the least that the pair can have. All scores in nano-units."""

    def at(self, positions: Integers) -> _Pairs:
        """Return the pairs at *positions*."""
        return _Pairs(*(column[positions] for column in self))


class _Search:
    """The best candidates of each new block so far, and what a further pair must reach."""

    def __init__(self, new: Integers, rule: LinkRule, shared: _SharedTags, ids: Ids) -> None:
        self._new = new
        self._rule = rule
        self._shared = shared
        self._ids = ids
        # A lower bound of each block's k-th best score: anything below it is certainly out.
        self._bars = np.full(len(new), rule.threshold, dtype=np.int64)
        # A block without tags gains nothing from those of others.
        self._tag_gains = np.where(shared.tagged, rule.tags, 0)
        self._untagged_best = np.zeros((len(new), rule.best), dtype=np.int64)
        self._waiting: list[_Pairs] = []
        self.pairs_waiting = 0
        nothing = np.empty(0, dtype=np.int64)
        # The best pairs so far, block by block, best first: positions, ordinals and scores.
        self._found = nothing, nothing, nothing

    def add(
        self,
        *,
        which: Integers,
        others: Integers,
        cosines: Integers,
        same_category: NDArray[np.bool_],
        apart_us: Integers,
    ) -> None:
        """Add pairs that passed the guard and drop those that cannot win."""
        rule = self._rule
        categories = np.where(same_category, NANO, rule.cross_category)
        # Weighted full signals add up without rounding, so a bound may add them to a rounded score;
        # and a rounded score reaches an integer if the unrounded one reaches it less a half.
        least = (self._bars - self._tag_gains - rule.temporal) * NANO - NANO // 2
        timeless = cosines * rule.cosine + categories * rule.category
        hopeful = np.flatnonzero((timeless >= least[which]) & (others != self._new[which]))
        which, others, cosines, categories, apart_us = (
            column[hopeful] for column in (which, others, cosines, categories, apart_us)
        )
        nearness = arithmetic.nearness_each(apart_us, rule.sigma_us)
        untagged = _scores(
            (rule.cosine, rule.category, rule.temporal), (cosines, categories, nearness)
        )
        self._raise_bars(which, untagged)
        pairs = _Pairs(which, others, cosines, categories, nearness, untagged)
        self._waiting.append(pairs.at(np.flatnonzero(self._within(which, untagged))))
        self.pairs_waiting += len(self._waiting[-1].which)

    def settle(self) -> None:
        """Score the waiting pairs in full and keep each block's best."""
        if not self.pairs_waiting:
            return
        pairs = _Pairs(*(np.concatenate(columns) for columns in zip(*self._waiting, strict=True)))
        self._waiting, self.pairs_waiting = [], 0
        pairs = pairs.at(np.flatnonzero(self._within(pairs.which, pairs.untagged)))
        rule = self._rule
        scores = _scores(
            (rule.cosine, rule.tags, rule.category, rule.temporal),
            (
                pairs.cosines,
                self._shared.jaccards(pairs.which, pairs.others),
                pairs.categories,
                pairs.nearness,
            ),
        )
        reach = scores >= self._bars[pairs.which]
        fresh = pairs.which[reach], pairs.others[reach], scores[reach]
        self._keep_best(*map(np.concatenate, zip(self._found, fresh, strict=True)))

    def result(self) -> list[list[tuple[int, int]]]:
        """Return ordinals and scores of the best candidates of each new block."""
        self.settle()
        best: list[list[tuple[int, int]]] = [[] for _ in self._new]
        for which, other, score in zip(*(column.tolist() for column in self._found), strict=True):
            best[which].append((other, score))
        return best

    def _within(self, which: Integers, untagged: Integers) -> NDArray[np.bool_]:
        """Return which pairs could reach their block's bar if they shared every tag."""
        return untagged + self._tag_gains[which] >= self._bars[which]

    def _raise_bars(self, which: Integers, untagged: Integers) -> None:
        """Raise each block's bar to its k-th best score without tags: tags never lower a score."""
        # One number per pair that sorts by block, then best first.
        block, deficit = np.divmod(np.sort(which * (NANO + 1) + (NANO - untagged)), NANO + 1)
        rank = np.arange(len(block)) - np.searchsorted(block, np.arange(len(self._new)))[block]
        leading = rank < self._rule.best
        batch = np.zeros_like(self._untagged_best)
        batch[block[leading], rank[leading]] = NANO - deficit[leading]
        both = np.sort(np.concatenate((self._untagged_best, batch), axis=1), axis=1)
        self._untagged_best = both[:, -self._rule.best :]
        np.maximum(self._bars, self._untagged_best[:, 0], out=self._bars)

    def _keep_best(self, which: Integers, others: Integers, scores: Integers) -> None:
        """Keep the best of each new block, and raise the bar of those with a full list."""
        best = self._rule.best
        order = ranked_within(which, scores, others, self._ids, k=best)
        self._found = which, _, scores = which[order], others[order], scores[order]
        ends = np.cumsum(np.bincount(which, minlength=len(self._new)))
        full = np.flatnonzero(np.diff(ends, prepend=0) == best)
        self._bars[full] = np.maximum(self._bars[full], scores[ends[full] - 1])


def _scores(weights: Sequence[int], signals: Sequence[Integers]) -> Integers:
    """Return weighted sums, capped at one, which rounded weights may exceed by a little."""
    return np.minimum(arithmetic.weighted_each(weights, signals), NANO)


class _SharedTags:
    """Tag overlap of a few new blocks with any others."""

    def __init__(
        self, new: Integers, tag_set_of: ByOrdinal, tags_in: Callable[[int], frozenset[str]]
    ) -> None:
        self._tag_set_of = tag_set_of
        self._tags_in = tags_in
        self._known: dict[int, frozenset[str]] = {}
        self._tags = [self._tags_of_set(number) for number in tag_set_of[new].tolist()]
        # Whether a new block has any tag.
        self.tagged = np.array([bool(tags) for tags in self._tags], dtype=np.bool_)

    def _tags_of_set(self, number: int) -> frozenset[str]:
        tags = self._known.get(number)
        if tags is None:
            tags = self._known[number] = self._tags_in(number)
        return tags

    def jaccards(self, which: Integers, others: Integers) -> Integers:
        """Return the Jaccard index of a new block's tags with another's, of many pairs.

        Args:
            which: Position among the new blocks.
            others: Ordinals, one per pair.
        Returns:
            Nano-units.
        """
        found = np.zeros(len(which), dtype=np.int64)
        tagged = np.flatnonzero(self.tagged[which])
        keys = which[tagged] << 32 | self._tag_set_of[others[tagged]]
        different, places = np.unique(keys, return_inverse=True)
        common, either = [], []
        for key in different.tolist():
            mine, theirs = self._tags[key >> 32], self._tags_of_set(key & 0xFFFFFFFF)
            shared = len(mine & theirs)
            common.append(shared)
            either.append(len(mine) + len(theirs) - shared)
        counts = (np.array(column, dtype=np.int64) for column in (common, either))
        found[tagged] = arithmetic.share_each(*counts)[places]
        return found
