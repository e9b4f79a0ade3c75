"""No extraction: messages are kept, and no facts are looked for."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.kernel.ports import Extract, KnownBlock, Message


class NoExtractor:
    """Extractor that finds nothing, and of which nothing is recorded."""

    name = "none"
    model = ""
    prompt = ""
    window = 1
    compares = False

    def extract(self, messages: Sequence[Message], known: Sequence[KnownBlock]) -> Extract:
        """Return no facts."""
        del messages, known
        return Extract()
