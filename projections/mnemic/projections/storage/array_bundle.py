"""Array bundles: the content of a projection as named arrays that a checkpoint can store.

Rules of this module, and of every ``frozen`` and ``thawed`` in this layer:

1. ``frozen()`` returns everything that replay has made of a projection, and ``thawed(parts)``
   makes an equal one: equal answers to every query at every version, and equal parts again,
   for all events that are applied to either of them afterwards.
2. Equal states have equal parts, byte for byte: they do not depend on when or how often the state
   was queried. So the digest of the parts is a digest of the state.
3. Parts are never written to again. Arrays that replay changes in place are copied; arrays that
   are append-only are shared. So they may be written to a file while replay continues.
4. No single step takes long: a C call that creates a hundred thousand objects blocks every other
   thread for its duration, and one of them may run an event loop.
5. Thawing is fast, because opening waits for it: arrays are used as they are (they may be
   read-only), and what is expensive to build from them (objects by the thousand) is built on
   first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

ArrayBundle: TypeAlias = dict[str, NDArray[Any]]
"""Arrays by name; names nest with a slash."""

V = TypeVar("V")
N = TypeVar("N")

STEP = 2**14
"""Number of objects, or bytes of them, created per step: a millisecond at most."""
_BETWEEN = b'","'


def packed(value: Any) -> NDArray[np.uint8]:
    """Return a plain value (lists, objects with text keys, texts, numbers, None) as bytes."""
    return np.frombuffer(orjson.dumps(value), dtype=np.uint8)


def unpacked(part: NDArray[np.uint8]) -> Any:
    """Return the value that was passed to ``packed``; tuples come back as lists."""
    return orjson.loads(part.tobytes())


def listed(part: NDArray[Any]) -> list[int]:
    """Return an array of integers as a list, as ``tolist`` does but step by step."""
    found: list[int] = []
    for start in range(0, len(part), STEP):
        found += part[start : start + STEP].tolist()
    return found


def numbered(names: Sequence[N]) -> dict[N, int]:
    """Return the position of each of *names*, which are distinct, step by step."""
    found: dict[N, int] = {}
    for start in range(0, len(names), STEP):
        step = names[start : start + STEP]
        found.update(zip(step, range(start, start + len(step)), strict=True))
    return found


def unpacked_ids(part: NDArray[np.uint8]) -> list[Any]:
    """Return the list that was passed to ``packed``, step by step.

    Args:
        part: Packed list of texts that contain no comma and no quote.
    """
    written, start = part.tobytes(), 1
    found: list[Any] = []
    while (end := written.find(_BETWEEN, start + STEP)) >= 0:
        found += orjson.loads(b"[" + written[start : end + 1] + b"]")
        start = end + len(_BETWEEN) - 1
    return [*found, *orjson.loads(b"[" + written[start:])]


def nested(**groups: Mapping[str, NDArray[Any]]) -> ArrayBundle:
    """Return the parts of several objects, nested under their names."""
    return {
        f"{name}/{inner}": part for name, parts in groups.items() for inner, part in parts.items()
    }


def within(parts: Mapping[str, NDArray[Any]], name: str) -> ArrayBundle:
    """Return the parts that were nested under *name*."""
    prefix = f"{name}/"
    return {key[len(prefix) :]: part for key, part in parts.items() if key.startswith(prefix)}


class Lazy(Generic[V]):
    """A value that is computed on first access and shared by all later ones."""

    def __init__(self, make: Callable[[], V]) -> None:
        """Store the function that computes the value."""
        self._make: Callable[[], V] | None = make
        self._kept: dict[str, V] = {}

    @property
    def made(self) -> bool:
        """Whether the value has been computed."""
        return bool(self._kept)

    @property
    def value(self) -> V:
        """The value."""
        make = self._make
        if make is not None:
            # Two threads may compute one value each. The first one stored is kept for both: it may
            # have been written to by the time the other is ready.
            self._kept.setdefault("value", make())
            self._make = None
        return self._kept["value"]
