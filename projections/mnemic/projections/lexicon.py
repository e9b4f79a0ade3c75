"""Which texts share words with a question, and how much of it they answer: BM25, kept as a fold.

1. A document is a text, numbered by the order in which it was added. Its text never changes.
2. A search sees the documents under its mask and nothing else: how many they are, how long on
   average, and how many hold a term are counted then and there. A search as of an earlier hour is
   therefore a search in the lexicon that stood at that hour, bit for bit.
3. Texts queue until the first search or checkpoint. Opening a log in order to write analyses
   nothing.
4. A document's match is a sum of whole numbers (units of 2**-30), so it does not matter in which
   order terms, postings or documents came.

For each term of the query that a document holds, with the live documents' count N and mean
length, the term's document frequency df, its count tf in the document and the document's length:

    idf   = ln(1 + (N - df + 1/2) / (df + 1/2))
    match = idf * (K1 + 1) * tf / (tf + K1 * (1 - B + B * length / mean length))

A term's match stays below idf * (K1 + 1) however often the document repeats it. The sum of these
bounds, over all terms of the query and also those that no document holds, is what a document that
answers everything would reach. Strength is the match as a share of that: it compares across
queries and owes nothing to the other candidates.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with the idf of
Lucene, which stays above 0 for a term that most documents hold.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import Integers, ln, share
from mnemic.kernel.texts import BlockText
from mnemic.projections import analysis
from mnemic.projections.columns import Series
from mnemic.projections.parts import Parts, nested, packed, unpacked, within
from mnemic.projections.payloads import Payloads
from mnemic.projections.postings import NONE, Mask, Postings, Stock
from mnemic.projections.term_counts import GRID, K1, WHOLE, TermCounts

RARITY_DAMPING: Final = 3
"""Terms that a short text is treated as having besides its own."""
LATE_MAX: Final = 1024
"""Texts that are put behind the others term by term, at least."""
LATE_SHARE: Final = 4
"""Which part of the others they may be."""


class Queue:
    """Texts that wait, in order."""

    def __init__(self) -> None:
        """Start empty."""
        self._texts: list[str | None] = []

    def append(self, text: str | None) -> None:
        """Put *text* behind the others."""
        self._texts.append(text)

    def __len__(self) -> int:
        """Return how many texts wait."""
        return len(self._texts)

    def __iter__(self) -> Iterator[str | None]:
        """Yield all, first in first."""
        return iter(self._texts)

    def clear(self) -> None:
        """Let none wait any longer."""
        self._texts = []


class Owed(Queue):
    """Texts that wait where they are kept anyway: a long log brings very many.

    Args:
        kept: Where each text stands before it is put here, by its document number.
    """

    def __init__(self, kept: Payloads[BlockText]) -> None:
        """Start with none of them waiting."""
        self._kept = kept
        self._count = 0

    def append(self, text: str | None) -> None:  # noqa: ARG002 - it is kept already
        """Let the next one wait."""
        self._count += 1

    def __len__(self) -> int:
        """Return how many texts wait."""
        return self._count

    def __iter__(self) -> Iterator[str | None]:
        """Yield all, first in first."""
        for text in self._kept.since(len(self._kept) - self._count):
            yield text.content if isinstance(text, BlockText) else None

    def clear(self) -> None:
        """Let none wait any longer."""
        self._count = 0


class Lexicon:
    """An inverted index over texts, added one by one and searched under a mask.

    Whoever shares one between threads calls `settle` first, where it writes: until the next `add`,
    searches only read.
    """

    def __init__(
        self, analyser: str = analysis.ANALYSER, *, texts: Payloads[BlockText] | None = None
    ) -> None:
        """Start empty.

        Args:
            analyser: Name of the recipe from text to terms, for documents and queries alike.
            texts: Where somebody else keeps the texts that are added here, by document number.
        Raises:
            RecipeRetired: This release carries no such recipe.
        """
        self.analyser = analyser
        self._analyse = analysis.analyser(analyser)
        self._queue = Queue() if texts is None else Owed(texts)
        """Texts that are not analysed yet. Of the others nothing is kept but their terms."""
        self._lengths: Integers = np.zeros(0, dtype=np.int64)
        """Terms in each analysed document."""
        self._postings: dict[str, Postings] = {}
        """Those of the terms that grew, or were asked for, since the stock was made."""
        self._stock = Stock()
        self._stocked = 0
        """Documents that are in the stock."""
        self._rarity = Series(np.int64)
        self._incidences: tuple[Integers, Integers] | None = None
        self._mask: tuple[Mask, int, float] | None = None
        """The mask of the last search, how many documents it lets in, and their mean length."""

    def frozen(self) -> Parts:
        """Return everything as arrays; the queue is analysed for it."""
        return nested(
            recipe={"analyser": packed(self.analyser)},
            stock=self._whole().frozen(),
            documents={
                "lengths": self._lengths.astype(np.int32),
                "rarity": self._rarity.values.astype(np.int32),
            },
        )

    @classmethod
    def thawed(
        cls, parts: Mapping[str, NDArray[Any]], texts: Payloads[BlockText] | None = None
    ) -> Lexicon:
        """Return the lexicon that these arrays were made of.

        Args:
            parts: From ``frozen``.
            texts: As for a new one.
        Raises:
            RecipeRetired: This release does not carry its analyser.
        """
        lexicon = cls(unpacked(parts["recipe/analyser"]), texts=texts)
        documents = within(parts, "documents")
        lexicon._stock = Stock.thawed(within(parts, "stock"))
        lexicon._lengths = documents["lengths"].astype(np.int64)
        lexicon._stocked = len(lexicon._lengths)
        lexicon._rarity = Series.thawed(documents["rarity"].astype(np.int64))
        return lexicon

    def __len__(self) -> int:
        """Return how many documents were added, erased ones included."""
        return self._lengths.size + len(self._queue)

    def add(self, text: str | None) -> int:
        """Queue *text* and return its document number; None stands for an erased text."""
        self._queue.append(text)
        return len(self) - 1

    def settle(self) -> None:
        """Analyse the queue. Every search does so first."""
        if not self._queue:
            return
        self._incidences = None
        if len(self._queue) > max(self._lengths.size // LATE_SHARE, LATE_MAX):
            self._restock()
        else:
            self._extend()
        self._queue.clear()

    def _restock(self) -> None:
        """Make a stock of everything: what is queued is much."""
        first = self._lengths.size
        fresh, lengths = self._settled().restocking(), array("i")
        for document, text in enumerate(self._queue, start=first):
            terms = self._analyse(text) if text is not None else []
            lengths.append(len(terms))
            self._rarity.append(_rarity(document, fresh.add(Counter(terms))))
        self._stock, self._postings = fresh.done(first), {}
        self._lengths = np.concatenate((self._lengths, np.array(lengths, dtype=np.int64)))
        self._stocked = self._lengths.size

    def _extend(self) -> None:
        """Let the postings of each term grow."""
        fresh: defaultdict[str, list[int]] = defaultdict(list)
        lengths: list[int] = []
        for document, text in enumerate(self._queue, start=self._lengths.size):
            terms = self._analyse(text) if text is not None else []
            lengths.append(len(terms))
            counts = Counter(terms)
            held = [self._of(term).size + len(fresh[term]) // 2 for term in counts]
            self._rarity.append(_rarity(document, held))
            for term, count in counts.items():
                fresh[term] += (document, count)
        for term, pairs in fresh.items():
            known = self._of(term)
            if known is NONE:
                known = self._postings[term] = Postings()
            known.extend(pairs)
        self._lengths = np.concatenate((self._lengths, np.array(lengths, dtype=np.int64)))

    def _of(self, term: str) -> Postings:
        """Return the postings of *term*, the queue left out."""
        found = self._postings.get(term)
        if found is not None or term not in self._stock:
            return found or NONE
        # Two threads may ask at once; the first copy stays, since it may have grown already.
        return self._postings.setdefault(term, Postings(*self._stock.of(term)))

    def _whole(self) -> Stock:
        """Return the postings of everything that was added, terms in the order of first use."""
        self.settle()
        return self._settled()

    def _settled(self) -> Stock:
        """Return the postings of everything that was analysed."""
        if self._stocked == self._lengths.size:
            return self._stock
        return self._stock.grown(self._postings)

    @property
    def rarity(self) -> Integers:
        """How unusual the words of each document were when it was added, nano-units in [0, 1].

        With k documents before it, U distinct terms, and for each of them the number df of those
        documents that hold it:

            rarity = sum of ln((k + 1) / (df + 1/2)) / ((U + 3) * ln(2k + 2))

        The sum is that of the inverse frequencies, the divisor what U + 3 terms that nobody used
        before would reach; so one rare word alone does not make a text unusual. It is settled when
        a document is added, and later ones do not move it: a view of the past reads the same.
        """
        self.settle()
        return self._rarity.values

    def incidences(self) -> tuple[Integers, Integers]:
        """Return which document holds which term, as two columns: documents, and terms by number.

        Terms are numbered in the order of their first use. Kept until a document is added.
        """
        self.settle()
        if self._incidences is None:
            stock = self._whole()
            terms = np.repeat(np.arange(len(stock.holders)), stock.holders)
            self._incidences = stock.documents.astype(np.int64), terms
        return self._incidences

    def terms(self, query: str) -> list[str]:
        """Return the terms of *query*, each once, in order."""
        return list(dict.fromkeys(self._analyse(query)))

    def counts(self, terms: Sequence[str], alive: Mask) -> TermCounts:
        """Return how often each of *terms* stands in each document, dead ones left out.

        Args:
            terms: As ``terms`` returns them.
            alive: As for `search`; it is not written to afterwards.
        Raises:
            ValueError: *alive* is longer than the documents added.
        """
        if alive.size > len(self):
            raise ValueError(f"a mask of {alive.size} for {len(self)} documents")
        self.settle()
        live, mean_length = self._under(alive)
        found = [self._of(term).under(alive) for term in terms]
        sizes = (documents.size for documents, _ in found)
        return TermCounts(
            documents=tuple(documents for documents, _ in found),
            counts=tuple(counts * WHOLE for _, counts in found),
            bounds=tuple(_inverse_frequency(live, size) * (K1 + 1.0) for size in sizes),
            lengths=self._lengths,
            mean_length=mean_length,
        )

    def _under(self, alive: Mask) -> tuple[int, float]:
        """Return how many documents are alive, and their mean length.

        Who asks twice about the same array, which is not written to in between, is told the same.
        """
        known = self._mask
        if known is None or known[0] is not alive:
            live = int(np.count_nonzero(alive))
            total = int(self._lengths[: alive.size][alive].sum())
            known = self._mask = alive, live, total / max(live, 1) or 1.0
        return known[1:]

    def search(self, query: str, alive: Mask) -> tuple[Integers, Integers]:
        """Return the live documents that hold a term of *query*, and how strongly each matches.

        Args:
            query: Any text; repeating a word in it changes nothing.
            alive: One truth value per document. It may be shorter than the documents added:
                those beyond it are not alive.
        Returns:
            Document numbers, ascending, and strengths in nano-units. Range: [0, NANO].
        Raises:
            ValueError: *alive* is longer than the documents added.
        """
        found = self.counts(self.terms(query), alive)
        held = np.zeros(alive.size, dtype=np.bool_)
        for documents in found.documents:
            held[documents] = True
        matching = np.flatnonzero(held)
        return matching, found.strengths(matching)

    def strengths(self, query: str, alive: Mask, documents: Integers) -> Integers:
        """Return how strongly each of *documents* matches, in the order given.

        Args:
            query: As for `search`.
            alive: As for `search`.
            documents: Document numbers, >= 0.
        Returns:
            Strengths in nano-units; 0 for a document that holds no term or is not alive.
        """
        inside = documents < alive.size
        found: Integers = np.zeros(documents.shape, dtype=np.int64)
        found[inside] = self.counts(self.terms(query), alive).strengths(documents[inside])
        return found


def _rarity(before: int, held: Sequence[int]) -> int:
    """Return how unusual a text is; see ``Lexicon.rarity``.

    Args:
        before: Documents before it.
        held: For each of its distinct terms, how many of them hold it.
    """
    if not held:
        return 0
    total = len(held) * _on_grid(before + 1.0) - sum(_on_grid(count + 0.5) for count in held)
    return share(total, (len(held) + RARITY_DAMPING) * _on_grid(2.0 * before + 2.0))


@lru_cache(maxsize=1 << 16)
def _on_grid(number: float) -> int:
    """Return ln(number) in grid units: whole numbers, so that their order of adding is free."""
    return round(ln(number) * GRID)


def _inverse_frequency(live: int, frequency: int) -> float:
    return ln(1.0 + (live - frequency + 0.5) / (frequency + 0.5))
