"""Passages: the parts of long texts that are searched separately.

1. A text has one passage or several (``mnemic.kernel.passages``), numbered from the first text on.
   They never change, so a view of the past uses the same numbers, and those whose text is not alive
   in it do not count.
2. Passages of one sitting follow each other as texts do, within a text and across texts
   (``Threads``).
3. While every text is a single passage, passages are texts: the lexicon of texts is searched, and
   nothing else is stored.
4. Nothing is computed before the first search. The first one that needs new texts cuts them, one
   thread at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.kernel.passages import passages
from mnemic.projections.blocks.threads import NONE, STEPS, Threads, link, widened
from mnemic.projections.lexical.lexicon import MASKS_KEPT, Lexicon
from mnemic.projections.lexical.postings import Mask
from mnemic.projections.lexical.term_counts import Matches
from mnemic.projections.storage.array_bundle import ArrayBundle, nested, within
from mnemic.projections.storage.columns import Rows
from mnemic.projections.storage.extension_lock import Lock
from mnemic.projections.storage.growable_array import GrowableArray
from mnemic.projections.storage.payloads import Payloads
from mnemic.projections.storage.ranges import range_places
from mnemic.projections.storage.sorted_arrays import run_starts


@frozen(kw_only=True, eq=False)
class Searched:
    """The searched units under one mask: whole texts, or their passages."""

    lexicon: Lexicon
    alive: Mask
    """As for ``Lexicon.counts``."""
    links: Rows
    """As ``Threads.links``."""
    first: Integers | None = None
    """The first passage of each text, and the number of passages; None: texts are not cut."""
    texts: Rows | None = None
    """The text of each passage; None: texts are not cut."""

    @property
    def is_cut(self) -> bool:
        """Whether passages are searched, not whole texts."""
        return self.first is not None

    def of(self, documents: Integers) -> tuple[Integers, Integers]:
        """Return the passages of *documents*, and the place of the first one of each."""
        if self.first is None:
            return documents, np.arange(len(documents))
        begins = self.first[documents]
        counts = self.first[documents + 1] - begins
        return range_places(begins, counts), counts.cumsum() - counts

    def best(self, matches: Matches) -> Matches:
        """Return the match of each text: that of its best passage."""
        if self.texts is None or not len(matches.documents):
            return matches
        texts = self.texts[matches.documents].astype(np.int64)
        starts = run_starts(texts)
        return Matches(texts[starts], np.maximum.reduceat(matches.strengths, starts))


class Passages:
    """The passages of all texts.

    Args:
        texts: All texts, by document number.
        lexicon: The lexicon of whole texts.
        threads: Their order.
    """

    def __init__(self, texts: Payloads[BlockText], lexicon: Lexicon, threads: Threads) -> None:
        self._known = texts
        self._whole = lexicon
        self._threads = threads
        self._lexicon: Lexicon | None = None
        """Passages as documents; None while every text is one."""
        self._seen = 0
        """Number of texts processed already."""
        self._ends = GrowableArray(np.int64)
        """By text: how many passages there are up to its last one."""
        self._links: Rows = np.empty((0, 2 * STEPS), dtype=np.int32)
        self._extending = Lock()
        self._masks: tuple[tuple[Mask, Searched], ...] = ()
        """The last masks of texts, and what was searched under each."""

    def frozen(self) -> ArrayBundle:
        """Return everything but the texts as arrays, after processing new ones."""
        self.settle()
        if self._lexicon is None:
            return {"seen": np.array([self._seen])}
        return nested(
            lexicon=self._lexicon.frozen(),
            cut={"ends": self._ends.values, "links": self._links[: len(self._lexicon)].copy()},
        )

    @classmethod
    def thawed(
        cls,
        parts: Mapping[str, NDArray[Any]],
        texts: Payloads[BlockText],
        lexicon: Lexicon,
        threads: Threads,
    ) -> Passages:
        """Return the passages that were frozen.

        Args:
            parts: From ``frozen``.
            texts: The texts at that time.
            lexicon: Their lexicon.
            threads: Their order.
        """
        found = cls(texts, lexicon, threads)
        if "seen" in parts:
            found._seen = int(parts["seen"][0])
            return found
        cut = within(parts, "cut")
        found._lexicon = Lexicon.thawed(within(parts, "lexicon"))
        found._ends = GrowableArray.thawed(cut["ends"])
        found._seen = len(cut["ends"])
        found._links = cut["links"]
        return found

    def under(self, alive: Mask) -> Searched:
        """Return what is searched in the texts that are alive.

        Args:
            alive: One truth value per text, as for ``Lexicon.counts``.
        """
        self.settle()
        lexicon = self._lexicon
        if lexicon is None:
            return Searched(lexicon=self._whole, alive=alive, links=self._threads.links)
        for known, found in self._masks:
            if known is alive:
                return found
        first = np.concatenate(([0], self._ends.values))
        texts = np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))
        searched = Searched(
            lexicon=lexicon,
            alive=alive[texts[: first[len(alive)]]],
            links=self._links[: len(lexicon)],
            first=first,
            texts=texts,
        )
        self._masks = ((alive, searched), *self._masks)[:MASKS_KEPT]
        return searched

    def count(self, documents: int) -> int:
        """Return how many units are searched in the first *documents* texts."""
        self.settle()
        if self._lexicon is None or not documents:
            return documents
        return int(self._ends.values[documents - 1])

    def settle(self) -> None:
        """Cut the texts added since. Every search does so first."""
        before = self._threads.links[:, 0]
        if self._seen == len(before):
            return
        with self._extending:
            before = self._threads.links[:, 0]
            self._extend(before)
            self._seen = len(before)  # last: it is what other threads look at

    def _extend(self, before: Rows) -> None:
        """Cut the texts not seen yet.

        Args:
            before: The text before each in its sitting, or ``NONE``.
        """
        fresh, lexicon, first = self._cut(self._seen, len(before)), self._lexicon, self._seen
        if lexicon is None:
            if all(len(each) == 1 for each in fresh):
                return
            fresh, first = self._cut(0, len(before)), 0
            lexicon = Lexicon(self._whole.analyser, ordered=False)
        self._links = widened(self._links, len(lexicon) + sum(map(len, fresh)))
        for document, parts in enumerate(fresh, start=first):
            earlier = int(before[document])
            last = NONE if earlier == NONE else int(self._ends.values[earlier]) - 1
            for part in parts:
                passage = lexicon.add(part)
                if last != NONE:
                    link(self._links, last, passage)
                last = passage
            self._ends.append(last + 1)
        self._lexicon = lexicon

    def _cut(self, first: int, last: int) -> list[list[str | None]]:
        """Return the passages of some texts; an erased text is an empty one."""
        return [
            [*passages(text.content)] if isinstance(text, BlockText) else [None]
            for text in islice(self._known.since(first), last - first)
        ]
