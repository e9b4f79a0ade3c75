"""Sweeps at their thresholds, and on edges whose ends are not the first blocks of a space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve

from mnemic.kernel.decision import first_of
from mnemic.kernel.decisions.curating import decide_curate
from mnemic.kernel.events import (
    Admission,
    Archival,
    BlocksPromoted,
    BlocksRelinked,
    Curated,
    EdgeConnected,
    EdgeDeferred,
    EmbedderAdopted,
    EmbedderIdentity,
    Event,
    Link,
    OutcomeRecorded,
)
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.vectors import quantise
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, nano
from mnemic.kernel.policy import FRAMES, Policy
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View
from tests.kernel.decisions.logs import adopted, folded, learned, promotion

EMBEDDER = EmbedderIdentity(name="axes", dimension=4)
VECTOR = quantise([1.0, 0.0, 0.0, 0.0], dimension=4)
BLOCKS = tuple(BlockId(f"{n:016x}") for n in range(6))


def after(*events: Event, active: Sequence[BlockId] = BLOCKS, **policy: Any) -> View:
    """Return the view of six blocks, of which those in *active* are, after *events* and an hour."""
    return folded(
        adopted(Policy(**policy)),
        EmbedderAdopted(embedder=EMBEDDER),
        *(learned(block) for block in BLOCKS),
        BlocksPromoted(promotions=tuple(promotion(block, VECTOR) for block in active)),
        *events,
        now_us=MICROS_PER_HOUR,
    )


def swept(view: View, hours: int = 1) -> Curated | None:
    at = Instant(active_us=hours * MICROS_PER_HOUR, recorded_us=0)
    return first_of(decide_curate(view, at).events, Curated)


def waiting(source: int, target: int, weight: int) -> EdgeDeferred:
    return EdgeDeferred(
        source=BLOCKS[source], target=BLOCKS[target], relation="custom", weight=weight
    )


def found(source: int, target: int) -> BlocksRelinked:
    return BlocksRelinked(
        links=(Link(source=BLOCKS[source], target=BLOCKS[target], weight=nano(0.5)),)
    )


FLOOR = nano(Policy().edge_prune_below)


def test_a_block_at_the_threshold_is_not_archived() -> None:
    view = after(archive_below=1.0, curate_reinforced=0)
    assert swept(view, hours=0) is None
    assert swept(view) == Curated(
        archived=tuple(Archival(block_id=block, reason="decayed") for block in BLOCKS)
    )


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (FLOOR - 1, None),
        (FLOOR, Curated(admitted=(Admission(source=BLOCKS[3], target=BLOCKS[2]),), edges_after=1)),
    ],
)
def test_a_pending_connection_is_admitted_unless_it_would_be_pruned(
    weight: int, expected: Curated | None
) -> None:
    assert swept(after(waiting(3, 2, weight), curate_reinforced=0)) == expected


def test_a_pending_connection_replaces_an_automatic_edge_of_its_pair() -> None:
    view = after(waiting(5, 3, FLOOR), found(3, 5), found(2, 5), found(3, 4), curate_reinforced=0)
    assert swept(view) == Curated(
        admitted=(Admission(source=BLOCKS[5], target=BLOCKS[3]),), edges_after=3
    )


def test_pending_connections_are_admitted_in_order_up_to_the_cap() -> None:
    view = after(
        waiting(1, 0, FLOOR - 1),
        waiting(1, 2, FLOOR),
        waiting(2, 3, FLOOR),
        waiting(4, 5, FLOOR),
        degree_cap=1,
        curate_reinforced=0,
    )
    assert swept(view) == Curated(
        admitted=(
            Admission(source=BLOCKS[1], target=BLOCKS[2]),
            Admission(source=BLOCKS[4], target=BLOCKS[5]),
        ),
        edges_after=2,
    )


def test_pruned_edges_make_room_for_pending_connections() -> None:
    weak = EdgeConnected(
        source=BLOCKS[4], target=BLOCKS[2], relation="custom", weight=FLOOR - 1, action="created"
    )
    view = after(weak, waiting(4, 3, FLOOR), degree_cap=1, curate_reinforced=0)
    assert swept(view) == Curated(
        pruned=((BLOCKS[2], BLOCKS[4]),),
        admitted=(Admission(source=BLOCKS[4], target=BLOCKS[3]),),
        edges_after=1,
    )


@pytest.mark.parametrize("count", [1, 2, 6, 7])
def test_of_equal_blocks_the_lower_ids_are_reinforced(count: int) -> None:
    assert swept(after(curate_reinforced=count)) == Curated(reinforced=BLOCKS[:count])


def tie(source: int, target: int) -> EdgeConnected:
    return EdgeConnected(
        source=BLOCKS[source], target=BLOCKS[target], relation="custom", weight=1, action="created"
    )


def test_an_edge_to_an_inbox_block_does_not_count_for_centrality() -> None:
    policy: dict[str, Any] = {"curate_reinforced": 1, "edge_prune_below": 0.0}
    view = after(tie(0, 2), tie(3, 5), active=BLOCKS[1:5], **policy)
    assert swept(view) == Curated(reinforced=(BLOCKS[1],), edges_after=2)
    view = after(tie(0, 2), tie(3, 5), tie(4, 2), active=BLOCKS[1:5], **policy)
    assert swept(view) == Curated(reinforced=(BLOCKS[2],), edges_after=3)


def test_without_a_query_the_other_signals_have_all_the_weight() -> None:
    frames = tuple(
        evolve(
            frame,
            relevance=1 - 1e-9,
            reinforcement=1e-9,
            usefulness=0.0,
            recency=0.0,
            centrality=0.0,
        )
        if frame.name == "self"
        else frame
        for frame in FRAMES
    )
    often = OutcomeRecorded(block_ids=BLOCKS[:2], signal=1, reinforced=True)
    more = OutcomeRecorded(block_ids=BLOCKS[1:2], signal=1, reinforced=True)
    view = after(often, often, more, frames=frames, curate_reinforced=1)
    assert swept(view) == Curated(reinforced=(BLOCKS[1],))
