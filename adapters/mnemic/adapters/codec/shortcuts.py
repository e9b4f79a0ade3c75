"""The short way from a record to what it says, for records that are as this release writes them.

It is several times as fast as the thorough one, which checks by name and with words what a reader
checks in a row. And it is mute: a record that is in any way different ends it with whatever
exception comes first, and the thorough way then says what is the matter, or that nothing is.
"""

from __future__ import annotations

from functools import cache

from mnemic.adapters.codec.readers import Irregular, Read, Readers
from mnemic.adapters.codec.registry import Registry
from mnemic.adapters.codec.sealing import opener

_recorded = cache(Readers(opener).recorded)
"""Writes the reader of one kind of event. Shared by all codecs, as that takes a while."""


class Shortcuts(dict[str, Read]):
    """What reads a record with its payload rows, by topic. Written when first asked for.

    Rows are either all that the event names, by slot, or none. Asking and reading may raise
    anything, which says no more than that this is not the way.

    Args:
        registry: Which topics there are. Those of older versions have no shortcut.
    """

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self._kinds = registry.kinds

    def __missing__(self, topic: str) -> Read:
        """Return the shortcut for a topic that is met for the first time."""
        kind = self._kinds[topic]
        if kind.upcasters:
            raise Irregular
        return self.setdefault(topic, _recorded(kind.event))
