"""A tool as a client sees it: description, schemas and annotations, for what this caller may do.

Schemas come from ``wire.shapes``, cut down to what an agent needs to call and to read; the whole of
them is a resource, ``mnemic://schemas/{verb}``. What is cut is never made wrong: arguments that fit
here fit there, and an answer that fits there fits here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from mcp.types import Tool as ListedTool
from mcp.types import ToolAnnotations

from mnemic.adapters.mcp.tools import ARGUMENTS, AS_OF, COMMAND_ID, NOW, VERB, Allows, Tool
from mnemic.adapters.wire.shapes import FORMS, Schema, Shapes
from mnemic.adapters.wire.verbs import Verb, verbs

DETAILED = frozenset({"Filter"})
"""Values that are described field by field. Of others a list or another tool says what is in them,
or an agent passes them on as it got them, as a policy or a receipt."""
SAID = frozenset(
    """
    type description default enum items properties required additionalProperties anyOf $ref
    """.split()
)
"""Keywords that an agent needs; the others say nothing that a refusal would not say too."""
EMPTY: tuple[Any, ...] = (False, [], {}, "")
"""What a default says by not standing there."""
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
SENTENCE_END = re.compile(r"\.(?= [A-Z])|;")
_FORM_NAMES = frozenset(form.__name__ for form in FORMS)
MANY = 3
"""Verbs of one tool beyond which their answers are not told apart."""
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


def listed(tool: Tool, allows: Allows) -> ListedTool | None:
    """Return a tool as it stands in a list; None: this caller may use none of its verbs.

    Args:
        tool: The tool.
        allows: What the caller may do.
    """
    allowed = tool.allowed(allows)
    if not allowed:
        return None
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=_told(tool, allowed),
        input_schema=_input(tool, allowed),
        output_schema=_output(tool, allowed),
        annotations=hints(allowed, allows),
    )


def hints(allowed: Sequence[Verb], allows: Allows) -> ToolAnnotations:
    """Return what is true of a tool whichever of these verbs this caller calls.

    Who may not write and is offered a verb that does can call it in no form but the one that
    leaves no trace.
    """
    writing = [verb for verb in allowed if not verb.reads_only and allows(verb.scope)]
    return ToolAnnotations(
        read_only_hint=not writing,
        destructive_hint=any(verb.destructive for verb in writing),
        idempotent_hint=all(verb.same_twice for verb in writing),
        open_world_hint=False,
    )


def full_schemas(verb: Verb) -> Schema:
    """Return the whole schemas of what a verb takes and answers, nothing cut."""
    shapes = Shapes()
    found = {"arguments": shapes.arguments(verb), "answer": shapes.answer(verb)}
    if verb.past_parameters is not None:
        found["arguments_of_the_past"] = shapes.arguments(verb, past=True)
    return {**found, "$defs": shapes.components}


# --- words ----------------------------------------------------------------------------------------


def _told(tool: Tool, allowed: Sequence[Verb]) -> str:
    if not tool.is_shared:
        return tool.told
    lines = (f"{_signature(verb)}: {tool.verbs[verb.name]}" for verb in allowed)
    return "\n".join([tool.told, *lines])


def _signature(verb: Verb) -> str:
    """Return a verb with its arguments; those that may be left out have a question mark."""
    given = (each.name + "?" * (not each.required) for each in verb.parameters.values())
    return f"{verb.name}({', '.join(given)})"


# --- what is asked --------------------------------------------------------------------------------


def _input(tool: Tool, allowed: Sequence[Verb]) -> Schema:
    properties: dict[str, Schema] = {}
    required: list[str] = []
    defs: dict[str, Schema] = {}
    if tool.is_shared:
        properties[VERB] = {"type": "string", "enum": [verb.name for verb in allowed]}
        required.append(VERB)
    if tool.nested:
        properties[ARGUMENTS] = {"type": "object"}
    else:
        asked = {verb.name: _asked(verb.name) for verb in allowed}
        properties |= _merged(asked)
        required += _always_required(asked)
        defs = {name: part for each in asked.values() for name, part in each["$defs"].items()}
    properties |= {name: ENVELOPES[name] for name in _envelopes(allowed)}
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": any(verb.lenient for verb in allowed),
        **({"required": required} if required else {}),
        **({"$defs": defs} if defs else {}),
    }


def _envelopes(allowed: Sequence[Verb]) -> list[str]:
    past = any(verb.past_parameters is not None for verb in allowed)
    repeatable = any(verb.repeatable for verb in allowed)
    return [AS_OF, NOW] * past + [COMMAND_ID] * repeatable


def _merged(asked: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the arguments of several verbs side by side; what they differ in is not said."""
    merged: dict[str, Schema] = {}
    for verb in asked.values():
        for name, shape in verb["properties"].items():
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
def _asked(name: str) -> Schema:
    """Return the arguments of a verb, short, with what they refer to in ``$defs``."""
    shapes = Shapes()
    whole = shapes.arguments(verbs()[name])
    short: Schema = _short(whole, shapes.components)
    details = {each: part for each, part in shapes.components.items() if each in DETAILED}
    short["$defs"] = {each: _short(part, shapes.components) for each, part in details.items()}
    return short


def _short(shape: Schema, parts: Mapping[str, Schema]) -> Schema:
    """Return a schema of arguments without what an agent can do without.

    Args:
        shape: The schema.
        parts: What it refers to.
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
    """Return a schema with one type where there are several: not every model can read them.

    What may be null may be left out as well, and a list may hold a single text.
    """
    kinds = shape.get("anyOf", [])
    if isinstance(shape.get("type"), list):
        kinds = [{"type": kind} for kind in shape["type"]]
    if not kinds:
        return shape
    rest = {key: word for key, word in shape.items() if key not in {"type", "anyOf"}}
    kinds = [_short(kind, parts) for kind in kinds if kind != {"type": "null"}]
    if {"type": "string"} in kinds:
        kinds = [kind for kind in kinds if kind == TEXTS] or kinds
    return {**kinds[0], **rest} if len(kinds) == 1 else {**rest, "anyOf": kinds}


def _name(shape: Schema) -> str | None:
    """Return the name of what a schema refers to, if that is all it does."""
    return shape["$ref"].rpartition("/")[2] if "$ref" in shape else None


# --- what is answered -----------------------------------------------------------------------------


def _output(tool: Tool, allowed: Sequence[Verb]) -> Schema:
    """Return what the answers look like from above: the fields that always have one type."""
    if tool.nested or len(allowed) > MANY:
        return {"type": "object"}
    shapes = [_answered(verb.name) for verb in allowed]
    distinct = [shape for place, shape in enumerate(shapes) if shape not in shapes[:place]]
    return distinct[0] if len(distinct) == 1 else {"type": "object", "anyOf": distinct}


@cache
def _answered(name: str) -> Schema:
    shapes = Shapes()
    shape = shapes.answer(verbs()[name])
    if "$ref" in shape:
        shape = shapes.components[shape["$ref"].rpartition("/")[2]]
    if "properties" not in shape:
        return {"type": "object"}
    glances = {field: _glance(each) for field, each in shape["properties"].items()}
    fields = {field: glance for field, glance in glances.items() if glance is not None}
    return {"type": "object", "properties": fields}


def _glance(shape: Schema) -> Schema | None:
    """Return of which type a field is; None: it may be null, or of several."""
    match shape:
        case {"type": str(kind)}:
            return {"type": kind}
        case {"$ref": _}:
            return {"type": "object"}
        case _:
            return None
