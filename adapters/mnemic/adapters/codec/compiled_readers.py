"""Generated functions that read JSON into events, one per class: fast, without messages.

They accept the same values as ``conversion``: same fields, same strictness. But they do not say
what is wrong. What is not exactly as this release writes it raises an exception, and the caller
reads it again with the converter, which reports what is wrong, or accepts it after all.

msgspec decodes the bytes of a body into a struct that is generated from the annotations of the
kernel's class: fields, types and required ones are checked there, without a dict in between. The
generated function then makes the kernel's value of it:

    def read(stored, beside):
        value = draft()
        value.source = stored.source
        value.links = stored.links and tuple([read_Link(each, beside) for each in stored.links])
        ...
        value.__class__ = cls
        return value

Like cattrs, this module writes Python and compiles it: a call and a lookup saved per field is what
makes the functions fast. For an event, *beside* is an iterator over its payload rows, by slot.
Fields are read in the order in which ``payload_positions`` visits them, so that the next row is
always the one that a mark refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from types import GenericAlias, NoneType
from typing import Annotated, Any, get_args, get_origin

import attrs
import msgspec
from attrs import define, field

from mnemic.adapters.codec.envelope import AGENT
from mnemic.adapters.codec.fast_construction import draft
from mnemic.adapters.codec.packing import PACKED, unpack
from mnemic.adapters.codec.payload_positions import payload_kind
from mnemic.kernel.events import RecallRecorded, Recorded
from mnemic.kernel.model.texts import Payload
from mnemic.kernel.ports import PayloadRow

Read = Callable[[Any, Any], Any]
"""Takes what is stored and its context: payload rows, or the owners of a payload."""
Open = Callable[[str, Any], Payload]
"""Takes a mark and a row."""

INTEGER: Any = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""Larger numbers are for the converter: orjson reads them in another way than msgspec does."""
PLAIN: Mapping[Any, Any] = {str: str, int: INTEGER, bool: bool}
ENVELOPE: Mapping[str, str] = {
    "active_us": "h",
    "recorded_us": "t",
    "command_id": "c",
    "actor": "a",
    "session_id": "s",
}
"""The keys of a ``Recorded``'s fields in a body; see ``envelope``."""


class Irregular(Exception):
    """A value is not as this release writes it. Internal to the codec."""


def _no_payload(kind: type[Payload]) -> Open:
    raise TypeError(f"a payload holds no {kind.__name__}")


@define
class Readers:
    """Generates readers of events and their parts.

    Args:
        opener: Returns how payloads of a kind are decoded.
    """

    opener: Callable[[type[Payload]], Open] = _no_payload
    _parts: dict[type, Read] = field(factory=dict, init=False)

    def recorded(self, cls: type) -> Read:
        """Return the reader of a whole record of an event *cls*, which takes its payload rows.

        Raises:
            TypeError: It has a field of a kind that no event had when this was written.
        """
        names: dict[str, Any] = {"in_order": _in_order, "erased": _ERASED, "Irregular": Irregular}
        body = msgspec.defstruct(
            "Body",
            [
                ("h", INTEGER),
                ("t", INTEGER),
                ("c", str),
                ("e", stored(cls)),
                ("a", str, AGENT),
                ("s", str, None),
            ],
            forbid_unknown_fields=True,
        )
        fields = {each: f"around.{key}" for each, key in ENVELOPE.items()}
        lines = [
            "version, _, body = record",
            "around = decode(body)",
            "stored = around.e",
            "beside = in_order(rows, version) if rows else erased",
            *self._lines("event", cls, names),
            "if rows and next(beside, None) is not None: raise Irregular",
            *_built("value", Recorded, {"version": "version", **fields, "event": "event"}, names),
            "return value",
        ]
        names["decode"] = msgspec.json.Decoder(body).decode
        return _compiled("read(record, rows)", lines, names)

    def worded(self, payload: type[Payload]) -> Read:
        """Return the reader of a *payload*'s bytes; its context are its owners."""
        names: dict[str, Any] = {"decode": msgspec.json.Decoder(stored(payload)).decode}
        lines = ["stored = decode(data)", *self._lines("value", payload, names), "return value"]
        return _compiled("read(data, beside)", lines, names)

    def _part(self, cls: type) -> Read:
        """Return the reader of *cls*, a part of an event."""
        if cls not in self._parts:
            names: dict[str, Any] = {}
            lines = [*self._lines("value", cls, names), "return value"]
            self._parts[cls] = _compiled("read(stored, beside)", lines, names)
        return self._parts[cls]

    def _lines(self, value: str, cls: type, names: dict[str, Any]) -> list[str]:
        """Return the lines that make a value of ``stored``, and put what they need into *names*."""
        before: list[str] = []
        expressions: dict[str, str] = {}
        if cls is RecallRecorded:
            names["unpack"] = unpack
            before = ["numbers = unpack(stored.numbers)"]
            expressions = {name: f"numbers[{name!r}]" for name in PACKED}
        elif issubclass(cls, Payload):
            expressions = {"of": "beside"}
        for each in attrs.fields(cls):
            if each.name not in expressions:
                expressions[each.name] = self._expression(f"stored.{each.name}", each.type, names)
        return [*before, *_built(value, cls, expressions, names)]

    def _expression(self, found: str, annotation: Any, names: dict[str, Any]) -> str:
        """Return how the value of a field is made of what msgspec *found*."""
        kind = payload_kind(annotation)
        if kind is not None:
            opened = f"open_{kind.__name__}"
            names[opened] = self.opener(kind)
            # An optional payload that is null has no slot, and so no row.
            is_optional = NoneType in get_args(annotation)
            unless = f"None if {found} is None else " if is_optional else ""
            return f"{unless}{opened}({found}, next(beside))"
        annotation, is_many = _without_none(annotation), get_origin(annotation) is tuple
        part = get_args(annotation)[0] if is_many else annotation
        if not attrs.has(part):
            return found
        read = f"read_{part.__name__}"
        names[read] = self._part(part)
        if is_many:
            return f"{found} and tuple([{read}(each, beside) for each in {found}])"
        return f"{found} and {read}({found}, beside)"


