"""Candidate edges for blocks that were just promoted, and their near-duplicates.

The search is exact: it returns what scoring every pair one by one would. Three steps make it
cheap. A matrix product in blocks leaves the pairs whose cosine passes the guard. Of these the
score without tags comes from columns; tags can add at most their weight, so a pair that even then
falls short of the threshold, or of its block's k-th best score without tags, is out. The rest is
scored in full, the tags by inverting them once for the whole batch.

Every comparison is between whole nano-units, and a bound that merely equals the bar stays in:
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

from mnemic.kernel import arithmetic
from mnemic.kernel.arithmetic import MICROS_PER_HOUR, NANO, nano
from mnemic.kernel.policy import Policy
from mnemic.kernel.vectors import Vector
from mnemic.projections.index import Integers, Neighbourhood, VectorIndex
from mnemic.projections.order import Ids, ranked

_BLOCKS_AT_ONCE: Final = 256
_PAIRS_HELD: Final = 2**18
"""12 MiB of pairs."""

_ROUNDING: Final = 3
"""Four weights that sum to one within 1e-9 may exceed it by so much when each is rounded."""

_WHOLE_OR_LESS: Final = and_(ge(0), le(NANO))


@frozen(kw_only=True)
class LinkRule:
    """The numbers of an edge's score; the four weights sum to one whole or less.

    Source: DOMAIN 4. The policy in force has the last word on every one.
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
    """Category signal of two different categories; equal ones have a whole. Nano-units."""
    sigma_us: int = field(default=8 * MICROS_PER_HOUR, validator=gt(0))
    """Width of the bell of nearness. Active microseconds."""
    guard: int = field(default=300_000_000, validator=_WHOLE_OR_LESS)
    """A pair of a lower cosine forms no edge, whatever else it shares. Nano-units."""
    threshold: int = field(default=400_000_000, validator=_WHOLE_OR_LESS)
    """Lowest score of an edge. Nano-units."""
    best: int = field(default=5, validator=ge(1))
    """Candidates that a block keeps."""

    @classmethod
    def of(cls, policy: Policy) -> LinkRule:
        """Return the numbers as *policy* has them."""
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
        """Refuse weights that sum to more than one whole, their rounding aside."""
        total = self.cosine + self.tags + self.category + self.temporal
        if total > NANO + _ROUNDING:
            raise ValueError(f"weights sum to {total} nano-units: pass at most {NANO}")


class ByOrdinal(Protocol):
    """One value per block: an array of all, or something that is asked for few."""

    def __getitem__(self, ordinals: Integers, /) -> Integers:
        """Return the values of some blocks."""
        ...

    def __len__(self) -> int:
        """Return how many blocks there are."""
        ...


