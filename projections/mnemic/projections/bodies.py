"""Compositions and labels as bytes, for checkpoints: not the form in which a log keeps them.

A log keeps words apart from its events, so that they can be forgotten. A checkpoint is thrown away
as a whole when anything is erased, so here an event and its words are one body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

import attrs
import numpy as np
import orjson
from numpy.typing import NDArray

from mnemic.kernel.events import BlocksComposed, CompositionLabelled, Member
from mnemic.kernel.texts import ERASED, CompositionText, Erased, LabelText, MemberText, Payload
from mnemic.projections.columns import GATHERED_MAX, grown
from mnemic.projections.parts import Parts

E = TypeVar("E", bound=BlocksComposed | CompositionLabelled)
P = TypeVar("P", bound=Payload)

ERASED_MARK: Final = 0
"""Stands where a payload was."""


class Bodies(Generic[E]):
    """Events of one kind in the order of happening: bytes, but for the latest.

    They are read when asked for. Objects would be millions of parts for the garbage collector to
    walk through.
    """

    def __init__(self, kind: type[E]) -> None:
        """Start empty."""
        self._read = _READERS[kind]
        self._bytes: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        """Those that are written, one behind the other, and room for more."""
        self._ends: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        """Where each of them ends."""
        self._written = 0
        self._latest: list[E] = []
        """Those behind them."""

    def frozen(self) -> Parts:
        """Return everything as arrays."""
        self._write()
        return {"bytes": self._bytes[: self._size], "ends": self._ends[: self._written]}

    @property
    def _size(self) -> int:
        """How many bytes are written."""
        return int(self._ends[self._written - 1]) if self._written else 0

    def _write(self) -> None:
        """Let everything be bytes."""
        if not self._latest:
            return
        latest = [orjson.dumps(event, default=_fields) for event in self._latest]
        first, last = self._written, len(self)
        ends = np.cumsum([len(each) for each in latest], dtype=np.int64) + self._size
        self._bytes = grown(self._bytes, int(ends[-1]))
        self._bytes[self._size : ends[-1]] = np.frombuffer(b"".join(latest), dtype=np.uint8)
        self._ends = grown(self._ends, last)
        self._ends[first:last] = ends
        self._written, self._latest = last, []

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], kind: type[E]) -> Bodies[E]:
        """Return the events that these arrays were made of."""
        bodies = cls(kind)
        bodies._bytes, bodies._ends = parts["bytes"], parts["ends"]
        bodies._written = len(bodies._ends)
        return bodies

    def append(self, event: E) -> None:
        """Add an event."""
        self._latest.append(event)
        if len(self._latest) == GATHERED_MAX:
            self._write()

    def __len__(self) -> int:
        """Return how many events there are."""
        return self._written + len(self._latest)

    def __getitem__(self, number: int) -> E:
        """Return the event with this number, from 0."""
        if number >= self._written:
            return self._latest[number - self._written]
        start = self._ends[number - 1] if number else 0
        stored = self._bytes[start : self._ends[number]].tobytes()
        event: E = self._read(orjson.loads(stored))
        return event


# --- events as rows of their fields ---------------------------------------------------------


def _fields(value: Any) -> Any:
    """Return what orjson is to write for a value that it does not know."""
    return ERASED_MARK if isinstance(value, Erased) else _GETTERS[type(value)](value)


def _composed(row: list[Any]) -> BlocksComposed:
    values = dict(zip(_NAMES[BlocksComposed], row, strict=True))
    values["members"] = tuple(map(_member, values["members"]))
    values["text"] = _payload(CompositionText, values["text"])
    return BlocksComposed(**values)


def _member(row: list[Any]) -> Member:
    values = dict(zip(_NAMES[Member], row, strict=True))
    values["text"] = _payload(MemberText, values["text"])
    return Member(**values)


def _labelled(row: list[Any]) -> CompositionLabelled:
    values = dict(zip(_NAMES[CompositionLabelled], row, strict=True))
    values["text"] = _payload(LabelText, values["text"])
    return CompositionLabelled(**values)


def _payload(kind: type[P], row: list[Any] | int | None) -> P | Erased | None:
    if row is None:
        return None
    if not isinstance(row, list):
        return ERASED
    values = dict(zip(_NAMES[kind], row, strict=True))
    values["of"] = tuple(values["of"])
    return kind(**values)


_KINDS: Final[tuple[type, ...]] = (
    BlocksComposed,
    Member,
    CompositionLabelled,
    CompositionText,
    MemberText,
    LabelText,
)
_NAMES: Final[dict[type, tuple[str, ...]]] = {
    kind: tuple(field.name for field in attrs.fields(kind)) for kind in _KINDS
}
_GETTERS: Final = {kind: attrgetter(*names) for kind, names in _NAMES.items()}
_READERS: Final[dict[type, Callable[[list[Any]], Any]]] = {
    BlocksComposed: _composed,
    CompositionLabelled: _labelled,
}
