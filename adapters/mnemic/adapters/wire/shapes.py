"""JSON Schema 2020-12 of what verbs take and answer, from their types and the glossary."""

from __future__ import annotations

import types
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
from attrs import frozen

from mnemic.adapters.wire.composed import ComposedGraphAnswer
from mnemic.adapters.wire.docstrings import docstring, fields_told, plainly
from mnemic.adapters.wire.forms import Assertion, Filter, Lesson, Member
from mnemic.adapters.wire.glossary import entry, said
from mnemic.adapters.wire.limits import limited
from mnemic.adapters.wire.verbs import REQUIRED, Parameter, Verb, verbs
from mnemic.kernel.policy import Frame, Policy
from mnemic.kernel.results import Receipt, ReceiptRow

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
FORMS: Mapping[type, str | None] = types.MappingProxyType(
    {Assertion: "connect", Filter: None, Frame: None, Lesson: "learn", Member: None, Policy: None}
)
"""What callers write, and the verb whose parameters its fields are: fields with defaults may be
left out, and nothing else may stand there."""
EXACT = frozenset({Receipt, ReceiptRow})
"""What callers give back as they got it."""
SPARSE = frozenset({"ComposedGraphAnswer", "NeverComposed"})
"""What is answered without the fields that have nothing to say."""
ANSWERS: Mapping[str, type] = types.MappingProxyType({"composed_graph": ComposedGraphAnswer})
"""What verbs answer that return plain values."""
LISTED: Mapping[str, str] = types.MappingProxyType({"near_duplicates": "NearDuplicateList"})
"""What lists are called whose entries have no name."""


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
        found = entry(parameter.name, of=verb)
        told = "" if found.complete or parameter.told == "See the class." else parameter.told
        shape = _narrowed(self.of(parameter.type), found.constraints)
        if words := told or found.description:
            shape["description"] = plainly(words)
        if parameter.default is not REQUIRED and parameter.default is not None:
            shape["default"] = _plain(parameter.default)
        return shape

    def answer(self, verb: Verb) -> Schema:
        """Return the schema of what a verb answers: an object, lists standing under ``items``."""
        if verb.name in ANSWERS:
            return self.of(ANSWERS[verb.name])
        if _origin(verb.returns) in LISTS:
            return self._list(verb)
        return self.of(verb.returns)

    def _list(self, verb: Verb) -> Schema:
        inner = typing.get_args(verb.returns)[0]
        name = LISTED.get(verb.name) or f"{inner.__name__}List"
        if name not in self.components:
            items = {**self.of(verb.returns), "description": "What was asked for, in order."}
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
            TypeError: Nobody has said how such a thing looks in a document.
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
            self.components[name] = {}  # taken, for a class that mentions itself
            self.components[name] = self._described(name, of)
        return {"$ref": f"{self.base}{name}"}

    def _described(self, name: str, of: type) -> Schema:
        hints, fields = typing.get_type_hints(of), {each.name: each for each in attrs.fields(of)}
        properties = {each: self._field(of, fields[each], hints[each]) for each in fields}
        for each, annotation in COMPUTED.get(name, {}).items():
            words = docstring(getattr(of, each).fget).summary
            properties[each] = self._worded(name, each, self.of(annotation), words)
        about = said(name).get("description") or docstring(of).summary
        shape: Schema = {"type": "object", "title": name, "description": plainly(about)}
        shape["properties"] = properties
        given = [each for each in fields if fields[each].default is attrs.NOTHING]
        if of in FORMS:
            return {**shape, "required": given, "additionalProperties": False}
        shape["required"] = sorted(given if name in SPARSE else properties)
        return {**shape, "additionalProperties": False} if of in EXACT else shape

    def _field(self, of: type, attribute: attrs.Attribute[Any], annotation: Any) -> Schema:
        name, verb = attribute.name, FORMS.get(of)
        if verb is not None:
            return self.parameter(verb, verbs()[verb].parameters[name])
        if of in EXACT:  # whoever checks it takes any text, and gives a verdict
            annotation = getattr(annotation, "__supertype__", annotation)
        told = fields_told(of).get(name, "")
        shape = limited(self.of(annotation), attribute) if of in FORMS else self.of(annotation)
        shape = self._worded(_named(of), name, shape, told)
        default = attribute.default
        if of in FORMS and default is not attrs.NOTHING and default is not None:
            shape.setdefault("default", _plain(default))
        return shape

    @staticmethod
    def _worded(owner: str, name: str, shape: Schema, told: str) -> Schema:
        """Return the schema of a field with what the glossary and the code say of it."""
        found = entry(name, of=owner)
        parts = (found.description, "" if found.complete else told)
        words = " ".join(filter(None, parts))
        narrowed = _narrowed(shape, found.constraints)
        return {**narrowed, "description": plainly(words)} if words else narrowed


def _narrowed(shape: Schema, constraints: Mapping[str, Any]) -> Schema:
    """Return a schema with more keywords; those of entries go to the entries of a list."""
    found = {**shape, **constraints}
    kinds = shape.get("type", ())
    if "enum" in constraints and "null" in kinds and not isinstance(kinds, str):
        found["enum"] = [*constraints["enum"], None]
    if "items" in constraints:
        found["items"] = {**shape.get("items", {}), **constraints["items"]}
    given = {_kind(each) for each in found.get("enum", ())} - {"null"}
    return _apart(found, sorted(given)) if len(given) > 1 else found


def _apart(shape: Schema, kinds: list[str]) -> Schema:
    """Return a schema of values of several types, each type by itself: generators know no other."""
    rest = {key: word for key, word in shape.items() if key not in {"type", "enum"}}
    values = {kind: [each for each in shape["enum"] if _kind(each) == kind] for kind in kinds}
    return {**rest, "anyOf": [{"type": kind, "enum": values[kind]} for kind in kinds]}


def _kind(value: object) -> str:
    return PLAIN[type(value)]


def _either(shapes: list[Schema]) -> Schema:
    """Return the schema of one of several, short where that can be said by ``type`` alone."""
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
    """Return a default as it stands in a document."""
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if attrs.has(type(value)):
        return _plain_fields(value)
    return value


def _plain_fields(value: Any) -> dict[str, Any]:
    return {name: _plain(each) for name, each in attrs.asdict(value, recurse=False).items()}


def _named(of: type) -> str:
    """Return under which name a class is described."""
    return "Backtest" if of.__name__ == "PlottedBacktest" else of.__name__
