"""Documents into calls, and results into documents and back."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import attrs

from mnemic.adapters.wire.verbs import Parameter, Verb
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import Result

ITEMS = "items"
"""Under what name a list stands in an answer, which is always an object."""


# --- calls --------------------------------------------------------------------------------------


def arguments_of(verb: Verb, document: Mapping[str, Any], *, past: bool = False) -> dict[str, Any]:
    """Return the arguments of a verb that a document holds. Their values are for the verb to check.

    Args:
        verb: Which verb.
        document: Arguments by name; None stands for what is not given where the default is None.
        past: Whether it is asked of a view of the past.

    Raises:
        FieldRefused: One is missing, the verb knows no such argument, or what is true or false is
            neither.
        PolicyRefused: A policy is none.
    """
    known = verb.taking(past=past)
    for name in document:
        if name not in known and not verb.lenient:
            here = " of a view of the past" if past else ""
            raise FieldRefused(
                f"{verb.name}{here} knows no argument {name!r:.80}",
                recovery=f"It takes: {', '.join(known) or 'nothing'}.",
                field=str(name)[:80],
            )
    for parameter in known.values():
        if parameter.required and parameter.name not in document:
            raise FieldRefused(
                f"{verb.name} needs {parameter.name}",
                recovery=f"Give {parameter.name}.",
                field=parameter.name,
            )
    return {
        name: _spoken(known[name], value) if name in known else value
        for name, value in document.items()
    }


def _spoken(parameter: Parameter, value: Any) -> Any:
    """Return a value of a document as its verb takes it: policies are values of ours.

    Raises:
        FieldRefused: It is something else than true or false where a verb only asks which it is.
        PolicyRefused: A policy is none.
    """
    annotation, inner = parameter.type, typing.get_args(parameter.type)
    if annotation is bool:
        _check_truth(parameter.name, value)
    if annotation is Policy or (Policy in inner and isinstance(value, Mapping)):
        if typing.get_origin(annotation) is dict:
            return {name: policy_of(body) for name, body in value.items()}
        return policy_of(value)
    return value


def _check_truth(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise FieldRefused(f"{name} must be true or false, got {value!r:.80}", field=name)


def policy_of(body: object) -> Policy:
    """Return the policy with these fields, the others as they are by default.

    Raises:
        PolicyRefused: It is none, or a field is not known.
    """
    return Policy.drafted(body)


def spoken(value: Any) -> Any:  # noqa: PLR0911 - one return for each kind of value
    """Return an argument as a document can hold it: what a client of ours was given in Python."""
    match value:
        case Policy():
            # Whole: what the bytes of an old policy leave out, a reader would take as it is today.
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
    """Return what a verb answered as a document: always an object."""
    if isinstance(result, Result):
        return result.to_dict()
    if isinstance(result, Policy):
        return typing.cast("dict[str, Any]", json.loads(result.body))
    if isinstance(result, Mapping):
        return dict(result)
    if isinstance(result, tuple | list):
        return {ITEMS: [_plain(each) for each in result]}
    raise TypeError(f"{type(result).__name__} is no answer of a verb")


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


def result_of(verb: Verb, document: Mapping[str, Any]) -> Any:
    """Return what a verb answered, as the value that it answers in the process.

    What the document holds and this release does not know is left out.
    """
    if typing.get_origin(verb.returns) is tuple:
        return restored(verb.returns, document[ITEMS])
    return restored(verb.returns, document)


def restored(annotation: Any, value: Any) -> Any:  # noqa: PLR0911 - one for each kind of type
    """Return the value of a type that stands in a document."""
    if isinstance(annotation, typing.NewType):
        return restored(annotation.__supertype__, value)
    if annotation is Policy:
        return Policy.parse(json.dumps(value, sort_keys=True, separators=(",", ":")))
    if isinstance(annotation, type) and attrs.has(annotation):
        return _made(annotation, value)
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


def _made(of: type, document: Mapping[str, Any]) -> Any:
    hints = _hints(of)
    known = {each.name for each in attrs.fields(of)}
    return of(**{name: restored(hints[name], document[name]) for name in document if name in known})


def _one_of(kinds: Sequence[Any], value: Any) -> Any:
    """Return the value of the one kind, of several, that it has the fields of."""
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
