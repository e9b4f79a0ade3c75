"""JSON Schema 2020-12 of what verbs take and answer, from their types and the glossary."""

from __future__ import annotations

import types
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
from attrs import frozen

from mnemic.adapters.wire.docstrings import docstring, fields_told
from mnemic.adapters.wire.forms import Edge, Filter, Lesson, Member
from mnemic.adapters.wire.glossary import entry
from mnemic.adapters.wire.verbs import REQUIRED, Parameter, Verb

Schema = dict[str, Any]
PLAIN: Mapping[type, str] = types.MappingProxyType(
    {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
)
LISTS = (tuple, list, Sequence, Iterable)
MAPPINGS = (dict, Mapping)
COMPUTED: Mapping[str, Mapping[str, Any]] = types.MappingProxyType(
    {
        "RecallResult": {"block_ids": tuple[str, ...]},
        "PolicyScore": {"coverage": float},
        "Backtest": {"best": str | None},
        "ReceiptCheck": {"holds": bool},
    }
)
"""What ``to_dict`` adds to the fields of a result, by its class."""
FORMS = (Edge, Filter, Lesson, Member)
"""What callers write: fields with defaults may be left out, and nothing else may stand there."""


@frozen
class Shapes:
    """Schemas that refer to one another; each class is described once, in ``components``."""

    base: str = "#/$defs/"
    """Where references point."""
    components: dict[str, Schema] = attrs.field(factory=dict)

    # --- verbs ------------------------------------------------------------------------------

    def arguments(self, verb: Verb, *, past: bool = False, without: Collection[str] = ()) -> Schema:
        """Return the schema of the object that holds the arguments of a verb.

        Args:
            verb: The verb.
            past: Those of the verb on a view.
            without: Parameters that stand elsewhere, in a path for one.
        """
        given = [each for each in verb.taking(past=past).values() if each.name not in without]
        shape: Schema = {
            "type": "object",
            "properties": {each.name: self.parameter(verb.name, each) for each in given},
            "additionalProperties": verb.lenient,
        }
        required = [each.name for each in given if each.required]
        return {**shape, "required": required} if required else shape

    def parameter(self, verb: str, parameter: Parameter) -> Schema:
        """Return the schema of one parameter, with what is said of it."""
        said = entry(parameter.name, of=verb)
        shape = {**self.of(parameter.type), **said.constraints}
        told = parameter.told if parameter.told not in {"", "See the class."} else said.description
        if told:
            shape["description"] = _sentence(told)
        if parameter.default is not REQUIRED and parameter.default is not None:
            shape["default"] = _plain(parameter.default)
        return shape

    def answer(self, verb: Verb) -> Schema:
        """Return the schema of what a verb answers: an object, lists standing under ``items``."""
        if _origin(verb.returns) in LISTS:
            return {
                "type": "object",
                "properties": {"items": self.of(verb.returns)},
                "required": ["items"],
            }
        return self.of(verb.returns)

    # --- types ------------------------------------------------------------------------------

    def of(self, annotation: Any) -> Schema:
        """Return the schema of a type.

        Raises:
            TypeError: Nobody has said how such a thing looks in a document.
        """
        if isinstance(annotation, typing.NewType):
            return self.of(annotation.__supertype__)
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
            return {"enum": list(inner)}
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

    def _reference(self, of: type) -> Schema:
        name = "Backtest" if of.__name__ == "PlottedBacktest" else of.__name__
        if name not in self.components:
            self.components[name] = {}  # taken, for a class that mentions itself
            self.components[name] = self._described(name, of)
        return {"$ref": f"{self.base}{name}"}

    def _described(self, name: str, of: type) -> Schema:
        hints, told, written = typing.get_type_hints(of), fields_told(of), of in FORMS
        fields = {each.name: each for each in attrs.fields(of)}
        properties = {
            each: self._field(name, each, hints[each], told.get(each, "")) for each in fields
        }
        for each, annotation in COMPUTED.get(name, {}).items():
            properties[each] = self._field(name, each, annotation, "")
        shape: Schema = {"type": "object", "title": name, "properties": properties}
        about = docstring(of).summary
        if about:
            shape["description"] = about
        if not written and name != "Policy":
            shape["required"] = sorted(properties)
            return shape
        for each, attribute in fields.items():
            if attribute.default is not attrs.NOTHING and attribute.default is not None:
                properties[each].setdefault("default", _plain(attribute.default))
        required = [each for each, given in fields.items() if given.default is attrs.NOTHING]
        return {**shape, "required": required, "additionalProperties": False}

    def _field(self, owner: str, name: str, annotation: Any, told: str) -> Schema:
        said = entry(name, of=owner)
        shape = {**self.of(annotation), **said.constraints}
        description = " ".join(filter(None, (said.description, told)))
        return {**shape, "description": _sentence(description)} if description else shape


def _either(shapes: list[Schema]) -> Schema:
    """Return the schema of one of several, short where all are plain types."""
    if all(set(shape) == {"type"} and isinstance(shape["type"], str) for shape in shapes):
        return {"type": [shape["type"] for shape in shapes]}
    return {"anyOf": shapes}


def _origin(annotation: Any) -> Any:
    return typing.get_origin(annotation) or annotation


def _sentence(words: str) -> str:
    """Return words of a docstring as plain text."""
    return words.replace("``", "`").strip()


def _plain(value: Any) -> Any:
    """Return a default as it stands in a document."""
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if attrs.has(type(value)):
        return attrs.asdict(value)
    return value
