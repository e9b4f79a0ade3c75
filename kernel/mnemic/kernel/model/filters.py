"""The filter ``where``: what callers and policies write, checked, and the form that is recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, Final

from attrs import define, frozen

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.identity import SCOPE_KEYS
from mnemic.kernel.timestamps import instant, iso
from mnemic.kernel.values import Value

WORDS = ("tags", "category", "author", "thread", "key", "zone")
TIMES = ("since", "until", "valid_at")
KEYS = (*WORDS, "metadata", *SCOPE_KEYS, *TIMES, "range", "any", "all", "not")
RANGED = ("confidence", "metadata")
BOUNDS = ("from", "to")
WORDS_MAX = 1000
"""Maximum number of alternatives in one condition."""
DEPTH_MAX = 8
"""Maximum number of filters within each other."""
FILTERS_MAX = 100
"""Maximum number of filters within a filter: each may read the text of every block."""
FORM = f"Filter by {', '.join(KEYS)}."
RANGE_FORM = 'Write it like {"confidence": {"from": 0.5}, "metadata": {"year": {"to": 2025}}}.'


@frozen(kw_only=True)
class Range(Value):
    """An interval of a value, both ends included. A value of another kind is not in it."""

    key: str | None
    """Key of the metadata; None: it is of the confidence."""
    low: float | str | None
    high: float | str | None

    @property
    def bounds(self) -> tuple[float | str, ...]:
        """The bounds that were given."""
        return tuple(bound for bound in (self.low, self.high) if bound is not None)

    def __contains__(self, value: object) -> bool:
        """Return whether a value is in it: numbers are compared with numbers, texts with texts."""
        is_alike = all(kind_of(value) is kind_of(bound) for bound in self.bounds)
        given: Any = value
        return (
            is_alike
            and (self.low is None or given >= self.low)
            and (self.high is None or given <= self.high)
        )

    def plain(self) -> dict[str, Any]:
        """Return its bounds in the form that is recorded."""
        ends = zip(BOUNDS, (self.low, self.high), strict=True)
        return {name: bound for name, bound in ends if bound is not None}


@frozen(kw_only=True)
class Where(Value):
    """A validated filter. Every given condition must hold; listed values are alternatives."""

    tags: tuple[str, ...] = ()
    """All of these; one that ends in ``/`` matches every tag below it."""
    category: tuple[str, ...] = ()
    author: tuple[str, ...] = ()
    thread: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    """One of these; one that ends in ``/`` matches every key below it."""
    zone: tuple[str, ...] = ()
    metadata: tuple[tuple[str, Any], ...] = ()
    user: tuple[str, ...] = ()
    """Of one of these users, as the scope says, which is stored as metadata."""
    agent: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    since_us: int | None = None
    """created_at at or after; blocks of unknown age do not pass."""
    until_us: int | None = None
    """created_at before or at."""
    valid_at_us: int | None = None
    """The fact of the block holds then."""
    ranges: tuple[Range, ...] = ()
    any_of: tuple[Where, ...] = ()
    """At least one of these filters holds."""
    all_of: tuple[Where, ...] = ()
    """All of these filters hold."""
    not_of: Where | None = None
    """This filter does not hold."""

    @classmethod
    def parse(cls, where: Mapping[str, Any] | None) -> Where:
        """Return the filter a caller wrote.

        Raises:
            FieldRefused: A key is unknown, a value is of the wrong kind, a range is empty, or a
                filter holds too many others.
        """
        return EVERYTHING if where is None else _Parser().parsed("where", where, DEPTH_MAX)

    def plain(self) -> dict[str, Any]:
        """Return the filter in the canonical form that is recorded; ``parse`` reads it."""
        words = {name: getattr(self, name) for name in (*WORDS, *SCOPE_KEYS)}
        found: dict[str, Any] = {name: list(given) for name, given in words.items() if given}
        if self.metadata:
            found["metadata"] = dict(self.metadata)
        for name in TIMES:
            us = getattr(self, f"{name}_us")
            if us is not None:
                found[name] = iso(us)
        if self.ranges:
            ranges = {each.key: each.plain() for each in self.ranges}
            own = ranges.pop(None, None)
            found["range"] = {
                **({} if own is None else {"confidence": own}),
                **({"metadata": ranges} if ranges else {}),
            }
        for name, filters in (("any", self.any_of), ("all", self.all_of)):
            if filters:
                found[name] = [each.plain() for each in filters]
        if self.not_of is not None:
            found["not"] = self.not_of.plain()
        return found


EVERYTHING: Final = Where()
"""The filter without conditions."""


def unknown_keys(where: object) -> set[str]:
    """Return the conditions of a recorded filter that this release does not know."""
    if not isinstance(where, Mapping):
        return set()
    inner = [where.get("not"), *(where.get("any") or ()), *(where.get("all") or ())]
    return {*where}.difference(KEYS).union(*map(unknown_keys, inner))


@define
class _Parser:
    """Parser of one filter with those within it, which it counts."""

    count: int = -1

    def parsed(self, path: str, where: object, depth: int) -> Where:
        """Return a filter; *path* says where it is in the whole, *depth* how deep others may go.

        Raises:
            FieldRefused: See ``Where.parse``.
        """
        if not isinstance(where, Mapping):
            raise _refused(f"{path} must be an object, got {where!r:.200}", FORM)
        unknown = [key for key in where if key not in KEYS]
        if unknown:
            raise _refused(f"{path} does not know {', '.join(map(repr, unknown))}", FORM)
        given = {key: value for key, value in where.items() if value is not None}
        self.count += 1
        if depth < 0 or self.count > FILTERS_MAX:
            raise _refused(
                f"{path} is one filter too many: at most {FILTERS_MAX} within a filter, "
                f"{DEPTH_MAX} deep",
                "Ask for less at once.",
            )
        words = {name: _words(f"{path} {name}", given.get(name)) for name in (*WORDS, *SCOPE_KEYS)}
        return Where(
            **words,
            metadata=_metadata(path, given.get("metadata")),
            since_us=instant("since", given.get("since")),
            until_us=instant("until", given.get("until")),
            valid_at_us=instant("valid_at", given.get("valid_at")),
            ranges=_ranges(f"{path} range", given.get("range")),
            any_of=self._listed(f"{path} any", given.get("any"), depth),
            all_of=self._listed(f"{path} all", given.get("all"), depth),
            not_of=self._inner(f"{path} not", given["not"], depth) if "not" in given else None,
        )

    def _listed(self, path: str, filters: object, depth: int) -> tuple[Where, ...]:
        """Return several filters in an order of their own: that of the caller means nothing."""
        if filters is None:
            return ()
        if not isinstance(filters, list | tuple) or not filters:
            raise _refused(
                f"{path} must be a list of filters, got {filters!r:.200}",
                'Write it like [{"author": "Ines"}, {"tags": "gate"}].',
            )
        found = [self._inner(f"{path}[{place}]", each, depth) for place, each in enumerate(filters)]
        found.sort(key=lambda each: json.dumps(each.plain(), sort_keys=True))
        return tuple(found)

    def _inner(self, path: str, where: object, depth: int) -> Where:
        found = self.parsed(path, where, depth - 1)
        if found == Where():
            raise _refused(f"{path} has no condition", FORM)
        return found


def _refused(what: str, recovery: str) -> FieldRefused:
    return FieldRefused(what, recovery=recovery, field="where")


def kind_of(value: object) -> type | None:
    """Return how a value is compared: as a number, as text, or not at all."""
    if isinstance(value, str):
        return str
    return float if isinstance(value, int | float) and not isinstance(value, bool) else None


def _ranges(path: str, value: object) -> tuple[Range, ...]:
    """Return the ranges of a filter: that of the confidence, and those of keys of metadata."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise _refused(f"{path} must be an object, got {value!r:.200}", RANGE_FORM)
    unknown = [key for key in value if key not in RANGED]
    if unknown:
        raise _refused(
            f"{path} does not know {', '.join(map(repr, unknown))}",
            f"Give ranges of {' and '.join(RANGED)}; of created_at with since and until.",
        )
    keys = value.get("metadata", {})
    if not isinstance(keys, Mapping) or not all(isinstance(key, str) for key in keys):
        raise _refused(f"{path} metadata must be an object, got {keys!r:.200}", RANGE_FORM)
    found = [_range(f"{path} metadata {key}", key, keys[key]) for key in sorted(keys)]
    if "confidence" in value:
        own = _range(f"{path} confidence", None, value["confidence"])
        if not all(isinstance(each, int | float) and 0 <= each <= 1 for each in own.bounds):
            raise _refused(f"{path} confidence must be between numbers from 0 to 1", RANGE_FORM)
        found.insert(0, own)
    if not found:
        raise _refused(f"{path} has no bounds", RANGE_FORM)
    return tuple(found)


