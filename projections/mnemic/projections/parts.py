"""Parts: what a projection is made of, as named arrays that a checkpoint can keep.

Rules of this module, and of every ``frozen`` and ``thawed`` in this layer:

1. ``frozen()`` returns everything that folding has made of a projection, and ``thawed(parts)``
   makes an equal one: equal answers to every query at every version, and equal parts again,
   whatever is folded into either of them afterwards.
2. Equal folds have equal parts, byte for byte: nothing of them hangs on when somebody asked or how
   often. So the digest of the parts is a digest of the state.
3. Parts are never written to again. What a fold writes in place is copied, what only grows at its
   end is handed out as it is. So they may be written to a file while the fold goes on.
4. Thawing is quick, since opening waits for it: arrays are taken over as they are (they may be
   read-only), and what is dear to make of them (objects by the thousand) is made when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

Parts: TypeAlias = dict[str, NDArray[Any]]
"""Arrays by name; names nest with a slash."""


def packed(value: Any) -> NDArray[np.uint8]:
    """Return a plain value (lists, objects with text keys, texts, numbers, None) as bytes."""
    return np.frombuffer(orjson.dumps(value), dtype=np.uint8)


def unpacked(part: NDArray[np.uint8]) -> Any:
    """Return the value that ``packed`` was given; tuples come back as lists."""
    return orjson.loads(part.tobytes())


def nested(**groups: Mapping[str, NDArray[Any]]) -> Parts:
    """Return the parts of several things under their names."""
    return {
        f"{name}/{inner}": part for name, parts in groups.items() for inner, part in parts.items()
    }


def within(parts: Mapping[str, NDArray[Any]], name: str) -> Parts:
    """Return the parts that were nested under *name*."""
    prefix = f"{name}/"
    return {key[len(prefix) :]: part for key, part in parts.items() if key.startswith(prefix)}


def texts(words: list[str | None]) -> Parts:
    """Return many texts as one stretch of bytes and where each ends; None is not ""."""
    encoded = [b"" if word is None else word.encode("utf-8", "surrogatepass") for word in words]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    missing = np.array([word is None for word in words], dtype=np.bool_)
    return {
        "bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "ends": ends,
        "missing": missing,
    }