def _built(
    value: str, cls: type, expressions: Mapping[str, str], names: dict[str, Any]
) -> list[str]:
    """Return the lines that make a *cls* of expressions by field."""
    names.update({f"{value}_draft": draft(cls), f"{value}_class": cls})
    return [
        f"{value} = {value}_draft()",
        *(f"{value}.{name} = {made}" for name, made in expressions.items()),
        f"{value}.__class__ = {value}_class",
    ]


# --- what is stored -----------------------------------------------------------------------------


_stored: dict[type, type[msgspec.Struct]] = {}


def stored(cls: type) -> type[msgspec.Struct]:
    """Return the struct that a body of *cls*, an event or a part or a payload, is decoded into.

    Raises:
        TypeError: It has a field of a kind that no event had when this was written.
    """
    if cls in _stored:
        return _stored[cls]
    attrs.resolve_types(cls)
    fields: list[Any] = [("numbers", str)] if cls is RecallRecorded else []
    aside = PACKED if cls is RecallRecorded else ("of",) if issubclass(cls, Payload) else ()
    for each in attrs.fields(cls):
        if each.name not in aside:
            default = () if each.default is attrs.NOTHING else (_constant(each),)
            fields.append((each.name, _stored_type(each.type), *default))
    return _stored.setdefault(
        cls,
        msgspec.defstruct(
            f"Stored{cls.__name__}", fields, kw_only=True, forbid_unknown_fields=True, gc=False
        ),
    )


def _stored_type(annotation: Any) -> Any:
    """Return what a value with this annotation is in JSON."""
    if payload_kind(annotation) is not None:
        return str | None if NoneType in get_args(annotation) else str  # a mark
    annotation = _without_none(annotation)
    annotation = getattr(annotation, "__supertype__", annotation)
    if annotation in PLAIN:
        return PLAIN[annotation]
    if get_origin(annotation) is tuple:
        members = [
            each if each is Ellipsis else _stored_type(each) for each in get_args(annotation)
        ]
        return GenericAlias(tuple, tuple(members))
    if attrs.has(annotation):
        return stored(annotation)
    raise TypeError(f"no reader can be written for {annotation!r}")


def _without_none(annotation: Any) -> Any:
    """Return ``X`` for ``X | None``: a field that is None is left out."""
    members = set(get_args(annotation))
    if NoneType not in members:
        return annotation
    (other,) = members - {NoneType}
    return other


def _constant(each: attrs.Attribute[Any]) -> object:
    """Return the default of a field, which all values may share."""
    default = each.default
    if default is None or default == () or type(default) in PLAIN:
        return default
    raise TypeError(f"the default of {each.name} may change: {default!r}")


# --- what the lines of a reader need ------------------------------------------------------------

_ERASED: Iterator[None] = repeat(None)
"""Replaces the rows of an event that has none left."""


def _in_order(rows: Sequence[PayloadRow], version: int) -> Iterator[PayloadRow]:
    """Return an iterator over *rows*, if they are numbered and named consistently."""
    for slot, row in enumerate(rows):
        if row[0] != version or row[1] != slot:
            raise Irregular
    if len(rows) > 1 and len({row[2] for row in rows}) < len(rows):
        raise Irregular
    return iter(rows)


def _compiled(signature: str, lines: list[str], names: dict[str, Any]) -> Read:
    source = "\n    ".join([f"def {signature}:", *lines])
    exec(compile(source, f"<{signature}>", "exec"), names)  # noqa: S102 - not a word is a caller's
    read: Read = names["read"]
    return read
