"""recall: what comes to mind, why, and in which order.

The way of a question: eligible blocks → candidates (words, vectors) → one hop of the graph →
signals → composite score → order. All of it is a function of a view, so the same question on the
same view gives the same answer, live and for ever after.
"""

from __future__ import annotations

import hashlib

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import NANO, decayed_each, nano, product_each, weighted_each
from mnemic.kernel.decay import edge_rates, effective_weights
from mnemic.kernel.events import SIGNALS, AnswerRow
from mnemic.kernel.identity import BlockId, SessionId
from mnemic.kernel.policy import Frame
from mnemic.kernel.reading import ACTIVE, NO_ANCHOR
from mnemic.kernel.scoring import (
    age_recencies,
    centrality,
    composites,
    edge_pull,
    frequency,
    reinforcement,
    usefulness,
)
from mnemic.kernel.vectors import Vector
from mnemic.projections.views import View
from mnemic.projections.where import Where, eligible

Ints = NDArray[np.int64]

RECIPE = "recall-1"
"""Analyser english-1, BM25 k1 .9 b .3, quantised cosine, fixed shares, one hop."""

NOT_COMPUTED = -1


@frozen(kw_only=True, eq=False)
class Inquiry:
    """A question, checked and embedded."""

    query: str | None
    vector: Vector | None
    frame: Frame
    where: Where
    session: SessionId | None = None
    """Of the caller, if it has one open."""


@frozen(kw_only=True)
class Ranking:
    """Every block that was scored, best first, ties by id."""

    rows: tuple[AnswerRow, ...]
    guaranteed: frozenset[int]
    """Numbers of blocks that the frame always lets in."""


def rank(view: View, inquiry: Inquiry) -> Ranking:
    """Return every scored block of *view* for *inquiry*.

    Source: DOMAIN section 6.
    """
    pool = eligible(view, inquiry.frame, inquiry.where, inquiry.session)
    guaranteed = pool[view.tagged(view.life.column("tags", pool), inquiry.frame.always_tags)]
    matches = _match(view, inquiry, pool)
    seeds = np.union1d(matches.seeds(view), guaranteed)
    via = _expand(view, seeds, pool) if inquiry.query is not None else {}
    numbers = np.union1d(seeds, np.array(sorted(via), dtype=np.int64))
    return Ranking(
        rows=_scored(view, inquiry, matches, numbers, via=via),
        guaranteed=frozenset(guaranteed.tolist()),
    )


def digest(ids_and_scores: list[tuple[BlockId, int]]) -> str:
    """Return the digest of an ordered answer, 16 hex characters."""
    lines = "".join(f"{block} {score}\n" for block, score in ids_and_scores)
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


# --- candidates -----------------------------------------------------------------------------


