"""Ports for optional capabilities of a store or a log."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from mnemic.kernel.ports.store import Head, Log, Store


class TryWriteLock(Protocol):
    """Optional capability of a log: acquire the write lock without waiting."""

    def try_write_lock(self) -> AbstractContextManager[bool]:
        """Acquire the write lock if it is free and has no waiters; yield whether it is held.

        Never blocks. Not re-entrant.
        """
        ...


class ChangeNotifier(Protocol):
    """Optional capability of a log: notification of appends by any process."""

    def wait(self, after: int, timeout_s: float) -> bool:
        """Wait until the log extends beyond version *after*; return False on timeout.

        Even if a notification is lost, an append is noticed within seconds.
        """
        ...

    def hear(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Call *tell*, on another thread, whenever the log may have changed.

        Notifications can be lost: a caller that must not miss an append also polls.

        Returns:
            A function that ends the subscription. Calling it twice is allowed.
        """
        ...


class PayloadCounter(Protocol):
    """Optional capability of a log: counts stored payloads without reading them.

    A space that is opened from a checkpoint does not read the beginning of its log. By this count
    it notices payloads that are missing there.
    """

    def payload_count(self, upto: int) -> int:
        """Return how many payloads are stored, key and bytes included, of events up to *upto*."""
        ...


class DurabilityBarrier(Protocol):
    """Optional capability of a log: wait until what others appended is as durable as an append.

    Everything that is read from a log without it is durable.
    """

    def confirm(self, head: Head) -> None:
        """Return once every event up to *head* is as durable as an acknowledged append.

        Raises:
            HistoryReplaced: The log does not hold *head*.
            StoreFailed: That cannot be found out; nothing is lost, and asking again may succeed.
        """
        ...


@runtime_checkable
class StagingStore(Store, Protocol):
    """Optional capability of a store: create a space atomically, in any number of appends."""

    def draft(self, space: str) -> AbstractContextManager[Log]:
        """Give the log of a space that becomes visible when the ``with`` block ends normally.

        If the block raises, the space is removed. What a killed process leaves stays invisible, and
        is removed when a space of that name is created.

        Raises:
            SpaceExists: The space has events, or was created in the meantime.
            VersionConflict: Another writer has begun to create it in the meantime.
        """
        ...
