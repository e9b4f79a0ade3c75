"""Tools as a client lists them: description, schemas and annotations for what the caller may do.

Schemas come from ``remote.schemas``, reduced to what an agent needs to make calls and read answers;
the complete ones are a resource, ``mnemic://schemas/{operation}``. The reduction is sound:
arguments that fit the reduced schema fit the full one, and answers that fit the full one fit the
reduced one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from mcp.types import Tool as ListedTool
from mcp.types import ToolAnnotations

from mnemic.adapters.mcp.tools import (
    ARGUMENTS,
    AS_OF,
    COMMAND_ID,
    NOW,
    OPERATION,
    Allows,
    Narrowing,
    Tool,
    ToolSet,
)
from mnemic.adapters.remote.operations import Operation, operations
from mnemic.adapters.remote.schemas import FORMS, Schema, Shapes
from mnemic.kernel.model.identity import SCOPE_KEYS

DETAILED = frozenset({"Filter"})
"""Types that are described field by field. Others are described by a list or another tool, or an
agent passes them on unchanged, such as a policy or a receipt."""
PLAIN_NAMES = frozenset({"category", "author", "thread", "zone", "metadata", "any", "all", "not"})
"""Fields of these whose names say what they are."""
SAID = frozenset(
    """
    type description default enum minimum maximum items properties required additionalProperties
    anyOf $ref
    """.split()
)
"""Schema keywords that an agent needs; a refusal reports what the other ones say."""
EMPTY: tuple[Any, ...] = (False, [], {}, "")
"""Defaults that are omitted because they are implied."""
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
SENTENCE_END = re.compile(r"\.(?= [A-Z])|;")
_FORM_NAMES = frozenset(form.__name__ for form in FORMS)
MANY = 3
"""Maximum number of operations in a tool whose answer schemas are listed separately."""
FIELDS_MAX = 24
"""Maximum number of fields of an answer that are listed; a policy has more than a hundred."""
ENVELOPES: Mapping[str, Schema] = MappingProxyType(
    {
        AS_OF: {
            "type": "string",
            "description": "The past: hour:12.5, version:901, at:2026-03-01T12:00Z, decision:d45",
        },
        NOW: {"type": "string", "description": "With as_of: ages at this instant"},
        COMMAND_ID: {"type": "string", "description": "Idempotency key"},
    }
)


def listed(tool: Tool, allows: Allows, tool_set: ToolSet = "all") -> ListedTool | None:
    """Return a tool as a client lists it; None: it is not listed, or the caller may not use it.

    Args:
        tool: The tool.
        allows: Whether the caller has a scope.
        tool_set: Which tools are listed. The core list says less of each: of compositions only
            what everyday work needs, and of answers only that they are objects.
    """
    allowed = tool.allowed(allows, tool_set)
    if not allowed:
        return None
    shown = tool.core if tool_set == "core" else Narrowing()
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=_description(tool, allowed, shown),
        input_schema=_input(tool, allowed, shown),
        output_schema={"type": "object"} if tool_set == "core" else _output(tool, allowed),
        annotations=hints(allowed, allows),
    )


def hints(allowed: Sequence[Operation], allows: Allows) -> ToolAnnotations:
    """Return annotations that hold for every one of these operations that the caller may make.

    A caller that may not write can use a writing operation only in its unrecorded form, so such an
    operation counts as reading.
    """
    writing = [
        operation for operation in allowed if not operation.reads_only and allows(operation.scope)
    ]
    return ToolAnnotations(
        read_only_hint=not writing,
        destructive_hint=any(operation.declaration.destructive for operation in writing),
        idempotent_hint=all(operation.declaration.same_twice for operation in writing),
        open_world_hint=False,
    )


def full_schemas(operation: Operation) -> Schema:
    """Return the complete schemas of the arguments and the answer of an operation."""
    shapes = Shapes()
    found = {"arguments": shapes.arguments(operation), "answer": shapes.answer(operation)}
    if operation.past_parameters is not None:
        found["arguments_of_the_past"] = shapes.arguments(operation, past=True)
    return {**found, "$defs": shapes.components}


# --- descriptions ---------------------------------------------------------------------------------


def _description(tool: Tool, allowed: Sequence[Operation], shown: Narrowing) -> str:
    if not tool.is_shared:
        return tool.description
    lines = (
        f"{_signature(operation, shown)}: {tool.operations[operation.name]}"
        for operation in allowed
    )
    return "\n".join([tool.description, *lines])


def _signature(operation: Operation, shown: Narrowing) -> str:
    """Return an operation with its arguments; optional ones have a question mark."""
    given = (
        each.name + "?" * (not each.required)
        for each in operation.parameters.values()
        if each.name in (shown.arguments or operation.parameters)
    )
    return f"{operation.name}({', '.join(given)})"


# --- arguments ------------------------------------------------------------------------------------


def _input(tool: Tool, allowed: Sequence[Operation], shown: Narrowing) -> Schema:
    properties: dict[str, Schema] = {}
    required: list[str] = []
    defs: dict[str, Schema] = {}
    if tool.is_shared:
        properties[OPERATION] = {
            "type": "string",
            "enum": [operation.name for operation in allowed],
        }
        required.append(OPERATION)
    if tool.nested:
        properties[ARGUMENTS] = {"type": "object"}
    else:
        asked = {operation.name: _arguments_of(operation.name) for operation in allowed}
        properties |= _narrowed(_merged(asked), shown)
        required += _always_required(asked)
        defs = {name: part for each in asked.values() for name, part in each["$defs"].items()}
    properties |= {name: ENVELOPES[name] for name in _envelopes(allowed)}
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": any(operation.lenient for operation in allowed),
        **({"required": required} if required else {}),
        **({"$defs": defs} if defs else {}),
    }


def _narrowed(properties: Mapping[str, Schema], shown: Narrowing) -> dict[str, Schema]:
    """Return the arguments, and their values, that a list shows."""
    return {
        name: {**shape, "enum": [*shown.values[name]]} if name in shown.values else shape
        for name, shape in properties.items()
        if name in (shown.arguments or properties)
    }


def _envelopes(allowed: Sequence[Operation]) -> list[str]:
    past = any(operation.past_parameters is not None for operation in allowed)
    repeatable = any(operation.repeatable for operation in allowed)
    return [AS_OF, NOW] * past + [COMMAND_ID] * repeatable


def _merged(asked: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the merged arguments of several operations, without keywords in which they differ."""
    merged: dict[str, Schema] = {}
    for operation in asked.values():
        for name, shape in operation["properties"].items():
            before = merged.setdefault(name, shape)
            both = {key: word for key, word in shape.items() if before.get(key) == word}
            if _kinds(before) != _kinds(shape):
                both |= _either([*_kinds(before), *_kinds(shape)])
            merged[name] = both
    return merged


