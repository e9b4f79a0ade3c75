"""Generated functions that read JSON values into events, one per class: fast, without messages.

They accept the same values as ``conversion``: same fields, same strictness. But they do not say
what is wrong. A value that is not exactly as this release writes it raises ``Irregular``, or
another exception, and the caller reads it again with the converter, which reports what is wrong.

Like cattrs, this module writes Python and compiles it: a call and a lookup saved per field is what
makes the functions fast. A reader takes the value and its context:

    def read(raw, beside):
        if type(raw) is not dict:
            raise Irregular
        known = 3
        value = draft()
        value.source = found = raw["source"]
        if type(found) is not str:
            raise Irregular
        ...
        if len(raw) != known:
            raise Irregular
        value.__class__ = cls
        return value

For an event, the context is an iterator over its payload rows, by slot. Fields are read in the
order in which ``payload_positions`` visits them, so that the next row is always the one that a mark
refers to. The envelope of an event is read in the same function, since every call costs time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from types import NoneType
from typing import Any, get_args, get_origin

import attrs
import orjson
from attrs import define, field, frozen

from mnemic.adapters.codec.fast_construction import draft
from mnemic.adapters.codec.packing import PACKED, unpack
from mnemic.adapters.codec.payload_positions import payload_kind
from mnemic.kernel.events import RecallRecorded, Recorded
from mnemic.kernel.model.texts import Payload
from mnemic.kernel.ports import PayloadRow

Read = Callable[[Any, Any], Any]
"""Takes a JSON value and its context."""
Open = Callable[[str, Any], Payload]
"""Takes a mark and a row."""

PLAIN = (str, int, bool)


class Irregular(Exception):
    """A value is not as this release writes it. Internal to the codec."""


@frozen(kw_only=True)
class Aside:
    """Fields that are not stored by name in a value, and where they come from."""

    fields: Mapping[str, str] = field(factory=dict)
    """Expressions by name."""
    keys: Mapping[str, str] = field(factory=dict)
    """The key of a field in the value, by name."""
    first: tuple[str, ...] = ()
    """Lines that come before any field is read."""
    known: int = 0
    """How many keys of the value these lines and expressions account for."""
    names: Mapping[str, Any] = field(factory=dict)
    """Names that lines and expressions refer to."""


NOTHING = Aside()
OWNERS = Aside(fields={"of": "beside"})
"""For a payload: stored in its row, not in its bytes."""
NUMBERS = Aside(
    fields={name: f"numbers[{name!r}]" for name in PACKED},
    first=("numbers = unpack(raw['numbers'])",),
    known=1,
    names={"unpack": unpack},
)
"""For a recall."""
ENVELOPE = Aside(
    fields={"version": "version", "event": "event"},
    keys={
        "active_us": "h",
        "recorded_us": "t",
        "command_id": "c",
        "actor": "a",
        "session_id": "s",
    },
    known=1,
)
"""For the envelope of an event; see ``envelope``."""


def _no_payload(kind: type[Payload]) -> Open:
    raise TypeError(f"a payload holds no {kind.__name__}")


@define
class Readers:
    """Generates readers of events and their parts.

    Args:
        opener: Returns how payloads of a kind are decoded.
    """

    opener: Callable[[type[Payload]], Open] = _no_payload
    _written: dict[type, Read] = field(factory=dict, init=False)

    def of(self, cls: type) -> Read:
        """Return the reader of *cls*, an event or a part of one.

        Raises:
            TypeError: It has a field of a kind that no event had when this was written.
        """
        if cls not in self._written:
            names = dict(_NAMES)
            lines = self._lines("value", cls, names)
            self._written[cls] = _compiled("read(raw, beside)", [*lines, "return value"], names)
        return self._written[cls]

    def recorded(self, cls: type) -> Read:
        """Return the reader of a whole record of an event *cls*, which takes its payload rows.

        Raises:
            TypeError: As ``of``.
        """
        names = {**_NAMES, "loads": orjson.loads, "in_order": _in_order, "erased": _ERASED}
        lines = [
            "version, _, body = record",
            "around = loads(body)",
            "raw = around['e']",
            "beside = in_order(rows, version) if rows else erased",
            *self._lines("event", cls, names),
            "if rows and next(beside, None) is not None: raise Irregular",
            "raw = around",
            *self._lines("value", Recorded, names, ENVELOPE),
            "return value",
        ]
        return _compiled("read(record, rows)", lines, names)

    def worded(self, payload: type[Payload]) -> Read:
        """Return the reader of a *payload*'s fields; its context are its owners."""
        names = dict(_NAMES)
        lines = self._lines("value", payload, names, OWNERS)
        return _compiled("read(raw, beside)", [*lines, "return value"], names)

    def _lines(
        self, value: str, cls: type, names: dict[str, Any], aside: Aside | None = None
    ) -> list[str]:
        """Return the lines that read ``raw`` into a variable, and put what they need into *names*.

        Args:
            value: Name of the variable.
            cls: What it becomes: a frozen attrs class with slots.
            names: What the lines refer to.
            aside: Fields that come from elsewhere.
        """
        attrs.resolve_types(cls)
        if aside is None:
            aside = NUMBERS if cls is RecallRecorded else NOTHING
        known = aside.known
        names.update({f"{value}_draft": draft(cls), f"{value}_class": cls, **aside.names})
        lines = list(aside.first)
        for each in attrs.fields(cls):
            target, key = f"{value}.{each.name}", aside.keys.get(each.name, each.name)
            if each.name in aside.fields:
                lines.append(f"{target} = {aside.fields[each.name]}")
            elif each.default is attrs.NOTHING:
                known += 1
                lines += self._field(target, key, each.type, names)
            else:
                default = _name("default", target)
                names[default] = _constant(each)
                read = self._field(target, key, each.type, names)
                lines += [f"if {key!r} in raw:", "    known += 1"]
                lines += [*(f"    {line}" for line in read), "else:", f"    {target} = {default}"]
        return [
            "if type(raw) is not dict: raise Irregular",
            f"known = {known}",
            f"{value} = {value}_draft()",
            *lines,
            "if len(raw) != known: raise Irregular",
            f"{value}.__class__ = {value}_class",
        ]

    def _field(self, target: str, key: str, annotation: Any, names: dict[str, Any]) -> list[str]:
        """Return the lines that read a field which is present."""
        annotation = _without_none(annotation)
        plain = _plain(annotation)
        if plain is not None:
            return [
                f"{target} = found = raw[{key!r}]",
                f"if type(found) is not {plain.__name__}: raise Irregular",
            ]
        read = _name("read", target)
        names[read] = self._member(annotation)
        return [f"{target} = {read}(raw[{key!r}], beside)"]

    def _member(self, annotation: Any) -> Read:
        """Return how to read a value that is not of a plain type."""
        kind = payload_kind(annotation)
        if kind is not None:
            is_optional = NoneType in get_args(annotation)
            return _opened(self.opener(kind), is_optional=is_optional)
        if get_origin(annotation) is tuple:
            return self._members(get_args(annotation))
        if attrs.has(annotation):
            return self.of(annotation)
        raise TypeError(f"no reader can be written for {annotation!r}")

    def _members(self, annotations: tuple[Any, ...]) -> Read:
        length = None if annotations[-1] is Ellipsis else len(annotations)
        (member,) = set(annotations) - {Ellipsis}
        plain = _plain(member)
        if plain is not None:
            return _plain_members(plain, length)
        return _members(self._member(member), length)


