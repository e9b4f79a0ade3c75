"""Items of a batch as callers write them: objects with the fields of one value class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypeVar

import attrs

from mnemic.adapters.inprocess.argument_limits import check, listed
from mnemic.kernel.errors import FieldRefused

T = TypeVar("T")


def named_blocks(block_ids: object, *, most: int, field: str = "block_ids") -> list[str]:
    """Return the blocks that are to be erased or forgotten, at least one.

    Args:
        block_ids: As given by the caller.
        most: The most that are allowed.
        field: The name of the argument.

    Raises:
        FieldRefused: It is not a list of them, or too long.
    """
    ids = [block_ids] if isinstance(block_ids, str) else block_ids
    if isinstance(ids, list | tuple) and 0 < len(ids) <= most:
        named = [each for each in ids if isinstance(each, str)]
        if len(named) == len(ids):
            return named
    raise FieldRefused(
        f"{field} must be a list of 1 to {most} ids, got {block_ids!r:.100}",
        field=field,
    )


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
