"""Struct types of results, by which msgspec reads and encodes them without Python code.

A result is converted into a struct that has its fields, in their order, and those that its
``to_dict`` computes; the values are read as attributes and stay as they are.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

import attrs
import msgspec

from mnemic.kernel.results import Result

COMPUTED: Mapping[str, Mapping[str, Any]] = types.MappingProxyType(
    {
        "RecallResult": {"block_ids": tuple[str, ...]},
        "PolicyScore": {"coverage": float},
        "Backtest": {"best": str | None},
        "ReceiptCheck": {"holds": bool},
    }
)
"""Fields that ``to_dict`` adds to those of a result, by its class or a base of it."""


def computed(of: type) -> Mapping[str, Any]:
    """Return the types of the fields that ``to_dict`` adds to those of a class, by name."""
    return {
        name: kind for each in of.__mro__ for name, kind in COMPUTED.get(each.__name__, {}).items()
    }


def struct_of(result: Result) -> Any:
    """Return a result as a struct."""
    kind: Any = type(result)
    return msgspec.convert(result, struct_type(kind), from_attributes=True)


@cache
def struct_type(of: Any) -> Any:
    """Return the struct type with the fields of a class of results."""
    hints = typing.get_type_hints(of)
    fields = [(each.name, _field_type(hints[each.name])) for each in attrs.fields(of)]
    return msgspec.defstruct(of.__name__, [*fields, *((name, Any) for name in computed(of))])


def _field_type(annotation: Any) -> Any:
    """Return the type of a field: structs for results, ``Any`` for all that stays as it is."""
    if isinstance(annotation, type) and attrs.has(annotation):
        return struct_type(annotation)
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    structs = [each for each in map(_field_type, inner) if each is not Any]
    if len(structs) != 1:
        return Any
    if origin is tuple and inner[-1] is Ellipsis:
        return types.GenericAlias(tuple, (*structs, Ellipsis))
    return structs[0] | None if origin in {typing.Union, types.UnionType} else Any
