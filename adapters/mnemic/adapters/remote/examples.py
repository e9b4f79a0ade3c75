"""Example documents, generated from schemas for the readers of a description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]
DEPTH_MAX = 6
"""Maximum nesting of examples; deeper lists are empty, and what can be null is null."""
PLAIN: Mapping[str, Any] = {
    "string": "…",
    "integer": 0,
    "number": 0.0,
    "boolean": False,
    "null": None,
}


def sample(shape: Schema, components: Mapping[str, Schema], *, depth: int = 0) -> Any:
    """Return a value that a schema allows: its example if it has one, otherwise the simplest.

    Args:
        shape: The schema.
        components: Schemas by the last part of the references to them.
        depth: Current nesting.
    """
    for key in ("examples", "enum"):
        if shape.get(key):
            return shape[key][0]
    if "$ref" in shape:
        name = shape["$ref"].rpartition("/")[2]
        return sample(components[name], components, depth=depth)
    if "default" in shape:
        return shape["default"]
    if "anyOf" in shape:
        return _either(shape["anyOf"], components, depth)
    kinds = shape.get("type", "object")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if depth > DEPTH_MAX and "null" in kinds:
        return None
    return _of_kind(kind, shape, components, depth)


def _either(shapes: list[Schema], components: Mapping[str, Schema], depth: int) -> Any:
    if depth > DEPTH_MAX and {"type": "null"} in shapes:
        return None
    return sample(shapes[0], components, depth=depth)


def _of_kind(kind: str, shape: Schema, components: Mapping[str, Schema], depth: int) -> Any:
    match kind:
        case "object":
            properties = shape.get("properties", {})
            return {
                name: sample(properties[name], components, depth=depth + 1)
                for name in properties
                if name in shape.get("required", ())
            }
        case "array":
            return _list(shape, components, depth)
        case "number" | "integer":
            return shape.get("minimum", PLAIN[kind])
        case _:
            return PLAIN[kind]


def _list(shape: Schema, components: Mapping[str, Schema], depth: int) -> list[Any]:
    if "prefixItems" in shape:
        return [sample(each, components, depth=depth + 1) for each in shape["prefixItems"]]
    if depth > DEPTH_MAX and not shape.get("minItems"):
        return []
    one = sample(shape.get("items", {}), components, depth=depth + 1)
    return [one] * max(1, shape.get("minItems", 1))
