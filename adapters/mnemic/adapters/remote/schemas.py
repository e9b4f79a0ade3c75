"""JSON Schema 2020-12 of arguments and results, from their types and the descriptions."""

from __future__ import annotations

import types
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
from attrs import frozen

from mnemic.adapters.docstrings import docstring, field_docstrings, plainly
from mnemic.adapters.remote.composed_graph import ComposedGraphAnswer
from mnemic.adapters.remote.descriptions import entry, said
from mnemic.adapters.remote.forms import (
    Assertion,
    Filter,
    Lesson,
    Member,
    Selector,
)
from mnemic.adapters.remote.operations import (
    REQUIRED,
    Operation,
    Parameter,
    operations,
)
from mnemic.adapters.remote.structs import computed
from mnemic.kernel.policy import Frame, Policy, RetentionRule
from mnemic.kernel.policy.ranges import (
    WORD_LENGTH_MAX,
    Count,
    Each,
    OneOf,
    OrNone,
    Within,
    word,
    words,
)
from mnemic.kernel.results import CoreRecallResult, RecallResult, Receipt, ReceiptRow, Result

Schema = dict[str, Any]
PLAIN: Mapping[type, str] = types.MappingProxyType(
    {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
)
LISTS = (tuple, list, Sequence, Iterable)
MAPPINGS = (dict, Mapping)
FORMS: Mapping[type, str | None] = types.MappingProxyType(
    {
        Assertion: "connect",
        Filter: None,
        Frame: None,
        Lesson: "learn",
        Member: None,
        Policy: None,
        RetentionRule: None,
        Selector: None,
    }
)
"""Values that callers write, and the operation whose parameters describe their fields: fields with
defaults may be left out, and others are not allowed."""
EXACT = frozenset({Receipt, ReceiptRow})
"""Values that callers send back as they received them."""
SPARSE = frozenset({"ComposedGraphAnswer", "NeverComposed"})
"""Results that leave out empty fields."""
ANSWERS: Mapping[str, type] = types.MappingProxyType({"composed_graph": ComposedGraphAnswer})
"""Types of the results of operations that return plain values."""
LISTED: Mapping[str, str] = types.MappingProxyType({"near_duplicates": "NearDuplicateList"})
"""Names of lists whose entries have no named type."""


@frozen
class Shapes:
    """Schemas that refer to one another; each class is described once, in ``components``."""

    base: str = "#/$defs/"
    """Prefix of references."""
    components: dict[str, Schema] = attrs.field(factory=dict)

    # --- operations ------------------------------------------------------------------------------

    def arguments(
        self, operation: Operation, *, past: bool = False, without: Collection[str] = ()
    ) -> Schema:
        """Return the schema of the object that holds the arguments of an operation.

        Args:
            operation: The operation.
            past: Whether they are those of the operation on a view of the past.
            without: Parameters that are given elsewhere, for example in a path.
        """
        given = [each for each in operation.taking(past=past).values() if each.name not in without]
        shape: Schema = {
            "type": "object",
            "properties": {each.name: self.parameter(operation.name, each) for each in given},
            "additionalProperties": operation.lenient,
        }
        required = [each.name for each in given if each.required]
        return {**shape, "required": required} if required else shape

    def parameter(self, operation: str, parameter: Parameter) -> Schema:
        """Return the schema of one parameter, with its description."""
        found = entry(parameter.name, of=operation, given=True)
        text = (
            ""
            if found.complete or parameter.description == "See the class."
            else parameter.description
        )
        shape = _narrowed(self.of(parameter.type), found.constraints)
        if words := text or found.description:
            shape["description"] = plainly(words)
        if parameter.default is not REQUIRED and parameter.default is not None:
            shape["default"] = _plain(parameter.default)
        return shape

    def answer(self, operation: Operation) -> Schema:
        """Return the schema of an operation's result: an object, with lists under ``items``."""
        if operation.name in ANSWERS:
            return self.of(ANSWERS[operation.name])
        if "detail" in operation.parameters:
            return _either([self.of(each) for each in (CoreRecallResult, RecallResult)])
        if _origin(operation.returns) in LISTS:
            return self._list(operation)
        return self.of(operation.returns)

    def _list(self, operation: Operation) -> Schema:
        inner = typing.get_args(operation.returns)[0]
        name = LISTED.get(operation.name) or f"{inner.__name__}List"
        if name not in self.components:
            items = {**self.of(operation.returns), "description": "The results, in order."}
            self.components[name] = {
                "type": "object",
                "title": name,
                "description": said(name).get("description") or "A list.",
                "properties": {"items": items},
                "required": ["items"],
            }
        return {"$ref": f"{self.base}{name}"}

    # --- types ------------------------------------------------------------------------------

    def of(self, annotation: Any) -> Schema:
        """Return the schema of a type.

        Raises:
            TypeError: There is no schema for such a type.
        """
        if isinstance(annotation, typing.NewType):
            kind = said(annotation.__name__)
            return _narrowed(
                self.of(annotation.__supertype__),
                entry(annotation.__name__, of="").constraints if kind else {},
            )
        if annotation is Any:
            return {}
        if annotation in PLAIN:
            return {"type": PLAIN[annotation]}
        if isinstance(annotation, type) and attrs.has(annotation):
            return self._reference(annotation)
        return self._generic(annotation)

    def _generic(self, annotation: Any) -> Schema:
        origin, inner = _origin(annotation), typing.get_args(annotation)
        if origin is typing.Literal:
            return {"type": "string", "enum": list(inner)}
        if origin in {typing.Union, types.UnionType}:
            return _either([self.of(each) for each in inner])
        if origin in MAPPINGS:
            values = self.of(inner[1]) if len(inner) > 1 else {}
            return {"type": "object", "additionalProperties": values or True}
        if origin is tuple and inner and inner[-1] is not ...:
            places = [self.of(each) for each in inner]
            count = len(places)
            return {"type": "array", "prefixItems": places, "minItems": count, "maxItems": count}
        if origin in LISTS:
            return {"type": "array", "items": self.of(inner[0]) if inner else {}}
        raise TypeError(f"no schema for {annotation!r}")

    # --- classes ----------------------------------------------------------------------------

    def _reference(self, of: type) -> Schema:
        name = _named(of)
        if name not in self.components:
            self.components[name] = {}  # reserved, for a class that refers to itself
            self.components[name] = self._described(name, of)
        return {"$ref": f"{self.base}{name}"}

    def _described(self, name: str, of: type) -> Schema:
        hints, fields = typing.get_type_hints(of), {_key(each): each for each in attrs.fields(of)}
        properties = {key: self._field(of, each, hints[each.name]) for key, each in fields.items()}
        for each, annotation in computed(of).items():
            words = docstring(getattr(of, each).fget).summary
            properties[each] = self._with_description(_owner(of), each, self.of(annotation), words)
        about = said(name).get("description") or docstring(of).summary
        shape: Schema = {"type": "object", "title": name, "description": plainly(about)}
        shape["properties"] = properties
        given = [each for each in fields if fields[each].default is attrs.NOTHING]
        if of in FORMS:
            return {**shape, "required": given, "additionalProperties": False}
        shape["required"] = sorted(given if name in SPARSE else properties)
        return {**shape, "additionalProperties": False} if of in EXACT else shape

    def _field(self, of: type, attribute: attrs.Attribute[Any], annotation: Any) -> Schema:
        name, operation = _key(attribute), FORMS.get(of)
        if operation is not None:
            return self.parameter(operation, operations()[operation].parameters[name])
        if of in EXACT:  # its check accepts any text, and returns a verdict
            annotation = getattr(annotation, "__supertype__", annotation)
        text = field_docstrings(of).get(attribute.name, "")
        shape = limited(self.of(annotation), attribute) if of in FORMS else self.of(annotation)
        shape = self._with_description(_owner(of), name, shape, text)
        default = attribute.default
        if of in FORMS and default is not attrs.NOTHING and default is not None:
            shape.setdefault("default", _plain(default))
        return shape

    @staticmethod
    def _with_description(owner: str, name: str, shape: Schema, text: str) -> Schema:
        """Return the schema of a field with its description from the glossary and the code."""
        found = entry(name, of=owner)
        parts = (found.description, "" if found.complete else text)
        words = " ".join(filter(None, parts))
        narrowed = _narrowed(shape, found.constraints)
        return {**narrowed, "description": plainly(words)} if words else narrowed


def _narrowed(shape: Schema, constraints: Mapping[str, Any]) -> Schema:
    """Return a schema with more keywords; constraints of entries apply to the entries of a list."""
    found = {**shape, **constraints}
    kinds = shape.get("type", ())
    if "enum" in constraints and "null" in kinds and not isinstance(kinds, str):
        found["enum"] = [*constraints["enum"], None]
    if "items" in constraints:
        found["items"] = {**shape.get("items", {}), **constraints["items"]}
    given = {_kind(each) for each in found.get("enum", ())} - {"null"}
    return _apart(found, sorted(given)) if len(given) > 1 else found


def _apart(shape: Schema, kinds: list[str]) -> Schema:
    """Return an enum of several types as one schema per type; generators support no other form."""
    rest = {key: word for key, word in shape.items() if key not in {"type", "enum"}}
    values = {kind: [each for each in shape["enum"] if _kind(each) == kind] for kind in kinds}
    return {**rest, "anyOf": [{"type": kind, "enum": values[kind]} for kind in kinds]}


def _kind(value: object) -> str:
    return PLAIN[type(value)]


def _either(shapes: list[Schema]) -> Schema:
    """Return the schema of one of several types, with ``type`` alone where that is enough."""
    null = {"type": "null"}
    others = [shape for shape in shapes if shape != null]
    if all(set(shape) == {"type"} and isinstance(shape["type"], str) for shape in shapes):
        return {"type": [shape["type"] for shape in shapes]}
    if len(others) == 1 and isinstance(others[0].get("type"), str) and "enum" not in others[0]:
        return {**others[0], "type": [others[0]["type"], "null"]}
    return {"anyOf": shapes}


def _origin(annotation: Any) -> Any:
    return typing.get_origin(annotation) or annotation


def _plain(value: Any) -> Any:
    """Return a default in the form that a document holds."""
    if isinstance(value, attrs.Factory):  # type: ignore[arg-type]
        value = value.factory()
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if attrs.has(type(value)):
        return _plain_fields(value)
    return value


def _plain_fields(value: Any) -> dict[str, Any]:
    return {name: _plain(each) for name, each in attrs.asdict(value, recurse=False).items()}


def _key(attribute: attrs.Attribute[Any]) -> str:
    """Return the key of a field in a document; ``not_`` is ``not``, a word of Python."""
    return attribute.name.removesuffix("_")


def _named(of: type) -> str:
    """Return the name under which a class is described."""
    return "Backtest" if of.__name__ == "PlottedBacktest" else of.__name__


def _owner(of: type) -> str:
    """Return the class whose entries describe the fields of a class: of results, the base."""
    if not issubclass(of, Result):
        return _named(of)
    return next(each.__name__ for each in reversed(of.__mro__) if _has_fields(each))


def _has_fields(of: type) -> bool:
    return attrs.has(of) and bool(attrs.fields(of))


# --- the checks of a policy's fields --------------------------------------------------------------


WORD = {"minLength": 1, "maxLength": WORD_LENGTH_MAX}


def limited(shape: dict[str, Any], attribute: attrs.Attribute[Any]) -> dict[str, Any]:
    """Return the schema of a field with the limits that its validator sets.

    Args:
        shape: The schema of its type alone.
        attribute: The field.
    """
    converter: object = attribute.converter
    if converter is words:
        return {**shape, "items": {**shape["items"], **WORD}}
    if isinstance(attribute.validator, Each):
        key, value = shape["items"]["prefixItems"]
        places = [{**key, **WORD}, {**value, **_allowed(attribute.validator.check)}]
        return {**shape, "items": {**shape["items"], "prefixItems": places}}
    return {**shape, **_allowed(attribute.validator)}


def _allowed(check: object) -> dict[str, Any]:
    match check:
        case Within(low=low, high=high) | Count(low=low, high=high):
            return {"minimum": low, "maximum": high}
        case OneOf(words=allowed):
            return {"enum": list(allowed)}
        case OrNone(check=inner):
            return _allowed(inner)
        case _ if check is word:
            return dict(WORD)
        case _:
            return {}