def _kinds(shape: Schema) -> list[Schema]:
    """Return the kinds of value that a schema allows."""
    kinds: list[Schema] = shape.get("anyOf", [])
    return kinds or [{key: shape[key] for key in ("type", "items", "$ref") if key in shape}]


def _either(kinds: Sequence[Schema]) -> Schema:
    distinct = [kind for place, kind in enumerate(kinds) if kind not in kinds[:place]]
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _always_required(asked: Mapping[str, Schema]) -> list[str]:
    first, *others = (each.get("required", []) for each in asked.values())
    return [name for name in first if all(name in each for each in others)]


@cache
def _arguments_of(name: str) -> Schema:
    """Return the reduced argument schema of an operation, with referenced types in ``$defs``."""
    shapes = Shapes()
    whole = shapes.arguments(operations()[name])
    short: Schema = _short(whole, shapes.components)
    details = {each: part for each, part in shapes.components.items() if each in DETAILED}
    if operations()[name].scope == "admin" and "where" in short["properties"]:
        details.clear()  # mnemic_recall, which is always listed beside it, has the filter in full
        short["properties"]["where"] = {
            "type": "object",
            "description": "A filter with a condition at least, as where of mnemic_recall",
        }
    short["$defs"] = {
        each: _terse(_short(part, shapes.components)) for each, part in details.items()
    }
    return short


