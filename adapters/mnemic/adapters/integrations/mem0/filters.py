"""Filters of mem0: conditions on the payload of a memory, and the part that a recall can apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any, Final

from mnemic.adapters.integrations.mem0.arguments import IDENTITY, IDS
from mnemic.adapters.integrations.mem0.payloads import RESERVED

Payload = Mapping[str, Any]
Condition = Callable[[Payload], bool]
ANYTHING: Final = "*"


def _contains(value: Any, part: Any) -> bool:
    return isinstance(value, str | list) and part in value


def _contains_in_any_case(value: Any, part: Any) -> bool:
    return isinstance(value, str) and str(part).casefold() in value.casefold()


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(value: Any, bound: Any) -> bool:
        try:
            return compare(value, bound)
        except TypeError:  # a text and a number
            return False

    return compared


_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "eq": lambda value, other: value == other,
    "ne": lambda value, other: value != other,
    "in": lambda value, others: value in others,
    "nin": lambda value, others: value not in others,
    "gt": _ordered(gt),
    "gte": _ordered(ge),
    "lt": _ordered(lt),
    "lte": _ordered(le),
    "contains": _contains,
    "icontains": _contains_in_any_case,
}


def condition(filters: Mapping[str, Any]) -> Condition:
    """Return what filters require of a payload.

    Args:
        filters: By key a value, several (one of them), or operators, for payloads that have the
            key; ``"*"`` requires nothing. ``AND``, ``OR`` and ``NOT`` hold lists of filters.

    Raises:
        ValueError: An operator is unknown, or holds no list of filters.
    """
    parts = [_logical(key, given) or _of_key(key, given) for key, given in filters.items()]
    return lambda payload: all(part(payload) for part in parts)


def _logical(key: str, given: Any) -> Condition | None:
    """Return the condition of ``AND``, ``OR`` or ``NOT``; None: the key is another one."""
    if key not in {"AND", "OR", "NOT"}:
        return None
    if not isinstance(given, list) or (not given and key != "AND"):
        what = "a list" if key == "AND" else "a non-empty list"
        raise ValueError(f"{key} operator requires {what} of conditions")
    within = [condition(each) for each in given]
    if key == "AND":
        return lambda payload: all(each(payload) for each in within)
    if key == "OR":
        return lambda payload: any(each(payload) for each in within)
    return lambda payload: not any(each(payload) for each in within)


def _of_key(key: str, given: Any) -> Condition:
    if given == ANYTHING:
        return lambda _: True
    if isinstance(given, list):
        return lambda payload: payload.get(key) in given
    if not isinstance(given, Mapping):
        return lambda payload: key in payload and payload[key] == given
    for name in given:
        if name not in _OPERATORS:
            raise ValueError(f"Unsupported metadata filter operator: {name}")
    return lambda payload: (
        key in payload
        and all(_OPERATORS[name](payload[key], value) for name, value in given.items())
    )


def narrowed(filters: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the part of filters that a recall can apply, and whether it is all of them."""
    plain = {
        key: given
        for key, given in filters.items()
        if isinstance(given, str | int | float) and given != ANYTHING
    }
    scope = {IDS[key]: given for key, given in plain.items() if key in IDS}
    metadata = {key: plain[key] for key in plain if key not in IDENTITY | RESERVED}
    where: dict[str, Any] = {**scope, **({"metadata": metadata} if metadata else {})}
    return where, len(scope) + len(metadata) == len(filters)
