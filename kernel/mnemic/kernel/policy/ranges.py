"""Validators for the numbers and names of a policy.

A log keeps an adopted policy for ever and reads it at every opening, so every value that a later
step could fail on is refused here: no adopted policy may make a space unusable.

Validators with bounds are objects that expose them, so that a policy can be documented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import attrs
from attrs import frozen

from mnemic.kernel.errors import PolicyRefused
from mnemic.kernel.values import Value

Validator: TypeAlias = Callable[[Any, "attrs.Attribute[Any]", Any], None]

COUNT_MAX = 1_000_000
WORD_LENGTH_MAX = 200
SUM_TOLERANCE = 1e-9
_PAIR = 2


def _refuse(instance: object, attribute: attrs.Attribute[Any], what: str, value: object) -> None:
    raise PolicyRefused(
        f"{type(instance).__name__}.{attribute.name} must be {what}, got {value!r:.100}",
        field=attribute.name,
    )


@frozen
class Within(Value):
    """Validator for a number from *low* to *high*; NaN fails the comparison."""

    low: float
    high: float

    def __call__(self, instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        ok = isinstance(value, int | float) and not isinstance(value, bool)
        if not ok or not self.low <= value <= self.high:  # type: ignore[operator]
            _refuse(instance, attribute, f"from {self.low:g} to {self.high:g}", value)


within = Within
unit = within(0.0, 1.0)


@frozen
class Count(Value):
    """Validator for a whole number from *low* to *high*."""

    low: int = 0
    high: int = COUNT_MAX

    def __call__(self, instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if type(value) is not int or not self.low <= value <= self.high:
            _refuse(instance, attribute, f"a whole number from {self.low} to {self.high}", value)


count = Count


def truth(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Refuse a value that is not a boolean."""
    if not isinstance(value, bool):
        _refuse(instance, attribute, "true or false", value)


@frozen
class OneOf(Value):
    """Validator for one of a few words."""

    words: tuple[str, ...]

    def __call__(self, instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, str) or value not in self.words:
            _refuse(instance, attribute, " or ".join(self.words), value)


@frozen
class OrNone(Value):
    """Validator for None, or what another validator allows."""

    check: Validator

    def __call__(self, instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if value is not None:
            self.check(instance, attribute, value)


or_none = OrNone


def one_of(*words: str) -> Validator:
    """Return a validator for one of *words*."""
    return OneOf(words)


def word(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Refuse a value that is not a short text that a log can hold."""
    if not is_word(value):
        _refuse(instance, attribute, f"text of 1 to {WORD_LENGTH_MAX} characters", value)


def is_word(value: object) -> bool:
    """Whether *value* is a short text without lone surrogates."""
    if not isinstance(value, str) or not 0 < len(value.strip()) <= WORD_LENGTH_MAX:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in value)


@frozen
class Each(Value):
    """Validator for the second item of every pair."""

    check: Validator

    def __call__(self, instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        for _, entry in value:
            self.check(instance, attribute, entry)


each = Each


def _entries(value: object) -> tuple[Any, ...] | None:
    """Return the items of a list; None for anything else, such as a text or a mapping."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return None
    return tuple(value)


def words(value: Iterable[str]) -> tuple[str, ...]:
    """Return texts as a tuple.

    Raises:
        PolicyRefused: It is a single text, or not a list of short texts.
    """
    found = _entries(value)
    if found is None or not all(map(is_word, found)):
        raise PolicyRefused(f"not a list of short texts: {value!r:.100}")
    return found


def pairs(value: Iterable[Iterable[Any]]) -> tuple[tuple[str, Any], ...]:
    """Return pairs of a text and something else as tuples.

    Raises:
        PolicyRefused: It is not a list of such pairs.
    """
    entries = _entries(value)
    found = None if entries is None else [_entries(entry) for entry in entries]
    if found is None or not all(entry is not None and len(entry) == _PAIR for entry in found):
        raise PolicyRefused(f"not a list of pairs: {value!r:.100}")
    found_pairs = tuple((key, entry) for key, entry in filter(None, found))
    if not all(is_word(key) for key, _ in found_pairs):
        raise PolicyRefused(f"not a list of pairs that begin with a text: {value!r:.100}")
    return found_pairs


def sums_to_one(owner: str, weights: Mapping[str, float]) -> None:
    """Refuse *weights* of *owner* that do not sum to 1 within ``SUM_TOLERANCE``."""
    total = sum(weights.values())
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise PolicyRefused(
            f"the weights of {owner} must sum to 1, they sum to {total!r}",
            weights=dict(weights),
        )
