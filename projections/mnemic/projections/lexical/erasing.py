"""A lexicon without some of its texts, as if they had been erased before they were added.

Works on the arrays of ``Lexicon.frozen`` and writes to none of them. Nothing is analysed but the
erased texts, and those in which one of their words is used first then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import Integers, share_each
from mnemic.projections.lexical.languages import words
from mnemic.projections.lexical.lexicon import RARITY_DAMPING, on_grid
from mnemic.projections.lexical.postings import BETWEEN
from mnemic.projections.storage.array_bundle import ArrayBundle, packed, unpacked
from mnemic.projections.storage.first_use import in_first_use
from mnemic.projections.storage.ranges import range_places
from mnemic.projections.storage.sorted_arrays import among

TextOf = Callable[[int], str | None]
"""Returns the text of a document as it was before the erasure."""


def erased(
    parts: Mapping[str, NDArray[Any]],
    documents: Sequence[int],
    text_of: TextOf,
    *,
    dropped: Sequence[int] = (),
) -> ArrayBundle:
    """Return the parts of a lexicon in which some documents have no text.

    Args:
        parts: Those of the lexicon as it is.
        documents: Numbers of the documents whose texts are erased, ascending.
        text_of: Their texts, and those of the others.
        dropped: Which of *documents* leave no empty document behind either, ascending.
    """
    gone = np.array(documents, dtype=np.int64)
    stock = _Stock(parts, gone)
    stock.order_terms(text_of, words.analyser(unpacked(parts["recipe/analyser"])))
    languages = _languages(parts, stock, gone, text_of)
    lengths, rarity = parts["documents/lengths"].copy(), parts["documents/rarity"].copy()
    recorded = parts["documents/recorded"]
    lengths[gone] = 0
    rarity[gone[~among(recorded, gone)]] = 0
    stale, numbers = stock.sharing(len(lengths)), np.arange(len(lengths))
    if len(dropped):
        kept = np.ones(len(lengths), dtype=np.bool_)
        kept[list(dropped)] = False
        numbers = np.cumsum(kept) - 1
        stale[dropped[0] :] = True  # a rarity depends on the number of documents before, too
        lengths, rarity, stale = lengths[kept], rarity[kept], stale[kept]
        recorded = numbers[recorded].astype(np.int32)
    stale[recorded] = False
    stock.renumber(numbers)
    stock.write_rarities(rarity, np.flatnonzero(stale))
    found = {
        **parts,
        **stock.parts(),
        "documents/lengths": lengths,
        "documents/rarity": rarity,
        "documents/recorded": recorded,
        "recipe/languages": packed({name: int(numbers[at]) for name, at in languages}),
    }
    if "order/order" in parts:
        found.update(_order(parts, gone))
    return found


class _Stock:
    """The postings of all terms, without those of some documents."""

    def __init__(self, parts: Mapping[str, NDArray[Any]], gone: Integers) -> None:
        starts = parts["stock/starts"]
        documents = parts["stock/documents"]
        kept = np.ones(len(documents), dtype=np.bool_)
        if len(gone):
            candidates = (documents >= gone[0]) & (documents <= gone[-1])
            kept[candidates] = np.isin(documents[candidates], gone, invert=True)
        self._gone = gone
        before = np.concatenate(([0], np.cumsum(kept)))
        self.terms = parts["stock/terms"].tobytes().decode().split(BETWEEN)[: len(starts) - 1]
        self.starts = before[starts].astype(np.int64)
        self.documents = documents[kept]
        self.counts = parts["stock/counts"][kept]
        removed = np.flatnonzero(~kept)
        self._touched = np.unique(np.searchsorted(starts, removed, side="right") - 1)
        """Terms of the erased documents."""
        self._first = documents[starts[:-1][self._touched]]
        """The document in which each of these was used first."""

    @property
    def sizes(self) -> Integers:
        """Number of documents that hold each term."""
        sizes: Integers = np.diff(self.starts)
        return sizes

    def order_terms(self, text_of: TextOf, analyse: Callable[[str], words.Analysed]) -> None:
        """Bring the terms into the order of their first use, and drop those without any."""
        sizes = self.sizes
        used = np.flatnonzero(sizes)
        first = self.documents[self.starts[:-1][used]]
        moved = self._touched[np.isin(self._first, self._gone)]
        moved = moved[among(used, moved)]
        again = np.unique(first[np.searchsorted(used, moved)])
        rank = used.copy()
        for document in again.tolist():
            found = analyse(text_of(document) or "")
            place = {term: at for at, term in enumerate(dict.fromkeys(found.terms + found.others))}
            for at in np.flatnonzero(first == document).tolist():
                rank[at] = place[self.terms[int(used[at])]]
        order = used[np.lexsort((rank, first))] if len(again) else used
        if len(again) or len(used) < len(sizes):
            places = range_places(self.starts[:-1][order], sizes[order])
            self.documents, self.counts = self.documents[places], self.counts[places]
            self.starts = np.concatenate(([0], np.cumsum(sizes[order])))
            self.terms = [self.terms[each] for each in order.tolist()]
        numbers = np.full(len(sizes), -1)
        numbers[order] = np.arange(len(order))
        self._touched = numbers[self._touched[among(used, self._touched)]]

    def sharing(self, documents: int) -> NDArray[np.bool_]:
        """Return which documents hold a term without tag of an erased one, and may be later."""
        found = np.zeros(documents, dtype=np.bool_)
        for term in self._touched.tolist():
            if not words.is_tagged(self.terms[term]):
                held = self.documents[self.starts[term] : self.starts[term + 1]]
                found[held[held > self._gone[0]]] = True
        return found

    def renumber(self, numbers: Integers) -> None:
        """Give the documents other numbers, in the same order."""
        self.documents = numbers[self.documents].astype(np.int32)

    def write_rarities(self, rarity: NDArray[Any], documents: Integers) -> None:
        """Compute the rarities of *documents* again; see ``Lexicon.rarity``."""
        if not len(documents):
            return
        wanted = np.zeros(len(rarity), dtype=np.bool_)
        wanted[documents] = True
        at: Integers = np.flatnonzero(wanted[self.documents])
        terms = np.searchsorted(self.starts, at, side="right") - 1
        plain = np.array([not words.is_tagged(term) for term in self.terms], dtype=np.bool_)
        at, terms = at[plain[terms]], terms[plain[terms]]
        held, each = np.unique(at - self.starts[terms], return_inverse=True)
        common = np.array([on_grid(count + 0.5) for count in held.tolist()], dtype=np.int64)[each]
        distinct, sums = np.zeros((2, len(rarity)), dtype=np.int64)
        np.add.at(distinct, self.documents[at], 1)
        np.add.at(sums, self.documents[at], common)
        new = np.array([on_grid(document + 1.0) for document in documents.tolist()], dtype=np.int64)
        most = [on_grid(2.0 * document + 2.0) for document in documents.tolist()]
        counts = distinct[documents]
        total = np.where(counts > 0, counts * new - sums[documents], 0)
        rarity[documents] = share_each(total, (counts + RARITY_DAMPING) * np.array(most))

    def parts(self) -> ArrayBundle:
        """Return it as the stock's part of a frozen lexicon."""
        least = np.min_scalar_type(int(self.counts.max(initial=0)))
        return {
            "stock/terms": np.frombuffer(BETWEEN.join(self.terms).encode(), dtype=np.uint8),
            "stock/starts": self.starts.astype(np.int32),
            "stock/documents": self.documents,
            "stock/counts": self.counts.astype(least, copy=False),
        }

    def tagged(self) -> dict[str, NDArray[np.int32]]:
        """Return, by tag, the documents that hold a term with it, ascending."""
        held: dict[str, list[NDArray[np.int32]]] = {}
        for at, term in enumerate(self.terms):
            if tag := words.tag(term):
                documents = self.documents[self.starts[at] : self.starts[at + 1]]
                held.setdefault(tag, []).append(documents)
        return {tag: np.unique(np.concatenate(each)) for tag, each in held.items()}


