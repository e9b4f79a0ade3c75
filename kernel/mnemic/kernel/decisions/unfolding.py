"""Many connections in one command: each is decided on the state that those before it left.

The events of the command are not in any log yet, so no fold has seen them. ``Unfolding`` is the
reading before the command with those edges laid over it; it must do to edges and degrees what the
folds do (an edge stands as the event says, what it displaced is gone, what is deferred is no edge).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mnemic.kernel.decisions.connecting import Assertion, Connected, decide_connect
from mnemic.kernel.decisions.room import Ends, ends
from mnemic.kernel.errors import Refused
from mnemic.kernel.events import EdgeConnected
from mnemic.kernel.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import BlockFacts, EdgeFacts, EdgeReading, Moment


def decide_connects(
    reading: EdgeReading, assertions: Sequence[Assertion | Refused], at: Moment
) -> list[Connected | Refused]:
    """Decide what becomes of each of *assertions*, in order.

    Args:
        reading: The state before.
        assertions: As the caller gave them; a refusal where that was no assertion at all.
        at: The current moment, one for all.
    Returns:
        A decision or a refusal for each. A refusal changes nothing for those behind it.

    Source: DOMAIN section 5.
    """
    unfolding = Unfolding(reading, at)
    decided: list[Connected | Refused] = []
    for assertion in assertions:
        try:
            if isinstance(assertion, Refused):
                raise assertion
            connected = decide_connect(unfolding, assertion, at)
        except Refused as refusal:
            decided.append(refusal)
            continue
        if isinstance(connected.event, EdgeConnected):
            unfolding.connect(connected.event)
        decided.append(connected)
    return decided


class Unfolding:
    """A reading with edges laid over it. Implements ``mnemic.kernel.reading.EdgeReading``."""

    def __init__(self, reading: EdgeReading, at: Moment) -> None:
        self._reading = reading
        self._at = at
        self._laid: dict[Ends, EdgeFacts | None] = {}
        """Pairs that differ from the reading; None where its edge is gone."""
        self._change: Counter[int] = Counter()

    def connect(self, event: EdgeConnected) -> None:
        """Lay the edge of *event* over the reading."""
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

    # --- what a decision asks ---------------------------------------------------------------

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._reading.policy

    @property
    def highest(self) -> str | None:
        """The zone of whoever commands."""
        return self._reading.highest

    def number(self, block_id: object) -> int | None:
        """Return the number of a block that was ever learned; whatever else has none."""
        return self._reading.number(block_id)

    def id(self, number: int) -> BlockId:
        """Return the id of a block."""
        return self._reading.id(number)

    def facts(self, number: int) -> BlockFacts:
        """Return what decisions ask about a block; edges do not change it."""
        return self._reading.facts(number)

    def edge(self, a: int, b: int) -> EdgeFacts | None:
        """Return the edge between two blocks, if one stands by now."""
        pair = ends(a, b)
        return self._laid[pair] if pair in self._laid else self._reading.edge(a, b)

    def edges_of(self, number: int) -> list[EdgeFacts]:
        """Return the edges of a block by now: those left as they were, then the others."""
        kept = (
            edge
            for edge in self._reading.edges_of(number)
            if ends(edge.source, edge.target) not in self._laid
        )
        laid = (edge for pair, edge in self._laid.items() if number in pair)
        return [*kept, *(edge for edge in laid if edge is not None)]

    def degree(self, number: int) -> int:
        """Return how many edges a block has by now."""
        return self._reading.degree(number) + self._change[number]
