"""Payloads in a fold: what was said, and the notes on edges.

There are many and few are ever read again. An object for each would take three times the room, and
the garbage collector would walk through all of them while every thread waits. So they are bytes,
but for the latest and those that somebody asked for lately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast

import attrs
import orjson
from numpy.typing import NDArray

from mnemic.kernel.texts import ERASED, Erased, Payload
from mnemic.projections.blobs import Blobs
from mnemic.projections.columns import GATHERED_MAX
from mnemic.projections.parts import Parts

P = TypeVar("P", bound=Payload)

ASKED_MAX = 8192
"""Payloads that are remembered after they were asked for."""


class Payloads(Generic[P]):
    """A list of payloads of one kind, some of them erased.

    Args:
        kind: Its fields are texts, tuples of texts, or None.
    """

    def __init__(self, kind: type[P]) -> None:
        self._kind = kind
        self._names = tuple(field.name for field in attrs.fields(cast("Any", kind)))
        self._fields = attrgetter(*self._names)
        self._written = Blobs()
        """Those that are bytes; nothing stands where one is erased."""
        self._latest: list[P | Erased] = []
        """Those behind them."""
        self._asked: dict[int, P | Erased] = {}
        """Some of those that were asked for."""

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], kind: type[P]) -> Payloads[P]:
        """Return the list that was frozen."""
        payloads = cls(kind)
        payloads._written = Blobs.thawed(parts)
        return payloads

    def frozen(self) -> Parts:
        """Return all payloads as bytes."""
        self._write()
        return self._written.frozen()

    def append(self, payload: P | Erased) -> None:
        self._latest.append(payload)
        if len(self._latest) == GATHERED_MAX:
            self._write()

    def _write(self) -> None:
        """Let everything be bytes."""
        if not self._latest:
            return
        if {*map(type, self._latest)} == {self._kind}:  # as it mostly is, and quicker
            latest = list(map(orjson.dumps, map(self._fields, self._latest)))
        else:
            latest = [
                b"" if isinstance(payload, Erased) else orjson.dumps(self._fields(payload))
                for payload in self._latest
            ]
        self._written.extend(latest)
        self._latest = []

    def __len__(self) -> int:
        return len(self._written) + len(self._latest)

    def __iter__(self) -> Iterator[P | Erased]:
        return self.since(0)

    def since(self, first: int) -> Iterator[P | Erased]:
        """Yield the payloads from place *first* on, each made when its turn comes."""
        return map(self._read, range(first, len(self)))

    def __getitem__(self, place: int) -> P | Erased:
        place = range(len(self))[place]
        payload = self._asked.get(place)
        if payload is None:
            if len(self._asked) >= ASKED_MAX:
                self._asked = {}
            payload = self._asked[place] = self._read(place)
        return payload

    def _read(self, place: int) -> P | Erased:
        if place >= len(self._written):
            return self._latest[place - len(self._written)]
        written = self._written[place]
        if not written:
            return ERASED
        values = (tuple(each) if type(each) is list else each for each in orjson.loads(written))
        return self._kind(**dict(zip(self._names, values, strict=True)))
