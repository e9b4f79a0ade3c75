"""The fast path from a record to its event, for records that are as this release writes them.

It is several times as fast as the thorough one, which checks field by field with error messages.
It reports nothing itself: a record that differs in any way ends it with the first exception, and
the thorough path then finds out what is wrong, or that nothing is.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from mnemic.adapters.codec.compiled_readers import Irregular, Read, Readers
from mnemic.adapters.codec.registry import Registry
from mnemic.adapters.codec.sealing import opener

_recorded = cache(Readers(opener).recorded)
_TO_FOLD = Readers(opener, is_whole=True)
_whole, _transient = cache(_TO_FOLD.recorded), cache(_TO_FOLD.transient)
"""Generates the readers of events. Shared by all codecs, as generating takes a while."""


class Shortcuts(dict[str, Read]):
    """Readers of a record with its payload rows, by topic. Generated when first used.

    Rows are either all that the event names, by slot, or none. Lookup and reading may raise any
    exception, which means only that the fast path does not apply.

    Args:
        registry: The known topics. Those of older versions have no fast path.
        transient: Given if they read for a fold, and only records that have all their payloads: the
            kinds that are returned as objects with the attributes of an event.
    """

    def __init__(self, registry: Registry, *, transient: Collection[type] | None = None) -> None:
        super().__init__()
        self._kinds = registry.kinds
        self._transient = transient

    def __missing__(self, topic: str) -> Read:
        """Return the reader of a topic at its first use."""
        kind = self._kinds[topic]
        if kind.upcasters:
            raise Irregular
        read = _recorded
        if self._transient is not None:
            read = _transient if kind.event in self._transient else _whole
        return self.setdefault(topic, read(kind.event))
