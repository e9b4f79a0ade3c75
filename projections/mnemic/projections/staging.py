"""Staging: pairs that were returned together and have no edge yet, and edges that were used.

Rules of this module:

1. A pair is staged until an edge takes its place, an end is archived, somebody disconnects it, or
   there is no place left. Who goes is decided by the recall that needs the place.
2. At the head nothing is ever searched for: pairs are found by a block, and in the order in which
   they would go, without looking at the others.
3. An edge counts as used once per session. A use is never taken back, so its version is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.identity import BlockId
from mnemic.kernel.identity import pair as pair_of_ids
from mnemic.projections.columns import Names
from mnemic.projections.journals import Journal
from mnemic.projections.mappings import Ends, Paired
from mnemic.projections.parts import Parts, nested, packed, unpacked, within

_STEPS: Mapping[str, type[np.generic]] = {
    "low": np.int32,
    "high": np.int32,
    "session": np.int32,
    "before": np.int32,
}
_USES: Mapping[str, type[np.generic]] = {
    "session": np.int32,
    "low": np.int32,
    "high": np.int32,
    "version": np.int32,
}


@frozen
class Staged:
    """What is known of a pair on its way to an edge."""

    sessions: tuple[str, ...]
    """In which it was returned together, in order."""
    version: int
    """At which it was last staged."""


class Staging(Paired[Staged]):
    """Staged pairs, by a canonical pair of block numbers."""

    MADE = (*Paired.MADE, "_queue")

    def __init__(self) -> None:
        super().__init__()
        self._pairs = Journal(**_STEPS)
        """For every row its pair, the session it adds, and the row it goes on from, or -1: all that
        an entry is made of."""
        self._sessions = Names()

    def _take(self, parts: Mapping[str, NDArray[Any]]) -> None:
        self._pairs = Journal.thawed(within(parts, "steps"), _STEPS)
        self._sessions = Names.thawed(unpacked(parts["sessions"]))

    def _given(self) -> Parts:
        sessions = packed(self._sessions.words)
        return {**nested(steps=self._pairs.frozen()), "sessions": sessions}

    def _read(self, row: int) -> tuple[Ends, Staged]:
        low, high, session, before = self._pairs.row(row)
        sessions = () if before < 0 else self._entry(before)[1].sessions
        staged = Staged((*sessions, self._sessions.words[session]), self._put_at(row))
        return (low, high), staged

    @cached_property
    def _queue(self) -> dict[int, dict[Ends, int]]:
        """By number of sessions: pairs and the versions at which they were staged, oldest first."""
        queue: dict[int, dict[Ends, int]] = {}
        for ends, staged in self.current.items():
            queue.setdefault(len(staged.sessions), {})[ends] = staged.version
        return queue

    def stage(self, ends: Ends, version: int, session: str) -> None:
        """Count one more session in which the pair was returned together."""
        self.stage_each((ends,), version, session)

    def stage_each(self, pairs: Iterable[Ends], version: int, session: str) -> None:
        """Do ``stage`` for several pairs: what ``put`` does, for all of them in one go."""
        current, standing, queue, found = self.current, self._standing, self._queue, self._with
        number, row = self._sessions.number(session), len(self._since)
        fresh = queue.setdefault(1, {})
        for ends in pairs:
            before = current.pop(ends, None)
            if before is None:
                goes_on, staged = -1, Staged((session,), version)
                fresh[ends] = version
                for end in ends:
                    found.setdefault(end, []).append(ends)
            else:
                goes_on, sessions = standing[ends], (*before.sessions, session)
                staged = Staged(sessions, version)
                self._close(goes_on, version)
                del queue[len(before.sessions)][ends]
                queue.setdefault(len(sessions), {})[ends] = version
            current[ends] = staged
            standing[ends] = row
            self._since.append(version)
            self._pairs.append((*ends, number, goes_on))
            row += 1

    def put(self, key: Ends, version: int, value: Staged) -> None:
        """Let *value* stand for a pair from *version* on.

        Args:
            key: The pair.
            version: That of *value* too.
            value: Goes on from what stands, by one session.
        """
        self.stage(key, version, value.sessions[-1])

    def drop(self, key: Ends, version: int) -> None:
        """Let nothing stand for a pair from *version* on."""
        self.drop_each((key,), version)

    def drop_each(self, pairs: Iterable[Ends], version: int) -> None:
        """Do ``drop`` for several pairs, in one go."""
        current, standing, queue, found = self.current, self._standing, self._queue, self._with
        for ends in pairs:
            staged = current.pop(ends, None)
            if staged is not None:
                del queue[len(staged.sessions)][ends]
                self._close(standing.pop(ends), version)
                for end in ends:
                    with_it = found[end]
                    with_it.remove(ends)
                    if not with_it:
                        del found[end]

    def order(self, ids: Sequence[BlockId]) -> Iterator[tuple[Ends, int]]:
        """Yield the pairs at the head as they would go, with their number of sessions.

        Args:
            ids: Public ids by block number.
        """
        for count in sorted(self._queue):
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
        self._uses = Journal(**_USES)
        self._sessions = Names()
        self._by_session: dict[str, dict[Ends, int]] = {}
        """Of the sessions that were asked for."""

    def frozen(self) -> Parts:
        """Return all uses."""
        return {**nested(uses=self._uses.frozen()), "sessions": packed(self._sessions.words)}

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Refreshed:
        """Return the uses that were frozen."""
        refreshed = cls()
        refreshed._uses = Journal.thawed(within(parts, "uses"), _USES)
        refreshed._sessions = Names.thawed(unpacked(parts["sessions"]))
        return refreshed

    def settle(self) -> None:
        """Remember no session that was asked for."""
        self._by_session = {}

    def note(self, ends: Ends, session: str, version: int) -> None:
        """Remember that the edge of a pair was used at *version*."""
        uses = self._of(session)
        if ends not in uses:
            uses[ends] = version
            self._uses.append((self._sessions.number(session), *ends, version))

    def by(self, ends: Ends, session: str, version: int) -> bool:
        """Whether the edge of a pair was used in *session* by *version*."""
        since = self._of(session).get(ends)
        return since is not None and since <= version

    def at(self, version: int) -> dict[Ends, list[str]]:
        """Return the sessions that had used the edge of each pair by *version*."""
        found: dict[Ends, list[str]] = {}
        count = int(np.searchsorted(self._uses.column("version"), version, side="right"))
        for session, low, high, _ in self._uses.rows(count):
            found.setdefault((low, high), []).append(self._sessions.words[session])
        return found

    def _of(self, session: str) -> dict[Ends, int]:
        found = self._by_session.get(session)
        if found is None:
            uses = self._uses.about(self._sessions.known(session))
            found = {(low, high): version for low, high, version in uses}
            self._by_session[session] = found
        return found
