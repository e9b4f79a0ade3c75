"""What a number or a word of a policy may be.

A log keeps an adopted policy for ever and reads it at every opening, so whatever a later step
could stumble over is refused here: no adopted policy may make a space unusable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import attrs

from mnemic.kernel.errors import PolicyRefused

Validator: TypeAlias = Callable[[Any, "attrs.Attribute[Any]", Any], None]

COUNT_MAX = 1_000_000
WORD_LENGTH_MAX = 200


def _refuse(instance: object, attribute: attrs.Attribute[Any], what: str, value: object) -> None:
    raise PolicyRefused(
        f"{type(instance).__name__}.{attribute.name} must be {what}, got {value!r:.100}",
        field=attribute.name,
    )


def within(low: float, high: float) -> Validator:
    """Return a check for a number from *low* to *high*; NaN fails the comparison."""

    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        ok = isinstance(value, int | float) and not isinstance(value, bool)
        if not ok or not low <= value <= high:  # type: ignore[operator]
            _refuse(instance, attribute, f"from {low:g} to {high:g}", value)

    return check


unit = within(0.0, 1.0)


def count(low: int = 0, high: int = COUNT_MAX) -> Validator:
    """Return a check for a whole number from *low* to *high*."""

    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if type(value) is not int or not low <= value <= high:
            _refuse(instance, attribute, f"a whole number from {low} to {high}", value)

    return check


def truth(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        _refuse(instance, attribute, "true or false", value)


def one_of(*words: str) -> Validator:
    """Return a check for one of *words*."""

    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, str) or value not in words:
            _refuse(instance, attribute, " or ".join(words), value)

    return check


def word(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Refuse what is no short text that a log can hold."""
    if not is_word(value):
        _refuse(instance, attribute, f"text of 1 to {WORD_LENGTH_MAX} characters", value)


def is_word(value: object) -> bool:
    """Whether *value* is a short text without lone surrogates."""
    if not isinstance(value, str) or not 0 < len(value.strip()) <= WORD_LENGTH_MAX:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in value)


def each(check: Validator) -> Validator:
    """Return a check for the second half of every pair."""

    def check_all(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        for _, entry in value:
            check(instance, attribute, entry)

    return check_all


def words(value: Iterable[str]) -> tuple[str, ...]:
    """Return texts as a tuple.

    Raises:
        PolicyRefused: It is one text, or no list of short texts.
    """
    given: object = value
    found = () if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if isinstance(given, str) or not isinstance(given, Iterable) or not all(map(is_word, found)):
        raise PolicyRefused(f"not a list of short texts: {value!r:.100}")
    return found


def pairs(value: Iterable[Iterable[Any]]) -> tuple[tuple[str, Any], ...]:
    """Return pairs of a text and something else as tuples.

    Raises:
        PolicyRefused: It is no list of such pairs.
    """
    try:
        found = tuple((key, entry) for key, entry in value)
    except (TypeError, ValueError) as error:
        raise PolicyRefused(f"not a list of pairs: {value!r:.100}") from error
    if not all(is_word(key) for key, _ in found):
        raise PolicyRefused(f"not a list of pairs that begin with a text: {value!r:.100}")
    return found
