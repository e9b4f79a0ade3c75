"""Content terms: the long words of a text, used to relate blocks to each other.

Source: reference composed-graph section 2; specs/ledger.toml, rule "terms".
"""

from __future__ import annotations

from typing import Final

from mnemic.kernel.late import late_pattern
from mnemic.kernel.model.texts import BlockText, Erased

TERM_LENGTH_MIN: Final = 5
STOP_WORDS: Final = frozenset(
    """
    about after again against because before between could every first from have into memory needs
    should their there these thing through using where which while would
    """.split()
)
_WORD: Final = late_pattern(r"[A-Za-z0-9_-]+")


def terms(text: str) -> frozenset[str]:
    """Return the content terms of *text*: long ASCII words in lower case, no stop words."""
    words = (word.lower() for word in _WORD.findall(text) if len(word) >= TERM_LENGTH_MIN)
    return frozenset(words) - STOP_WORDS


class Terms:
    """The terms of documents, computed once each: the text of a document never changes.

    Erasing builds a new state, and with it a new instance of this cache.
    """

    def __init__(self) -> None:
        self._known: dict[int, frozenset[str]] = {}

    def of(self, document: int, text: BlockText | Erased) -> frozenset[str]:
        """Return the terms of a document; an erased one has none.

        Args:
            document: Its number.
            text: Its text.
        """
        found = self._known.get(document)
        if found is None:
            found = terms(text.content) if isinstance(text, BlockText) else frozenset()
            self._known[document] = found
        return found