def _plain(annotation: Any) -> type | None:
    """Return ``str``, ``int`` or ``bool`` if *annotation* means just that."""
    found = getattr(annotation, "__supertype__", annotation)
    return found if found in PLAIN else None


def _opened(open_: Open, *, is_optional: bool) -> Read:
    def read(mark: Any, rows: Any) -> Payload | None:
        if is_optional and mark is None:
            return None  # no slot, and so no row
        return open_(mark, next(rows))

    return read


def _plain_members(plain: type, length: int | None) -> Read:
    only = {plain}

    def read(values: Any, _: Any) -> tuple[Any, ...]:
        if type(values) is not list or not only.issuperset(map(type, values)):
            raise Irregular
        if length is not None and len(values) != length:
            raise Irregular
        return tuple(values)

    return read


def _members(member: Read, length: int | None) -> Read:
    def read(values: Any, beside: Any) -> tuple[Any, ...]:
        if type(values) is not list or (length is not None and len(values) != length):
            raise Irregular
        return tuple([member(each, beside) for each in values])

    return read


# --- what the lines of a reader need ------------------------------------------------------------

_NAMES = {"Irregular": Irregular}
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


def _name(kind: str, target: str) -> str:
    return f"{kind}_{target.replace('.', '_')}"


def _without_none(annotation: Any) -> Any:
    """Return ``X`` for ``X | None``, unless X is a payload."""
    members = set(get_args(annotation))
    if NoneType not in members or payload_kind(annotation) is not None:
        return annotation
    (other,) = members - {NoneType}
    return other


def _constant(each: attrs.Attribute[Any]) -> object:
    """Return the default of a field, which all values may share."""
    default = each.default
    if default is None or default == () or type(default) in PLAIN:
        return default
    raise TypeError(f"the default of {each.name} may change: {default!r}")


def _compiled(signature: str, lines: list[str], names: dict[str, Any]) -> Read:
    source = "\n    ".join([f"def {signature}:", *lines])
    exec(compile(source, f"<{signature}>", "exec"), names)  # noqa: S102 - not a word is a caller's
    read: Read = names["read"]
    return read
