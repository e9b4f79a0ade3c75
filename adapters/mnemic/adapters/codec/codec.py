"""Facts to stored bytes and back: the one interface between the kernel's values and a log."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from mnemic.adapters.codec import envelope
from mnemic.adapters.codec.conversion import converter, unknown_field
from mnemic.adapters.codec.fast_decoding import Shortcuts
from mnemic.adapters.codec.payload_positions import Places, owners, places
from mnemic.adapters.codec.registry import Kind, Registry, is_topic
from mnemic.adapters.codec.sealing import Sealer, opener, payload_id
from mnemic.kernel.errors import FieldRefused, LogCorrupt, MnemicError, StoreTooNew
from mnemic.kernel.events import Event, Recorded
from mnemic.kernel.model.texts import ERASED, LOST, Payload
from mnemic.kernel.ports import Entropy, PayloadRow, Record

_DAMAGE = (ValueError, TypeError, LookupError, AttributeError)


def _newer() -> tuple[type[Exception], ...]:
    """Return the errors about what only a newer release can have written."""
    return envelope.UnknownKey, unknown_field()


def _unread() -> tuple[type[Exception], ...]:
    """Return the errors about a record that cannot be read."""
    return *_newer(), *_DAMAGE


class _Reading(NamedTuple):
    """What is needed to read one topic."""

    kind: Kind
    places: Places
    marked: frozenset[str]
    """Fields that contain a mark, themselves or in a part of them."""
    marked_keys: tuple[bytes, ...]
    """The same as keys of a body: an event without any of them names no payload."""


class _Readings(dict[str, _Reading]):
    """What is needed to read each topic, found out when it is first read or written."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        super().__init__()
        self._kinds = kinds

    def __missing__(self, topic: str) -> _Reading:
        kind = self._kinds[topic]
        where = places(kind.event)
        marked = frozenset(name for name, _ in where.of)
        keys = tuple(b'"%b":' % name.encode() for name in sorted(marked))
        return self.setdefault(topic, _Reading(kind, where, marked, keys))


