"""Queries over vectors: similarity among the active blocks of a view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.blocks import ACTIVE, INBOX, Fresh
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.scoring.typicality import WINDOW, typicalities
from mnemic.kernel.timestamps import Instant
from mnemic.projections.storage.sorted_arrays import places
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.vectors.neighbour_cache import NeighbourCache
from mnemic.projections.vectors.overlay import Overlay
from mnemic.projections.view import linking
from mnemic.projections.view.block_view import BlockView
from mnemic.projections.view.linking import Column, LinkRule, near_matches
from mnemic.projections.view.point import Products

Ints = NDArray[np.int64]


def meeting(at: BlockView, vectors: Sequence[Vector]) -> Callable[[], NeighbourCache]:
    """Return a search for all neighbours of *vectors*, to be run outside of any lock.

    A promotion queries the near-duplicates of each vector and then its candidates for edges;
    this way every vector is read once. The search reads only immutable data.
    """
    index, policy = at.index, at.policy
    rows = at.vectors_of(at.with_status(ACTIVE))
    lowest = policy.cosine_guard, policy.near_duplicate_noted, policy.contradiction_cosine
    floor = nano(min(lowest))
    return lambda: NeighbourCache(index, vectors, rows, floor=floor)


def _neighbourhood(at: BlockView) -> VectorIndex | NeighbourCache:
    """Return the index, or the precomputed pairs if they apply to it."""
    index, met = at.index, at.met
    # The index was replaced by an erasure, or a change of embedders.
    return met if met is not None and met.index is index else index


def cosines(at: BlockView, vector: Vector, rows: Ints) -> Ints:
    """Return the cosine of *vector* with those in some rows."""
    return at.index.cosines(vector, rows, products=_products_of(at, vector))


def rough_cosines(at: BlockView, vector: Vector, rows: Ints) -> NDArray[np.float32]:
    """Return what ``cosines`` does, as an approximate fraction that is computed faster.

    Returns:
        At most ``index.ROUGH`` away; above 0 exactly where the cosine is. The caller owns it.
    """
    return at.index.rough_cosines(vector, rows, products=_products_of(at, vector))


def products_with(at: BlockView, vector: Vector) -> Products | None:
    """Return the products of *vector* with all rows, if nearly all of them are of active blocks.

    A recall then reads the vectors once, for rough and exact cosines alike. None also where
    products are there already.
    """
    index = at.index
    few = 2 * len(at.present.numbers) < index.rows
    if at.products is not None or few or not index.rows:
        return None
    return Products(at.embedder, {vector.tobytes(): index.products_with_all(vector)})


def _products_of(at: BlockView, vector: Vector) -> NDArray[np.float32] | None:
    products = at.products
    if products is None or products.embedder != at.embedder:
        return None
    return products.of.get(vector.tobytes())


def typicality(
    at: BlockView, vectors: Mapping[int, Vector], embedder: EmbedderIdentity | None
) -> list[int]:
    """Return how typical each of *vectors* is of the blocks before it, nano-units.

    Args:
        at: The view.
        vectors: By number: those of blocks that are promoted one after the other.
        embedder: Whose vectors they are; None: of the one in force.
    """
    if embedder is None:
        index = at.index
        numbers, rows = at.present.numbers, at.present.vectors
    else:
        index = at.state.indexes.get(embedder, VectorIndex())
        staged = at.state.staged_vectors.get(embedder, {})
        numbers = np.array([*staged], dtype=np.int64)
        rows = np.array([*staged.values()], dtype=np.int32)
    said = rows[~at.were_extracted(numbers)]
    before = index.matrix(np.sort(said)[-WINDOW:])
    were_extracted = at.were_extracted(np.array([*vectors], dtype=np.int64)).tolist()
    if not any(were_extracted):
        return typicalities(before, [*vectors.values()])
    found: list[int] = []
    known = list(before)
    for vector, was_extracted in zip(vectors.values(), were_extracted, strict=True):
        found += typicalities(known[-WINDOW:], [vector])
        if not was_extracted:
            known.append(vector)
    return found


def near(
    at: BlockView, vectors: Sequence[Vector], categories: Sequence[str], floor: int, *, most: int
) -> list[list[tuple[int, int]]]:
    """Return, for each vector, the *most* best active blocks at or above *floor*."""
    exempt = frozenset(at.policy.near_duplicate_exempt)
    asking = [place for place, name in enumerate(categories) if name not in exempt]
    matches: list[list[tuple[int, int]]] = [[] for _ in vectors]
    rows = at.vectors_of(at.with_status(ACTIVE))
    if not asking or not len(rows):
        return matches
    left_out = [at.state.catalogue.categories.known(name) for name in exempt]
    found = near_matches(
        _neighbourhood(at),
        [vectors[place] for place in asking],
        rows,
        counts=lambda near: ~np.isin(at.life.column("category", near), left_out),
        ids=at.state.catalogue.ids,
        floor=floor,
        most=most,
    )
    for place, near in zip(asking, found, strict=True):
        matches[place] = near
    return matches


def link_candidates(
    at: BlockView, fresh: Sequence[Fresh], gone: Sequence[int], moment: Instant
) -> list[list[tuple[int, int]]]:
    """Return, for each fresh block, its best candidates for a similarity edge."""
    if not at.policy.edge_candidates:
        return [[] for _ in fresh]
    numbers = [block.number for block in fresh]
    new = np.array(numbers, dtype=np.int64)
    overlay = Overlay(_neighbourhood(at), numbers, [block.vector for block in fresh])
    rows = dict(zip(numbers, range(overlay.first, overlay.first + len(numbers)), strict=True))
    now = {each: moment.active_us for each in numbers if at.status(each) == INBOX}
    tag_sets = at.state.catalogue.tag_sets
    known = len(tag_sets)
    own_tags = {number: known + place for place, number in enumerate(numbers)}
    # An inbox block may still refer to a row: from a promotion that was reverted, with another
    # embedder. So active blocks are excluded, not rows.
    present = at.present
    held = places(present.numbers, np.array([*numbers, *gone], dtype=np.int64))
    staying = np.delete(present.vectors, held[held >= 0]).astype(np.int64)
    own = [row for number, row in rows.items() if number not in gone]
    return linking.link_candidates(
        overlay,
        new,
        np.concatenate((staying, np.array(own, dtype=np.int64))),
        row_of=Column(at.vectors_of, at.block_count, rows),
        category_of=Column(partial(at.life.column, "category"), at.block_count),
        reinforced_us=Column(partial(at.strength.column, "reinforced_us"), at.block_count, now),
        tag_set_of=Column(partial(at.life.column, "tags"), at.block_count, own_tags),
        tags_in=lambda number: frozenset(
            tag_sets[number] if number < known else fresh[number - known].tags
        ),
        ids=at.state.catalogue.ids,
        rule=LinkRule.of(at.policy),
    )
