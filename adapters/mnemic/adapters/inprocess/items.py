"""Items of a batch as callers write them: an object with the fields of one value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import attrs

from mnemic.adapters.inprocess.admission import check, listed
from mnemic.kernel.errors import FieldRefused

T = TypeVar("T")


def item(of: type[T], given: object, noun: str, **facts: object) -> T:
    """Return the value whose fields *given* holds.

    Args:
        of: Its class, of attrs.
        given: A mapping of fields.
        noun: What callers call it, as in "an edge".
        facts: What a refusal is about.

    Raises:
        FieldRefused: It is no mapping, has another field, lacks one, or one is far too large.
    """
    if isinstance(given, Mapping):
        given = {name: listed(value) for name, value in given.items()}
    check(noun, given)
    fields = {each.name: each for each in attrs.fields(of)}  # type: ignore[arg-type]
    takes = f"Its fields: {', '.join(fields)}."
    if not isinstance(given, Mapping):
        raise FieldRefused(f"not {noun}: {given!r:.100}", recovery=takes, **facts)
    for name in given:
        if name not in fields:
            raise FieldRefused(f"{noun} has no field {name!r:.80}", recovery=takes, **facts)
    for name, field in fields.items():
        if field.default is attrs.NOTHING and name not in given:
            raise FieldRefused(f"{noun} needs {name}", recovery=takes, **facts)
    return of(**given)
