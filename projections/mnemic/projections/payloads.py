"""Payloads in a fold: what was said, and the notes on edges.

There are many and few are ever read again. So a thawed list of them is bytes, and makes a payload
when somebody asks for it.
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
from mnemic.projections.parts import Parts

P = TypeVar("P", bound=Payload)


class Payloads(Generic[P]):
    """A list of payloads of one kind, some of them erased.

    Args:
        kind: Its fields are texts, tuples of texts, or None.
    """

    def __init__(self, kind: type[P]) -> None:
        self._kind = kind
        self._names = tuple(field.name for field in attrs.fields(cast("Any", kind)))
        self._made: list[P | Erased | None] = []
        """None where nobody has asked since thawing."""
        self._bytes: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self._ends: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        """Where those that were thawed end; nothing stands where one is erased."""

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], kind: type[P]) -> Payloads[P]:
        """Return the list that was frozen."""
        payloads = cls(kind)
        payloads._bytes, payloads._ends = parts["bytes"], parts["ends"]
        payloads._made = [None] * (len(payloads._ends) - 1)
        return payloads

    def frozen(self) -> Parts:
        """Return all payloads as bytes."""
        fields = attrgetter(*self._names)
        fresh = [
            b"" if isinstance(payload, Erased) else orjson.dumps(fields(payload))
            for payload in self._made[len(self._ends) - 1 :]
        ]
        ends = np.cumsum([len(each) for each in fresh], dtype=np.int64) + self._ends[-1]
        added = np.frombuffer(b"".join(fresh), dtype=np.uint8)
        return {
            "bytes": np.concatenate([self._bytes, added]),
            "ends": np.concatenate([self._ends, ends]),
        }

    def append(self, payload: P | Erased) -> None:
        self._made.append(payload)

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[P | Erased]:
        return map(self._at, range(len(self)))

    @overload
    def __getitem__(self, place: int) -> P | Erased: ...

    @overload
    def __getitem__(self, place: slice) -> list[P | Erased]: ...

    def __getitem__(self, place: int | slice) -> P | Erased | list[P | Erased]:
        chosen = range(len(self))[place]
        return self._at(chosen) if isinstance(chosen, int) else [self._at(each) for each in chosen]

    def _at(self, place: int) -> P | Erased:
        payload = self._made[place]
        if payload is None:
            payload = self._made[place] = self._read(place)
        return payload

    def _read(self, place: int) -> P | Erased:
        written = self._bytes[self._ends[place] : self._ends[place + 1]].tobytes()
        if not written:
            return ERASED
        values = (tuple(each) if type(each) is list else each for each in orjson.loads(written))
        return self._kind(**dict(zip(self._names, values, strict=True)))