@frozen(eq=False)
class _Matches:
    """How well each block of the pool matches the question, nano-units in [0, 1]."""

    pool: Ints
    lexical: Ints
    cosine: Ints
    asked: bool

    def seeds(self, view: View) -> Ints:
        """Return the best of each search; without a question, the whole pool."""
        if not self.asked:
            return self.pool
        count = view.policy.candidates
        by_words = _best(view, self.pool, self.lexical, count)
        by_vector = _best(view, self.pool, self.cosine, count)
        return np.union1d(by_words, by_vector)

    def of(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Return the lexical strengths and cosines of some blocks of the pool."""
        places = np.searchsorted(self.pool, numbers)
        return self.lexical[places], self.cosine[places]


def _match(view: View, inquiry: Inquiry, pool: Ints) -> _Matches:
    lexical = np.zeros(len(pool), dtype=np.int64)
    cosine = np.zeros(len(pool), dtype=np.int64)
    if inquiry.query is not None and len(pool):
        lexical = _lexical(view, inquiry.query, pool)
    if inquiry.vector is not None and len(pool):
        cosine = np.maximum(0, view.index.cosines(inquiry.vector, view.life.column("vector", pool)))
    return _Matches(pool, lexical, cosine, inquiry.query is not None)


def _lexical(view: View, query: str, pool: Ints) -> Ints:
    """Return the strength of each block of the pool, by word statistics of all active blocks."""
    lexicon = view.state.lexicon
    active = view.with_status(ACTIVE)
    alive = np.zeros(len(lexicon), dtype=np.bool_)
    alive[view.life.column("text", active)] = True
    documents, strengths = lexicon.search(query, alive)
    by_document = np.zeros(len(lexicon), dtype=np.int64)
    by_document[documents] = strengths
    return by_document[view.life.column("text", pool)]


def _best(view: View, numbers: Ints, values: Ints, count: int) -> Ints:
    """Return the *count* blocks with the greatest positive values, ties by id."""
    positive = values > 0
    numbers, values = numbers[positive], values[positive]
    if not count:
        return numbers[:0]
    if count < len(values):
        kth = len(values) - count
        reach = values >= np.partition(values, kth)[kth]
        numbers, values = numbers[reach], values[reach]
    if count < len(values):
        ids = view.state.catalogue.ids
        order = sorted(range(len(values)), key=lambda n: (-int(values[n]), ids[int(numbers[n])]))
        numbers = numbers[order[:count]]
    return numbers


# --- one hop --------------------------------------------------------------------------------


def _expand(view: View, seeds: Ints, pool: Ints) -> dict[int, int]:
    """Return the best neighbours of the seeds, each with the seed whose edge brought it in.

    Ranked by effective edge weight, ties by id of the neighbour, then of the seed. An edge that
    says ``contradicts`` brings nothing in: its other end is a counterpoint, not support.
    """
    pairs, edges = _edges_at(view, seeds)
    if not len(pairs):
        return {}
    graph, ids = view.state.graph, view.state.catalogue.ids
    low, high = graph.low[pairs].astype(np.int64), graph.high[pairs].astype(np.int64)
    seeded = np.zeros(len(ids), dtype=np.bool_)
    seeded[seeds] = True
    allowed = np.zeros(len(ids), dtype=np.bool_)
    allowed[pool] = True
    found: dict[int, tuple[int, BlockId, int]] = {}
    for seed, other in ((low, high), (high, low)):
        for place in np.flatnonzero(seeded[seed] & ~seeded[other] & allowed[other]).tolist():
            entry = (-int(edges[place]), ids[int(seed[place])], int(seed[place]))
            number = int(other[place])
            if number not in found or entry < found[number]:
                found[number] = entry
    best = sorted(found, key=lambda number: (found[number][0], ids[number]))
    return {number: found[number][2] for number in best[: view.policy.expansions]}


def _edges_at(view: View, seeds: Ints) -> tuple[Ints, Ints]:
    """Return the supporting edges at the seeds and their effective weights."""
    graph = view.state.graph
    incident = {pair for seed in seeds.tolist() for pair in graph.incident[seed]}
    pairs = np.array(sorted(incident), dtype=np.int64)
    pairs = pairs[pairs < len(view.edge_rows.rows)]
    pairs = pairs[view.edge_rows.rows[pairs] >= 0]
    relation = view.edge_rows.column("relation", pairs)
    pairs = pairs[relation != graph.relations.known("contradicts")]
    return pairs, effective(view, pairs)


def effective(view: View, pairs: Ints) -> Ints:
    """Return the effective weights of standing edges at the view's hour."""
    graph = view.state.graph
    rates = edge_rates(
        view.life.column("tier_rate", graph.low[pairs].astype(np.int64)),
        view.life.column("tier_rate", graph.high[pairs].astype(np.int64)),
        view.edge_rows.column("count", pairs),
        view.policy,
    )
    anchor = view.edge_rows.column("anchor_us", pairs)
    lasting = anchor == NO_ANCHOR
    lasting |= view.edge_rows.column("origin", pairs) == graph.origins.known("agent")
    idle = np.where(lasting, 0, view.point.active_us - np.where(lasting, 0, anchor))
    return effective_weights(view.edge_rows.column("weight", pairs), rates, idle)


# --- signals --------------------------------------------------------------------------------


def _scored(
    view: View, inquiry: Inquiry, matches: _Matches, numbers: Ints, *, via: dict[int, int]
) -> tuple[AnswerRow, ...]:
    if not len(numbers):
        return ()
    weights = inquiry.frame.weights(asked=inquiry.query is not None)
    lexical, cosine = matches.of(numbers)
    signals = _signals(view, inquiry, numbers, _relevance(view, lexical, cosine))
    used = [np.zeros_like(numbers) if value is None else value for value in signals]
    scores = composites(weights, used)
    columns = [
        *(np.full_like(numbers, NOT_COMPUTED) if value is None else value for value in signals),
        *((lexical, cosine) if inquiry.query is not None else [np.full_like(numbers, -1)] * 2),
    ]
    ids = view.state.catalogue.ids
    order = sorted(
        range(len(numbers)), key=lambda place: (-int(scores[place]), ids[int(numbers[place])])
    )
    table = np.stack(columns, axis=1).tolist()
    return tuple(
        AnswerRow(
            int(numbers[place]),
            int(scores[place]),
            tuple(table[place]),
            via.get(int(numbers[place]), -1),
        )
        for place in order
    )


def _relevance(view: View, lexical: Ints, cosine: Ints) -> Ints:
    """Return the match strength: a fixed share of words, the rest of vectors."""
    gain = nano(view.policy.lexical_gain)
    words = np.minimum(NANO, product_each(lexical, gain))
    share = nano(view.policy.lexical_share)
    return weighted_each((share, NANO - share), (words, cosine))


def _signals(
    view: View, inquiry: Inquiry, numbers: Ints, relevance: Ints
) -> tuple[Ints | None, ...]:
    """Return one array per name in ``SIGNALS``; None where the frame does not weigh it."""
    frame, policy = inquiry.frame, view.policy
    signals: dict[str, Ints | None] = {
        "relevance": relevance if inquiry.query is not None else None,
        "recency": _recency(view, frame, numbers),
        "usefulness": usefulness(
            policy.prior + view.evidence.column("alpha", numbers),
            policy.prior + view.evidence.column("beta", numbers),
        ),
        "confidence": view.life.column("confidence", numbers),
        "frequency": frequency(view.uses.column("retrievals", numbers), policy),
        "centrality": _centrality(view, numbers) if frame.centrality else None,
        "reinforcement": None,
    }
    if frame.reinforcement:
        signals["reinforcement"] = reinforcement(view.strength.column("reinforcements", numbers))
    return tuple(signals[name] for name in SIGNALS)


def _recency(view: View, frame: Frame, numbers: Ints) -> Ints:
    if frame.recency_clock == "active":
        idle = view.point.active_us - view.strength.column("reinforced_us", numbers)
        return decayed_each(view.strength.column("rate", numbers), idle)
    created = view.life.column("created_us", numbers)
    return age_recencies(created, view.point.instant_us, view.policy)


def _centrality(view: View, numbers: Ints) -> Ints:
    """Return each block's weighted degree over the greatest among *numbers*.

    An edge takes no part until both of its ends are active.
    """
    pairs, graph = view.pairs(), view.state.graph
    active = np.zeros(len(view.state.catalogue.ids), dtype=np.bool_)
    active[view.with_status(ACTIVE)] = True
    pairs = pairs[active[graph.low[pairs]] & active[graph.high[pairs]]]
    pull = edge_pull(
        view.edge_rows.column("weight", pairs), view.edge_rows.column("count", pairs), view.policy
    )
    total = np.zeros(len(active), dtype=np.int64)
    np.add.at(total, graph.low[pairs], pull)
    np.add.at(total, graph.high[pairs], pull)
    return centrality(total[numbers])
