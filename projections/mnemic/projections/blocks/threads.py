"""Threads: the order of texts within their threads, their authors and roles.

Rules of this module:

1. A document is a text, by its number in the lexicon. What is stored of it never changes, so
   a view of the past uses the same arrays and ignores documents that are not alive in it.
2. Documents of one thread follow each other in the order of learning. A message without a thread
   belongs to the one unnamed thread of its space; any other text without one has no neighbours.
3. A thread is split into sittings where two consecutive texts are hours apart by
   ``created_at``: texts of last week are no context for texts of today.
4. Nothing is computed before the first query. Opening a log in order to write costs nothing here.
   The first query that needs new documents processes them, one thread at a time.
5. A document is linked to later ones as they come, so a reader may find links to documents that
   were learned after its version; they are not alive in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.roles import ROLES, role_named, role_of
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.projections.blocks.catalogue import Catalogue
from mnemic.projections.lexical.languages.words import analysed
from mnemic.projections.storage.array_bundle import ArrayBundle, packed, unpacked
from mnemic.projections.storage.columns import Interner, Rows
from mnemic.projections.storage.extension_lock import Lock
from mnemic.projections.storage.growable_array import FIRST_CAPACITY, GrowableArray
from mnemic.projections.storage.mapped_arrays import zeros
from mnemic.projections.storage.sorted_arrays import distinct

SITTING_GAP_US: Final = 3 * MICROS_PER_HOUR
"""Two consecutive texts of a thread further apart than this are in different sittings."""

MESSAGE: Final = "message"
"""The category of messages in a conversation."""

NOBODY: Final = -1
NONE: Final = -1


STEPS: Final = 4
"""How far the links of a document reach, backward and forward."""


class Threads:
    """The position of every document in its thread."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._authors = Interner()
        self._name_terms: list[frozenset[str]] = []
        """Terms by author, for the authors known at the last query."""
        self._named_by: dict[str, list[int]] = {}
        """By term: the authors whose names contain it."""
        self._persons = GrowableArray(np.bool_)
        """Whether each of these authors has a name, not that of a role; before them, ``NOBODY``."""
        self._persons.append(False)
        self._author = GrowableArray(np.int32)
        self._role = GrowableArray(np.int8)
        self._links: Rows = np.full((FIRST_CAPACITY, 2 * STEPS), NONE, dtype=np.int32)
        self._rows = 0
        """Number of rows of the catalogue's life table already processed."""
        self._thread = GrowableArray(np.int32)
        """Number of the thread of each document, ``NONE`` without one."""
        self._threads = Interner()
        self._ends: dict[str, _End] = {}
        """The last document of each thread; the unnamed one is called ``""``."""
        self._extending = Lock()

    def frozen(self) -> ArrayBundle:
        """Return everything but the catalogue as arrays, after processing new documents."""
        self.settle()
        return {
            "author": self.author,
            "role": self.role,
            "authors": packed(self._authors.words),
            "links": self.links.copy(),
            "thread": self._thread.values,
            "threads": packed(self._threads.words),
            "ends": np.array(list(self._ends.values()), dtype=np.int64).reshape(-1, 2),
        }

    @classmethod
    def thawed(
        cls, parts: Mapping[str, NDArray[Any]], catalogue: Catalogue, *, rows: int | None = None
    ) -> Threads:
        """Return the threads that were frozen.

        Args:
            parts: From ``frozen``.
            catalogue: The catalogue, at that time or later.
            rows: Number of rows of its life table at that time; None: all that it has.
        """
        sequence, links = cls(catalogue), parts["links"]
        sequence._author = GrowableArray.thawed(parts["author"])
        sequence._role = GrowableArray.thawed(parts["role"])
        sequence._authors = Interner.thawed(unpacked(parts["authors"]))
        sequence._links = widened(links, len(links) + FIRST_CAPACITY)
        sequence._rows = catalogue.life.count if rows is None else rows
        sequence._thread = GrowableArray.thawed(parts["thread"])
        sequence._threads = Interner.thawed(unpacked(parts["threads"]))
        ends = map(_End._make, parts["ends"].tolist())
        sequence._ends = dict(zip(sequence._threads.words, ends, strict=True))
        return sequence

    @property
    def author(self) -> Rows:
        """Author number of each document; ``NOBODY`` if it is not known."""
        self.settle()
        return self._author.values

    @property
    def role(self) -> Rows:
        """Role of each document, as its place in ``ROLES``; ``NONE`` if it has none."""
        self.settle()
        return self._role.values

    def is_person(self, author: int) -> bool:
        """Whether an author is called by a name, not by that of a role."""
        self._name()
        return bool(self._persons.values[author + 1])

    def has_name(self, authors: Rows) -> NDArray[np.bool_]:
        """Return which of these author numbers are those of persons; ``NOBODY`` is not."""
        self._name()
        known: NDArray[np.bool_] = self._persons.values[authors + 1]
        return known

    def author_called(self, name: str) -> int:
        """Return the number of the author with exactly this name; ``NOBODY`` if there is none."""
        self.settle()
        return self._authors.known(name)

    @property
    def links(self) -> Rows:
        """Neighbours of each document in its sitting, shape (documents, 2 * STEPS).

        The first half of a row holds the documents one step before, two steps and so on; the second
        half those after. ``NONE`` marks positions beyond the ends of the sitting. Both halves are
        in one row, because queries about a document need all of them.
        """
        self.settle()
        return self._links[: len(self._author)]

    def name_terms(self, author: int) -> frozenset[str]:
        """Return the terms of an author's name."""
        self._name()
        return self._name_terms[author]

    def authors_named(self, words: Iterable[str]) -> list[int]:
        """Return the numbers of the authors with one of *words* in their names, ascending.

        All authors of the log are included, regardless of the version.
        """
        self.settle()
        self._name()
        named = self._named_by
        return sorted({author for word in words for author in named.get(word, ())})

    def _name(self) -> None:
        """Look at the names added since the last query."""
        if len(self._name_terms) == len(self._authors.words):
            return
        with self._extending:
            for author in range(len(self._name_terms), len(self._authors.words)):
                found = analysed(self._authors.words[author])
                own = frozenset(found.terms + found.others)
                self._persons.append(role_named(self._authors.words[author]) is None)
                for term in own:
                    self._named_by.setdefault(term, []).append(author)
                self._name_terms.append(own)  # last: it is what other threads look at

    def settle(self) -> None:
        """Process the documents added since. Every query does so first."""
        if self._rows == self.catalogue.life.count:
            return
        with self._extending:
            rows = self.catalogue.life.count
            self._extend(*self._learned(self._rows, rows))
            self._rows = rows  # last: it is what other threads look at

    def _extend(self, created_us: Sequence[int], category: Sequence[int]) -> None:
        """Process the next documents.

        Args:
            created_us: When each was created.
            category: The number of its category.
        """
        first, texts = len(self._author), self.catalogue.texts
        self._links = widened(self._links, first + len(created_us))
        message = self.catalogue.categories.known(MESSAGE)
        fresh = islice(texts.since(first), len(created_us))
        for document, text in enumerate(fresh, start=first):
            author = thread = role = None
            if isinstance(text, BlockText):
                author, role = text.author, role_of(text.author, text.metadata)
                thread = text.thread or ("" if category[document - first] == message else None)
            self._author.append(NOBODY if author is None else self._authors.number(author))
            self._role.append(NONE if role is None else ROLES.index(role))
            self._thread.append(NONE if thread is None else self._threads.number(thread))
            if thread is not None:
                self._append(thread, document, created_us[document - first])

    def _learned(self, seen: int, count: int) -> tuple[list[int], list[int]]:
        """Return when the documents in the life rows from *seen* to *count* were created.

        Returns:
            That, microseconds, and the numbers of their categories, of the new documents alone.
        """
        life = self.catalogue.life
        # The first row of a document is that of its learning.
        documents, rows = distinct(life.column("text")[seen:count])
        rows = rows[documents >= len(self._author)] + seen
        return life.column("created_us")[rows].tolist(), life.column("category")[rows].tolist()

    def _append(self, thread: str, document: int, created_us: int) -> None:
        """Append a document to its thread, linked to the last one if in the same sitting."""
        end = self._ends.get(thread)
        if end is not None and not end.is_long_before(created_us):
            link(self._links, end.document, document)
        dated = created_us if created_us != UNKNOWN or end is None else end.created_us
        self._ends[thread] = _End(document, dated)


class _End(NamedTuple):
    """The last document of a thread."""

    document: int
    created_us: int
    """Of the last one that is dated; ``UNKNOWN`` before there is any."""

    def is_long_before(self, created_us: int) -> bool:
        """Whether hours are between, in either direction; unknown ages follow each other."""
        if UNKNOWN in {self.created_us, created_us}:
            return False
        return abs(created_us - self.created_us) > SITTING_GAP_US


def link(links: Rows, before: int, document: int) -> None:
    """Link *document* to the last one of its sitting, *before*, and to those before that."""
    for step in range(STEPS):
        links[document, step] = before
        links[before, STEPS + step] = document
        before = int(links[before, 0])
        if before == NONE:
            break


def widened(links: Rows, documents: int) -> Rows:
    """Return *links* if it has capacity for so many documents, else a larger copy."""
    if documents <= len(links):
        return links
    wider = zeros((max(documents, 2 * len(links)), 2 * STEPS), np.int32)
    wider[: len(links)] = links
    wider[len(links) :] = NONE
    return wider
