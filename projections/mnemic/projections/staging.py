"""Staging: pairs that were returned together and have no edge yet, and edges that were used.

Rules of this module:

1. A pair is staged until an edge takes its place, an end is archived, somebody disconnects it, or
   there is no place left. Who goes is decided by the recall that needs the place.
2. At the head nothing is ever searched for: pairs are found by a block, and in the order in which
   they would go, without looking at the others.
3. An edge counts as used once per session. A use is never taken back, so its version is enough.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from attrs import frozen

from mnemic.kernel.identity import BlockId
from mnemic.kernel.identity import pair as pair_of_ids
from mnemic.projections.columns import Ledgered

Ends = tuple[int, int]


@frozen
class Staged:
    """What is known of a pair on its way to an edge."""

    sessions: tuple[str, ...]
    """In which it was returned together, in order."""
    version: int
    """At which it was last staged."""


class Staging(Ledgered[Staged]):
    """Staged pairs, by a canonical pair of block numbers."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: dict[int, dict[Ends, int]] = {}
        """By number of sessions: pairs and the versions at which they were staged, oldest first."""
        self._counts: list[int] = []
        """The numbers of sessions that occur, rising."""
        self._with: dict[int, dict[Ends, None]] = {}
        """By block: its pairs."""

    def stage(self, ends: Ends, version: int, session: str) -> None:
        """Count one more session in which the pair was returned together."""
        before = self.current.get(ends)
        sessions = () if before is None else before.sessions
        self.put(ends, version, Staged((*sessions, session), version))

    def put(self, key: Ends, version: int, value: Staged) -> None:
        """Let *value* stand for a pair from *version* on."""
        self._leave(key)
        super().put(key, version, value)
        count = len(value.sessions)
        if count not in self._queue:
            self._queue[count] = {}
            insort(self._counts, count)
        self._queue[count][key] = version
        for end in key:
            self._with.setdefault(end, {})[key] = None

    def drop(self, key: Ends, version: int) -> None:
        """Let nothing stand for a pair from *version* on."""
        self._leave(key)
        super().drop(key, version)

    def _leave(self, ends: Ends) -> None:
        standing = self.current.get(ends)
        if standing is not None:
            del self._queue[len(standing.sessions)][ends]
            for end in ends:
                del self._with[end][ends]

    def of(self, block: int) -> list[Ends]:
        """Return the staged pairs of a block at the head."""
        return list(self._with.get(block, ()))

    def order(self, ids: Sequence[BlockId]) -> Iterator[tuple[Ends, int]]:
        """Yield the pairs at the head as they would go, with their number of sessions.

        Args:
            ids: Public ids by block number.
        """
        for count in self._counts:
            yield from _oldest_first(self._queue[count].items(), count, ids)


def order_of(staged: Mapping[Ends, Staged], ids: Sequence[BlockId]) -> Iterator[tuple[Ends, int]]:
    """Yield pairs of the past as they would have gone, with their number of sessions.

    Args:
        staged: In the order in which they were staged.
        ids: Public ids by block number.
    """
    queue: dict[int, list[tuple[Ends, int]]] = {}
    for ends, standing in staged.items():
        queue.setdefault(len(standing.sessions), []).append((ends, standing.version))
    for count in sorted(queue):
        yield from _oldest_first(queue[count], count, ids)


def _oldest_first(
    staged: Iterable[tuple[Ends, int]], count: int, ids: Sequence[BlockId]
) -> Iterator[tuple[Ends, int]]:
    """Yield pairs of rising versions; those of one version by the pair of their ids."""
    for _, together in groupby(staged, key=lambda entry: entry[1]):
        ends = [pair for pair, _ in together]
        ends.sort(key=lambda pair: pair_of_ids(ids[pair[0]], ids[pair[1]]))
        yield from ((pair, count) for pair in ends)


class Refreshed:
    """Which edges a recall has refreshed, by session."""

    def __init__(self) -> None:
        self._by_session: dict[str, dict[Ends, int]] = {}

    def note(self, ends: Ends, session: str, version: int) -> None:
        """Remember that the edge of a pair was used at *version*."""
        self._by_session.setdefault(session, {}).setdefault(ends, version)

    def by(self, ends: Ends, session: str, version: int) -> bool:
        """Whether the edge of a pair was used in *session* by *version*."""
        since = self._by_session.get(session, {}).get(ends)
        return since is not None and since <= version

    def at(self, version: int) -> dict[Ends, list[str]]:
        """Return the sessions that had used the edge of each pair by *version*."""
        found: dict[Ends, list[str]] = {}
        for session, uses in self._by_session.items():
            for ends, since in uses.items():
                if since <= version:
                    found.setdefault(ends, []).append(session)
        return found
