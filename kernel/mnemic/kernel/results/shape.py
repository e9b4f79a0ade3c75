"""Base class and helpers of all results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar

import attrs
from attrs import frozen

from mnemic.kernel.html_tables import paragraph, table_of_fields, table_of_rows
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.rendering import on_one_line, quoting
from mnemic.kernel.values import Value

NAMED_MAX: Final = 5
"""Of each kind, such as pairs of blocks, that a summary or a message names."""
PLAIN: Final = frozenset({str, int, float, bool, type(None)})
"""Types of most field values, which need no conversion."""
REASONS_MAX: Final = 3
"""Refusals of a batch that a summary or an error quotes."""

Entry = TypeVar("Entry")


def unit(nano_units: int) -> float:
    """Return nano-units as a number."""
    return nano_units / NANO


def _plain(value: Any) -> Any:
    """Return *value* with every result, tuple and mapping in it converted to plain values."""
    if type(value) in PLAIN:  # checked first: a recall has some thousand values
        return value
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return value


@frozen(kw_only=True)
class Result(Value):
    """Base of all results."""

    COLUMNS: ClassVar[tuple[str, ...]] = ()
    """Fields that a table of such results shows; empty: all."""

    @property
    def summary(self) -> str:
        """One line for a person or a model, with what callers wrote escaped."""
        return type(self).__name__

    def __str__(self) -> str:
        return on_one_line(self.summary)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, ready for JSON."""
        return {entry.name: _plain(getattr(self, entry.name)) for entry in attrs.fields(type(self))}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return ``to_dict()`` as a JSON text.

        Args:
            indent: Spaces per level of nesting; None: all on one line.
        """
        return json_text(self.to_dict(), indent)

    def _repr_html_(self) -> str:
        """Return the result as an HTML table, which notebooks display; all texts are escaped."""
        if isinstance(self, Listing):
            return paragraph(self.summary) + _table_of(tuple(self))
        return paragraph(self.summary) + table_of_fields(self.to_dict())


def json_text(document: Any, indent: int | None) -> str:
    """Return plain values as JSON, with characters of all languages as they are."""
    return json.dumps(document, ensure_ascii=False, indent=indent)


class Listing:
    """Results that are mainly a list: they iterate over it, have its length, and can be indexed.

    As with any list, one without entries is false in a condition.
    """

    __slots__ = ()
    LISTED: ClassVar[str] = "items"
    """The field with the list."""

    @property
    def _entries(self) -> tuple[Any, ...]:
        entries: tuple[Any, ...] = getattr(self, self.LISTED)
        return entries

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, place: Any) -> Any:
        return self._entries[place]


class ResultList(tuple[Entry, ...]):
    """A tuple of results with the conversions that every result has."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the entries as plain values, under ``items``: the document of other interfaces."""
        return {"items": _plain(self)}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return ``to_dict()`` as a JSON text. See ``Result.to_json``."""
        return json_text(self.to_dict(), indent)

    def _repr_html_(self) -> str:
        """Return the entries as an HTML table. See ``Result``."""
        return _table_of(self)


def _table_of(entries: tuple[Any, ...]) -> str:
    return table_of_rows([_row(each) for each in entries])


def _row(entry: Any) -> Mapping[str, Any]:
    """Return the cells of one entry of a list, by column."""
    if isinstance(entry, Result):
        fields = entry.to_dict()
        return {name: fields.get(name) for name in entry.COLUMNS or fields}
    return {str(place): str(each) for place, each in enumerate(entry, start=1)}


Later = Callable[[str], Mapping[str, Any]]
"""From the name of a field to its value, and those of others that are computed with it by the way;
empty for what is no field."""


class Deferrable(Result):
    """Base of results that may compute some fields when they are first read.

    What computes them holds immutable values alone, so it does not matter when that is. Equality,
    printing, hashing, copying and pickling read every field.
    """

    __slots__ = ("_later",)
    _later: Later

    @classmethod
    def deferred(cls, later: Later, known: Mapping[str, Any]) -> Self:
        """Return a result with the fields *known*; *later* computes the other ones."""
        found, put = cls.__new__(cls), object.__setattr__
        for name, value in known.items():
            put(found, name, value)
        put(found, "_later", later)
        return found

    if not TYPE_CHECKING:  # a type checker would accept any attribute

        def __getattr__(self, name: str) -> Any:
            # Called for a field that has no value yet, and for what is no field.
            values = object.__getattribute__(self, "_later")(name)
            if name not in values:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            for each, value in values.items():
                object.__setattr__(self, each, value)
            return values[name]

    def completed(self) -> Self:
        """Return this result after computing every field, for what reads them unusually."""
        for entry in attrs.fields(type(self)):
            getattr(self, entry.name)
        return self

    def with_fields(self, **changes: Any) -> Self:
        """Return this result with some fields replaced; what is not computed yet stays so."""
        known, get = {}, object.__getattribute__  # which computes nothing
        for entry in attrs.fields(type(self)):
            try:
                known[entry.name] = get(self, entry.name)
            except AttributeError:
                continue
        return self.deferred(getattr(self, "_later", _nothing), known | changes)


def _nothing(name: str) -> Mapping[str, Any]:
    """Compute no field: of results that have all."""
    del name
    return {}


def plural(count: int, noun: str) -> str:
    """Return ``1 edge``, ``2 edges``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def reasons(refusals: Sequence[Any]) -> str:
    """Return the first refusals of a batch in words, each with its place in the batch.

    Args:
        refusals: Values with ``position``, ``code`` and ``detail``.
    """
    ordered = sorted(refusals, key=lambda each: each.position)
    said = [f"#{each.position} {each.code}: {quoting(each.detail)}" for each in ordered]
    more = len(said) - REASONS_MAX
    return "; ".join([*said[:REASONS_MAX], *([f"and {more} more"] if more > 0 else [])])


@frozen(kw_only=True)
class Refusal(Result):
    """One item of a batch that was refused; the others went on."""

    position: int
    """Its place in the batch, from 0."""
    id: str | None = None
    code: str
    detail: str
    recovery: str = ""

    @property
    def summary(self) -> str:
        return f"{self.code}: {quoting(self.detail)}"
