"""Base class and helpers of all results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
from attrs import frozen

from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.rendering import on_one_line, quoting

PLAIN: Final = frozenset({str, int, float, bool, type(None)})
"""Types of most field values, which need no conversion."""


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
class Result:
    """Base of all results."""

    @property
    def summary(self) -> str:
        """One line for a person or a model, with what callers wrote escaped."""
        return type(self).__name__

    def __str__(self) -> str:
        return on_one_line(self.summary)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, ready for JSON."""
        return {entry.name: _plain(getattr(self, entry.name)) for entry in attrs.fields(type(self))}


def plural(count: int, noun: str) -> str:
    """Return ``1 edge``, ``2 edges``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


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
