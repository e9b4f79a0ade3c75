"""A tool as a client sees it: description, schemas and annotations, for what this caller may do.

Schemas come from ``wire.shapes``, cut down to what an agent needs to call and to read; the whole of
them is a resource, ``mnemic://schemas/{verb}``. What is cut is never made wrong: arguments that fit
here fit there, and an answer that fits there fits here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from mcp.types import Tool as ListedTool
from mcp.types import ToolAnnotations

from mnemic.adapters.mcp.tools import ARGUMENTS, AS_OF, COMMAND_ID, NOW, VERB, Allows, Tool
from mnemic.adapters.wire.shapes import FORMS, Schema, Shapes
from mnemic.adapters.wire.verbs import Verb, verbs

LOOSE = frozenset({"Policy", "Receipt"})
"""Values of many fields that an agent passes on as it got them, and never writes from nothing."""
REPEATED = frozenset({"Edge", "Lesson", "Member"})
"""Items of lists whose fields another tool describes, or the words of the list itself."""
QUIET = frozenset({"examples", "title"})
"""Keywords that say nothing to an agent which the description does not."""
EMPTY: tuple[Any, ...] = (False, [], {}, "")
"""What a default says by not standing there."""
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
SENTENCE_END = re.compile(r"\.(?= [A-Z])|;")
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
            merged[name] = {key: word for key, word in shape.items() if before.get(key) == word}
    return merged


def _always_required(asked: Mapping[str, Schema]) -> list[str]:
    first, *others = (each.get("required", []) for each in asked.values())
    return [name for name in first if all(name in each for each in others)]


@cache
def _asked(name: str) -> Schema:
    """Return the arguments of a verb, short, with what they refer to in ``$defs``."""
    shapes = Shapes()
    shape: Schema = _short(shapes.arguments(verbs()[name]))
    parts = {form.__name__: shapes.components.get(form.__name__) for form in FORMS}
    shape["$defs"] = {
        each: {"type": "object", "required": part["required"]} if each in REPEATED else _short(part)
        for each, part in parts.items()
        if part is not None
    }
    return shape


def _short(shape: Any) -> Any:
    """Return a schema of arguments without what an agent can do without."""
    match shape:
        case list():
            return [_short(each) for each in shape]
        case {"$ref": str(name)} if name.rpartition("/")[2] in LOOSE:
            return _first_sentence({**shape, "type": "object"}, without={"$ref"})
        case {"properties": dict(fields)}:
            named = {name: _short(each) for name, each in fields.items()}
            rest = {key: shape[key] for key in ("type", "required") if shape.get(key)}
            return {**rest, "properties": named}
        case dict():
            short = {key: _short(word) for key, word in shape.items()}
            return _one_type(_first_sentence(short, without=QUIET))
        case _:
            return shape


def _first_sentence(shape: Schema, *, without: Collection[str]) -> Schema:
    """Return a schema with no more than the first sentence of its description."""
    kept = {key: word for key, word in shape.items() if key not in without}
    if kept.get("default", True) in EMPTY:
        del kept["default"]
    if kept.get("additionalProperties") is True:
        del kept["additionalProperties"]
    if "description" in kept:
        first = SENTENCE_END.split(kept["description"], maxsplit=1)[0]
        kept["description"] = first.replace("`", "").removesuffix(".")
    return kept


def _one_type(shape: Schema) -> Schema:
    """Return a schema with one type where there are several: not every model can read them.

    What may be null may be left out as well, and a list may hold a single text.
    """
    match shape:
        case {"type": list(kinds)}:
            kinds = [kind for kind in kinds if kind != "null"]
            return {**shape, "type": kinds[0] if len(kinds) == 1 else kinds}
        case {"anyOf": list(kinds)}:
            kinds = [kind for kind in kinds if kind != {"type": "null"}]
            lists = [kind for kind in kinds if kind == TEXTS]
            kinds = lists if lists and {"type": "string"} in kinds else kinds
            rest = {key: word for key, word in shape.items() if key != "anyOf"}
            return {**kinds[0], **rest} if len(kinds) == 1 else {**rest, "anyOf": kinds}
        case _:
            return shape


# --- what is answered -----------------------------------------------------------------------------


def _output(tool: Tool, allowed: Sequence[Verb]) -> Schema:
    """Return what the answers look like from above: their fields, and of which type each is."""
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
    fields = {field: _glance(each) for field, each in shape["properties"].items()}
    return {"type": "object", "properties": fields}


def _glance(shape: Schema) -> Schema:
    """Return which type a field has, and nothing of what is in it."""
    match shape:
        case {"type": kind}:
            return {"type": kind}
        case {"$ref": _}:
            return {"type": "object"}
        case {"anyOf": list(kinds)}:
            types = [kind for each in kinds for kind in _kinds(_glance(each))]
            return {"type": list(dict.fromkeys(types))} if types else {}
        case _:
            return {}


def _kinds(shape: Schema) -> list[str]:
    kind = shape.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)
