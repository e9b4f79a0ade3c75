"""Strategies for malformed input: odd texts, numbers and documents, and changed valid bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

ODD_TEXTS = (
    *("", " ", "\0", "\ud800", "\U0010ffff", "\u202e", "a\u0301", "\x1b[2J", "..", "../../etc"),
    *("' or 1=1 --", "%s%n", "{0}", "${x}", "<script>", "=1+1", "NaN", "null", "x" * 300, "9" * 40),
    *("hour:1", "hour:nan", "hour:1@1", "hour:1e309", "version:0", "version:-1", "version:9999999"),
    *("at:2026-01-01", "at:0001-01-01T00:00:00+23:59", "at:9999-12-31", "decision:d3", "d3", "c9"),
    *("l10", "now", "gate", "yard", "self/", "2026-13-45", "-271821-04-20", "2026-01-01T00:00Z"),
)
ODD_NUMBERS = (0, -1, 1, 2, 1000, 1001, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30)
ODD_FLOATS = (0.0, -0.0, 0.5, 1.0, 1.5, -1e-9, 1e-320, 1e308, float("inf"), float("nan"))

texts: SearchStrategy[str] = st.sampled_from(ODD_TEXTS) | st.text(max_size=20)
scalars: SearchStrategy[Any] = (
    st.none() | st.booleans() | st.sampled_from(ODD_NUMBERS) | st.sampled_from(ODD_FLOATS) | texts
)
documents: SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
"""Any value of JSON, and some that JSON cannot represent."""


@st.composite
def changed(draw: st.DrawFn, sound: Sequence[bytes]) -> bytes:
    """Draw valid bytes with a part cut, flipped, doubled, inserted or removed."""
    data = bytearray(draw(st.sampled_from(sound)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        match draw(st.integers(0, 5)):
            case 0:
                del data[at:]
            case 1 if data:
                data[at] ^= 1 << draw(st.integers(0, 7))
            case 2:
                data[at:at] = draw(st.binary(max_size=8))
            case 3:
                end = at + draw(st.integers(1, 40))
                data[at:at] = data[at:end]
            case 4:
                del data[at : at + draw(st.integers(1, 40))]
            case _:
                data[at : at + 1] = draw(
                    st.sampled_from([b'"', b"\0", b"\n", b"{", b"[", b"9" * 30])
                )
    return bytes(data)


@st.composite
def displaced(draw: st.DrawFn, document: Any) -> Any:
    """Draw a document in which one value is replaced or removed."""
    places = list(paths(document))
    path = draw(st.sampled_from(places)) if places else ()
    if not path:
        return draw(documents)
    value = draw(documents)
    if draw(st.booleans()):
        value = draw(akin(at(document, path), document))
    return replaced(document, path, value, gone=draw(st.integers(0, 7)) == 0)


def akin(value: Any, document: Any) -> SearchStrategy[Any]:
    """Return values of the same kind, including those elsewhere in a document."""
    others = [at(document, path) for path in paths(document)]
    alike = st.sampled_from([each for each in others if type(each) is type(value)])
    match value:
        case bool():
            return st.booleans()
        case int():
            return alike | st.sampled_from(ODD_NUMBERS) | st.integers(-9, 9)
        case float():
            return alike | st.sampled_from(ODD_FLOATS)
        case str():
            return alike | texts
        case _:
            return alike


def at(document: Any, path: tuple[Any, ...]) -> Any:
    """Return the value at a path."""
    for key in path:
        document = document[key]
    return document


def paths(document: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value of a document."""
    entries: Any = ()
    if isinstance(document, dict):
        entries = document.items()
    elif isinstance(document, list):
        entries = enumerate(document)
    found: list[tuple[Any, ...]] = []
    for key, value in entries:
        found += [(*above, key), *paths(value, (*above, key))]
    return found


def replaced(document: Any, path: tuple[Any, ...], value: Any, *, gone: bool) -> Any:
    """Return a copy of a document with another value at a path, or none."""
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    if len(path) == 1 and gone:
        del copy[path[0]]
    else:
        copy[path[0]] = replaced(document[path[0]], path[1:], value, gone=gone)
    return copy
