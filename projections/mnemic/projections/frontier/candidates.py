"""Candidate pairs: an inverted index over everything that can tie two blocks.

Looking at every pair is infeasible (five thousand million for a hundred thousand blocks).
A pair becomes a candidate when the two share something that few others have: a term, a tag, a block
that both are tied to by a typed edge, or a form: a relation that both are part of in the same role,
or two in a row. Pairs with an edge are candidates too, and where the space is small, pairs with a
similar meaning.

Rules of this module:

1. A thing that more than ``frontier_postings`` blocks share ties none of them. Of the others the
   rarest ties come first, until ``PAIRS_MAX`` are reached; ties of one frequency are included or
   excluded together, so the result depends on no order.
2. A thing ties more strongly the fewer blocks hold it: (ln((n+1)/held) / ln((n+1)/2))³, 1 when two
   of n blocks do. The third power keeps many middling words from outweighing one rare one.
3. Every array is a function of the view, made of integers.

Source: reference composed-graph 9.1; specs/frontier.toml, rule "tie".
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.numeric.arithmetic import NANO, ln, nano
from mnemic.kernel.policy import Policy
from mnemic.projections.frontier.structure import MUTUAL, UNTYPED
from mnemic.projections.retrieval.filters import unexpired
from mnemic.projections.storage.ranges import range_places
from mnemic.projections.storage.sorted_arrays import run_starts
from mnemic.projections.view import View

Ints = NDArray[np.int64]

PAIRS_MAX: Final = 250_000
"""Maximum number of pairs from ties of one kind in a small space..."""
PAIRS_PER_BLOCK: Final = 8
"""...and in a large one, per block."""
NEAR_MAX: Final = 4096
"""Maximum number of blocks for which every cosine is computed; beyond, only those of pairs that are
candidates otherwise, and a pair with a high cosine has an edge from its consolidation."""


class Holdings(NamedTuple):
    """Which block holds which thing, as two columns."""

    holders: Ints
    """Positions of blocks."""
    things: Ints
    """Numbers >= 0; a block holds a thing at most once."""


@frozen(kw_only=True, eq=False)
class Tied:
    """Pairs that share something of one kind, as columns."""

    keys: Ints
    """Lower position times the number of blocks plus higher position; ascending."""
    weights: Ints
    """Nano-units."""


@frozen(kw_only=True, eq=False)
class Pairs:
    """Pairs of positions in a pool, each once, with their ties. Weights are nano-units."""

    keys: Ints
    low: Ints
    high: Ints
    terms: Ints
    tags: Ints
    paths: Ints
    forms: Ints
    edges: Ints


def pool(view: View) -> Ints:
    """Return the blocks that may be composed: active, not expired, not in quarantine."""
    numbers = unexpired(view, view.with_status(ACTIVE))
    found: Ints = numbers[view.ceilings(numbers) > 0]
    return found


def pairs(view: View, numbers: Ints, tags: Ints) -> Pairs:
    """Return every candidate pair of *numbers*.

    Args:
        view: The view to search.
        numbers: A pool.
        tags: Their tags, as `tag_table` returns them.
    """
    policy, count = view.policy, len(numbers)
    edges = _edges(view, numbers)
    typed = edges.at(np.flatnonzero(edges.typed))
    tagged, _ = np.nonzero(tags >= 0)
    held = (
        _terms(view, numbers),
        Holdings(tagged, tags[tags >= 0]),
        _paths(typed),
        _forms(view, typed, count),
    )
    kinds = [*(tied(each, count=count, policy=policy) for each in held), edges.tied(count)]
    keys = _distinct(np.concatenate((*(kind.keys for kind in kinds), _near(view, numbers))))
    columns = []
    for kind in kinds:
        column = np.zeros(len(keys), dtype=np.int64)
        column[np.searchsorted(keys, kind.keys)] = kind.weights
        columns.append(column)
    names = ("terms", "tags", "paths", "forms", "edges")
    return Pairs(
        keys=keys,
        low=keys // max(count, 1),
        high=keys % max(count, 1),
        **dict(zip(names, columns, strict=True)),
    )


def tag_table(view: View, numbers: Ints) -> tuple[Ints, tuple[str, ...]]:
    """Return the tags of blocks, a row of tag numbers each, padded with -1; and all tags."""
    catalogue = view.state.catalogue
    sets, place = np.unique(view.life.column("tags", numbers), return_inverse=True)
    known: dict[str, int] = {}
    held = [
        [known.setdefault(tag, len(known)) for tag in catalogue.tag_sets[each]]
        for each in sets.tolist()
    ]
    widest = max(map(len, held), default=0)
    rows = [tags + [-1] * (widest - len(tags)) for tags in held]
    table = np.array(rows, dtype=np.int64).reshape(len(held), widest)
    return table[place], tuple(known)


def tied(held: Holdings, *, count: int, policy: Policy) -> Tied:
    """Return the pairs of holders that share a thing, and the strength of the tie.

    Args:
        held: Which block holds which thing.
        count: Number of blocks in the pool.
        policy: Limits the number of holders of a thing.
    """
    order = np.lexsort((held.holders, held.things))
    holders, things = held.holders[order], held.things[order]
    starts = run_starts(things)
    sizes = np.diff(starts, append=len(things))
    last = _last_frequency(sizes, count, policy)
    worth = frequency_weights(last, count)
    keys, weights = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for size in np.flatnonzero(np.bincount(sizes[(sizes > 1) & (sizes <= last)])).tolist():
        groups = holders[starts[sizes == size][:, None] + np.arange(size)]
        one, other = np.triu_indices(size, k=1)
        keys.append((groups[:, one] * count + groups[:, other]).ravel())
        weights.append(np.full(len(keys[-1]), worth[size]))
    return _summed(np.concatenate(keys), np.concatenate(weights))


def _summed(keys: Ints, weights: Ints) -> Tied:
    """Return the distinct keys, ascending, with the sum of the weights of each."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = run_starts(keys)
    if not len(first):
        return Tied(keys=keys, weights=weights)
    return Tied(keys=keys[first], weights=np.add.reduceat(weights[order], first))


