"""Port for detecting vectors among payloads, for a store, which handles only bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from attrs import frozen

from mnemic.kernel.ports import PayloadRow, Record


class DetectedVector(NamedTuple):
    """One vector that an event names, whether its payload exists or was erased."""

    version: int
    slot: int
    embedder: str | None
    """Id of the embedder; None: the one in force before these records."""
    owner: str | None = None
    """Id of the block; None: there is no payload, or it is encrypted."""
    packed: bytes | None = None
    """Its components, as `mnemic.kernel.model.vectors.pack` writes them."""


@frozen(kw_only=True)
class DetectedVectors:
    """The vectors that a sequence of records names."""

    vectors: tuple[DetectedVector, ...] = ()
    """In the order of the log."""
    adopted: str | None = None
    """Id of the embedder that is in force after them; None: the same as before."""


class VectorDetector(Protocol):
    """Detects vectors in records and payloads for a store."""

    def sightings(
        self, records: Sequence[Record], payloads: Sequence[PayloadRow]
    ) -> DetectedVectors:
        """Return the vectors that *records*, in order, name; *payloads* are theirs, in any order.

        Raises:
            StoreTooNew, LogCorrupt: A record cannot be read.
        """
        ...

    def verify(self, record: Record, payloads: Sequence[PayloadRow]) -> None:
        """Refuse *payloads* unless *record* names them and their bytes match its commitments.

        Raises:
            StoreTooNew, LogCorrupt: With the fact ``version``.
        """
        ...
