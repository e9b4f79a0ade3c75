"""Items of a batch as callers write them: objects with the fields of one value class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypeVar

import attrs

from mnemic.adapters.inprocess.argument_limits import check, listed
from mnemic.kernel.errors import FieldRefused

T = TypeVar("T")


def batch_item(of: type[T], given: object, noun: str, **facts: object) -> T:
    """Return the value whose fields *given* holds.

    Args:
        of: Its attrs class.
        given: A mapping of fields.
        noun: Its name in messages, as in "an edge".
        facts: Facts for a refusal.

    Raises:
        FieldRefused: It is not a mapping, has an unknown field, lacks one, or one is far too large.
    """
    if isinstance(given, Mapping):
        given = {name: listed(value) for name, value in given.items()}
    check(noun, given)
    fields = _fields(of)  # type: ignore[arg-type]

    def refused(what: str) -> FieldRefused:
        return FieldRefused(what, recovery=f"Its fields: {', '.join(fields)}.", **facts)

    if not isinstance(given, Mapping):
        raise refused(f"not {noun}: {given!r:.100}")
    for name in given:
        if name not in fields:
            raise refused(f"{noun} has no field {name!r:.80}")
    for name, is_needed in fields.items():
        if is_needed and name not in given:
            raise refused(f"{noun} needs {name}")
    return of(**given)


@cache
def _fields(of: type) -> dict[str, bool]:
    """Return the fields of a value class, and whether each has to be given."""
    return {each.name: each.default is attrs.NOTHING for each in attrs.fields(of)}
