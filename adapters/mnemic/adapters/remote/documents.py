"""Conversion of documents into calls, and of results into documents and back."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import attrs

from mnemic.adapters.remote.operations import Operation, Parameter
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import Result

ITEMS = "items"
"""Name of a list in a result document, which is always an object."""


# --- calls --------------------------------------------------------------------------------------


def arguments_of(
    operation: Operation, document: Mapping[str, Any], *, past: bool = False
) -> dict[str, Any]:
    """Return the arguments in a document. The operation itself checks their values.

    Args:
        operation: The operation.
        document: Arguments by name; None means not given if the default is None.
        past: Whether the operation is called on a view of the past.

    Raises:
        FieldRefused: An argument is missing or unknown, or a boolean is neither true nor false.
        PolicyRefused: A policy is invalid.
    """
    known = operation.taking(past=past)
    for name in document:
        if name not in known and not operation.lenient:
            here = " of a view of the past" if past else ""
            raise FieldRefused(
                f"{operation.name}{here} knows no argument {name!r:.80}",
                recovery=f"It takes: {', '.join(known) or 'nothing'}.",
                field=str(name)[:80],
            )
    for parameter in known.values():
        if parameter.required and parameter.name not in document:
            raise FieldRefused(
                f"{operation.name} needs {parameter.name}",
                recovery=f"Give {parameter.name}.",
                field=parameter.name,
            )
    return {
        name: _python_value(known[name], value) if name in known else value
        for name, value in document.items()
    }


def _python_value(parameter: Parameter, value: Any) -> Any:
    """Return a value of a document in the form that the operation takes; only policies differ.

    Raises:
        FieldRefused: It is not a boolean although the parameter is one.
        PolicyRefused: A policy is invalid.
    """
    annotation, inner = parameter.type, typing.get_args(parameter.type)
    if annotation is bool:
        _check_boolean(parameter.name, value)
    if annotation is Policy or (Policy in inner and isinstance(value, Mapping)):
        if typing.get_origin(annotation) is dict:
            return {name: policy_of(body) for name, body in value.items()}
        return policy_of(value)
    return value


def _check_boolean(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise FieldRefused(f"{name} must be true or false, got {value!r:.80}", field=name)


def policy_of(body: object) -> Policy:
    """Return the policy with these fields and defaults for the others.

    Raises:
        PolicyRefused: It is invalid, or has an unknown field.
    """
    return Policy.staged(body)


def spoken(value: Any) -> Any:  # noqa: PLR0911 - one return for each kind of value
    """Return a Python argument in the form that a document can hold."""
    match value:
        case Policy():
            # Complete: fields that an old policy leaves out would be read with today's defaults.
            return json.loads(attrs.evolve(value).body)
        case Result():
            return value.to_dict()
        case str() | bytes() | None | bool() | int() | float():
            return value
        case Mapping():
            return {name: spoken(each) for name, each in value.items()}
        case _ if hasattr(value, "isoformat"):
            return value.isoformat()
        case _ if attrs.has(type(value)):
            return {name: spoken(each) for name, each in attrs.asdict(value, recurse=False).items()}
        case Iterable():
            return [spoken(each) for each in value]
        case _:
            return value


# --- results ------------------------------------------------------------------------------------


def document_of(result: Any) -> dict[str, Any]:
    """Return the result of an operation as a document, which is always an object."""
    if isinstance(result, Result):
        return result.to_dict()
    if isinstance(result, Policy):
        return typing.cast("dict[str, Any]", json.loads(result.body))
    if isinstance(result, Mapping):
        return dict(result)
    if isinstance(result, tuple | list):
        return {ITEMS: [_plain(each) for each in result]}
    raise TypeError(f"{type(result).__name__} is not the result of an operation")


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


def result_of(operation: Operation, document: Mapping[str, Any]) -> Any:
    """Return the result of an operation as the value that it has in the process.

    Fields of the document that this release does not know are ignored.
    """
    if typing.get_origin(operation.returns) is tuple:
        return restored(operation.returns, document[ITEMS])
    return restored(operation.returns, document)


def restored(annotation: Any, value: Any) -> Any:  # noqa: PLR0911 - one for each kind of type
    """Return the value that a document holds, given its type."""
    if isinstance(annotation, typing.NewType):
        return restored(annotation.__supertype__, value)
    if annotation is Policy:
        return Policy.parse(json.dumps(value, sort_keys=True, separators=(",", ":")))
    if isinstance(annotation, type) and attrs.has(annotation):
        return _instance(annotation, value)
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in {typing.Union, types.UnionType}:
        return _one_of(inner, value)
    if origin is tuple and value is not None:
        if inner[-1] is ...:
            return tuple(restored(inner[0], each) for each in value)
        return tuple(restored(each, part) for each, part in zip(inner, value, strict=True))
    if origin in {dict, Mapping} and len(inner) > 1 and value is not None:
        return {name: restored(inner[1], each) for name, each in value.items()}
    return value


def _instance(of: type, document: Mapping[str, Any]) -> Any:
    hints = _hints(of)
    known = {each.name for each in attrs.fields(of)}
    return of(**{name: restored(hints[name], document[name]) for name in document if name in known})


def _one_of(kinds: Sequence[Any], value: Any) -> Any:
    """Return the value as the first of several types whose fields it has."""
    if value is None:
        return None
    classes = [kind for kind in kinds if isinstance(kind, type) and attrs.has(kind)]
    if isinstance(value, Mapping) and classes:
        fits = [kind for kind in classes if _fits(kind, value)]
        return restored((fits or classes)[0], value)
    others = [kind for kind in kinds if kind is not type(None) and kind not in classes]
    return restored(others[0], value) if len(others) == 1 else value


def _fits(kind: type, document: Mapping[str, Any]) -> bool:
    return {each.name for each in attrs.fields(kind)} <= {*document}


@cache
def _hints(of: type) -> dict[str, Any]:
    return typing.get_type_hints(of)
