"""Two histories of one space, and a log that changes from one to the other at any moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.logs.chain import EMPTY
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.ports import (
    NO_CAPABILITIES,
    CommandRow,
    Head,
    Log,
    LogCapabilities,
    PayloadRow,
    Record,
    Store,
)

SPACE = "default"


class ExchangedLog:
    """A log whose content is that of one of two others, and which may change at any call."""

    def __init__(self, sides: Sequence[Log]) -> None:
        self.sides = tuple(sides)
        self.side = 0
        """Which of them it is now."""
        self.calls_left: int | None = None
        """Calls until it changes; None: it does not."""
        self.appended: list[int] = []
        """The sides of the appends that succeeded."""

    def exchange(self) -> None:
        """Become the other history."""
        self.side = 1 - self.side

    def _now(self) -> Log:
        if self.calls_left is not None:
            self.calls_left -= 1
            if self.calls_left < 0:
                self.calls_left = None
                self.exchange()
        return self.sides[self.side]

    @property
    def name(self) -> str:
        """The space's name."""
        return self.sides[0].name

    def head(self) -> Head:
        """Return where the present one ends."""
        return self._now().head()

    def read(
        self, after: Head | int = -1, upto: Head | int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield the records of the present one."""
        yield from self._now().read(after, upto)

    def digest_at(self, version: int) -> bytes | None:
        """Return a digest of the present one."""
        return self._now().digest_at(version)

    @property
    def capabilities(self) -> LogCapabilities:
        """Return that it can do nothing beyond the port."""
        return NO_CAPABILITIES

    def write_lock(self) -> AbstractContextManager[None]:
        """Hold the lock of the first one."""
        return self.sides[0].write_lock()

    def append(
        self, records: Sequence[Record], payloads: Sequence[PayloadRow], **more: Any
    ) -> Head:
        """Append to the present one."""
        log = self._now()
        head = log.append(records, payloads, **more)
        self.appended.append(self.sides.index(log))
        return head

    def command(self, command_id: str) -> CommandRow | None:
        """Return a command of the present one."""
        return self._now().command(command_id)

    def close(self) -> None:
        """Do nothing."""


class ExchangedStore:
    """A store of one space, whose log is an ``ExchangedLog``."""

    def __init__(self, log: ExchangedLog) -> None:
        self._log = log

    def spaces(self) -> tuple[str, ...]:
        """Return its name."""
        return (SPACE,)

    def log(self, space: str, *, create: bool = True) -> Log:  # noqa: ARG002
        """Return it."""
        return self._log

    def close(self) -> None:
        """Do nothing."""


def copied(store: Store, *, events: int) -> MemoryStore:
    """Return a store with the first events of another, payloads and commands included."""
    source, target = store.log(SPACE), MemoryStore()
    log, head = target.log(SPACE), EMPTY
    for record, payloads in source.read(-1, events - 1):
        head = log.append([record], payloads, after=head)
    return target


def memory(
    store: Store, clock: ManualClock, *, seed: str, read_only: bool = False, **more: Any
) -> SyncMemory:
    """Return a memory open on *store*; another seed gives other ids and keys."""
    return SyncMemory.open(
        store,
        space=SPACE,
        clock=clock,
        embedder=HashEmbedder(16),
        entropy=SeededEntropy(seed),
        read_only=read_only,
        **more,
    )
