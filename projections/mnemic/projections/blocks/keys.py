"""Keys: the texts that were learned under each key (``mnemic.kernel.scope``).

The key of a text never changes. Nothing is read before the first query: a space without keys pays
nothing. Then the texts added since are read, one thread at a time.
"""

from __future__ import annotations

from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.scope import key_of
from mnemic.projections.storage.extension_lock import Lock
from mnemic.projections.storage.payloads import Payloads


class Keys:
    """The documents of every key.

    Args:
        texts: Where each text is stored, by document number.
    """

    def __init__(self, texts: Payloads[BlockText]) -> None:
        self._texts = texts
        self._documents: dict[str, list[int]] = {}
        self._read = 0
        self._extending = Lock()

    def documents(self, key: str) -> list[int]:
        """Return the texts with a key, or with a key below one that ends in ``/``, ascending."""
        with self._extending:
            self._extend()
            if not key.endswith("/"):
                return list(self._documents.get(key, ()))
            found = [places for name, places in self._documents.items() if name.startswith(key)]
        return sorted(place for places in found for place in places)

    def _extend(self) -> None:
        for place, text in enumerate(self._texts.since(self._read), self._read):
            key = key_of(text.metadata) if isinstance(text, BlockText) else None
            if key is not None:
                self._documents.setdefault(key, []).append(place)
            self._read = place + 1