def frequency_weights(last: int, count: int) -> Ints:
    """Return the tie strength of a thing by its number of holders, from 0 to *last*, nano-units."""
    whole = ln((max(count, 2) + 1) / 2.0)
    shares = [max(0.0, ln((count + 1) / held) / whole) for held in range(2, last + 1)]
    return np.array([0, 0, *(nano(each * each * each) for each in shares)], dtype=np.int64)


def _distinct(keys: Ints) -> Ints:
    """Return the distinct keys, ascending. Sorting beats numpy's hash table five to one here."""
    keys = np.sort(keys)
    return keys[run_starts(keys)]


def _last_frequency(sizes: Ints, count: int, policy: Policy) -> int:
    """Return the maximum number of holders for which the number of pairs stays within bounds."""
    most = policy.frontier_postings
    things = np.bincount(sizes, minlength=most + 1)[: most + 1].astype(np.int64)
    each = np.arange(most + 1, dtype=np.int64)
    total = np.cumsum(things * (each * (each - 1) // 2))
    within = np.flatnonzero(total <= max(PAIRS_MAX, PAIRS_PER_BLOCK * count))
    return max(2, int(within[-1]))


def _terms(view: View, numbers: Ints) -> Holdings:
    documents, terms = view.state.lexicon.incidences()
    place_of = np.full(len(view.state.lexicon), -1, dtype=np.int64)
    place_of[view.life.column("text", numbers)] = np.arange(len(numbers))
    holders = place_of[documents]
    return Holdings(holders[holders >= 0], terms[holders >= 0])


@frozen(kw_only=True, eq=False)
class _Edges:
    """Edges within a pool, as columns of positions."""

    low: Ints
    high: Ints
    relation: Ints
    forward: NDArray[np.bool_]
    """Whether it points from the lower position to the higher."""
    typed: NDArray[np.bool_]
    mutual: NDArray[np.bool_]
    """Whether its relation has no direction."""

    def at(self, places: Ints) -> _Edges:
        return _Edges(**{name: getattr(self, name)[places] for name in type(self).__annotations__})

    def tied(self, count: int) -> Tied:
        return Tied(keys=self.low * count + self.high, weights=np.where(self.typed, NANO, 0))


def _edges(view: View, numbers: Ints) -> _Edges:
    graph, linked = view.state.graph, view.pairs()
    place_of = np.full(len(view.state.catalogue.ids), -1, dtype=np.int64)
    place_of[numbers] = np.arange(len(numbers))
    low, high = place_of[graph.low[linked]], place_of[graph.high[linked]]
    inside = (low >= 0) & (high >= 0)
    linked, low, high = linked[inside], low[inside], high[inside]
    relation = view.edge_rows.column("relation", linked)
    source = place_of[view.edge_rows.column("source", linked)]
    return _Edges(
        low=low,
        high=high,
        relation=relation,
        forward=source == low,
        typed=~np.isin(relation, [graph.relations.known(name) for name in sorted(UNTYPED)]),
        mutual=np.isin(relation, [graph.relations.known(name) for name in sorted(MUTUAL)]),
    )


def _paths(typed: _Edges) -> Holdings:
    """Return both ends of every edge, each as holding the other: two that hold one are tied."""
    ends = (typed.low, typed.high), (typed.high, typed.low)
    return Holdings(*(np.concatenate(each) for each in ends))


def _forms(view: View, typed: _Edges, count: int) -> Holdings:
    """Return which block is part of which form: one step along a typed edge, or two.

    A step is a relation and its direction. Forms are numbered by the steps in them.
    """
    steps = 2 * len(view.state.graph.relations.words)
    outward = typed.forward | typed.mutual
    inward = ~typed.forward | typed.mutual
    origin, end = _paths(typed)
    step = np.concatenate((2 * typed.relation + ~outward, 2 * typed.relation + ~inward))
    order = np.argsort(origin, kind="stable")
    origin, end, step = origin[order], end[order], step[order]
    starts = np.searchsorted(origin, np.arange(count + 1))
    onward = starts[end + 1] - starts[end]
    onward[onward > view.policy.frontier_postings] = 0  # a hub is connected to everything
    first = np.repeat(np.arange(len(origin)), onward)
    second = range_places(starts[end], onward)
    further = end[second] != origin[first]
    first, second = first[further], second[further]
    holders = np.concatenate((origin, origin[first]))
    forms = np.concatenate((step, steps + step[first] * steps + step[second]))
    kinds = steps + steps * steps
    held = _distinct(holders * kinds + forms)
    return Holdings(held // max(kinds, 1), held % max(kinds, 1))


def _near(view: View, numbers: Ints) -> Ints:
    """Return the keys of pairs with a cosine in the band or above, if the pool is small."""
    count, index = len(numbers), view.index
    rows = view.life.column("vector", numbers)
    if not 0 < count <= NEAR_MAX or (rows < 0).any():
        return np.empty(0, dtype=np.int64)
    place_of = np.full(index.rows, -1, dtype=np.int64)
    place_of[rows] = np.arange(count)
    found = [np.empty(0, dtype=np.int64)]
    queries = index.vectors(rows)
    for near in index.pairs(queries, rows, floor=nano(view.policy.frontier_band_from)):
        others = place_of[near.rows]
        upper = near.queries < others
        found.append(near.queries[upper] * count + others[upper])
    return np.concatenate(found)