def _range(path: str, key: str | None, bounds: object) -> Range:
    if not isinstance(bounds, Mapping) or not set(bounds) <= set(BOUNDS):
        raise _refused(f"{path} must have from, to or both, got {bounds!r:.200}", RANGE_FORM)
    found = Range(key=key, low=bounds.get("from"), high=bounds.get("to"))
    kinds = {kind_of(bound) for bound in found.bounds}
    if len(kinds) != 1 or None in kinds or not all(map(_is_finite, found.bounds)):
        raise _refused(
            f"{path} must be between numbers or between texts, got {bounds!r:.200}", RANGE_FORM
        )
    if found.low is not None and found.low not in found:
        raise _refused(f"{path} begins after its end: {bounds!r:.200}", "Exchange from and to.")
    return found


def _is_finite(bound: object) -> bool:
    return not isinstance(bound, float) or isfinite(bound)


def _words(path: str, value: object) -> tuple[str, ...]:
    """Return one text or several, sorted: their order means nothing."""
    if value is None:
        return ()
    words = (value,) if isinstance(value, str) else value
    given = tuple(words) if isinstance(words, Iterable) else (words,)
    found = {word for word in given if isinstance(word, str)}
    if len(given) > WORDS_MAX or not all(isinstance(word, str) for word in given):
        raise _refused(
            f"{path} must be text or at most {WORDS_MAX} texts, got {value!r:.100}",
            "Give a text, or a list of texts.",
        )
    return tuple(sorted(found))


def _metadata(path: str, value: object) -> tuple[tuple[str, Any], ...]:
    """Return conditions on metadata, each as JSON would return it."""
    form = 'Write it like {"room": 2}.'
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise _refused(f"{path} metadata must be an object, got {value!r:.200}", form)
    try:
        body = json.dumps(dict(value), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(f"{path} metadata is not plain JSON: {error}", form) from error
    return tuple(json.loads(body).items())
