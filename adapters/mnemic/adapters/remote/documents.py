"""Conversion of documents into calls, and of results into documents and back."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
import msgspec

from mnemic.adapters.remote.operations import Operation, Parameter
from mnemic.adapters.remote.structs import struct_of
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import (
    Backtest,
    CoreRecallResult,
    Frontier,
    RecallResult,
    Result,
    ResultList,
)
from mnemic.kernel.validation import checked_flag

ITEMS = "items"
"""Name of a list in a result document, which is always an object."""


# --- calls --------------------------------------------------------------------------------------


def arguments_of(
    operation: Operation, document: Mapping[str, Any], *, past: bool = False
) -> dict[str, Any]:
    """Return the arguments in a document. The operation itself checks their values.

    Args:
        operation: The operation.
        document: Arguments by name; None means not given if the default is None, or a remote
                caller has another default.
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
    defaults = operation.declaration.remote_defaults.items()
    missing = {name: value for name, value in defaults if document.get(name) is None}
    return {
        name: _python_value(known[name], value) if name in known else value
        for name, value in {**document, **missing}.items()
    }


def _python_value(parameter: Parameter, value: Any) -> Any:
    """Return a value of a document in the form that the operation takes; only policies differ.

    Raises:
        FieldRefused: It is not a boolean although the parameter is one.
        PolicyRefused: A policy is invalid.
    """
    annotation, inner = parameter.type, typing.get_args(parameter.type)
    if annotation is bool:
        checked_flag(parameter.name, value)
    if annotation is Policy or (Policy in inner and isinstance(value, Mapping)):
        if typing.get_origin(annotation) is dict:
            return {name: policy_of(body) for name, body in value.items()}
        return policy_of(value)
    return value


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


def encoded(result: Any) -> bytes:
    """Return the result of an operation, or any other document, as JSON."""
    return _ENCODER.encode(_document(result))


def document_of(result: Any) -> dict[str, Any]:
    """Return the result of an operation as a client receives it, which is always an object."""
    return typing.cast("dict[str, Any]", msgspec.json.decode(encoded(result)))


def _document(result: Any) -> Any:
    """Return the result of an operation as an object that msgspec can encode.

    Raises:
        TypeError: It is not the result of an operation.
    """
    match result:
        case Result():
            return _object(result)
        case Policy():
            return msgspec.Raw(result.body.encode())
        case Mapping():
            return result
        case tuple() | list():
            return {ITEMS: [_object(each) for each in result]}
        case _:
            raise TypeError(f"{type(result).__name__} is not the result of an operation")


def _object(value: Any) -> Any:
    match value:
        case Backtest() | Frontier():
            # The one computes a field under the name of another attribute, and the other has
            # entries of two classes: structs can express neither.
            return value.to_dict()
        case Result():
            return struct_of(value)
        case tuple() | list():
            return [_object(each) for each in value]
        case _:
            return value


def _plain(value: object) -> Any:
    """Return a mapping that is no dict as one.

    Raises:
        TypeError: It is another value, which no document holds.
    """
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a document cannot hold {type(value).__name__}")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)


def result_of(operation: Operation, document: Mapping[str, Any]) -> Any:
    """Return the result of an operation as the value that it has in the process.

    Fields of the document that this release does not know are ignored.
    """
    if typing.get_origin(operation.returns) is tuple:
        return ResultList(restored(operation.returns, document[ITEMS]))
    if operation.returns is RecallResult:
        return restored(CoreRecallResult | RecallResult, document)
    return restored(operation.returns, document)


def restored(annotation: Any, value: Any) -> Any:
    """Return the value that a document holds, given its type.

    Raises:
        ValueError: It does not hold such a value.
    """
    if annotation is Policy:
        return Policy.parse(json.dumps(value, sort_keys=True, separators=(",", ":")))
    if annotation is Frontier:  # msgspec knows no union of two classes within a type
        hints = typing.get_type_hints(annotation)
        return Frontier(**{name: restored(hints[name], each) for name, each in value.items()})
    inner = typing.get_args(annotation)
    if typing.get_origin(annotation) is tuple and len(_classes(inner[0])) > 1:
        return tuple(restored(inner[0], each) for each in value)
    if len(classes := _classes(annotation)) > 1:
        annotation = max(classes, key=lambda each: _fit(each, value))
    return msgspec.convert(value, annotation)


def _classes(annotation: Any) -> list[type[attrs.AttrsInstance]]:
    """Return the classes of a union."""
    is_union = typing.get_origin(annotation) in {typing.Union, types.UnionType}
    return [each for each in typing.get_args(annotation) if is_union and attrs.has(each)]


def _fit(of: type[attrs.AttrsInstance], document: Mapping[str, Any]) -> int:
    """Return how many fields of a class a document has; -1: it lacks one without a default."""
    fields = attrs.fields(of)
    if any(each.default is attrs.NOTHING and each.name not in document for each in fields):
        return -1
    return sum(each.name in document for each in fields)
