"""The short way from a record to what it says, for records that are as this release writes them.

It is several times as fast as the thorough one, which checks in a loop, by name and with words what
stands here in a row. And it is mute: a record that is in any way different ends it with whatever
exception comes first, and the thorough way then says what is the matter, or that nothing is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat

import orjson

from mnemic.adapters.codec.drafts import draft
from mnemic.adapters.codec.envelope import AGENT, REQUIRED
from mnemic.adapters.codec.readers import Irregular, Read, Readers
from mnemic.adapters.codec.registry import Registry
from mnemic.adapters.codec.sealing import opener
from mnemic.kernel.events import Recorded
from mnemic.kernel.ports import PayloadRow, Record

_READERS = Readers(opener)
"""Shared by all codecs: to write one takes a while."""
_ERASED: Iterator[None] = repeat(None)
"""Stands for the rows of an event that has none left."""


class Shortcuts:
    """Reads what is as usual.

    Args:
        registry: Which topics there are. Those of older versions go the thorough way.
    """

    def __init__(self, registry: Registry) -> None:
        self._kinds = registry.kinds
        self._reads: dict[str, Read] = {}
        self._draft = draft(Recorded)

    def recorded(self, record: Record, rows: Sequence[PayloadRow]) -> Recorded:
        """Return what *record* says.

        Args:
            record: Any.
            rows: Its payloads; either all of them, by slot, or none.

        Raises:
            Exception: Of any kind, which says no more than that this is not the way.
        """
        version, topic, body = record
        around = orjson.loads(body)
        found = self._draft()
        found.version = version
        found.active_us = active_us = around["h"]
        found.recorded_us = recorded_us = around["t"]
        found.command_id = command_id = around["c"]
        if not (type(active_us) is type(recorded_us) is int and type(command_id) is str):
            raise Irregular
        known = len(REQUIRED)
        if "s" in around:
            known += 1
            found.session_id = session_id = around["s"]
            if type(session_id) is not str:
                raise Irregular
        else:
            found.session_id = None
        if "a" in around:
            known += 1
            found.actor = actor = around["a"]
            if type(actor) is not str:
                raise Irregular
        else:
            found.actor = AGENT
        if len(around) != known:
            raise Irregular
        read = self._reads.get(topic) or self._read(topic)
        if rows:
            left = _in_order(rows, version)
            found.event = read(around["e"], left)
            if next(left, None) is not None:
                raise Irregular
        else:
            found.event = read(around["e"], _ERASED)
        found.__class__ = Recorded
        recorded: Recorded = found
        return recorded

    def _read(self, topic: str) -> Read:
        """Return the reader of a topic that is read for the first time."""
        kind = self._kinds[topic]
        if kind.upcasters:
            raise Irregular
        return self._reads.setdefault(topic, _READERS.of(kind.event))


def _in_order(rows: Sequence[PayloadRow], version: int) -> Iterator[PayloadRow]:
    """Return an iterator over *rows*, which are numbered and named as they should be."""
    for slot, row in enumerate(rows):
        if row[0] != version or row[1] != slot:
            raise Irregular
    if len(rows) > 1 and len({row[2] for row in rows}) < len(rows):
        raise Irregular
    return iter(rows)
