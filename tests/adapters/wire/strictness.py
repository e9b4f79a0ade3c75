"""Schemas as tests take them: closed, so that a field nobody described is found."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

from mnemic.adapters.wire.shapes import Shapes
from mnemic.adapters.wire.verbs import verbs

Schema = dict[str, Any]
Check: Any = Draft202012Validator
"""What checks documents by a schema, and schemas by their own."""


def closed(shape: Any) -> Any:
    """Return a schema in which no object holds more than is described."""
    if isinstance(shape, list):
        return [closed(each) for each in shape]
    if not isinstance(shape, dict):
        return shape
    found = {name: closed(each) for name, each in shape.items()}
    if "properties" in shape:
        found.setdefault("additionalProperties", False)
    return found


def answer_validator(verb: str) -> Any:
    """Return what checks the answers of a verb, closed."""
    shapes = Shapes()
    shape = shapes.answer(verbs()[verb])
    defs = {name: closed(each) for name, each in shapes.components.items()}
    return Check({**closed(shape), "$defs": defs})


def arguments_validator(verb: str) -> Any:
    """Return what checks the arguments of a verb."""
    shapes = Shapes()
    shape = shapes.arguments(verbs()[verb])
    return Check({**shape, "$defs": shapes.components})
