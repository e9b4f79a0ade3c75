"""Who said what after what: the order of texts within their threads.

Rules of this module:

1. A document is a text, by the number the lexicon gives it. What is kept of it never changes, so
   a view of the past asks the same arrays and leaves out what is not alive in it.
2. Documents of one thread follow each other in the order of learning. A message without a thread
   belongs to the one nameless thread of its space; any other text without one stands alone.
3. A thread is cut into sittings where two texts that follow each other lie hours apart by
   ``created_at``: what was said last week is no context of what is said today.
4. Nothing is computed until somebody asks. Opening a log in order to write costs nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.scoring import UNKNOWN
from mnemic.kernel.texts import BlockText
from mnemic.projections.analysis import terms
from mnemic.projections.catalogue import Catalogue
from mnemic.projections.columns import FIRST_CAPACITY, Names, Rows, Series
from mnemic.projections.pages import zeros
from mnemic.projections.parts import Parts, packed, unpacked

SITTING_GAP_US: Final = 3 * MICROS_PER_HOUR
"""Two texts of a thread further apart than this are of two sittings."""

MESSAGE: Final = "message"
"""The category of what was said in a conversation."""

NOBODY: Final = -1
NONE: Final = -1


STEPS: Final = 4
"""How far the links of a document reach, before and behind."""


class Sequence:
    """The place of every document in its thread."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._authors = Names()
        self._name_terms: list[frozenset[str]] = []
        """By author, of those known when somebody last asked."""
        self._named_by: dict[str, list[int]] = {}
        """By term: the authors of these who have it in their names."""
        self._author = Series(np.int32)
        self._links: Rows = np.full((FIRST_CAPACITY, 2 * STEPS), NONE, dtype=np.int32)
        self._rows = 0
        """Rows of the catalogue's life that were looked at."""
        self._ends: dict[str, _End] = {}
        """Where each thread ends; the nameless one is called ``""``."""

    def frozen(self) -> Parts:
        """Return everything but the catalogue as arrays; what was added since is taken in."""
        self.settle()
        return {
            "author": self.author,
            "authors": packed(self._authors.words),
            "links": self.links.copy(),
            "threads": packed(list(self._ends)),
            "ends": np.array(list(self._ends.values()), dtype=np.int64).reshape(-1, 2),
        }

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], catalogue: Catalogue) -> Sequence:
        """Return what these arrays were made of.

        Args:
            parts: From ``frozen``.
            catalogue: As it stood then.
        """
        sequence, links = cls(catalogue), parts["links"]
        sequence._author = Series.thawed(parts["author"])
        sequence._authors = Names.thawed(unpacked(parts["authors"]))
        sequence._links = _widened(links, len(links) + FIRST_CAPACITY)
        sequence._rows = catalogue.life.count
        sequence._ends = dict(
            zip(unpacked(parts["threads"]), map(_End._make, parts["ends"].tolist()), strict=True)
        )
        return sequence

    @property
    def author(self) -> Rows:
        """Number of who said each document; ``NOBODY`` where it is not known."""
        self.settle()
        return self._author.values

    @property
    def links(self) -> Rows:
        """Neighbours of each document in its sitting, shape (documents, 2 * STEPS).

        The first half of a row holds the documents one step before, two steps and so on; the second
        half those behind. ``NONE`` stands beyond the ends of the sitting. They stand together,
        since whoever asks about a document asks for all of them.
        """
        self.settle()
        return self._links[: len(self._author)]

    def name_terms(self, author: int) -> frozenset[str]:
        """Return the terms of an author's name."""
        self._name()
        return self._name_terms[author]

    def authors_named(self, words: Iterable[str]) -> list[int]:
        """Return the numbers of the authors with one of *words* in their names, rising.

        All of them, whenever they spoke.
        """
        self.settle()
        self._name()
        named = self._named_by
        return sorted({author for word in words for author in named.get(word, ())})

    def _name(self) -> None:
        """Work out the terms of the names that came since somebody asked."""
        for author in range(len(self._name_terms), len(self._authors.words)):
            own = frozenset(terms(self._authors.words[author]))
            self._name_terms.append(own)
            for term in own:
                self._named_by.setdefault(term, []).append(author)

    def settle(self) -> None:
        """Take in the documents added since. Every query does so first."""
        first, texts = len(self._author), self._catalogue.texts
        if first == len(texts):
            return
        self._links = _widened(self._links, len(texts))
        created_us, category = self._learned(first)
        message = self._catalogue.categories.known(MESSAGE)
        for document, text in enumerate(texts.since(first), start=first):
            author = thread = None
            if isinstance(text, BlockText):
                author = text.author
                thread = text.thread or ("" if category[document - first] == message else None)
            self._author.append(NOBODY if author is None else self._authors.number(author))
            if thread is not None:
                self._append(thread, document, created_us[document - first])

    def _learned(self, first: int) -> tuple[list[int], list[int]]:
        """Return when the documents from *first* on were created, and their categories."""
        life, seen = self._catalogue.life, self._rows
        self._rows = life.count
        # The first row of a document is that of its learning.
        documents, rows = np.unique(life.column("text")[seen : life.count], return_index=True)
        rows = rows[documents >= first] + seen
        return life.column("created_us")[rows].tolist(), life.column("category")[rows].tolist()

    def _append(self, thread: str, document: int, created_us: int) -> None:
        """Put a document behind its thread's last, if that was of the same sitting."""
        end = self._ends.get(thread)
        if end is not None and not end.is_long_before(created_us):
            before = end.document
            for step in range(STEPS):
                self._links[document, step] = before
                self._links[before, STEPS + step] = document
                before = int(self._links[before, 0])
                if before == NONE:
                    break
        dated = created_us if created_us != UNKNOWN or end is None else end.created_us
        self._ends[thread] = _End(document, dated)


class _End(NamedTuple):
    """The last document of a thread."""

    document: int
    created_us: int
    """Of the last one that is dated; ``UNKNOWN`` before there is any."""

    def is_long_before(self, created_us: int) -> bool:
        """Whether hours lie between, in either direction; unknown ages follow each other."""
        if UNKNOWN in {self.created_us, created_us}:
            return False
        return abs(created_us - self.created_us) > SITTING_GAP_US


def _widened(links: Rows, documents: int) -> Rows:
    """Return *links* if there is room for so many documents, else a larger copy."""
    if documents <= len(links):
        return links
    wider = zeros((max(documents, 2 * len(links)), 2 * STEPS), np.int32)
    wider[: len(links)] = links
    wider[len(links) :] = NONE
    return wider
