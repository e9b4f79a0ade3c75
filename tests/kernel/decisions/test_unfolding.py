"""What is laid over a reading is what folding the events would have made of it."""

from __future__ import annotations

from itertools import combinations

from mnemic.kernel.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.decisions.connecting import Assertion, decide_connect
from mnemic.kernel.decisions.unfolding import Unfolding
from mnemic.kernel.events import EdgeConnected, Event
from mnemic.kernel.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import EdgeFacts, EdgeReading, Moment
from mnemic.projections.views import View
from tests.kernel.decisions.logs import adopted, folded, learned

BLOCKS = tuple(BlockId(f"{n:016x}") for n in range(5))
POLICY = Policy(degree_cap=2)
NOW = Moment(active_us=3 * MICROS_PER_HOUR, recorded_us=0)

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
    """Return the view after what stands and *events*, all at one moment."""
    return folded(*STANDING, *events, hour_us=NOW.active_us)


Told = tuple[list[int], list[EdgeFacts | None], list[set[EdgeFacts]]]


def told(reading: EdgeReading) -> Told:
    """Return every degree, the edge of every pair, and the edges of every block."""
    numbers = range(len(BLOCKS))
    return (
        [reading.degree(number) for number in numbers],
        [reading.edge(b, a) for a, b in combinations(numbers, 2)],
        [set(reading.edges_of(number)) for number in numbers],
    )


def test_edges_laid_over_a_reading_are_those_that_the_fold_makes() -> None:
    events: list[EdgeConnected] = []
    unfolding = Unfolding(after(), NOW)
    assert told(unfolding) == told(after())
    for source, target, relation in ((0, 2, "supports"), (0, 3, "custom"), (2, 0, "elaborates")):
        assertion = Assertion(
            source=BLOCKS[source],
            target=BLOCKS[target],
            relation=relation,
            if_exists="update",
        )
        event = decide_connect(unfolding, assertion, NOW).event
        assert isinstance(event, EdgeConnected)
        events.append(event)
        unfolding.connect(event)
        assert told(unfolding) == told(after(*events))
    assert [event.displaced for event in events] == [(), ((BLOCKS[0], BLOCKS[1]),), ()]


def test_each_edge_is_listed_once_at_either_end() -> None:
    unfolding = Unfolding(after(), NOW)
    unfolding.connect(SIMILAR)
    assert [len(unfolding.edges_of(number)) for number in range(5)] == [1, 1, 0, 1, 1]