def _languages(
    parts: Mapping[str, NDArray[Any]], stock: _Stock, gone: Integers, text_of: TextOf
) -> list[tuple[str, int]]:
    """Return the languages of the remaining documents, each with its first one, in this order.

    A document that holds a term with the tag of a language is in this language. Documents with
    other tags alone are analysed, as far as one of them may be a first one.
    """
    before: dict[str, int] = unpacked(parts["recipe/languages"])
    lost = {name: at for name, at in before.items() if at in gone}
    found = {name: at for name, at in before.items() if name not in lost}
    if lost:
        analyse = words.analyser(unpacked(parts["recipe/analyser"]))
        tagged, none = stock.tagged(), np.zeros(0, dtype=np.int32)
        found |= {name: int(tagged[name][0]) for name in lost if name in tagged}
        end = max(found.get(name, len(parts["documents/lengths"])) for name in lost)
        sure = [documents for tag, documents in tagged.items() if tag in before]
        unsure = [documents for tag, documents in tagged.items() if tag not in before]
        candidates = np.setdiff1d(np.concatenate([none, *unsure]), np.concatenate([none, *sure]))
        start = min(lost.values())
        for document in candidates[(candidates > start) & (candidates < end)].tolist():
            language = analyse(text_of(document) or "").language
            if language in lost:
                found[language] = min(document, found.get(language, document))
    return sorted(found.items(), key=itemgetter(1))


def _order(parts: Mapping[str, NDArray[Any]], gone: Integers) -> ArrayBundle:
    """Return the parts of the order of terms without some documents."""
    begins, terms = parts["order/begins"], unpacked(parts["order/terms"])
    sizes = np.diff(begins)
    kept = np.ones(len(parts["order/order"]), dtype=np.bool_)
    kept[range_places(begins[gone], sizes[gone])] = False
    sizes[gone] = 0
    used, order = in_first_use(parts["order/order"][kept], len(terms))
    return {
        "order/terms": packed([terms[each] for each in used.tolist()]),
        "order/order": order,
        "order/begins": np.concatenate(([0], np.cumsum(sizes))),
    }
