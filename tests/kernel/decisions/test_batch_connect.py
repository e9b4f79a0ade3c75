"""The overlay of a batch connect equals the state after applying its events."""

from __future__ import annotations

from itertools import combinations

from mnemic.kernel.decisions.batch_connect import BatchConnect
from mnemic.kernel.decisions.connecting import Assertion, decide_connect
from mnemic.kernel.events import EdgeConnected, Event
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import EdgeReading
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View
from tests.kernel.decisions.logs import adopted, folded, learned

BLOCKS = tuple(BlockId(f"{n:016x}") for n in range(5))
POLICY = Policy(degree_cap=2)
NOW = Instant(active_us=3 * MICROS_PER_HOUR, recorded_us=0)

SIMILAR = EdgeConnected(
    source=BLOCKS[1],
    target=BLOCKS[0],
    relation="similar",
    weight=400_000_000,
    action="created",
    origin="similarity",
)
STANDING: tuple[Event, ...] = (
    adopted(POLICY),
    *(learned(block) for block in BLOCKS),
    SIMILAR,
    EdgeConnected(
        source=BLOCKS[3], target=BLOCKS[4], relation="supports", weight=1, action="created"
    ),
)


def after(*events: Event) -> View:
    """Return the view after the existing edges and *events*, all at one time."""
    return folded(*STANDING, *events, hour_us=NOW.active_us)


Graph = tuple[list[int], list[EdgeFacts | None], list[set[EdgeFacts]]]


def graph(reading: EdgeReading) -> Graph:
    """Return every degree, the edge of every pair, and the edges of every block."""
    numbers = range(len(BLOCKS))
    return (
        [reading.degree(number) for number in numbers],
        [reading.edge(b, a) for a, b in combinations(numbers, 2)],
        [set(reading.edges_of(number)) for number in numbers],
    )


def test_the_overlay_has_the_same_edges_as_the_projections() -> None:
    events: list[EdgeConnected] = []
    unfolding = BatchConnect(after(), NOW)
    assert graph(unfolding) == graph(after())
    for source, target, relation in ((0, 2, "supports"), (0, 3, "custom"), (2, 0, "elaborates")):
        assertion = Assertion(
            source=BLOCKS[source],
            target=BLOCKS[target],
            relation=relation,
            if_exists="update",
        )
        (event,) = decide_connect(unfolding, assertion, NOW).events
        assert isinstance(event, EdgeConnected)
        events.append(event)
        unfolding.connect(event)
        assert graph(unfolding) == graph(after(*events))
    assert [event.displaced for event in events] == [(), ((BLOCKS[0], BLOCKS[1]),), ()]


def test_each_edge_is_listed_once_at_either_end() -> None:
    unfolding = BatchConnect(after(), NOW)
    unfolding.connect(SIMILAR)
    assert [len(unfolding.edges_of(number)) for number in range(5)] == [1, 1, 0, 1, 1]
