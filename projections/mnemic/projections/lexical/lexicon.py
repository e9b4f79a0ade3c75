"""The lexicon: a BM25 index of texts, with match strengths as a share of the maximum.

1. A document is a text, numbered by the order in which it was added. Its text never changes.
2. A search sees the documents under its mask and nothing else: their number, their average length,
   and how many of them hold a term are counted at that time. A search as of an earlier hour is
   therefore a search in the lexicon of that hour, bit for bit.
3. Texts queue until the first search or checkpoint. Opening a log in order to write analyses
   nothing. The first search that needs them analyses them, one thread at a time; other searches
   take no lock, since what they read is never changed.
4. A document may have further terms, with a tag, by which it is found in its language
   (``languages.words``). They count neither for its length nor for its rarity nor for its phrases:
   a search for the others is one in a lexicon without them.
5. A document's match is a sum of integers (units of 2**-30), so the order in which terms, postings
   or documents are added does not matter.

For each term of the query that a document holds, with the live documents' count N and mean
length, the term's document frequency df, its count tf in the document and the document's length:

    idf   = ln(1 + (N - df + 1/2) / (df + 1/2))
    match = idf * (K1 + 1) * tf / (tf + K1 * (1 - B + B * length / mean length))

A term's match stays below idf * (K1 + 1) however often the document repeats it. The sum of these
bounds, over all terms of the query including those that no document holds, is the maximum that a
document can reach. Strength is the match as a share of that: it is comparable across
queries and does not depend on the other candidates.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with the idf of
Lucene, which stays above 0 for a term that most documents hold.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.numeric.arithmetic import NANO, Integers, ln, share
from mnemic.projections.lexical.languages import words
from mnemic.projections.lexical.languages.stop_words import ENGLISH
from mnemic.projections.lexical.languages.words import Variants
from mnemic.projections.lexical.postings import (
    NONE,
    Mask,
    Postings,
    Stock,
    any_of,
)
from mnemic.projections.lexical.term_counts import (
    GRID,
    K1,
    WHOLE,
    Matches,
    TermCounts,
)
from mnemic.projections.lexical.term_order import TermOrder
from mnemic.projections.storage.array_bundle import (
    ArrayBundle,
    nested,
    packed,
    unpacked,
    within,
)
from mnemic.projections.storage.extension_lock import Lock
from mnemic.projections.storage.growable_array import GrowableArray
from mnemic.projections.storage.payloads import Payloads
from mnemic.projections.storage.sorted_arrays import among, distinct, run_starts

RARITY_DAMPING: Final = 3
"""Number of terms added to the length of a text, so that short texts are damped."""
HALF: Final = NANO // 2
LATE_MAX: Final = 1024
"""Minimum number of queued texts for rebuilding the stock instead of extending postings."""
LATE_SHARE: Final = 4
"""Queued texts as a share of the others (one in this many) from which the stock is rebuilt."""
MASKS_KEPT: Final = 2
"""Masks whose live documents stay counted. A recall takes two if some zones have a share only."""
FEW: Final = 64
"""Up to this many texts that hold one term are not looked up among those that hold another."""


class Lexicon:
    """An inverted index over texts, added one by one and searched under a mask.

    One thread adds; any may search meanwhile.
    """

    def __init__(
        self,
        analyser: str = words.NAME,
        *,
        texts: Payloads[BlockText] | None = None,
        ordered: bool = True,
    ) -> None:
        """Start empty.

        Args:
            analyser: Name of the recipe from text to terms.
            texts: Existing storage of the texts that are added here, by document number.
            ordered: Whether to keep the order of the terms, for ``phrases``.
        Raises:
            RecipeRetired: This release has no such recipe.
        """
        self.analyser = analyser
        self._analyse = words.analyser(analyser)
        self._languages: Mapping[str, int] = {}
        """The first document in each language in Latin script but English, in this order."""
        self._texts = texts
        self._queue: list[str | None] = []
        """Texts not analysed yet that are not stored elsewhere. Of the others only the terms are
        kept."""
        self._added = 0
        """Number of documents, analysed or not."""
        self._extending = Lock()
        self._order = TermOrder() if ordered else None
        self._lengths: Integers = np.zeros(0, dtype=np.int64)
        """Terms in each analysed document."""
        self._postings: dict[str, Postings] = {}
        """Postings of the terms that grew, or were looked up, since the stock was built."""
        self._stock = Stock()
        self._stocked = 0
        """Number of documents in the stock."""
        self._rarity = GrowableArray(np.int64)
        self._recorded: dict[int, int] = {}
        """Rarities that were recorded, of documents not analysed yet."""
        self._fixed = GrowableArray(np.int32)
        """Documents whose rarity was recorded, so that no erasure changes it."""
        self._trusted: tuple[int, Integers] | None = None
        """The last requested trust, and the rarities by it of the documents known then."""
        self._incidences: tuple[int, Integers, Integers] | None = None
        """Cache of ``incidences``, and the number of documents then."""
        self._masks: tuple[tuple[Mask, int, int], ...] = ()
        """The mask of the last search, how many documents it selects, and the sum of their lengths.
        """

    def frozen(self) -> ArrayBundle:
        """Return everything as arrays, after analysing the queue."""
        self.settle()
        with self._extending:
            stock = self._settled()
        return nested(
            recipe={
                "analyser": packed(self.analyser),
                "languages": packed(self._languages),
            },
            stock=stock.frozen(),
            documents={
                "lengths": self._lengths.astype(np.int32),
                "rarity": self._rarity.values.astype(np.int32),
                "recorded": distinct(self._fixed.values)[0],
            },
            order={} if self._order is None else self._order.frozen(),
        )

    @classmethod
    def thawed(
        cls, parts: Mapping[str, NDArray[Any]], texts: Payloads[BlockText] | None = None
    ) -> Lexicon:
        """Return the lexicon that was frozen.

        Args:
            parts: From ``frozen``.
            texts: As for a new one.
        Raises:
            RecipeRetired: This release does not have its analyser.
        """
        order = within(parts, "order")
        lexicon = cls(unpacked(parts["recipe/analyser"]), texts=texts, ordered=bool(order))
        lexicon._languages = unpacked(parts["recipe/languages"])
        if order:
            lexicon._order = TermOrder.thawed(order)
        documents = within(parts, "documents")
        lexicon._stock = Stock.thawed(within(parts, "stock"))
        lexicon._lengths = documents["lengths"].astype(np.int64)
        lexicon._stocked = lexicon._added = len(lexicon._lengths)
        lexicon._rarity = GrowableArray.thawed(documents["rarity"].astype(np.int64))
        lexicon._fixed = GrowableArray.thawed(documents["recorded"])
        return lexicon

    def __len__(self) -> int:
        """Return how many documents were added, erased ones included."""
        return self._added

    def add(self, text: str | None) -> int:
        """Queue *text* and return its document number; None represents an erased text."""
        if self._texts is None:
            self._queue.append(text)
        self._added += 1
        return self._added - 1

    def record_rarity(self, document: int, rarity: int) -> None:
        """Use a rarity that was computed before texts were erased, in place of one computed now."""
        self._fixed.append(document)
        if document < self._lengths.size and int(self._rarity.values[document]) == rarity:
            return
        self._recorded[document] = rarity

    def _correct(self) -> None:
        """Replace the rarities of analysed documents by those that were recorded."""
        known = [each for each in list(self._recorded) if each < self._lengths.size]
        if known:
            values = self._rarity.values.copy()
            values[known] = [self._recorded[each] for each in known]
            self._rarity, self._trusted = GrowableArray.thawed(values), None
            for each in known:
                del self._recorded[each]

    @property
    def analysed(self) -> int:
        """Number of documents that were analysed; the others are once a search needs them."""
        return self._lengths.size

    @property
    def recorded(self) -> int:
        """Number of rarities that were recorded."""
        return len(self._fixed)

    def over(self, texts: Payloads[BlockText]) -> Lexicon:
        """Return a lexicon of the same number of documents, with other texts, none analysed yet."""
        lexicon = Lexicon(self.analyser, texts=texts)
        lexicon._added, lexicon._fixed = self._added, GrowableArray.thawed(self._fixed.values)
        lexicon._recorded = dict(self._recorded)
        return lexicon

    def settle(self) -> None:
        """Analyse the queue. Every search does so first."""
        if self._lengths.size == self._added and not self._recorded:
            return
        with self._extending:
            first, last = self._lengths.size, self._added
            if last - first > max(first // LATE_SHARE, LATE_MAX):
                self._restock(self._queued(first, last))
            elif first < last:
                self._extend(self._queued(first, last))
            del self._queue[: last - first]
            self._correct()

    def _queued(self, first: int, last: int) -> Iterator[str | None]:
        """Yield the texts of the documents from *first* up to but not including *last*."""
        if self._texts is None:
            yield from self._queue[: last - first]
            return
        for text in islice(self._texts.since(first), last - first):
            yield text.content if isinstance(text, BlockText) else None

    def _restock(self, texts: Iterable[str | None]) -> None:
        """Rebuild the stock from everything, because many texts are queued."""
        first = self._lengths.size
        fresh, lengths = self._settled().restocking(), array("i")
        for document, text in enumerate(texts, start=first):
            terms, others = self._analysed(document, text)
            lengths.append(len(terms))
            counts = Counter(terms)
            distinct = len(counts)
            counts.update(others)
            self._rarity.append(self._recalled(document, fresh.add(counts)[:distinct]))
            self._append_order(terms)
        self._stock = fresh.done(first)
        self._postings = {}  # after the stock: other threads look into the postings first
        self._stocked = first + len(lengths)
        self._lengths = np.concatenate((self._lengths, np.array(lengths, dtype=np.int64)))

    def _extend(self, texts: Iterable[str | None]) -> None:
        """Extend the postings of each term."""
        fresh: defaultdict[str, list[int]] = defaultdict(list)
        lengths: list[int] = []
        for document, text in enumerate(texts, start=self._lengths.size):
            terms, others = self._analysed(document, text)
            lengths.append(len(terms))
            counts = Counter(terms)
            held = [self._of(term).size + len(fresh[term]) // 2 for term in counts]
            self._rarity.append(self._recalled(document, held))
            counts.update(others)
            for term, count in counts.items():
                fresh[term] += (document, count)
            self._append_order(terms)
        for term, pairs in fresh.items():
            known = self._of(term)
            if known is NONE:
                known = self._postings[term] = Postings()
            known.extend(pairs)
        self._lengths = np.concatenate((self._lengths, np.array(lengths, dtype=np.int64)))

    def _analysed(self, document: int, text: str | None) -> tuple[list[str], list[str]]:
        """Return the terms of the text of a document without tag, and those with one."""
        if text is None:
            return [], []
        found = self._analyse(text)
        if found.others and found.language not in {ENGLISH, *self._languages}:
            # Another object, since other threads may be reading this one.
            self._languages = {**self._languages, found.language: document}
        return found.terms, found.others

    def _append_order(self, terms: Sequence[str]) -> None:
        if self._order is not None:
            self._order.append(terms)

    def _recalled(self, document: int, held: Sequence[int]) -> int:
        """Return the rarity of a document: as recorded, or computed."""
        recorded = self._recorded.pop(document, None)
        return _rarity(document, held) if recorded is None else recorded

    def _of(self, term: str) -> Postings:
        """Return the postings of *term*, without the queue."""
        postings = self._postings  # before the stock, which is replaced first
        found, stock = postings.get(term), self._stock
        if found is not None or term not in stock:
            return found or NONE
        # Two threads may ask at once; the first copy stays, since it may have grown already.
        return postings.setdefault(term, Postings(*stock.of(term)))

    def _settled(self) -> Stock:
        """Return the postings of everything that was analysed, terms in the order of first use.

        The extension lock is held.
        """
        if self._stocked == self._lengths.size:
            return self._stock
        return self._stock.grown(self._postings.copy())

    @property
    def lengths(self) -> Integers:
        """Number of terms of each document."""
        self.settle()
        return self._lengths

    @property
    def rarity(self) -> Integers:
        """How unusual the words of each document were when it was added, nano-units in [0, 1].

        With k documents before it, U distinct terms, and for each of them the number df of those
        documents that hold it:

            rarity = sum of ln((k + 1) / (df + 1/2)) / ((U + 3) * ln(2k + 2))

        The sum is that of the inverse frequencies, the divisor the maximum for U + 3 terms never
        used before; so one rare word alone does not make a text unusual. It is fixed when
        a document is added, and later ones do not change it: a view of the past reads the same.
        """
        self.settle()
        return self._rarity.values

    def rarity_without(self, repeating: Integers, document: int, text: str | None) -> int:
        """Return the rarity of a document as if some of those before it had not been added.

        One that was recorded stays as it is.

        Args:
            repeating: The documents that are not counted, ascending.
            document: The document.
            text: Its text.
        """
        rarity = self.rarity
        left_out = repeating[: repeating.searchsorted(document)]
        if not len(left_out) or (self._fixed.values == document).any():
            return int(rarity[document])
        held = []
        for term in dict.fromkeys(self._analysed(document, text)[0]):
            documents, _ = self._of(term).rows
            before = documents[: documents.searchsorted(document)]
            held.append(len(before) - int(among(left_out, before).sum()))
        return _rarity(document - len(left_out), held)

    def trusted_rarity(self, trust: int, repeating: Integers | None = None) -> Integers:
        """Return the rarity of each document, trusted as far as there was something to compare.

        While few texts are known, every word is new and rarity is no more than length. So with k
        documents before it:

            rarity' = 1/2 + (rarity - 1/2) * k / (k + trust)

        in whole nano-units, rounded down. A text without terms stays at 0. Like ``rarity`` it is
        fixed when a document is added.

        Args:
            trust: Number of documents at which a rarity counts half; 0: rarity itself.
            repeating: Documents that are not counted before others, ascending; None: none.
        """
        rarity = self.rarity
        if not trust:
            return rarity
        if repeating is not None:
            every = np.arange(len(rarity), dtype=np.int64)
            return trusted(rarity, every - repeating.searchsorted(every), trust)
        trusted_before = self._trusted
        known = rarity[:0]
        if trusted_before is not None and trusted_before[0] == trust:
            known = trusted_before[1]
        if len(known) < len(rarity):
            before = np.arange(len(known), len(rarity), dtype=np.int64)
            fresh = trusted(rarity[len(known) :], before, trust)
            known = np.concatenate((known, fresh))
            self._trusted = trust, known
        return known

    def incidences(self) -> tuple[Integers, Integers]:
        """Return which document holds which term, as two columns: documents, and terms by number.

        Terms with a tag are left out, since they repeat others. The others are numbered in the
        order of their first use. Kept until a document is added.
        """
        self.settle()
        found = self._incidences
        if found is None or found[0] != self._lengths.size:
            with self._extending:
                stock, count = self._settled(), self._lengths.size
            terms = np.repeat(np.arange(len(stock.holders)), stock.holders)
            documents = stock.documents.astype(np.int64)
            plain = np.array([not words.is_tagged(term) for term in stock.terms], dtype=np.bool_)
            if not plain.all():
                kept, number = plain[terms], np.cumsum(plain) - 1
                documents, terms = documents[kept], number[terms[kept]]
            found = self._incidences = count, documents, terms
        return found[1:]

    def wording(self, query: str) -> list[str]:
        """Return the terms of *query* without tag in order, repetitions kept."""
        return words.plain_terms(query)

    def terms(self, query: str) -> list[str]:
        """Return the terms of *query* without tag, each once, in order."""
        return list(dict.fromkeys(self.wording(query)))

    def asked(self, query: str, documents: int) -> list[Variants]:
        """Return the terms of *query*, each by its variants in the languages of the documents.

        Args:
            query: The question.
            documents: Number of documents that it is put to, the first ones. The languages of later
                ones do not count, so that a view of the past reads the same.
        """
        self.settle()
        first = self._languages.items()
        return words.asked(query, [language for language, at in first if at < documents])

    def phrases(self, wording: Sequence[str]) -> Matches:
        """Return how much of the wording of a query each document repeats, dead ones included.

        That is the share of the pairs of neighbouring terms in the query, each counted once, that
        are neighbours in the document too, in the same order. Stop words are no terms, so what
        is left of "signed in at the office" are two neighbours.

        Args:
            wording: As ``wording`` returns it.
        Raises:
            ValueError: The order of terms is not kept.
        """
        if self._order is None:
            raise ValueError("the order of terms is not kept")
        self.settle()
        pairs = [*dict.fromkeys(pairwise(wording))]
        documents = {term: self._of(term).rows[0] for term in wording}
        held, holding = [], []
        for pair in pairs:
            rarer, other = documents[pair[0]], documents[pair[1]]
            if len(other) < len(rarer):
                rarer, other = other, rarer
            # The texts of a few are compared as fast as they are looked up.
            some = rarer if len(rarer) <= FEW else rarer[among(other, rarer)]
            if len(some) and len(other):
                held.append(pair)
                holding.append(some)
        nothing = self._lengths[:0]
        if not held:
            return Matches(nothing, nothing)
        found = self._order.side_by_side(held, holding).astype(np.int64)
        if not len(found):
            return Matches(nothing, nothing)
        found.sort()
        starts = run_starts(found)
        times = np.concatenate((starts[1:], (len(found),))) - starts
        shares = [share(count, len(pairs)) for count in range(len(pairs) + 1)]
        return Matches(found[starts], np.array(shares, dtype=np.int64)[times])

    def counts(
        self,
        terms: Sequence[str | Variants],
        alive: Mask,
        *,
        recorded: Sequence[int] = (),
        held: dict[Any, tuple[Integers, Integers]] | None = None,
    ) -> TermCounts:
        """Return how often each of *terms* occurs in each document, excluding dead ones.

        Args:
            terms: As ``terms`` or ``asked`` returns them. Of several variants in a document, the
                most frequent one counts.
            alive: As for `search`; it is not written to afterwards.
            recorded: The statistics of an earlier count of the same terms, to be used in place of
                those of the remaining texts.
            held: Cache of the documents that hold each term, and how often, under this mask.
        Raises:
            ValueError: *alive* is longer than the documents added.
        """
        if alive.size > len(self):
            raise ValueError(f"a mask of {alive.size} for {len(self)} documents")
        self.settle()
        found = []
        for term in terms:
            known = None if held is None else held.get(term)
            if known is None:
                known = self._held(term, alive)
                if held is not None:
                    held[term] = known
            found.append(known)
        statistics = tuple(recorded) or (
            *self._under(alive),
            *[documents.size for documents, _ in found],
        )
        live, total, *sizes = statistics
        return TermCounts(
            documents=tuple([documents for documents, _ in found]),
            counts=tuple([counts * WHOLE for _, counts in found]),
            bounds=tuple([_inverse_frequency(live, size) * (K1 + 1.0) for size in sizes]),
            lengths=self._lengths[: alive.size],
            mean_length=total / max(live, 1) or 1.0,
            statistics=statistics,
        )

    def _held(self, term: str | Variants, alive: Mask) -> tuple[Integers, Integers]:
        """Return the live documents that hold *term*, or a variant, and how often they do."""
        if isinstance(term, str):
            return self._of(term).under(alive)
        return any_of([self._of(variant) for variant in term], alive)

    def _under(self, alive: Mask) -> tuple[int, int]:
        """Return how many documents are alive, and the sum of their lengths.

        The results for the last arrays are kept; an array must not be written to in between.
        """
        for known, live, total in self._masks:
            if known is alive:
                return live, total
        live = int(np.count_nonzero(alive))
        total = int(self._lengths[: alive.size][alive].sum())
        self._masks = ((alive, live, total), *self._masks)[:MASKS_KEPT]
        return live, total

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


def trusted(rarity: Integers, before: Integers, trust: int) -> Integers:
    """Return rarities drawn towards 1/2; see ``Lexicon.trusted_rarity``.

    Args:
        rarity: Nano-units, [0, 1].
        before: Number of documents before each.
        trust: As there.
    """
    if not trust:
        return rarity
    drawn = HALF + (rarity - HALF) * before // (before + trust)
    return np.where(rarity > 0, drawn, 0)


def _rarity(before: int, held: Sequence[int]) -> int:
    """Return how unusual a text is; see ``Lexicon.rarity``.

    Args:
        before: Number of documents before it.
        held: For each of its distinct terms, how many of those hold it.
    """
    if not held:
        return 0
    total = len(held) * on_grid(before + 1.0) - sum(on_grid(count + 0.5) for count in held)
    return share(total, (len(held) + RARITY_DAMPING) * on_grid(2.0 * before + 2.0))


@lru_cache(maxsize=1 << 16)
def on_grid(number: float) -> int:
    """Return ln(number) in grid units: an integer, so that sums do not depend on the order."""
    return round(ln(number) * GRID)


@lru_cache(maxsize=1 << 12)
def _inverse_frequency(live: int, frequency: int) -> float:
    return ln(1.0 + (live - frequency + 0.5) / (frequency + 0.5))
