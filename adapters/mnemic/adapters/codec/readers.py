"""Functions that read JSON values into events, one per class, quick and quiet.

What ``conversion`` says about a value, these say too: same fields, same strictness. But they do not
say what is wrong. Whatever is not exactly as this release writes it is ``Irregular``, or raises
something else, and whoever asked has it read again by the converter, which knows all words.

Like cattrs, this module writes Python and compiles it: a call and a lookup saved per field is what
makes them quick. A reader takes the value and what stands beside it:

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

For an event, that is an iterator over its payload rows, by slot. Fields are read in the order in
which ``marks`` visits them, so that the next row is always the one that a mark stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, get_args, get_origin

import attrs
from attrs import define, field, frozen

from mnemic.adapters.codec.drafts import draft
from mnemic.adapters.codec.marks import payload_kind
from mnemic.adapters.codec.packing import PACKED, unpack
from mnemic.kernel.events import RecallRecorded
from mnemic.kernel.texts import Payload

Read = Callable[[Any, Any], Any]
"""Takes a JSON value and what stands beside it."""
Open = Callable[[str, Any], Payload]
"""Takes a mark and a row."""

PLAIN = (str, int, bool)


class Irregular(Exception):
    """A value is not as this release writes it. Never leaves the codec."""


@frozen
class Aside:
    """Fields that do not stand in a value by their names, and where they come from."""

    fields: Mapping[str, str]
    """Expressions by name."""
    first: tuple[str, ...] = ()
    """Lines that come before any field is read."""
    keys: int = 0
    """How many keys of the value these lines account for."""
    names: Mapping[str, Any] = field(factory=dict)
    """What lines and expressions refer to."""


NOTHING = Aside({})
OWNERS = Aside({"of": "beside"})
"""Of a payload: they stand beside its bytes, not in them."""
NUMBERS = Aside(
    {name: f"numbers[{name!r}]" for name in PACKED},
    first=("numbers = unpack(raw['numbers'])",),
    keys=1,
    names={"unpack": unpack},
)
"""Of a recall."""


def _no_payload(kind: type[Payload]) -> Open:
    raise TypeError(f"a payload holds no {kind.__name__}")


@define
class Readers:
    """Writes readers of events and their parts.

    Args:
        opener: Says how payloads of a kind are opened.
    """

    opener: Callable[[type[Payload]], Open] = _no_payload
    _written: dict[type, Read] = field(factory=dict, init=False)

    def of(self, cls: type) -> Read:
        """Return the reader of *cls*.

        Raises:
            TypeError: It has a field of a kind that no event had when this was written.
        """
        if cls not in self._written:
            aside = NUMBERS if cls is RecallRecorded else NOTHING
            self._written[cls] = _reader(cls, self._member, aside)
        return self._written[cls]

    def worded(self, payload: type[Payload]) -> Read:
        """Return the reader of a *payload*'s fields; beside them stand its owners."""
        return _reader(payload, self._member, OWNERS)

    def _member(self, annotation: Any) -> Read:
        """Return how to read a value that is not plain."""
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
        if mark is None and is_optional:
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


# --- writing one --------------------------------------------------------------------------------


def _reader(cls: type, member: Callable[[Any], Read], aside: Aside) -> Read:
    """Write the reader of *cls*, a frozen attrs class with slots.

    Args:
        cls: What the values become.
        member: How to read fields that are not plain, by annotation.
        aside: Fields that come from elsewhere.

    Raises:
        TypeError: It cannot be written for a class like this.
    """
    attrs.resolve_types(cls)
    known = aside.keys
    names = {"Irregular": Irregular, "draft": draft(cls), "cls": cls, **aside.names}
    lines = list(aside.first)
    for each in attrs.fields(cls):
        name, default = each.name, each.default
        if name in aside.fields:
            lines.append(f"value.{name} = {aside.fields[name]}")
        elif default is attrs.NOTHING:
            known += 1
            lines += _field(name, each.type, member, names)
        else:
            if not _is_constant(default):
                raise TypeError(f"{cls.__name__}.{name} has a default that may change")
            names[f"default_{name}"] = default
            read = _field(name, each.type, member, names)
            lines += [f"if {name!r} in raw:", "    known += 1", *(f"    {line}" for line in read)]
            lines += ["else:", f"    value.{name} = default_{name}"]
    return _compiled(cls, lines, known, names)


def _field(
    name: str, annotation: Any, member: Callable[[Any], Read], names: dict[str, Any]
) -> list[str]:
    """Return the lines that read a field which is there, and put into *names* what they need."""
    annotation = _without_none(annotation)
    plain = _plain(annotation)
    if plain is not None:
        return [
            f"value.{name} = found = raw[{name!r}]",
            f"if type(found) is not {plain.__name__}: raise Irregular",
        ]
    names[f"read_{name}"] = member(annotation)
    return [f"value.{name} = read_{name}(raw[{name!r}], beside)"]


def _without_none(annotation: Any) -> Any:
    """Return ``X`` for ``X | None``, unless X is a payload."""
    members = set(get_args(annotation))
    if NoneType not in members or payload_kind(annotation) is not None:
        return annotation
    (other,) = members - {NoneType}
    return other


def _is_constant(default: object) -> bool:
    return default is None or default == () or type(default) in PLAIN


def _compiled(cls: type, lines: list[str], known: int, names: dict[str, Any]) -> Read:
    body = [
        "if type(raw) is not dict: raise Irregular",
        f"known = {known}",
        "value = draft()",
        *lines,
        "if len(raw) != known: raise Irregular",
        "value.__class__ = cls",
        "return value",
    ]
    source = "\n    ".join(["def read(raw, beside):", *body])
    exec(compile(source, f"<reader of {cls.__name__}>", "exec"), names)  # noqa: S102 - ours alone
    read: Read = names["read"]
    return read
