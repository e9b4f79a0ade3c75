"""The fast path from a record to its event, for records that are as this release writes them.

It is several times as fast as the thorough one, which checks field by field with error messages.
It reports nothing itself: a record that differs in any way ends it with the first exception, and
the thorough path then finds out what is wrong, or that nothing is.
"""

from __future__ import annotations

from functools import cache

from mnemic.adapters.codec.compiled_readers import Irregular, Read, Readers
from mnemic.adapters.codec.registry import Registry
from mnemic.adapters.codec.sealing import opener

_recorded = cache(Readers(opener).recorded)
"""Generates the readers of events. Shared by all codecs, as generating takes a while."""


class Shortcuts(dict[str, Read]):
    """Readers of a record with its payload rows, by topic. Generated when first used.

    Rows are either all that the event names, by slot, or none. Lookup and reading may raise any
    exception, which means only that the fast path does not apply.

    Args:
        registry: The known topics. Those of older versions have no fast path.
    """

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self._kinds = registry.kinds

    def __missing__(self, topic: str) -> Read:
        """Return the reader of a topic at its first use."""
        kind = self._kinds[topic]
        if kind.upcasters:
            raise Irregular
        return self.setdefault(topic, _recorded(kind.event))
