"""Staging: pairs that were returned together and have no edge yet, and edges that were used.

Rules of this module:

1. A pair is staged until an edge replaces it, an end is archived, it is disconnected, or the
   limit is reached. The recall that exceeds the limit decides which pair is evicted.
2. At the head nothing requires a scan: pairs are found by block, and in the order of eviction,
   without looking at the others.
3. An edge counts as used once per session. A use is never reverted, so its version is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.identity import pair as pair_of_ids
from mnemic.projections.storage.array_bundle import (
    ArrayBundle,
    nested,
    packed,
    unpacked,
    within,
)
from mnemic.projections.storage.columns import Interner
from mnemic.projections.storage.event_columns import EventColumns
from mnemic.projections.storage.versioned_maps import Ends, Paired

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


class Staged(NamedTuple):
    """State of a pair on its way to an edge."""

    sessions: tuple[str, ...]
    """Sessions in which it was returned together, in order."""
    version: int
    """The version at which it was last staged."""


class Staging(Paired[Staged]):
    """Staged pairs, by a canonical pair of block numbers."""

    MADE = (*Paired.MADE, "_queue")

    def __init__(self) -> None:
        super().__init__()
        self._pairs = EventColumns(**_STEPS)
        """For every row its pair, the session it adds, and the row it continues, or -1: everything
        that an entry is built from."""
        self._sessions = Interner()

    def _take(self, parts: Mapping[str, NDArray[Any]]) -> None:
        self._pairs = EventColumns.thawed(within(parts, "steps"), _STEPS)
        self._sessions = Interner.thawed(unpacked(parts["sessions"]))

    def _given(self) -> ArrayBundle:
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

    def stage_each(self, pairs: Sequence[Ends], version: int, session: str) -> None:
        """Do ``stage`` for several pairs at once."""
        current, existing, queue, found = self.current, self._current_rows, self._queue, self._with
        number, first = self._sessions.number(session), len(self._since)
        fresh, steps = queue.setdefault(1, {}), list[tuple[int, ...]]()
        once = Staged((session,), version)
        self._changed = version
        self._make_room(first + len(pairs))
        for row, ends in enumerate(pairs, first):
            low, high = ends
            before = current.pop(ends, None)
            if before is None:
                goes_on, staged = -1, once
                fresh[ends] = version
                for end in ends:
                    with_it = found.get(end)
                    if with_it is None:
                        found[end] = [ends]
                    else:
                        with_it.append(ends)
            else:
                goes_on, sessions = existing[ends], (*before.sessions, session)
                staged = Staged(sessions, version)
                self._close(goes_on, version)
                del queue[len(before.sessions)][ends]
                queue.setdefault(len(sessions), {})[ends] = version
            current[ends] = staged
            existing[ends] = row
            steps.append((low, high, number, goes_on))
        self._pairs.append_each(steps)
        self._since.extend([version] * len(pairs))

    def put(self, key: Ends, version: int, value: Staged) -> None:
        """Set a pair to *value* from *version* on.

        Args:
            key: The pair.
            version: Equal to that of *value*.
            value: Extends the current value by one session.
        """
        self.stage(key, version, value.sessions[-1])

    def drop(self, key: Ends, version: int) -> bool:
        """Remove a pair from *version* on, and return whether it was there."""
        was_staged = key in self.current
        self.drop_each((key,), version)
        return was_staged

    def drop_each(self, pairs: Iterable[Ends], version: int) -> None:
        """Do ``drop`` for several pairs at once."""
        current, existing, queue, found = self.current, self._current_rows, self._queue, self._with
        for ends in pairs:
            staged = current.pop(ends, None)
            if staged is not None:
                del queue[len(staged.sessions)][ends]
                self._close(existing.pop(ends), version)
                for end in ends:
                    with_it = found[end]
                    with_it.remove(ends)
                    if not with_it:
                        del found[end]

    def order(self, ids: Sequence[BlockId]) -> Iterator[tuple[Ends, int]]:
        """Yield the pairs at the head in the order of eviction, with their number of sessions.

        Args:
            ids: Public ids by block number.
        """
        for count in sorted(self._queue):
            yield from _oldest_first(self._queue[count].items(), count, ids)


def order_of(staged: Mapping[Ends, Staged], ids: Sequence[BlockId]) -> Iterator[tuple[Ends, int]]:
    """Yield pairs of a past version in the order of eviction, with their number of sessions.

    Args:
        staged: In the order in which they were staged.
        ids: Public ids by block number.
    """
    queue: dict[int, list[tuple[Ends, int]]] = {}
    for ends, existing in staged.items():
        queue.setdefault(len(existing.sessions), []).append((ends, existing.version))
    for count in sorted(queue):
        yield from _oldest_first(queue[count], count, ids)


def _oldest_first(
    staged: Iterable[tuple[Ends, int]], count: int, ids: Sequence[BlockId]
) -> Iterator[tuple[Ends, int]]:
    """Yield pairs by ascending version; those of one version by the pair of their ids."""
    for _, together in groupby(staged, key=lambda entry: entry[1]):
        ends = [pair for pair, _ in together]
        ends.sort(key=lambda pair: pair_of_ids(ids[pair[0]], ids[pair[1]]))
        yield from ((pair, count) for pair in ends)


class Refreshed:
    """Which edges a recall has refreshed, by session."""

    def __init__(self) -> None:
        self._uses = EventColumns(**_USES)
        self._sessions = Interner()
        self._by_session: dict[str, dict[Ends, int]] = {}
        """The writer's cache, by session."""

    def frozen(self) -> ArrayBundle:
        """Return all uses."""
        return {**nested(uses=self._uses.frozen()), "sessions": packed(self._sessions.words)}

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Refreshed:
        """Return the uses that were frozen."""
        refreshed = cls()
        refreshed._uses = EventColumns.thawed(within(parts, "uses"), _USES)
        refreshed._sessions = Interner.thawed(unpacked(parts["sessions"]))
        return refreshed

    def settle(self) -> None:
        """Clear the cache."""
        self._by_session = {}

    def note(self, ends: Ends, session: str, version: int) -> None:
        """Record that the edge of a pair was used at *version*."""
        uses = self._of(session)
        if ends not in uses:
            uses[ends] = version
            self._uses.append((self._sessions.number(session), *ends, version))

    def has(self, ends: Ends, session: str) -> bool:
        """Whether the edge of a pair has been used in *session*; for the writer."""
        return ends in self._of(session)

    def by(self, ends: Ends, session: str, version: int) -> bool:
        """Whether the edge of a pair was used in *session* by *version*."""
        uses = self._uses.about(self._sessions.known(session))
        return any((low, high) == ends and since <= version for low, high, since in uses)

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
