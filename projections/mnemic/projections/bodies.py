"""Compositions and labels as bytes, for checkpoints: not the form in which a log keeps them.

A log keeps words apart from its events, so that they can be forgotten. A checkpoint is thrown away
as a whole when anything is erased, so here an event and its words are one body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

import attrs
import orjson
from numpy.typing import NDArray

from mnemic.kernel.events import BlocksComposed, CompositionLabelled, Member
from mnemic.kernel.texts import ERASED, CompositionText, Erased, LabelText, MemberText, Payload
from mnemic.projections.blobs import Blobs
from mnemic.projections.parts import Parts

E = TypeVar("E", bound=BlocksComposed | CompositionLabelled)
P = TypeVar("P", bound=Payload)

LATEST_MAX: Final = 256
"""Events that stay what they are until together they become bytes. Each takes two kilobytes."""
ASKED_MAX: Final = 1024
"""Events that are remembered after they were asked for."""
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
        self._written = Blobs()
        self._latest: list[E] = []
        """Those behind them."""
        self._asked: dict[int, E] = {}
        """Some of those that were asked for."""

    def frozen(self) -> Parts:
        """Return everything as arrays."""
        self._write()
        return self._written.frozen()

    def _write(self) -> None:
        """Let everything be bytes."""
        self._written.extend([orjson.dumps(event, default=_fields) for event in self._latest])
        self._latest = []

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], kind: type[E]) -> Bodies[E]:
        """Return the events that these arrays were made of."""
        bodies = cls(kind)
        bodies._written = Blobs.thawed(parts)
        return bodies

    def append(self, event: E) -> None:
        """Add an event."""
        self._latest.append(event)
        if len(self._latest) == LATEST_MAX:
            self._write()

    def __len__(self) -> int:
        """Return how many events there are."""
        return len(self._written) + len(self._latest)

    def __getitem__(self, number: int) -> E:
        """Return the event with this number, from 0."""
        if number >= len(self._written):
            return self._latest[number - len(self._written)]
        event = self._asked.get(number)
        if event is None:
            if len(self._asked) >= ASKED_MAX:
                self._asked = {}
            event = self._asked[number] = self._read(orjson.loads(self._written[number]))
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
