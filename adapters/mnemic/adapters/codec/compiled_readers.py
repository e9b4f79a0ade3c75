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
from functools import partial
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
    "event": "e",
    "actor": "a",
    "session_id": "s",
}
"""The keys of a ``Recorded``'s fields in a body; see ``envelope``."""
UNSTORED: Any = Annotated[int, msgspec.Meta(ge=1, le=0)]
"""A number that no JSON gives."""


class Irregular(Exception):
    """A value is not as this release writes it. Internal to the codec."""


def _no_payload(kind: type[Payload]) -> Open:
    raise TypeError(f"a payload holds no {kind.__name__}")


@define
class Readers:
    """Generates readers of events and their parts.

    Args:
        opener: Returns how payloads of a kind are decoded.
        is_whole: Whether they refuse a record without its payloads.
    """

    opener: Callable[[type[Payload]], Open] = _no_payload
    is_whole: bool = False
    _parts: dict[type, Read] = field(factory=dict, init=False)

    def recorded(self, cls: type) -> Read:
        """Return the reader of a whole record of an event *cls*, which takes its payload rows.

        Raises:
            TypeError: It has a field of a kind that no event had when this was written.
        """
        names = self._of_rows()
        names["decode"] = msgspec.json.Decoder(_body(cls)).decode
        fields = {each: f"around.{each}" for each in ENVELOPE} | {"event": "event"}
        lines = [
            "version, _, body = record",
            "around = decode(body)",
            "stored = around.event",
            "beside = in_order(rows, version) if rows else no_rows",
            *self._lines("event", cls, names),
            "if rows and next(beside, None) is not None: raise Irregular",
            *_built("value", Recorded, {"version": "version", **fields}, names),
            "return value",
        ]
        return _compiled("read(record, rows)", lines, names)

    def transient(self, cls: type) -> Read:
        """Return the reader of a record of an event *cls* for a fold that keeps none of its parts.

        What it returns has the attributes of a ``Recorded``, and ``event`` those of a *cls*: it is
        what msgspec decoded, with payloads in the place of their marks.

        Raises:
            TypeError: As ``recorded``.
        """
        names = self._of_rows()
        names["decode"] = msgspec.json.Decoder(_body(cls)).decode
        lines = ["version, _, body = record", "around = decode(body)", "around.version = version"]
        if cls is RecallRecorded:
            names["unpack"] = partial(unpack, to_fold=True)
            lines += ["event, numbers = around.event, unpack(around.event.numbers)"]
            lines += [f"event.{name} = numbers[{name!r}]" for name in PACKED]
        opened = self._opened("around.event", cls, names)
        if opened:
            lines += ["beside = in_order(rows, version) if rows else no_rows", *opened]
            lines += ["if rows and next(beside, None) is not None: raise Irregular"]
        else:
            lines += ["if rows: raise Irregular"]
        return _compiled("read(record, rows)", [*lines, "return around"], names)

    def _opened(self, value: str, cls: type, names: dict[str, Any]) -> list[str]:
        """Return the lines that replace the marks in *value*, the struct of a *cls*."""
        lines: list[str] = []
        for each in attrs.fields(cls):
            found = f"{value}.{each.name}"
            if payload_kind(each.type) is not None:
                lines.append(f"{found} = {self._expression(found, each.type, names)}")
                continue
            part, is_many = _part_of(each.type)
            inner = self._opened(f"a_{part.__name__}", part, names) if attrs.has(part) else []
            if inner:
                members = found if is_many else f"({found},) if {found} else ()"
                lines += [f"for a_{part.__name__} in {members}:", *(f"    {at}" for at in inner)]
        return lines

    def _of_rows(self) -> dict[str, Any]:
        """Return what the lines need that take payload rows."""
        no_rows = iter(()) if self.is_whole else _ERASED
        return {"in_order": _in_order, "no_rows": no_rows, "Irregular": Irregular}

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
        part, is_many = _part_of(annotation)
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


def _body(cls: type) -> type[msgspec.Struct]:
    """Return the struct that the body of a record of an event *cls* is decoded into.

    It has the attributes of a ``Recorded``; the version is to be set.

    Raises:
        TypeError: As ``stored``.
    """
    return msgspec.defstruct(
        "Body",
        [
            ("active_us", INTEGER),
            ("recorded_us", INTEGER),
            ("command_id", str),
            ("event", stored(cls)),
            ("actor", str, AGENT),
            ("session_id", str, None),
            ("version", UNSTORED, -1),
        ],
        rename=ENVELOPE,
        forbid_unknown_fields=True,
        gc=False,
        namespace={"kind": cls},
    )


_stored: dict[type, type[msgspec.Struct]] = {}


def stored(cls: type) -> type[msgspec.Struct]:
    """Return the struct that a body of *cls*, an event or a part or a payload, is decoded into.

    It has the attributes of a *cls*. Those that are packed together are to be set.

    Raises:
        TypeError: It has a field of a kind that no event had when this was written.
    """
    if cls in _stored:
        return _stored[cls]
    attrs.resolve_types(cls)
    fields: list[Any] = []
    aside = PACKED if cls is RecallRecorded else ("of",) if issubclass(cls, Payload) else ()
    if cls is RecallRecorded:
        fields = [("numbers", str), *((name, UNSTORED, None) for name in PACKED)]
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


def _part_of(annotation: Any) -> tuple[Any, bool]:
    """Return the type of a field that is not None, or of its members, and whether it has some."""
    annotation = _without_none(annotation)
    is_many = get_origin(annotation) is tuple
    return get_args(annotation)[0] if is_many else annotation, is_many


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
