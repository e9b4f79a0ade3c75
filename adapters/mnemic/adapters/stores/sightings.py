"""Which payloads are vectors: what a store, which knows bytes alone, has to be told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from attrs import frozen

from mnemic.kernel.ports import PayloadRow, Record


class Sighting(NamedTuple):
    """One vector that an event names, whether its payload is there or was erased."""

    version: int
    slot: int
    embedder: str | None
    """Id of the embedder; None: the one in force before these records."""
    owner: str | None = None
    """Id of the block; None: there is no payload, or it is locked."""
    packed: bytes | None = None
    """Its components, as `mnemic.kernel.vectors.pack` writes them."""


@frozen(kw_only=True)
class Sightings:
    """What some records say of vectors."""

    vectors: tuple[Sighting, ...] = ()
    """In the order of the log."""
    adopted: str | None = None
    """Id of the embedder that is in force after them; None: the same as before."""


class Recogniser(Protocol):
    """Reads records and payloads for a store."""

    def sightings(self, records: Sequence[Record], payloads: Sequence[PayloadRow]) -> Sightings:
        """Return what *records*, in order, say of vectors; *payloads* are theirs, in any order.

        Raises:
            StoreTooNew, LogCorrupt: A record cannot be read.
        """
        ...

    def verify(self, record: Record, payloads: Sequence[PayloadRow]) -> None:
        """Refuse *payloads* unless *record* names them and their bytes are what it vouches for.

        Raises:
            StoreTooNew, LogCorrupt: With the fact ``version``.
        """
        ...
