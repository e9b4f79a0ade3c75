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
from mnemic.projections.parts import Parts

E = TypeVar("E", bound=BlocksComposed | CompositionLabelled)
P = TypeVar("P", bound=Payload)

ERASED_MARK: Final = 0
"""Stands where a payload was."""


class Bodies(Generic[E]):
    """Events of one kind in the order of happening; thawed ones are read when asked for."""

    def __init__(self, kind: type[E]) -> None:
        """Start empty."""
        self._read = _READERS[kind]
        self._bytes: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._ends: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._later: list[E] = []

    def frozen(self) -> Parts:
        """Return everything as arrays."""
        if not self._later:
            return {"bytes": self._bytes, "ends": self._ends}
        later = [orjson.dumps(event, default=_fields) for event in self._later]
        ends = np.cumsum([len(self._bytes), *map(len, later)], dtype=np.int64)[1:]
        fresh = np.frombuffer(b"".join(later), dtype=np.uint8)
        return {
            "bytes": np.concatenate((self._bytes, fresh)),
            "ends": np.concatenate((self._ends, ends)),
        }

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], kind: type[E]) -> Bodies[E]:
        """Return the events that these arrays were made of."""
        bodies = cls(kind)
        bodies._bytes, bodies._ends = parts["bytes"], parts["ends"]
        return bodies

    def append(self, event: E) -> None:
        """Add an event."""
        self._later.append(event)

    def __len__(self) -> int:
        """Return how many events there are."""
        return len(self._ends) + len(self._later)

    def __getitem__(self, number: int) -> E:
        """Return the event with this number, from 0."""
        thawed = len(self._ends)
        if number >= thawed:
            return self._later[number - thawed]
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
