"""Compositions, labels and extractions as bytes, for checkpoints: not the format of the log.

A log stores texts separately from its events, so that they can be erased. A checkpoint is discarded
as a whole when anything is erased, so here an event and its texts are one body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

import attrs
import orjson
from numpy.typing import NDArray

from mnemic.kernel.events import (
    BlocksComposed,
    CompositionLabelled,
    ExtractedFact,
    FactsExtracted,
    Member,
    Quote,
    RefusedFact,
)
from mnemic.kernel.model.texts import (
    ERASED,
    LOST,
    AnswerText,
    CompositionText,
    Erased,
    LabelText,
    Lost,
    MemberText,
    Payload,
    Remark,
)
from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.storage.packed_bytes import PackedBytes

E = TypeVar("E", bound=BlocksComposed | CompositionLabelled | FactsExtracted)
P = TypeVar("P", bound=Payload)

LATEST_MAX: Final = 256
"""Number of events kept as objects before they are encoded together. Each takes two kilobytes."""
CACHED_MAX: Final = 1024
"""Number of events that stay cached after they were read."""
ERASED_MARK: Final = 0
"""Placeholder of an erased payload."""
LOST_MARK: Final = 1
"""Placeholder of a lost one."""


class EventCodec(Generic[E]):
    """Events of one kind in the order of the log: encoded as bytes, except for the latest.

    They are decoded on demand. As objects, the garbage collector would have millions of parts to
    traverse.
    """

    def __init__(self, kind: type[E]) -> None:
        """Start empty."""
        self._read = _READERS[kind]
        self._written = PackedBytes()
        self._latest: list[E] = []
        """Events after those, still objects."""
        self._cache: dict[int, E] = {}
        """Cache of decoded events."""

    def frozen(self) -> ArrayBundle:
        """Return everything as arrays."""
        self._write()
        return self._written.frozen()

    def _write(self) -> None:
        """Encode all events as bytes."""
        self._written.extend([orjson.dumps(event, default=_fields) for event in self._latest])
        self._latest = []

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], kind: type[E]) -> EventCodec[E]:
        """Return the events that were frozen."""
        bodies = cls(kind)
        bodies._written = PackedBytes.thawed(parts)
        return bodies

    def append(self, event: E) -> None:
        """Append an event."""
        self._latest.append(event)
        if len(self._latest) == LATEST_MAX:
            self._write()

    def erased(self, owner: str, replaced: Callable[[E], E]) -> EventCodec[E]:
        """Return the events without the payloads of *owner*; it keeps no byte of them.

        Args:
            owner: Whose payloads are erased.
            replaced: Returns an event without them, or the event itself.
        """
        self._write()
        bodies = copy(self)
        others = {}
        for number in self._written.holding(orjson.dumps(owner)):
            event = self._read(orjson.loads(self._written[number]))
            others[number] = orjson.dumps(replaced(event), default=_fields)
        vars(bodies).update(_written=self._written.replaced(others), _latest=[], _cache={})
        return bodies

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self._written) + len(self._latest)

    def __getitem__(self, number: int) -> E:
        """Return the event with this number, from 0."""
        latest = self._latest  # read first: the writer encodes them, and then replaces the list
        late = number - len(self._written)
        if late >= 0:
            return latest[late]
        event = self._cache.get(number)
        if event is None:
            if len(self._cache) >= CACHED_MAX:
                self._cache = {}
            event = self._cache[number] = self._read(orjson.loads(self._written[number]))
        return event


# --- events as rows of their fields ---------------------------------------------------------


def _fields(value: Any) -> Any:
    """Return a serialisable form of a value that orjson does not support."""
    if isinstance(value, Erased):
        return LOST_MARK if isinstance(value, Lost) else ERASED_MARK
    return _GETTERS[type(value)](value)


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


def _extracted(row: list[Any]) -> FactsExtracted:
    values = dict(zip(_NAMES[FactsExtracted], row, strict=True))
    values["facts"] = tuple(map(_fact, values["facts"]))
    values["refused"] = tuple(
        RefusedFact(reason=reason, messages=tuple(messages), text=_payload(Remark, text))
        for reason, messages, text in values["refused"]
    )
    values["answer"] = _payload(AnswerText, values["answer"])
    for name in ("messages", "known"):
        values[name] = tuple(values[name])
    return FactsExtracted(**values)


def _fact(row: list[Any]) -> ExtractedFact:
    values = dict(zip(_NAMES[ExtractedFact], row, strict=True))
    quotes = (dict(zip(_NAMES[Quote], each, strict=True)) for each in values["quotes"])
    values["quotes"] = tuple(Quote(**each) for each in quotes)
    return ExtractedFact(**values)


def _payload(kind: type[P], row: list[Any] | int | None) -> P | Erased | None:
    if row is None:
        return None
    if not isinstance(row, list):
        return LOST if row == LOST_MARK else ERASED
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
    FactsExtracted,
    ExtractedFact,
    RefusedFact,
    Quote,
    AnswerText,
    Remark,
)
_NAMES: Final[dict[type, tuple[str, ...]]] = {
    kind: tuple(field.name for field in attrs.fields(kind)) for kind in _KINDS
}
_GETTERS: Final = {kind: attrgetter(*names) for kind, names in _NAMES.items()}
_READERS: Final[dict[type, Callable[[list[Any]], Any]]] = {
    BlocksComposed: _composed,
    CompositionLabelled: _labelled,
    FactsExtracted: _extracted,
}
