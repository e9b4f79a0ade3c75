"""Batch connect: each connection is decided on the state after the connections before it.

The events of the command are not in any log yet, so no projection has applied them.
``BatchConnect`` is the state before the command with these edges as an overlay. It must treat edges
and degrees as the projections do (an edge is as the event says, displaced edges are gone, a
deferred connection is not an edge).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.connecting import Assertion, Connected, decide_connect
from mnemic.kernel.decisions.degree_cap import Ends, ends
from mnemic.kernel.errors import Refused
from mnemic.kernel.events import EdgeConnected, Event
from mnemic.kernel.model.blocks import BlockFacts
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import EdgeReading
from mnemic.kernel.timestamps import Instant


def decide_connects(
    reading: EdgeReading, assertions: Sequence[Assertion | Refused], at: Instant
) -> Decision[tuple[Connected | Refused, ...]]:
    """Decide each of *assertions*, in order.

    Args:
        reading: The state before the command.
        assertions: As given by the caller; a refusal for each input that was not an assertion.
        at: The current time, the same for all.
    Returns:
        As the result: what each did, or its refusal, which does not affect those after it.

    Source: DOMAIN section 5.
    """
    unfolding = BatchConnect(reading, at)
    events: list[Event] = []
    results: list[Connected | Refused] = []
    for assertion in assertions:
        try:
            if isinstance(assertion, Refused):
                raise assertion
            decided = decide_connect(unfolding, assertion, at)
        except Refused as refusal:
            results.append(refusal)
            continue
        for event in decided.events:
            if isinstance(event, EdgeConnected):
                unfolding.connect(event)
        events.extend(decided.events)
        results.append(decided.result)
    return Decision(tuple(events), tuple(results))


class BatchConnect:
    """A state with an overlay of edges. Implements ``mnemic.kernel.reading.EdgeReading``."""

    def __init__(self, reading: EdgeReading, at: Instant) -> None:
        self._reading = reading
        self._at = at
        self._laid: dict[Ends, EdgeFacts | None] = {}
        """Pairs that differ from the underlying state; None where its edge was removed."""
        self._change: Counter[int] = Counter()

    def connect(self, event: EdgeConnected) -> None:
        """Apply *event* to the overlay."""
        for a, b in event.displaced:
            self._put(self._known(a), self._known(b), None)
        source, target = self._known(event.source), self._known(event.target)
        edge = EdgeFacts(
            source,
            target,
            event.relation,
            event.origin,
            event.weight,
            self._at.active_us,
            event.count,
        )
        self._put(source, target, edge)

    def _put(self, a: int, b: int, edge: EdgeFacts | None) -> None:
        change = (edge is not None) - (self.edge(a, b) is not None)
        self._change.update({a: change, b: change})
        self._laid[ends(a, b)] = edge

    def _known(self, block: BlockId) -> int:
        number = self._reading.number(block)
        assert number is not None  # noqa: S101 - the event was decided on this reading
        return number

    # --- EdgeReading ------------------------------------------------------------------------

    @property
    def policy(self) -> Policy:
        """The current policy."""
        return self._reading.policy

    @property
    def highest(self) -> str | None:
        """The writer's zone."""
        return self._reading.highest

    def number(self, block_id: object) -> int | None:
        """Return the number of a block that was ever learned; None for any other value."""
        return self._reading.number(block_id)

    def id(self, number: int) -> BlockId:
        """Return the id of a block."""
        return self._reading.id(number)

    def facts(self, number: int) -> BlockFacts:
        """Return the facts of a block, which edges do not change."""
        return self._reading.facts(number)

    def zone(self, number: int) -> str:
        """Return the trust zone of a block."""
        return self._reading.zone(number)

    def edge(self, a: int, b: int) -> EdgeFacts | None:
        """Return the current edge between two blocks, or None."""
        pair = ends(a, b)
        return self._laid[pair] if pair in self._laid else self._reading.edge(a, b)

    def edges_of(self, number: int) -> list[EdgeFacts]:
        """Return the current edges of a block: the unchanged ones, then the others."""
        kept = (
            edge
            for edge in self._reading.edges_of(number)
            if ends(edge.source, edge.target) not in self._laid
        )
        laid = (edge for pair, edge in self._laid.items() if number in pair)
        return [*kept, *(edge for edge in laid if edge is not None)]

    def degree(self, number: int) -> int:
        """Return the current number of edges of a block."""
        return self._reading.degree(number) + self._change[number]
