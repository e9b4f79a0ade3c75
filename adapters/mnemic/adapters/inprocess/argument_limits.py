"""Limits on the arguments of all operations, checked before the operation runs.

An operation validates its own arguments. These limits are far wider, and catch what no operation
expects: a text, a list or a number that takes long to read and longer to report in an error, or one
nested deeper than the stack. Network interfaces add narrower limits.

1. A text is at most as long as the longest content that a policy may allow.
2. A list or an object has at most ``ENTRIES_MAX`` entries, and all of them together ``VALUES_MAX``.
3. Lists and objects are nested at most ``DEPTH_MAX`` deep.
4. A whole number fits a float, so that it can be compared with one and written down.
5. An iterable that is neither a list nor an object (a generator, a range, a deque, an array) is
   consumed here, no further than rule 2 allows. So are the fields of an item.
6. Of a batch that refuses its items one by one, only the number of items is checked; each is
   checked when it is read (``batch_items``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import islice
from typing import Any, TypeVar

import attrs

from mnemic.adapters.inprocess.registry import members, parameters
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.policy import Policy
from mnemic.kernel.policy.ranges import COUNT_MAX
from mnemic.kernel.results import Result

TEXT_LENGTH_MAX = COUNT_MAX
"""In characters. A policy may not allow more for a content."""
ENTRIES_MAX = 100_000
"""Ten times as many as the largest batch."""
VALUES_MAX = 2_000_000
"""The largest batch, each of its lessons with all of its tags and some metadata."""
DEPTH_MAX = 64
"""As in a body that the HTTP interface takes."""
BITS_MAX = 1000
BATCHES = frozenset({"lessons", "edges", "messages"})

Class = TypeVar("Class", bound=type)
MANY = (list, tuple, set, frozenset, Mapping)
OURS = "mnemic.kernel."
"""Package of the value classes that callers may pass instead of objects; classes of the host are
not checked."""
PLAIN = frozenset({type(None), bool, float})


def checks_arguments(of: Class) -> Class:
    """Return a class of operations whose arguments are checked first."""
    for name, found in members(of).items():
        if name.startswith("_"):
            continue
        if inspect.isfunction(found):
            setattr(of, name, _checking(found, after=1))  # self is not an argument of the caller
        elif isinstance(found, staticmethod):
            setattr(of, name, staticmethod(_checking(found.__func__, after=0)))
    return of


def _checking(operation: Callable[..., Any], *, after: int) -> Callable[..., Any]:
    """Return an operation that checks its arguments, except the first *after* ones."""
    names = parameters(operation)[after:]
    last = after + len(names)

    @wraps(operation)
    def checked(*given: Any, **named: Any) -> Any:
        placed = map(checked_argument, names, given[after:])
        answer = (
            {name: checked_argument(name, value) for name, value in named.items()}
            if named
            else named
        )
        return operation(*given[:after], *placed, *given[last:], **answer)

    return checked


def checked_argument(name: str, value: Any) -> Any:
    """Return an argument as it was given, or as a list if its length is unknown.

    Args:
        name: The name of the argument.
        value: Its value.

    Raises:
        FieldRefused: It is longer, larger or deeper than any operation takes.
    """
    kind = type(value)
    if kind in PLAIN or (kind is str and len(value) <= TEXT_LENGTH_MAX):
        return value  # the fast path for most arguments; the checks below would accept them too
    value = listed(value)
    if name in BATCHES and isinstance(value, list | tuple):
        _entries(name, value)
    else:
        check(name, value)
    return value


def listed(value: Any) -> Any:
    """Return an iterable as a list of at most one entry more than the limit.

    Texts, lists, objects, classes, results and value classes of mnemic are returned as they are.
    """
    if isinstance(value, (str, bytes, bytearray, type, Result, *MANY)) or not isinstance(
        value, Iterable
    ):
        return value
    try:
        source = iter(value)
    except TypeError:
        return value  # not iterable after all: an array without a dimension
    return list(islice(source, ENTRIES_MAX + 1))


def check(name: str, value: object) -> None:
    """Refuse a value, or a part of it, that is longer, larger or deeper than any operation takes.

    It proceeds level by level, without recursion, so it cannot exhaust the stack itself.

    Args:
        name: The name of the argument.
        value: Its value.

    Raises:
        FieldRefused: A limit is exceeded; the message names it.
    """
    level: list[Any] = [value]
    seen = depth = 0
    while level:
        seen += len(level)
        if seen > VALUES_MAX:
            raise _refused(name, f"more than {VALUES_MAX} values")
        below: list[Any] = []
        for each in level:
            if type(each) is str and len(each) <= TEXT_LENGTH_MAX:
                continue  # the fast path for most entries
            below += _entries(name, each)
            if len(below) > VALUES_MAX:
                raise _refused(name, f"more than {VALUES_MAX} values")
        level, depth = below, depth + 1
        if depth > DEPTH_MAX + 1:
            raise _refused(name, f"more than {DEPTH_MAX} lists and objects within each other")


def _entries(name: str, value: Any) -> list[Any]:
    """Return the entries of a value, after checking its size."""
    if isinstance(value, str | bytes | bytearray):
        if len(value) > TEXT_LENGTH_MAX:
            raise _refused(name, f"{len(value)} characters, the limit is {TEXT_LENGTH_MAX}")
        return []
    if isinstance(value, int):
        if value.bit_length() > BITS_MAX:
            raise _refused(name, f"a number of {value.bit_length()} bits")
        return []
    if isinstance(value, MANY):
        if len(value) > ENTRIES_MAX:
            raise _refused(name, f"{len(value)} entries, the limit is {ENTRIES_MAX}")
        return [*value, *value.values()] if isinstance(value, Mapping) else list(value)
    kind = type(value)
    if kind.__module__.startswith(OURS) and attrs.has(kind) and kind is not Policy:
        return [getattr(value, each.name) for each in attrs.fields(kind)]
    return []


def _refused(name: str, what: str) -> FieldRefused:
    return FieldRefused(
        f"{name:.80} holds {what}",
        recovery="Give less at once; guide() says what the operation takes.",
        field=name[:80],
    )
