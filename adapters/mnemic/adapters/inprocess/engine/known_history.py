"""Heads of the folded history, by which a log that was replaced meanwhile is compared with it.

A log that is replaced while it is open (a backup is restored, a standby takes over without the last
events) has its first events in common with the one that was folded. To find where the two part,
digests are compared at the heads that are kept here: those after each append and each catch-up, and
a few from before opening.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from attrs import define, field

from mnemic.kernel.errors import HistoryReplaced
from mnemic.kernel.ports import Head

HEADS_MAX = 4096
"""Heads that are kept; beyond that, every other one of the older half is dropped."""
STEP = 4
"""Factor by which the distances grow at which heads from before opening are looked up."""
SHOWN_MAX = 100
"""Ranges of acknowledged versions that an error lists."""

DigestAt = Callable[[int], bytes | None]
"""Returns the chain digest of a log at a version."""


class KnownHead(NamedTuple):
    """A head that the folded log had."""

    head: Head
    first: int | None = None
    """First version of the append by this process that ended there; None: another one wrote it."""


@define
class KnownHistory:
    """The heads of the folded log that are kept, oldest first."""

    _heads: list[KnownHead] = field(factory=list)

    def begin(self, head: Head, digest_at: DigestAt) -> None:
        """Begin anew with *head* and a few earlier heads, which are looked up in the log.

        Args:
            head: The head that the log has been folded up to.
            digest_at: Returns the digests of that log.
        """
        distance, versions = STEP, [0]
        while distance < head.version:
            versions.append(head.version - distance)
            distance *= STEP
        found = [(version, digest_at(version)) for version in sorted(versions)]
        self._heads = [
            KnownHead(Head(version, digest))
            for version, digest in found
            if digest is not None and version < head.version
        ]
        self.add(head)

    def add(self, head: Head, *, first: int | None = None) -> None:
        """Add a head, and drop those of its version and later.

        There are such if events were shown after the end of an encrypted log without being written.

        Args:
            head: The end of the log.
            first: First version of the append by this process that ended there; None: another
                process wrote it.
        """
        while self._heads and self._heads[-1].head.version >= head.version:
            self._heads.pop()
        self._heads.append(KnownHead(head, first))
        if len(self._heads) > HEADS_MAX:
            half = HEADS_MAX // 2
            self._heads[:half] = self._heads[:half:2]

    def newest(self) -> Head | None:
        """Return the newest head, if any is known."""
        return self._heads[-1].head if self._heads else None

    def clear(self) -> None:
        """Drop all heads."""
        self._heads = []

    def parted_from(self, found: Head, digest_at: DigestAt) -> HistoryReplaced:
        """Return the error for a log that is not a continuation of the known history.

        Args:
            found: Where the log ends now.
            digest_at: Returns its digest at a version.
        """
        low, high = 0, len(self._heads)
        while low < high:
            middle = (low + high) // 2
            known = self._heads[middle].head
            shared = known.version <= found.version and digest_at(known.version) == known.digest
            low, high = (middle + 1, high) if shared else (low, middle)
        common = self._heads[low - 1].head.version if low else -1
        apart = self._heads[low].head.version if low < len(self._heads) else common + 1
        lost = [
            [each.first, each.head.version] for each in self._heads[low:] if each.first is not None
        ]
        return _error(found, common=common, apart=apart, lost=_joined(lost))


def again(error: HistoryReplaced) -> HistoryReplaced:
    """Return a copy of an error, for another caller."""
    return HistoryReplaced(error.message, recovery=error.recovery, **error.facts)


def _joined(ranges: Sequence[list[int]]) -> list[list[int]]:
    """Return ranges of versions, in order, with adjacent ones joined."""
    joined: list[list[int]] = []
    for first, last in ranges:
        if joined and joined[-1][1] == first - 1:
            joined[-1][1] = last
        else:
            joined.append([first, last])
    return joined


def _error(found: Head, *, common: int, apart: int, lost: list[list[int]]) -> HistoryReplaced:
    where = f"at version {apart}"
    if apart > common + 1:
        where = f"at version {apart} at the latest, and not before {common + 1}"
    missing = sum(last - first + 1 for first, last in lost)
    return HistoryReplaced(
        f"the history of this log was replaced: it ends at version {found.version} now, and parts "
        f"from what was read here {where}; receipts from version {common + 1} on are not covered "
        f"any more, and {missing} versions acknowledged by this process are missing",
        version=common + 1,
        differs_at=apart,
        head=found.version,
        acknowledged=lost[-SHOWN_MAX:],
        acknowledged_count=missing,
    )
