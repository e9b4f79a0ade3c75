"""Payloads in a fold: what was said, and the notes on edges.

There are many and few are ever read again. An object for each would take three times the room, and
the garbage collector would walk through all of them while every thread waits. So they are bytes,
but for the latest and those that somebody asked for lately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast, overload

import attrs
import numpy as np
import orjson
from numpy.typing import NDArray

from mnemic.kernel.texts import ERASED, Erased, Payload
from mnemic.projections.columns import GATHERED_MAX, grown
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
        self._bytes: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        """Those that are written, one behind the other, and room for more."""
        self._ends: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        """Where each of them ends; nothing stands where one is erased."""
        self._written = 0
        self._latest: list[P | Erased] = []
        """Those behind them."""
        self._asked: dict[int, P | Erased] = {}
        """Some of those that were asked for."""

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], kind: type[P]) -> Payloads[P]:
        """Return the list that was frozen."""
        payloads = cls(kind)
        payloads._bytes, payloads._ends = parts["bytes"], parts["ends"]
        payloads._written = len(payloads._ends) - 1
        return payloads

    def frozen(self) -> Parts:
        """Return all payloads as bytes."""
        self._write()
        ends = self._ends[: self._written + 1]
        return {"bytes": self._bytes[: ends[-1]], "ends": ends}

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
        first, last = self._written, len(self)
        size = int(self._ends[first])
        ends = np.cumsum(np.fromiter(map(len, latest), np.int64, len(latest))) + size
        self._ends = grown(self._ends, last + 1)
        self._ends[first + 1 : last + 1] = ends
        if ends[-1] > size:
            self._bytes = grown(self._bytes, int(ends[-1]))
            self._bytes[size : ends[-1]] = np.frombuffer(b"".join(latest), dtype=np.uint8)
        self._written, self._latest = last, []

    def __len__(self) -> int:
        return self._written + len(self._latest)

    def __iter__(self) -> Iterator[P | Erased]:
        return map(self._read, range(len(self)))

    @overload
    def __getitem__(self, place: int) -> P | Erased: ...

    @overload
    def __getitem__(self, place: slice) -> list[P | Erased]: ...

    def __getitem__(self, place: int | slice) -> P | Erased | list[P | Erased]:
        chosen = range(len(self))[place]
        # Who wants a stretch of them wants each once.
        return (
            self._at(chosen) if isinstance(chosen, int) else [self._read(each) for each in chosen]
        )

    def _at(self, place: int) -> P | Erased:
        payload = self._asked.get(place)
        if payload is None:
            if len(self._asked) >= ASKED_MAX:
                self._asked = {}
            payload = self._asked[place] = self._read(place)
        return payload

    def _read(self, place: int) -> P | Erased:
        if place >= self._written:
            return self._latest[place - self._written]
        written = self._bytes[self._ends[place] : self._ends[place + 1]].tobytes()
        if not written:
            return ERASED
        values = (tuple(each) if type(each) is list else each for each in orjson.loads(written))
        return self._kind(**dict(zip(self._names, values, strict=True)))
