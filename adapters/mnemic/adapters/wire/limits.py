"""What the checks of a policy's fields allow, in the words of JSON Schema."""

from __future__ import annotations

from typing import Any

import attrs

from mnemic.kernel.ranges import WORD_LENGTH_MAX, Count, Each, OneOf, Within, word, words

WORD = {"minLength": 1, "maxLength": WORD_LENGTH_MAX}


def limited(shape: dict[str, Any], attribute: attrs.Attribute[Any]) -> dict[str, Any]:
    """Return the schema of a field with the limits that its own check sets.

    Args:
        shape: As its type alone has it.
        attribute: The field.
    """
    converter: object = attribute.converter
    if converter is words:
        return {**shape, "items": {**shape["items"], **WORD}}
    if isinstance(attribute.validator, Each):
        key, value = shape["items"]["prefixItems"]
        places = [{**key, **WORD}, {**value, **_allowed(attribute.validator.check)}]
        return {**shape, "items": {**shape["items"], "prefixItems": places}}
    return {**shape, **_allowed(attribute.validator)}


def _allowed(check: object) -> dict[str, Any]:
    match check:
        case Within(low=low, high=high) | Count(low=low, high=high):
            return {"minimum": low, "maximum": high}
        case OneOf(words=allowed):
            return {"enum": list(allowed)}
        case _ if check is word:
            return dict(WORD)
        case _:
            return {}