class Codec:
    """Translates recorded events to records with payload rows, and back.

    Its functions for a kind of event are generated when that kind is first read or written.
    Stateless apart from its entropy: one codec serves any number of logs and threads.

    Args:
        entropy: Source of ids and keys of payloads.
        registry: The known topics; every event of the kernel unless given.
        transient: Kinds of events of which a fold reads nothing but attributes, see
            ``fold_shortcuts``.
    """

    def __init__(
        self,
        entropy: Entropy,
        registry: Registry | None = None,
        *,
        transient: Collection[type] = (),
    ) -> None:
        self._sealer = Sealer(entropy)
        self._registry = Registry() if registry is None else registry
        self._shortcuts = Shortcuts(self._registry)
        self.fold_shortcuts = Shortcuts(self._registry, transient=transient)
        """By topic, what reads a record with all its payloads for a fold, in less time than
        ``decode``. What it returns of transient kinds is no ``Recorded`` but has its attributes.
        Any exception means only that ``decode_noting`` has to read the record."""
        self._readings = _Readings(self._registry.kinds)

    def encode(self, recorded: Recorded) -> tuple[Record, tuple[PayloadRow, ...]]:
        """Return the record for *recorded* and the rows of its payloads, by slot.

        Raises:
            FieldRefused: A text is not Unicode (lone surrogates), or a number exceeds 64 bits.
            ValueError: The event holds an erased payload or numbers that no recall can have.
        """
        topic = self._registry.names[type(recorded.event)]
        rows: list[PayloadRow] = []

        def seal(payload: Payload, _: type[Payload]) -> str:
            mark, row = self._sealer.seal(payload, version=recorded.version, slot=len(rows))
            rows.append(row)
            return mark

        try:
            raw = converter().unstructure(recorded.event)
            self._readings[topic].places.swap(raw, seal)
            body = envelope.written(recorded, raw)
        except orjson.JSONEncodeError as error:
            raise FieldRefused(
                f"{topic} cannot be stored: {error}",
                recovery="Give texts without lone surrogates and numbers of at most 64 bits.",
                topic=topic,
            ) from error
        return Record(recorded.version, topic, body), tuple(rows)

    def decode(
        self,
        record: Record,
        payloads: Sequence[PayloadRow] = (),
        *,
        lost: Collection[int] = (),
    ) -> Recorded:
        """Return the event in *record*, with *payloads* (in any order) restored to their positions.

        A payload that is missing reads as ``ERASED``; whether it may be missing follows from the
        rest of the log (see ``erasures``).

        Args:
            record: The event.
            payloads: Its payloads that are stored.
            lost: Slots of payloads that are missing and read as ``LOST``.

        Raises:
            StoreTooNew: A topic or field that this release does not know: a newer one wrote it.
            LogCorrupt: With the fact ``version``: the body does not parse, lacks a field or holds
                one of another type, or a payload is not the one that the event names.
        """
        if not lost:
            try:
                recorded: Recorded = self._shortcuts[record[1]](record, payloads)
            except Exception:  # noqa: BLE001, S110 - the thorough path says what is wrong
                pass
            else:
                return recorded
        return self._decoded(record, payloads, lost)[0]

    def decode_noting(
        self, record: Record, payloads: Sequence[PayloadRow], lost: Collection[int] = ()
    ) -> tuple[Recorded, tuple[int, ...]]:
        """Return what ``decode`` returns, and the slots of the payloads that are missing.

        Raises:
            StoreTooNew, LogCorrupt: As ``decode``.
        """
        if not lost:
            _, topic, body = record
            try:
                recorded = self._shortcuts[topic](record, payloads)
            except Exception:  # noqa: BLE001, S110 - the thorough path says what is wrong
                pass
            else:
                # The fast path takes all payloads of an event or none of them.
                if not payloads:
                    for key in self._readings[topic].marked_keys:
                        if key in body:
                            return recorded, tuple(slot for slot, _ in self.references(record))
                return recorded, ()
        return self._decoded(record, payloads, lost)

    def decode_thoroughly(self, record: Record, payloads: Sequence[PayloadRow] = ()) -> Recorded:
        """Return what ``decode`` returns and raise what it raises, without the fast path.

        Raises:
            StoreTooNew, LogCorrupt: As ``decode``.
        """
        return self._decoded(record, payloads, ())[0]

    def _decoded(
        self, record: Record, payloads: Sequence[PayloadRow], lost: Collection[int]
    ) -> tuple[Recorded, tuple[int, ...]]:
        """Return the event, and the slots of the payloads that are missing.

        Raises:
            StoreTooNew, LogCorrupt: As ``decode``.
        """
        reading = self._reading(record)
        missing: list[int] = []
        try:
            around = _upcast(record, reading)
            if payloads or not reading.marked.isdisjoint(around["e"]):
                opened = _Opened(record.version, payloads, lost)
                reading.places.swap(around["e"], opened)
                opened.finish()
                missing = opened.missing
            event: Event = converter().structure(around["e"], reading.kind.event)
            recorded = Recorded(
                version=record.version,
                active_us=around["h"],
                recorded_us=around["t"],
                command_id=around["c"],
                event=event,
                actor=around.get("a", envelope.AGENT),
                session_id=around.get("s"),
            )
        except _unread() as error:
            raise _unreadable(record, error) from error
        return recorded, tuple(missing)

    def references(self, record: Record) -> tuple[tuple[int, str], ...]:
        """Return (slot, id) of every payload that *record* names, stored or erased.

        Raises:
            StoreTooNew, LogCorrupt: As ``decode``.
        """
        return tuple(enumerate(mark for mark, _ in self._named(record)))

    def kinds(self, record: Record) -> tuple[type[Payload], ...]:
        """Return the class of payload that *record* names in each slot.

        Raises:
            StoreTooNew, LogCorrupt: As ``decode``.
        """
        return tuple(kind for _, kind in self._named(record))

    def owners(self, record: Record) -> tuple[tuple[str, ...], ...]:
        """Return the blocks that own each payload that *record* names, by slot.

        None: it belongs to the event alone.

        Raises:
            StoreTooNew, LogCorrupt: As ``decode``.
        """
        reading = self._reading(record)
        try:
            return tuple(map(owners, reading.places.holders(_upcast(record, reading)["e"])))
        except _unread() as error:
            raise _unreadable(record, error) from error

    def _named(self, record: Record) -> list[tuple[str, type[Payload]]]:
        reading = self._reading(record)
        found: list[tuple[str, type[Payload]]] = []

        def note(mark: str, kind: type[Payload]) -> str:
            found.append((payload_id(mark), kind))
            return mark

        try:
            reading.places.swap(_upcast(record, reading)["e"], note)
        except _unread() as error:
            raise _unreadable(record, error) from error
        return found

    def _reading(self, record: Record) -> _Reading:
        if record.topic not in self._registry.kinds:
            if not is_topic(record.topic):
                raise LogCorrupt(
                    f"event {record.version} is {record.topic!r:.100}, which is no kind of event",
                    version=record.version,
                    topic=record.topic,
                )
            raise StoreTooNew(
                f"event {record.version} is {record.topic!r}, which this release does not know",
                version=record.version,
                topic=record.topic,
            )
        return self._readings[record.topic]


class _Opened:
    """The payloads of one event, decoded in the order of their slots."""

    def __init__(self, version: int, payloads: Sequence[PayloadRow], lost: Collection[int]) -> None:
        self._version = version
        self._left = {row.id: row for row in payloads}
        self._lost = lost
        self._slot = -1
        self.missing: list[int] = []
        """Slots for which there is no payload."""

    def __call__(self, mark: str, payload: type[Payload]) -> Payload:
        """Return the payload that *mark* names; where there is none, ERASED or LOST."""
        self._slot += 1
        row = self._left.pop(payload_id(mark), None)
        if row is None:
            self.missing.append(self._slot)
            return LOST if self._slot in self._lost else ERASED
        if row.slot != self._slot or row.version != self._version:
            raise ValueError(f"payload {row.id} is of event {row.version}, slot {row.slot}")
        return opener(payload)(mark, row)

    def finish(self) -> None:
        """Refuse payloads that no mark refers to.

        Raises:
            ValueError: Naming them.
        """
        if self._left:
            raise ValueError(f"the event does not name these payloads: {sorted(self._left)}")


def _upcast(record: Record, reading: _Reading) -> dict[str, Any]:
    """Return the envelope of *record* with its event in the shape of the current version."""
    around = envelope.read(record.body)
    for upcaster in reading.kind.upcasters:
        around["e"] = upcaster(around["e"])
    return around


def _unreadable(record: Record, error: Exception) -> MnemicError:
    facts: dict[str, Any] = {"version": record.version, "topic": record.topic}
    place = f"event {record.version} ({record.topic})"
    if isinstance(error, _newer()):
        return StoreTooNew(f"{place} has a field that this release does not know: {error}", **facts)
    return LogCorrupt(f"{place} cannot be read: {error!r}", **facts)
