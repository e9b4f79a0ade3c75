"""Queries over the edges at a view's point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.edges import NO_ANCHOR, EdgeColumns, EdgeFacts
from mnemic.kernel.model.texts import Erased
from mnemic.projections.graph.graph import key
from mnemic.projections.storage.sorted_arrays import among, run_starts
from mnemic.projections.view.block_view import BlockView

Ints = NDArray[np.int64]
NO_ENDS: Ints = np.zeros((0, 2), dtype=np.int64)


def edge(at: BlockView, a: int, b: int) -> EdgeFacts | None:
    """Return the edge between two blocks, if there is one."""
    pair = at.state.graph.pairs.get(key(a, b))
    return None if pair is None else _edge(at, pair)


def is_linked(at: BlockView, a: int, b: int) -> bool:
    """Whether there is an edge between two blocks; cheaper than ``edge``."""
    pair = at.state.graph.pairs.get(key(a, b))
    return pair is not None and at.edge_rows.has(pair)


def linked_among(at: BlockView, numbers: Sequence[int]) -> set[tuple[int, int]]:
    """Return the pairs of some blocks that have an edge, the lower number first."""
    graph = at.state.graph
    blocks = np.array(sorted(numbers), dtype=np.int64)
    pairs, owners = around(at, blocks)
    # Each pair is looked at from its lower end.
    pairs = pairs[(graph.low[pairs] == blocks[owners]) & among(blocks, graph.high[pairs])]
    return set(zip(graph.low[pairs].tolist(), graph.high[pairs].tolist(), strict=True))


def _edge(at: BlockView, pair: int) -> EdgeFacts | None:
    row = at.edge_rows.row(pair)
    if row < 0:
        return None
    graph = at.state.graph
    source, relation, origin, weight, anchor_us, count, _ = graph.rows.row_values(row)
    low, high = graph.ends(pair)
    return EdgeFacts(
        source,
        high if source == low else low,
        graph.relations.words[relation],
        graph.origins.words[origin],
        weight,
        None if anchor_us == NO_ANCHOR else anchor_us,
        count,
    )


def note(at: BlockView, a: int, b: int) -> str | None:
    """Return the note on the edge between two blocks, unless there is none or it is erased."""
    number = at.edge_rows.get("note", at.state.graph.pairs[key(a, b)])
    if number < 0:
        return None
    note = at.state.graph.notes[number]
    return None if isinstance(note, Erased) else note.text


def edges_of(at: BlockView, number: int) -> list[EdgeFacts]:
    """Return the edges of a block in the order in which its pairs were first linked."""
    found = (_edge(at, pair) for pair in at.state.graph.incident[number])
    return [edge for edge in found if edge is not None]


def related(at: BlockView, number: int, relation: str) -> list[EdgeFacts]:
    """Return the edges of a block with *relation*, in the order of ``edges_of``."""
    graph, rows = at.state.graph, at.edge_rows
    wanted = graph.relations.known(relation)
    if wanted < 0:
        return []
    found = (
        _edge(at, pair)
        for pair in graph.incident[number]
        if rows.has(pair) and rows.get("relation", pair) == wanted
    )
    return [edge for edge in found if edge is not None]


def contradictions(at: BlockView) -> Ints:
    """Return the two blocks of every edge of contradiction, shape (edges, 2).

    It is the same array as before unless one of them has changed.
    """
    graph = at.state.graph
    wanted = graph.relations.known("contradicts")
    if wanted < 0:
        return NO_ENDS
    found = at.state.past.disputed(graph.rows, wanted)
    if not len(found):
        return NO_ENDS
    rows = at.edge_rows.rows
    found = found[found < min(at.pair_count, len(rows))]
    own = rows[found]

    def ends() -> Ints:
        pairs = found[own >= 0]
        pairs = pairs[at.edge_rows.column("relation", pairs) == wanted]
        return np.stack((graph.low[pairs], graph.high[pairs]), axis=1).astype(np.int64)

    return at.state.past.contradictions(found, own, ends)


def degree(at: BlockView, number: int) -> int:
    """Return how many edges a block has."""
    if at.live:
        return int(at.state.graph.degrees[number])
    return sum(at.edge_rows.has(pair) for pair in at.state.graph.incident[number])


def pairs(at: BlockView) -> Ints:
    """Return the numbers of the pairs with an edge, ascending."""
    return np.flatnonzero(at.edge_rows.rows[: at.pair_count] >= 0)


def exist(at: BlockView, pairs: Ints) -> NDArray[np.bool_]:
    """Return which of *pairs* have an edge."""
    rows = at.edge_rows.rows
    if pairs.size and pairs.max() < len(rows):
        return rows[pairs] >= 0
    found: NDArray[np.bool_] = pairs < len(rows)
    found[found] = rows[pairs[found]] >= 0
    return found


def around(at: BlockView, blocks: Ints) -> tuple[Ints, Ints]:
    """Return the pairs with an edge at each of some blocks, as ``Incidence.around`` does.

    Only of these the ends may be looked up: those of later pairs may not be written yet.
    """
    pairs, owners = at.state.graph.incident.around(blocks)
    existing = exist(at, pairs)
    return pairs[existing], owners[existing]


def pairs_at(at: BlockView, numbers: Ints) -> Ints:
    """Return the numbers of the pairs with an edge at any of *numbers*, ascending."""
    found = at.state.graph.incident.of(numbers)
    # Each pair once, even if both of its blocks are among them.
    found = found[run_starts(found)]
    return found[exist(at, found)]


def standing(at: BlockView) -> EdgeColumns:
    """Return all edges as columns."""
    found, graph = pairs(at), at.state.graph
    low = graph.low[found].astype(np.int64)
    high = graph.high[found].astype(np.int64)
    return EdgeColumns(
        low=low,
        high=high,
        weight=at.edge_rows.column("weight", found),
        count=at.edge_rows.column("count", found),
        anchor_us=at.edge_rows.column("anchor_us", found),
        agent=at.edge_rows.column("origin", found) == graph.origins.known("agent"),
        tier_low=at.life.column("tier_rate", low),
        tier_high=at.life.column("tier_rate", high),
    )
