"""Parser of ``key=value`` options, and of filters in JSON, into what operations take."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from mnemic.kernel.errors import FieldRefused

LISTED = frozenset({"tags", "category", "author", "thread", "key", "zone", "user", "agent", "run"})
"""Keys that may be given several times."""
METADATA = "metadata."
SELECTED = frozenset({"source", "actor", "block"})
"""Keys of a selector that may be given several times."""


def conditions(given: Iterable[str]) -> dict[str, Any]:
    """Return the filter given by ``--where`` options, all of which must hold.

    Args:
        given: ``tags=work``, ``since=2026-04-01`` or ``metadata.turn=D1:3`` each, or a filter as a
            JSON object, which can hold others: ``{"any": [{"tags": "work"}, {"key": "people/"}]}``.

    Raises:
        FieldRefused: One is neither, or a key that may be given only once is repeated.
    """
    found: dict[str, Any] = {}
    filters: list[dict[str, Any]] = []
    for each in given:
        if each.lstrip().startswith("{"):
            filters.append(_object(each))
            continue
        name, value = _pair(each)
        if name in LISTED:
            found.setdefault(name, []).append(value)
        elif name.startswith(METADATA):
            found.setdefault("metadata", {})[name.removeprefix(METADATA)] = _value(value)
        elif name in found:
            raise FieldRefused(f"where names {name!r} twice", field="where")
        else:
            found[name] = value
    parts = [found, *filters] if found else filters
    return {"all": parts} if len(parts) > 1 else next(iter(parts), {})


def selector(given: Iterable[str]) -> dict[str, Any]:
    """Return the selector given as ``source=mail``, ``actor=bot``, ``block=ID``, ``since=DATE``.

    Raises:
        FieldRefused: One has no ``=``, or a date is given twice.
    """
    found: dict[str, Any] = {}
    for name, value in map(_pair, given):
        if name in SELECTED:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise FieldRefused(f"selector names {name!r} twice", field="selector")
        else:
            found[name] = value
    return found


def metadata(given: Iterable[str]) -> dict[str, Any] | None:
    """Return the object given by ``--metadata`` options; None if there are none.

    Raises:
        FieldRefused: One has no ``=``.
    """
    return {name: _value(value) for name, value in map(_pair, given)} or None


def scope(given: Iterable[str]) -> dict[str, str] | None:
    """Return the object given by ``--scope`` options; None if there are none.

    Raises:
        FieldRefused: One has no ``=``.
    """
    return dict(map(_pair, given)) or None


def _object(given: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(given, object_pairs_hook=_once, parse_constant=_constant)
    except ValueError as error:
        raise FieldRefused(
            f"where is not valid JSON: {error}",
            recovery="Write it like "
            """'{"any": [{"tags": ["ops"]}, {"range": {"confidence": {"from": 0.9}}}]}', """
            "in single quotes, or like author=Ines.",
            field="where",
        ) from error
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(
            f"{next(name for name in names if names.count(name) > 1)!r} is given twice"
        )
    return found


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _pair(given: str) -> tuple[str, str]:
    name, separator, value = given.partition("=")
    if not separator or not name.strip():
        raise FieldRefused(
            f"expected key=value, got {given!r}", recovery="Write it like author=Ines."
        )
    return name.strip(), value


def _value(text: str) -> Any:
    """Parse a number, true, false, null or a quoted text as JSON; return other text unchanged."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, dict | list) else value
