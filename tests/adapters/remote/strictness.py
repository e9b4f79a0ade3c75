"""Schemas for tests: closed, so that undescribed fields are found."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

from mnemic.adapters.remote.operations import operations
from mnemic.adapters.remote.schemas import Shapes

Schema = dict[str, Any]
Check: Any = Draft202012Validator
"""The validator of documents against a schema, and of schemas."""


def closed(shape: Any) -> Any:
    """Return a schema in which no object allows undescribed fields."""
    if isinstance(shape, list):
        return [closed(each) for each in shape]
    if not isinstance(shape, dict):
        return shape
    found = {name: closed(each) for name, each in shape.items()}
    if "properties" in shape:
        found.setdefault("additionalProperties", False)
    return found


def answer_validator(operation: str) -> Any:
    """Return a strict validator of the answers of an operation."""
    shapes = Shapes()
    shape = shapes.answer(operations()[operation])
    defs = {name: closed(each) for name, each in shapes.components.items()}
    return Check({**closed(shape), "$defs": defs})


def arguments_validator(operation: str) -> Any:
    """Return a validator of the arguments of an operation."""
    shapes = Shapes()
    shape = shapes.arguments(operations()[operation])
    return Check({**shape, "$defs": shapes.components})
