"""Effects of a recorded recall on the pairs of blocks that it returned together.

Rules of this module (DOMAIN section 6):

1. Outside a session a recall has no effect on pairs.
2. An edge is used at most once per session: count + 1, a fresh anchor, the weight unchanged.
3. A pair without an edge is staged once per session. With enough distinct sessions it becomes an
   edge, if both ends are below the degree cap: it displaces nothing. Otherwise it waits, and is not
   staged any further: the next session tries again.
4. Staging holds a limited number of pairs. Beyond the limit, those with the fewest sessions are
   evicted first, then those that were staged longest ago, ties by the pair of ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import combinations, islice, takewhile

from attrs import frozen

from mnemic.kernel.decisions.degree_cap import DegreeCap, Ends
from mnemic.kernel.events import Pair
from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.model.identity import pair as pair_of_ids
from mnemic.kernel.reading import Reading
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.values import Value


@frozen(kw_only=True)
class Effects(Value):
    """Pairs of block numbers, lower number first, as listed in the event of a recall."""

    staged: tuple[Ends, ...] = ()
    linked: tuple[Ends, ...] = ()
    refreshed: tuple[Ends, ...] = ()
    evicted: tuple[Ends, ...] = ()
    """Pairs that were staged before and are evicted."""


def effects(
    reading: Reading, returned: Iterable[int], session: SessionId | None, at: Instant
) -> Effects:
    """Return the effect on every pair of blocks that a recall returned.

    Args:
        reading: The state that the recall is recorded on, which may be later than the one that
            was searched: a block that was archived in between is ignored.
        returned: Numbers of the blocks of the answer.
        session: The session of the recall; None outside of one.
        at: The time at which it is recorded.

    Source: DOMAIN section 6.
    """
    if session is None:
        return Effects()
    numbers = sorted([number for number in returned if reading.status(number) == ACTIVE])
    pairs = _Pairs(reading, session, at)
    pairs.take(numbers)
    evicted, spared = _evictions(reading, pairs)
    return Effects(
        staged=spared,
        linked=tuple(pairs.linked),
        refreshed=tuple(pairs.refreshed),
        evicted=evicted,
    )


class _Pairs:
    """The pairs of the returned blocks, classified."""

    def __init__(self, reading: Reading, session: SessionId, at: Instant) -> None:
        self._reading = reading
        self._session = session
        self._room = DegreeCap(reading, at.active_us)
        self._cap = reading.policy.degree_cap
        self._enough = reading.policy.co_retrieval_sessions
        self.staged: dict[Ends, int] = {}
        """Staged pairs with the resulting number of sessions of each."""
        self.linked: list[Ends] = []
        self.refreshed: list[Ends] = []
        self.known = 0
        """Number of the staged or linked pairs that were staged before."""

    def take(self, numbers: list[int]) -> None:
        """Refresh, link, stage or skip each pair of some blocks, which are ascending."""
        reading, session = self._reading, self._session
        existing, barred = reading.linked_among(numbers), reading.barred_among(numbers)
        earlier = reading.staged_among(numbers)
        most = max(1, self._enough)
        for ends in combinations(numbers, 2):
            if ends in existing:
                if not reading.was_refreshed(*ends, session):
                    self.refreshed.append(ends)
                continue
            sessions = earlier.get(ends, ())
            if session in sessions or ends in barred:
                continue
            count = len(sessions)
            if count + 1 >= self._enough and self._has_place(*ends):
                self._room.move_in(*ends)
                self.linked.append(ends)
            elif count < most:
                self.staged[ends] = count + 1
            else:
                continue
            self.known += count > 0

    def _has_place(self, a: int, b: int) -> bool:
        return self._room.degree(a) < self._cap and self._room.degree(b) < self._cap


def _evictions(reading: Reading, pairs: _Pairs) -> tuple[tuple[Ends, ...], tuple[Ends, ...]]:
    """Return the earlier pairs that are evicted, and the new pairs that stay.

    A new pair that would be evicted at once is not staged at all.
    """
    total = reading.staged_total() + len(pairs.staged) + len(pairs.linked) - pairs.known
    surplus = total - len(pairs.linked) - reading.policy.staging_pairs_max
    if surplus <= 0:
        return (), tuple(pairs.staged)
    going = _going(reading, pairs, surplus)
    gone = {*going} & {*pairs.staged}
    return (
        tuple(ends for ends in going if ends not in gone or reading.staged_sessions(*ends)),
        tuple(ends for ends in pairs.staged if ends not in gone),
    )


def _going(reading: Reading, pairs: _Pairs, surplus: int) -> list[Ends]:
    """Return the pairs beyond the limit, in the order of eviction."""
    touched = {*pairs.staged, *pairs.linked}
    existing = (entry for entry in reading.staging_order() if entry[0] not in touched)
    # Of equally many sessions the older go first. Usually those suffice, without sorting.
    least = min(pairs.staged.values(), default=0)
    older = list(islice(takewhile(lambda entry: entry[1] <= least, existing), surplus))
    if len(older) < surplus:
        existing = (entry for entry in reading.staging_order() if entry[0] not in touched)
        order = merge(existing, _newest(reading, pairs.staged), key=lambda entry: entry[1])
        older = list(islice(order, surplus))
    return [ends for ends, _ in older]


def _newest(reading: Reading, staged: dict[Ends, int]) -> Iterator[tuple[Ends, int]]:
    """Yield pairs that are staged now, fewest sessions first, ties by the pair of ids."""

    def place(entry: tuple[Ends, int]) -> tuple[int, Pair]:
        (a, b), sessions = entry
        return sessions, pair_of_ids(reading.id(a), reading.id(b))

    return iter(sorted(staged.items(), key=place))