class Column:
    """Values that are read when somebody asks for some of them, a few of them replaced.

    Args:
        read: Returns the values of some blocks.
        blocks: How many there are.
        replaced: Values of some blocks that stand in the place of those read.
    """

    def __init__(
        self,
        read: Callable[[Integers], Integers],
        blocks: int,
        replaced: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self._read = read
        self._blocks = blocks
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

    def __len__(self) -> int:
        """Return how many blocks there are."""
        return self._blocks


def link_candidates(
    index: Neighbourhood,
    new: Integers,
    pool: Integers,
    *,
    row_of: ByOrdinal,
    category_of: ByOrdinal,
    reinforced_us: ByOrdinal,
    tags_of: Callable[[int], frozenset[str]],
    ids: Ids,
    rule: LinkRule,
    pairs_held: int = _PAIRS_HELD,
) -> list[list[tuple[int, int]]]:
    """Return for each new block the best blocks to link it with.

    Args:
        index: Vectors of the blocks named.
        new: Ordinals of the blocks just promoted.
        pool: Ordinals of every active block, without repetition, the new ones included.
        row_of: Row in *index* by ordinal; below 0 for a block without a vector, which the guard
            keeps from any edge.
        category_of: Category by ordinal, in any numbering.
        reinforced_us: Active microseconds of the last reinforcement by ordinal; a block promoted
            in this run has the current hour there.
        tags_of: Tags by ordinal; asked only about pairs that tags can decide.
        ids: Public ids by ordinal.
        rule: The numbers.
        pairs_held: When more pairs than this wait for their tags, they are settled before going
            on. It bounds memory and never changes the result.
    Returns:
        In the order of *new*: at most `rule.best` pairs of an ordinal and a score in nano-units,
        best first, ties by id. Every score reaches the threshold. No block is its own candidate.
    Source: DOMAIN 4, DESIGN 4.
    """
    rows = _rows(pool, row_of)
    linked: list[list[tuple[int, int]]] = []
    for start in range(0, len(new), _BLOCKS_AT_ONCE):
        batch = new[start : start + _BLOCKS_AT_ONCE]
        search = _Search(batch, rule, _SharedTags(batch, len(row_of), tags_of), ids)
        places = np.flatnonzero(row_of[batch] >= 0)
        queries = [index.vector(row) for row in row_of[batch[places]].tolist()]
        for found in index.pairs(queries, rows, floor=rule.guard):
            which, others = places[found.queries], index.block_of[found.rows]
            blocks = batch[which]
            search.add(
                which=which,
                others=others,
                cosines=found.cosines,
                same_category=category_of[blocks] == category_of[others],
                apart_us=reinforced_us[blocks] - reinforced_us[others],
            )
            if search.pairs_waiting > pairs_held:
                search.settle()
        linked.extend(search.result())
    return linked


def best_match(
    index: VectorIndex, vector: Vector, pool: Integers, *, row_of: ByOrdinal, ids: Ids
) -> tuple[int, int] | None:
    """Return the block of *pool* nearest to *vector* and its cosine, ties by id.

    Args:
        index: Vectors of the blocks named.
        vector: Quantised, of the index's dimension.
        pool: Ordinals of the blocks to compare with, without repetition.
        row_of: Row in *index* by ordinal; below 0 for none.
        ids: Public ids by ordinal.
    Returns:
        Ordinal and nano-units, or None when the pool has no vector.
    """
    rows, cosines = index.top(vector, _rows(pool, row_of), 1, ids=ids)
    return (int(index.block_of[rows[0]]), int(cosines[0])) if len(rows) else None


def near_matches(
    index: Neighbourhood,
    queries: Sequence[Vector],
    pool: Integers,
    *,
    row_of: ByOrdinal,
    ids: Ids,
    floor: int,
) -> list[list[tuple[int, int]]]:
    """Return for each of *queries* the blocks with a cosine of at least *floor*, best first.

    One pass serves a whole batch, for which as many calls of `best_match` would each read the
    matrix again; the first entry is what `best_match` finds, if it reaches the floor.

    Args:
        index: Vectors of the blocks named.
        queries: Quantised vectors of the index's dimension.
        pool: Ordinals of the blocks to compare with, without repetition.
        row_of: Row in *index* by ordinal; below 0 for none.
        ids: Public ids by ordinal.
        floor: Nano-units, >= 0.
    Returns:
        In the order of *queries*: pairs of an ordinal and nano-units, ties by id.
    """
    matches: list[list[tuple[int, int]]] = [[] for _ in queries]
    found = list(index.pairs(queries, _rows(pool, row_of), floor=floor))
    if not found:
        return matches
    which = np.concatenate([pairs.queries for pairs in found])
    others = index.block_of[np.concatenate([pairs.rows for pairs in found])]
    cosines = np.concatenate([pairs.cosines for pairs in found])
    for position in ranked(cosines, others, ids, k=len(cosines)).tolist():
        matches[which[position]].append((int(others[position]), int(cosines[position])))
    return matches


def _rows(pool: Integers, row_of: ByOrdinal) -> Integers:
    rows = row_of[pool]
    return rows[rows >= 0]


class _Pairs(NamedTuple):
    """Pairs whose tags have not been looked at, as columns of one length."""

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
        # A lower bound of each block's k-th best score: what is below it is out for certain.
        self._bars = np.full(len(new), rule.threshold, dtype=np.int64)
        # A block without tags gains nothing from those of others.
        self._tag_gains = np.where(shared.tagged, rule.tags, 0)
        self._untagged_best = np.zeros((len(new), rule.best), dtype=np.int64)
        self._waiting: list[_Pairs] = []
        self.pairs_waiting = 0
        nothing = np.empty(0, dtype=np.int64)
        # Ordinals and scores of the best pairs per new block, best first.
        self._found = [(nothing, nothing)] * len(new)

    def add(
        self,
        *,
        which: Integers,
        others: Integers,
        cosines: Integers,
        same_category: NDArray[np.bool_],
        apart_us: Integers,
    ) -> None:
        """Take in pairs that passed the guard and drop those that cannot win."""
        rule = self._rule
        categories = np.where(same_category, NANO, rule.cross_category)
        # Weights times a whole add without rounding, so a bound may add them to a rounded score.
        timeless = arithmetic.weighted_each((rule.cosine, rule.category), (cosines, categories))
        hopeful = self._within(which, timeless + rule.temporal) & (others != self._new[which])
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
        pairs = pairs.at(np.argsort(pairs.which, kind="stable"))
        self._shared.look_up(pairs.others[self._shared.tagged[pairs.which]])
        bounds = np.searchsorted(pairs.which, np.arange(len(self._new) + 1)).tolist()
        for which, (first, end) in enumerate(pairwise(bounds)):
            if first < end:
                self._keep_best(which, pairs.at(np.arange(first, end)))

    def result(self) -> list[list[tuple[int, int]]]:
        """Return ordinals and scores of the best candidates of each new block."""
        self.settle()
        return [
            list(zip(others.tolist(), scores.tolist(), strict=True))
            for others, scores in self._found
        ]

    def _within(self, which: Integers, untagged: Integers) -> NDArray[np.bool_]:
        """Say which pairs could reach their block's bar if they shared every tag."""
        return untagged + self._tag_gains[which] >= self._bars[which]

    def _raise_bars(self, which: Integers, untagged: Integers) -> None:
        """Learn each block's k-th best score without tags: with tags none is less."""
        # One number per pair that sorts by block, then best first.
        block, deficit = np.divmod(np.sort(which * (NANO + 1) + (NANO - untagged)), NANO + 1)
        rank = np.arange(len(block)) - np.searchsorted(block, np.arange(len(self._new)))[block]
        leading = rank < self._rule.best
        batch = np.zeros_like(self._untagged_best)
        batch[block[leading], rank[leading]] = NANO - deficit[leading]
        both = np.sort(np.concatenate((self._untagged_best, batch), axis=1), axis=1)
        self._untagged_best = both[:, -self._rule.best :]
        np.maximum(self._bars, self._untagged_best[:, 0], out=self._bars)

    def _keep_best(self, which: int, pairs: _Pairs) -> None:
        """Score one block's *pairs* and merge those that reach its bar with its best so far."""
        rule = self._rule
        jaccards = self._shared.jaccards(which, pairs.others)
        scores = _scores(
            (rule.cosine, rule.tags, rule.category, rule.temporal),
            (pairs.cosines, jaccards, pairs.categories, pairs.nearness),
        )
        reach = scores >= self._bars[which]
        others = np.concatenate((self._found[which][0], pairs.others[reach]))
        scores = np.concatenate((self._found[which][1], scores[reach]))
        order = ranked(scores, others, self._ids, k=rule.best)
        self._found[which] = others[order], scores[order]
        if len(order) == rule.best:
            self._bars[which] = max(self._bars[which], scores[order[-1]])


def _scores(weights: Sequence[int], signals: Sequence[Integers]) -> Integers:
    """Return weighted sums, capped at a whole, which rounded weights may exceed by a little."""
    return np.minimum(arithmetic.weighted_each(weights, signals), NANO)


class _SharedTags:
    """How many tags a few new blocks share with any others, by inverting the others' tags."""

    def __init__(
        self, new: Integers, blocks: int, tags_of: Callable[[int], frozenset[str]]
    ) -> None:
        self._tags_of = tags_of
        self._tags = [tags_of(block) for block in new.tolist()]
        # Whether a new block has any tag.
        self.tagged = np.array([bool(tags) for tags in self._tags], dtype=np.bool_)
        self._wanted = frozenset().union(*self._tags)
        self._blocks_with: dict[str, list[Integers]] = {tag: [] for tag in self._wanted}
        # Number of tags by ordinal, and one; 0 where they have not been looked up. Zeros take no
        # time until they are written over.
        self._counted = np.zeros(blocks, dtype=np.int64)
        # Tags in common by ordinal: scratch, zero between calls.
        self._common = np.zeros(blocks, dtype=np.int64)

    def look_up(self, blocks: Integers) -> None:
        """Learn the tags of *blocks*, each once."""
        fresh: dict[str, list[int]] = {}
        for block in np.unique(blocks[self._counted[blocks] == 0]).tolist():
            tags = self._tags_of(block)
            self._counted[block] = len(tags) + 1
            for tag in tags & self._wanted:
                fresh.setdefault(tag, []).append(block)
        for tag, tagged in fresh.items():
            self._blocks_with[tag].append(np.array(tagged, dtype=np.int64))

    def jaccards(self, which: int, others: Integers) -> Integers:
        """Return the Jaccard index of a new block's tags with those of *others* in nano-units."""
        mine = self._tags[which]
        if not mine:
            return np.zeros(len(others), dtype=np.int64)
        tagged = [blocks for tag in mine for blocks in self._blocks_with[tag]]
        for blocks in tagged:
            self._common[blocks] += 1
        common = self._common[others]
        for blocks in tagged:
            self._common[blocks] = 0
        return arithmetic.share_each(common, len(mine) + self._counted[others] - 1 - common)
