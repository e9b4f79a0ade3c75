"""A hub at its degree cap gets one more connection."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.results import DisplacedEdge
from tests.scenarios.conftest import Learn, Open

Near = Callable[..., ScriptedEmbedder]

SPOKES = [f"spoke{number}" for number in range(10)]
TEXTS = ["hub", *SPOKES, "rim", "insight"]


@pytest.fixture
def found(opened: Open, near: Near) -> SyncMemory:
    """A memory in which similarity connects a hub to as many blocks as the cap allows."""
    return opened(embedder=near(TEXTS, **dict.fromkeys(SPOKES, 0.5)))


@pytest.fixture
def apart(opened: Open, near: Near) -> SyncMemory:
    """A memory in which no two blocks are similar."""
    return opened(embedder=near(TEXTS))


def test_a_displaced_edge_is_reported_with_both_ends(found: SyncMemory, learn: Learn) -> None:
    hub, *_, insight = learn(found, *TEXTS)
    before = {edge for edge in found.edges(hub) if edge.relation == "similar"}
    assert len(before) == 10
    made = found.connect(hub, insight, "supports")
    (gone,) = before - set(found.edges(hub))
    low, high = sorted((gone.source_id, gone.target_id))
    notice = DisplacedEdge(from_id=low, to_id=high, relation="similar", weight=gone.weight)
    assert (made.action, made.displaced_edge, made.displaced_edges) == (
        "created",
        notice,
        (notice,),
    )
    assert "isplaced" in str(made)
    assert len(found.edges(hub)) == 10
    behind = [found.history(of=end)[-1].kind for end in (low, high)]
    assert behind == ["edge-connected", "edge-connected"]


def test_with_ten_assertions_the_eleventh_waits_for_room(apart: SyncMemory, learn: Learn) -> None:
    hub, *spokes, _, insight = learn(apart, *TEXTS)
    for spoke in spokes:
        apart.connect(hub, spoke)
    waiting = apart.connect(hub, insight, "supports", note="still worth saying")
    assert (waiting.action, waiting.displaced_edges) == ("deferred", ())
    assert "curate()" in (waiting.deferred_note or "")
    assert apart.status().pending_connections == 1
    assert apart.curate().pending_admitted == 0
    apart.disconnect(hub, spokes[0], reason="the weakest of them")
    swept = apart.curate()
    assert (swept.pending_admitted, apart.status().pending_connections) == (1, 0)
    (edge,) = apart.edges(insight)
    assert (edge.source_id, edge.relation, edge.note) == (hub, "supports", "still worth saying")
    assert apart.block(hub).degree == 10


def test_an_outcome_edge_is_as_protected_as_an_asserted_one(
    apart: SyncMemory, learn: Learn
) -> None:
    hub, *spokes, _, insight = learn(apart, *TEXTS)
    for spoke in spokes:
        apart.outcome([hub, spoke], 1.0)
    assert apart.connect(hub, insight, "supports").action == "deferred"
    assert {edge.relation for edge in apart.edges(hub)} == {"outcome"}
