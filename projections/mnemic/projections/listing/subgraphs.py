"""The strongest connections around some blocks of a view."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Final

from mnemic.kernel.decisions.degree_cap import effective_now
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.blocks import STATUSES
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.numeric.arithmetic import NANO, decayed, product, share
from mnemic.kernel.rendering import on_one_line
from mnemic.kernel.results import GraphBlock, Subgraph, unit
from mnemic.projections.view import View
from mnemic.projections.view.block_results import edge_result, find

BLOCKS_MAX: Final = 300
HOPS_MAX: Final = 5
EDGES_PER_BLOCK: Final = 4
PREVIEW_LENGTH: Final = 120


def subgraph(view: View, block_ids: Sequence[str], *, hops: int, limit: int) -> Subgraph:
    """Return the blocks that are reached over the strongest edges, and the edges between them.

    A block is reached with the product of the effective weights on the best way to it. Blocks are
    added from the largest product on, equal ones by id.

    Args:
        view: The view to read.
        block_ids: Where to begin; all of them are part of it.
        hops: Most edges on a way.
        limit: Most blocks.

    Raises:
        FieldRefused: An argument is not valid.
        BlockNotFound: A block was not learned by then.
    """
    for name, value, most in (("hops", hops, HOPS_MAX), ("limit", limit, BLOCKS_MAX)):
        if type(value) is not int or not 1 <= value <= most:
            raise FieldRefused(f"{name} must be from 1 to {most}, got {value!r}", field=name)
    if isinstance(block_ids, str) or not 1 <= len(block_ids) <= limit:
        raise FieldRefused(
            f"block_ids must be a list of 1 to {limit} ids, got {block_ids!r:.100}",
            field="block_ids",
        )
    reached, left_out = _reached(view, [find(view, each) for each in block_ids], hops, limit)
    between = _between(view, reached)
    kept = between[: EDGES_PER_BLOCK * limit]
    return Subgraph(
        version=view.version,
        hour=view.point.hour,
        blocks=tuple(_block(view, number, hops) for number, hops in reached.items()),
        edges=tuple(edge_result(view, edge) for edge in kept),
        blocks_left_out=left_out,
        edges_left_out=len(between) - len(kept),
    )


def _reached(
    view: View, starts: Sequence[int], hops: int, limit: int
) -> tuple[dict[int, int], int]:
    """Return the blocks reached, each with its number of hops, and how many were left out."""
    waiting: list[tuple[int, int, str, int]] = []
    for number in starts:
        heappush(waiting, (-NANO, 0, view.id(number), number))
    reached: dict[int, int] = {}
    while waiting and len(reached) < limit:
        negative, at, _, number = heappop(waiting)
        if number in reached:
            continue
        reached[number] = at
        if at == hops:
            continue
        for edge in view.edges_of(number):
            other = edge.other(number)
            if other not in reached:
                weight = product(-negative, _weight(view, edge))
                heappush(waiting, (-weight, at + 1, view.id(other), other))
    return reached, len({entry[3] for entry in waiting} - reached.keys())


def _between(view: View, reached: dict[int, int]) -> list[EdgeFacts]:
    """Return the edges between some blocks, strongest now first."""
    found = {
        (min(edge.source, edge.target), max(edge.source, edge.target)): edge
        for number in reached
        for edge in view.edges_of(number)
        if edge.other(number) in reached
    }
    return sorted(
        found.values(),
        key=lambda edge: (-_weight(view, edge), view.id(edge.source), view.id(edge.target)),
    )


def _weight(view: View, edge: EdgeFacts) -> int:
    return effective_now(view, edge, view.point.active_us)


def _block(view: View, number: int, hops: int) -> GraphBlock:
    facts, text = view.facts(number), view.text(number)
    idle_us = view.point.active_us - facts.reinforced_us
    return GraphBlock(
        block_id=facts.id,
        preview=on_one_line(text.content[:PREVIEW_LENGTH]) if isinstance(text, BlockText) else None,
        status=STATUSES[facts.status],
        category=facts.category,
        zone=facts.zone,
        recency=unit(decayed(facts.rate, idle_us)) if facts.rate else 1.0,
        usefulness=unit(share(facts.alpha, facts.alpha + facts.beta)),
        degree=view.degree(number),
        hops=hops,
    )
