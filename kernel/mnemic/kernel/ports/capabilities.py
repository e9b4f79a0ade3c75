"""What a store can do beyond its port."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from mnemic.kernel.ports.store import Log, Store


@runtime_checkable
class LookupStore(Store, Protocol):
    """Optional capability of a store: look for one space without a list of all."""

    def has(self, space: str) -> bool:
        """Return whether *space* is among ``spaces()``."""
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
