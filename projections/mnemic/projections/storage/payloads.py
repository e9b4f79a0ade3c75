"""Payloads in the state: the texts of blocks, and the notes on edges.

There are many and few are ever read again. One object each would take three times the memory, and
the garbage collector would traverse all of them while every thread waits. So they are stored as
bytes, except for the latest ones and those that were read recently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast

import attrs
import orjson
from numpy.typing import NDArray

from mnemic.kernel.model.texts import ERASED, LOST, Erased, Lost, Payload
from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.storage.packed_bytes import LATEST_MAX, PackedBytes

P = TypeVar("P", bound=Payload)

CACHED_MAX = 8192
"""Number of payloads that stay cached after they were read."""
LOST_MARK = b"0"
"""Stored for a payload that is lost; fields are a list, so no payload is stored as a number."""


class Payloads(Generic[P]):
    """A list of payloads of one kind, some of them erased.

    Args:
        kind: Class whose fields are texts, tuples of texts, or None.
    """

    def __init__(self, kind: type[P]) -> None:
        self._kind = kind
        self._names = tuple(field.name for field in attrs.fields(cast("Any", kind)))
        self._fields = attrgetter(*self._names)
        self._written = PackedBytes()
        """Payloads stored as bytes; empty where one is erased, ``LOST_MARK`` where it is lost."""
        self._latest: list[P | Erased] = []
        """Payloads after those, still objects."""
        self._count = 0
        self._cache: dict[int, P | Erased] = {}
        """Cache of payloads that were read."""

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], kind: type[P]) -> Payloads[P]:
        """Return the list that was frozen."""
        payloads = cls(kind)
        payloads._written = PackedBytes.thawed(parts)
        payloads._count = len(payloads._written)
        return payloads

    def frozen(self) -> ArrayBundle:
        """Return all payloads as bytes."""
        self._write()
        return self._written.frozen()

    def append(self, payload: P | Erased) -> None:
        self._latest.append(payload)
        self._count += 1
        if len(self._latest) == LATEST_MAX:
            self._write()

    def _write(self) -> None:
        """Encode all payloads as bytes."""
        if not self._latest:
            return
        if {*map(type, self._latest)} == {self._kind}:  # the common case, and faster
            latest = list(map(orjson.dumps, map(self._fields, self._latest)))
        else:
            latest = [
                _mark(payload)
                if isinstance(payload, Erased)
                else orjson.dumps(self._fields(payload))
                for payload in self._latest
            ]
        self._written.extend(latest)
        self._latest = []

    def of_owner(self, owner: str) -> list[int]:
        """Return the places of the payloads that *owner* owns, alone or with another, ascending."""
        self._write()
        places = self._written.holding(orjson.dumps(owner))
        return [place for place in places if owner in self._read(place).of]

    def erased(self, places: Iterable[int]) -> Payloads[P]:
        """Return a list in which the payloads at *places* are erased; it keeps no byte of them."""
        self._write()
        remaining = self._written.replaced(dict.fromkeys(places, b""))
        return Payloads.thawed(remaining.frozen(), self._kind)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[P | Erased]:
        return self.since(0)

    def since(self, first: int) -> Iterator[P | Erased]:
        """Yield the payloads from place *first* on, each decoded when it is reached."""
        return map(self._read, range(first, len(self)))

    def __getitem__(self, place: int) -> P | Erased:
        payload = self._cache.get(place)
        if payload is None:
            place = range(len(self))[place]
            if len(self._cache) >= CACHED_MAX:
                self._cache = {}
            payload = self._cache[place] = self._read(place)
        return payload

    def _read(self, place: int) -> P | Erased:
        latest = self._latest  # read first: the writer encodes them, and then replaces the list
        late = place - len(self._written)
        if late >= 0:
            return latest[late]
        written = self._written[place]
        if not written:
            return ERASED
        if written == LOST_MARK:
            return LOST
        values = [tuple(each) if type(each) is list else each for each in orjson.loads(written)]
        return self._kind(**dict(zip(self._names, values, strict=True)))


def _mark(missing: Erased) -> bytes:
    return LOST_MARK if isinstance(missing, Lost) else b""
