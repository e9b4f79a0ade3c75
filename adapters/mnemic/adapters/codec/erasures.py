"""Which payloads of a log are missing, and which erasures in it account for them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from mnemic.adapters.codec.codec import Codec
from mnemic.kernel import events as happened
from mnemic.kernel.events import Recorded
from mnemic.kernel.model.texts import (
    CompositionText,
    LabelText,
    Question,
    Salt,
)
from mnemic.kernel.ports import Record

_BLOCK_IDS = re.compile(rb'"([0-9a-f]{16})"')
ITS_OWN = (Salt, Question, CompositionText, LabelText)
"""Payloads that belong to their event alone: no erasure of a block removes them."""
NOBODY: frozenset[str] = frozenset()
NEVER = -1
LATER = 2**62
"""Version of an erasure that comes after the end of the range that is read."""


def named_anywhere(record: Record) -> frozenset[str]:
    """Return the ids of all blocks that a record names."""
    return frozenset(found.decode() for found in _BLOCK_IDS.findall(record.body))


class Erasures:
    """Reads a log from its beginning to its end, event by event.

    Args:
        codec: Reads which payloads an event names.
        later: Blocks that are known to be erased after the end.
    """

    def __init__(self, codec: Codec, later: Iterable[str] = ()) -> None:
        self._codec = codec
        self._missing: list[tuple[int, frozenset[str]]] = []
        self._erased: dict[str, int] = dict.fromkeys(later, LATER)
        self._space_erased = False
        self.missing_count = 0

    def see(self, record: Record, recorded: Recorded, slots: Collection[int]) -> None:
        """Process one event and the payload slots that are present."""
        event = recorded.event
        if isinstance(event, happened.SpaceErased):
            self._space_erased = True
        if isinstance(event, happened.BlockErased):
            latest = max(recorded.version, self._erased.get(event.block_id, NEVER))
            self._erased[event.block_id] = latest
        gone = [slot for slot, _ in self._codec.references(record) if slot not in slots]
        if gone:
            # Of several payloads of an event, one may be erased and another one lost.
            beside, kinds = self._codec.beside(record), self._codec.kinds(record)
            anywhere = named_anywhere(record)
            self._missing += (
                (recorded.version, NOBODY if kinds[slot] in ITS_OWN else beside[slot] or anywhere)
                for slot in gone
            )
            self.missing_count += len(gone)

    def unasked(self) -> int | None:
        """Return the first version with a payload missing that no erasure accounts for."""
        if self._space_erased:
            return None
        for version, named in self._missing:
            if not any(self._erased.get(block, NEVER) > version for block in named):
                return version
        return None
