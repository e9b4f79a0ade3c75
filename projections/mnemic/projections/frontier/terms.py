"""Words and tags as the frontier reads them: content terms, boundary tags, tag filters.

Source: reference composed-graph section 2; specs/ledger.toml, rule "terms".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from mnemic.kernel.texts import BlockText, Erased

TERM_LENGTH_MIN: Final = 5
SHARED_TERMS_MAX: Final = 8
"""Shared terms that a candidate lists."""
STOP_WORDS: Final = frozenset(
    """
    about after again against because before between could every first from have into memory needs
    should their there these thing through using where which while would
    """.split()
)
BOUNDARY_PREFIX: Final = "boundary-"
BOUNDARY_TAGS: Final = frozenset(
    "time chain role oracle queue settlement keeper upgrade pause accounting scope".split()
)

_WORD: Final = re.compile(r"[A-Za-z0-9_-]+")


def terms(text: str) -> frozenset[str]:
    """Return the content terms of *text*: long ASCII words in lower case, no stop words."""
    words = (word.lower() for word in _WORD.findall(text) if len(word) >= TERM_LENGTH_MIN)
    return frozenset(words) - STOP_WORDS


def specificity(term: str) -> int:
    """Return how telling a term is: long ones, and those with digits, hyphens and underscores."""
    return len(term) + 2 * sum(map(str.isdigit, term)) + 2 * ("-" in term) + 2 * ("_" in term)


def most_specific(shared: Iterable[str]) -> tuple[str, ...]:
    """Return up to eight terms, the most specific first, then in the order of the alphabet."""
    return tuple(sorted(shared, key=lambda term: (-specificity(term), term))[:SHARED_TERMS_MAX])


def is_boundary(tag: str) -> bool:
    """Whether a tag marks a boundary between parts of a system."""
    small = tag.lower()
    return small.startswith(BOUNDARY_PREFIX) or small in BOUNDARY_TAGS


def passes(tags: Iterable[str], wanted: Sequence[str]) -> bool:
    """Whether a tag is one of *wanted* or in the namespace of one: ``project:x`` for ``project``.

    Without a filter everything passes.
    """
    spaces = tuple(f"{want}:" for want in wanted)
    return not wanted or any(tag in wanted or tag.startswith(spaces) for tag in tags)


class Terms:
    """The terms of documents, worked out once each: what a document says never changes.

    Erasing folds a new state, and with it comes a new one of these.
    """

    def __init__(self) -> None:
        self._known: dict[int, frozenset[str]] = {}

    def of(self, document: int, text: BlockText | Erased) -> frozenset[str]:
        """Return the terms of a document; an erased one has none.

        Args:
            document: Its number.
            text: What it says.
        """
        found = self._known.get(document)
        if found is None:
            found = terms(text.content) if isinstance(text, BlockText) else frozenset()
            self._known[document] = found
        return found
