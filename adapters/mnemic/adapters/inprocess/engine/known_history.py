"""What a process knows of the history that it has folded: heads by which another one is recognised.

A log that was replaced under an open process (a backup put back, a standby that took over without
the last events) shares a beginning with the one that was read. Where the two part is found by
comparing digests at the heads that are kept here: those after each append and each catch-up, and a
few of the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from attrs import define, field

from mnemic.kernel.errors import HistoryReplaced
from mnemic.kernel.ports import Head

HEADS_MAX = 4096
"""Heads that are kept; of the older half every other one is dropped when there are more."""
STEP = 4
"""Heads before the opening are looked up at distances that grow by this factor."""
SHOWN_MAX = 100
"""Ranges of acknowledged versions that an error lists."""

DigestAt = Callable[[int], bytes | None]
"""Returns the chain digest of a log at a version."""


class KnownHead(NamedTuple):
    """A head that the folded log had."""

    head: Head
    first: int | None = None
    """First version of the append of this process that led to it; None: others wrote it."""


@define
class KnownHistory:
    """The heads of the folded log that a process keeps."""

    _heads: list[KnownHead] = field(factory=list)

    def begin(self, head: Head, digest_at: DigestAt) -> None:
        """Forget everything, and look up a few heads of a log that has been folded up to *head*."""
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
        """Add a head, after all that lie before it.

        Events that were shown behind the end of an encrypted log, and never written, are forgotten.

        Args:
            head: The end of the log.
            first: First version that this process appended to come there; None: others did.
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
        """Forget everything."""
        self._heads = []

    def parted_from(self, found: Head, digest_at: DigestAt) -> HistoryReplaced:
        """Return the error for a log that is not a continuation of the known history.

        Args:
            found: Where the log ends.
            digest_at: Returns its digests.
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
