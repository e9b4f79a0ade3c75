"""Places for checkpoints that several hosts share: named byte strings, as buckets have them.

``published`` decides what is in them. A place has to do little: what it returns is checked, so it
may lose objects or return damaged ones; but an object that was put must be seen by others as a
whole or not at all, and one that was removed must not be returned any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Objects(Protocol):
    """The objects of one space in a place.

    Every method raises ``StoreFailed``, ``StoreBusy`` or ``StoreFull`` where the place does not
    answer, or refuses.
    """

    @property
    def shown(self) -> str:
        """The place, without secrets, for messages."""
        ...

    def ages(self) -> dict[str, float]:
        """Return the names of all objects, each with the seconds since it was put.

        A place without a clock that can be asked counts until the last object was put.
        """
        ...

    def get(self, name: str) -> bytes | None:
        """Return an object; None: there is none of that name."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Store an object in place of any other of that name. Range: at most a few mebibytes."""
        ...

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects, if they are there."""
        ...
