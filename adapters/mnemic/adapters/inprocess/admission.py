"""What every argument of every verb keeps to, before the verb looks at it.

A verb says what its own arguments may be. These limits lie far outside of that, and are there for
what no verb expects: a text, a list or a number that takes long to read and longer to complain
about, or one that goes deeper than a stack. Doors over wires have narrower ones of their own.

1. A text is at most as long as the longest content that a policy may allow.
2. A list or an object has at most ``ENTRIES_MAX`` entries, and all of them together ``VALUES_MAX``.
3. Nothing stands deeper than ``DEPTH_MAX`` lists and objects within each other.
4. A whole number fits a float, so that it can be compared with one and written down.
5. What is neither a list nor an object and can be gone through (a generator, a range, a deque, an
   array) is gone through here, no further than rule 2 allows. So are the fields of an item.
6. Of a batch that refuses its items one by one, only how many they are counts; each is looked at
   when it is read (``items``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import islice
from typing import Any, TypeVar

import attrs

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.policy import Policy
from mnemic.kernel.ranges import COUNT_MAX

TEXT_LENGTH_MAX = COUNT_MAX
"""In characters. A policy may not allow more for a content."""
ENTRIES_MAX = 100_000
"""Ten times as many as the largest batch."""
VALUES_MAX = 2_000_000
"""The largest batch, each of its lessons with all of its tags and some metadata."""
DEPTH_MAX = 64
"""As in a body that the HTTP door takes."""
BITS_MAX = 1000
BATCHES = frozenset({"lessons", "edges"})

Class = TypeVar("Class", bound=type)
MANY = (list, tuple, set, frozenset, Mapping)
OURS = "mnemic.kernel."
"""Where the values stand that callers may hand in instead of objects; parts of a host's are its
own business."""
PLAIN = frozenset({type(None), bool, float})


def admitting(of: Class) -> Class:
    """Return a class of verbs whose arguments are looked at first."""
    for name in dir(of):
        found = inspect.getattr_static(of, name)
        if name.startswith("_"):
            continue
        if inspect.isfunction(found):
            setattr(of, name, _admitting(found, after=1))  # self is nothing that was handed in
        elif isinstance(found, staticmethod):
            setattr(of, name, staticmethod(_admitting(found.__func__, after=0)))
    return of


def _admitting(verb: Callable[..., Any], *, after: int) -> Callable[..., Any]:
    """Return a verb whose arguments are looked at, those *after* so many."""
    names = tuple(inspect.signature(verb).parameters)[after:]
    last = after + len(names)

    @wraps(verb)
    def admitted(*given: Any, **named: Any) -> Any:
        placed = map(admissible, names, given[after:])
        told = {name: admissible(name, value) for name, value in named.items()} if named else named
        return verb(*given[:after], *placed, *given[last:], **told)

    return admitted


def admissible(name: str, value: Any) -> Any:
    """Return an argument as it was given, or as a list if nobody can tell how long it is.

    Args:
        name: What the verb calls it.
        value: What was given.

    Raises:
        FieldRefused: It is longer, larger or deeper than any verb takes.
    """
    kind = type(value)
    if kind in PLAIN or (kind is str and len(value) <= TEXT_LENGTH_MAX):
        return value  # most arguments; what follows would say the same
    value = listed(value)
    if name in BATCHES and isinstance(value, list | tuple):
        _entries(name, value)
    else:
        check(name, value)
    return value


def listed(value: Any) -> Any:
    """Return what can be gone through as a list, one entry longer than any may be at most.

    Texts, lists, objects, classes and values of ours are returned as they are.
    """
    if isinstance(value, (str, bytes, bytearray, type, *MANY)) or not isinstance(value, Iterable):
        return value
    try:
        source = iter(value)
    except TypeError:
        return value  # it only looks like a list: an array without a dimension
    return list(islice(source, ENTRIES_MAX + 1))


def check(name: str, value: object) -> None:
    """Refuse a value, or a part of it, that is longer, larger or deeper than any verb takes.

    It goes level by level, so its own stack has no end to come to.

    Args:
        name: What callers call it.
        value: What was given.

    Raises:
        FieldRefused: Saying which limit.
    """
    level: list[Any] = [value]
    seen = depth = 0
    while level:
        seen += len(level)
        if seen > VALUES_MAX:
            raise _refused(name, f"more than {VALUES_MAX} values")
        below: list[Any] = []
        for each in level:
            below += _entries(name, each)
            if len(below) > VALUES_MAX:
                raise _refused(name, f"more than {VALUES_MAX} values")
        level, depth = below, depth + 1
        if depth > DEPTH_MAX + 1:
            raise _refused(name, f"more than {DEPTH_MAX} lists and objects within each other")


def _entries(name: str, value: Any) -> list[Any]:
    """Return what a value is made of, once it has shown that it may be that large."""
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
        recovery="Give less at once; guide() says what the verb takes.",
        field=name[:80],
    )
