"""Parts: what a projection is made of, as named arrays that a checkpoint can keep.

Rules of this module, and of every ``frozen`` and ``thawed`` in this layer:

1. ``frozen()`` returns everything that folding has made of a projection, and ``thawed(parts)``
   makes an equal one: equal answers to every query at every version, and equal parts again,
   whatever is folded into either of them afterwards.
2. Equal folds have equal parts, byte for byte: nothing of them hangs on when somebody asked or how
   often. So the digest of the parts is a digest of the state.
3. Parts are never written to again. What a fold writes in place is copied, what only grows at its
   end is handed out as it is. So they may be written to a file while the fold goes on.
4. No single step of it is long: a call into C that makes a hundred thousand objects stops every
   other thread for as long, and one of them may be somebody's event loop.
5. Thawing is quick, since opening waits for it: arrays are taken over as they are (they may be
   read-only), and what is dear to make of them (objects by the thousand) is made when asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

Parts: TypeAlias = dict[str, NDArray[Any]]
"""Arrays by name; names nest with a slash."""

V = TypeVar("V")
N = TypeVar("N")

STEP = 2**14
"""Objects, or bytes of them, made at a time: a millisecond at most."""
_BETWEEN = b'","'


def packed(value: Any) -> NDArray[np.uint8]:
    """Return a plain value (lists, objects with text keys, texts, numbers, None) as bytes."""
    return np.frombuffer(orjson.dumps(value), dtype=np.uint8)


def unpacked(part: NDArray[np.uint8]) -> Any:
    """Return the value that ``packed`` was given; tuples come back as lists."""
    return orjson.loads(part.tobytes())


def listed(part: NDArray[Any]) -> list[int]:
    """Return an array of whole numbers as a list, as ``tolist`` does but step by step."""
    found: list[int] = []
    for start in range(0, len(part), STEP):
        found += part[start : start + STEP].tolist()
    return found


def numbered(names: Sequence[N]) -> dict[N, int]:
    """Return the place of each of *names*, which are told apart, step by step."""
    found: dict[N, int] = {}
    for start in range(0, len(names), STEP):
        step = names[start : start + STEP]
        found.update(zip(step, range(start, start + len(step)), strict=True))
    return found


def unpacked_ids(part: NDArray[np.uint8]) -> list[Any]:
    """Return the list that ``packed`` was given, step by step.

    Args:
        part: Of a list of texts in which no comma and no quote stands.
    """
    written, start = part.tobytes(), 1
    found: list[Any] = []
    while (end := written.find(_BETWEEN, start + STEP)) >= 0:
        found += orjson.loads(b"[" + written[start : end + 1] + b"]")
        start = end + len(_BETWEEN) - 1
    return [*found, *orjson.loads(b"[" + written[start:])]


def nested(**groups: Mapping[str, NDArray[Any]]) -> Parts:
    """Return the parts of several things under their names."""
    return {
        f"{name}/{inner}": part for name, parts in groups.items() for inner, part in parts.items()
    }


def within(parts: Mapping[str, NDArray[Any]], name: str) -> Parts:
    """Return the parts that were nested under *name*."""
    prefix = f"{name}/"
    return {key[len(prefix) :]: part for key, part in parts.items() if key.startswith(prefix)}


class Lazy(Generic[V]):
    """A value that is made when somebody asks for it, and from then on the same for all."""

    def __init__(self, make: Callable[[], V]) -> None:
        """Remember how to make it."""
        self._make: Callable[[], V] | None = make
        self._kept: dict[str, V] = {}

    @property
    def made(self) -> bool:
        """Whether somebody has asked."""
        return bool(self._kept)

    @property
    def value(self) -> V:
        """The value."""
        make = self._make
        if make is not None:
            # Two threads may make one each. The first one kept is everybody's: it may have been
            # written to by the time the other is ready.
            self._kept.setdefault("value", make())
            self._make = None
        return self._kept["value"]