def _terse(shape: Schema) -> Schema:
    """Return the schema of a type without what its names say, or another argument does."""
    fields = {
        name: {key: word for key, word in field.items() if key != "description"}
        if name in PLAIN_NAMES
        else field
        for name, field in shape["properties"].items()
        if name not in SCOPE_KEYS
    }
    loose = {"description", "required"}  # of the argument; empty
    return {key: word for key, word in shape.items() if key not in loose} | {"properties": fields}


def _short(shape: Schema, parts: Mapping[str, Schema]) -> Schema:
    """Return an argument schema reduced to what an agent needs.

    Args:
        shape: The schema.
        parts: The types that it refers to, by name.
    """
    name = _name(shape)
    if name is not None and name not in DETAILED:
        needed = parts[name].get("required", []) if name in _FORM_NAMES else []
        loose = {key: shape[key] for key in ("description",) if key in shape}
        shape = {**loose, "type": "object", **({"required": needed} if needed else {})}
    short = {key: word for key, word in shape.items() if key in SAID}
    if short.get("default", True) in EMPTY:
        del short["default"]
    if short.get("additionalProperties") not in (None, False):
        del short["additionalProperties"]
    if "description" in short:
        first = SENTENCE_END.split(short["description"], maxsplit=1)[0]
        short["description"] = first.replace("`", "").removesuffix(".")
    if "properties" in short:
        fields = short["properties"].items()
        short["properties"] = {field: _short(each, parts) for field, each in fields}
    if "items" in short:
        short["items"] = _short(short["items"], parts)
    return _one_type(short, parts)


def _one_type(shape: Schema, parts: Mapping[str, Schema]) -> Schema:
    """Return a schema reduced to a single type if possible: not every model can read ``anyOf``.

    A nullable argument may be omitted instead, and a list may be given in place of a single text.
    """
    kinds = shape.get("anyOf", [])
    if isinstance(shape.get("type"), list):
        kinds = [{"type": kind} for kind in shape["type"]]
    if not kinds:
        return shape
    rest = {key: word for key, word in shape.items() if key not in {"type", "anyOf"}}
    if "enum" in rest:
        rest["enum"] = [word for word in rest["enum"] if word is not None]
    kinds = [_short(kind, parts) for kind in kinds if kind != {"type": "null"}]
    if {"type": "string"} in kinds:
        kinds = [kind for kind in kinds if kind == TEXTS] or kinds
    return {**kinds[0], **rest} if len(kinds) == 1 else {**rest, "anyOf": kinds}


def _name(shape: Schema) -> str | None:
    """Return the name of the referenced type, if the schema is a reference."""
    return shape["$ref"].rpartition("/")[2] if "$ref" in shape else None


# --- answers --------------------------------------------------------------------------------------


def _output(tool: Tool, allowed: Sequence[Operation]) -> Schema:
    """Return the top level of the answers: the fields that always have one type."""
    if tool.nested or len(allowed) > MANY:
        return {"type": "object"}
    shapes = [_answer_of(operation.name) for operation in allowed]
    distinct = [shape for place, shape in enumerate(shapes) if shape not in shapes[:place]]
    return distinct[0] if len(distinct) == 1 else {"type": "object", "anyOf": distinct}


@cache
def _answer_of(name: str) -> Schema:
    shapes = Shapes()
    shape = shapes.answer(operations()[name])
    if "$ref" in shape:
        shape = shapes.components[shape["$ref"].rpartition("/")[2]]
    if "properties" not in shape:
        return {"type": "object"}
    types = {field: _type_of(each) for field, each in shape["properties"].items()}
    fields = {field: found for field, found in types.items() if found is not None}
    if len(fields) > FIELDS_MAX:
        return {"type": "object"}
    return {"type": "object", "properties": fields}


def _type_of(shape: Schema) -> Schema | None:
    """Return the type of a field; None: it is nullable or has several types."""
    match shape:
        case {"type": str(kind)}:
            return {"type": kind}
        case {"$ref": _}:
            return {"type": "object"}
        case _:
            return None
