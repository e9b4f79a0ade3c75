"""A parsed question to a view, and the parts of its match with each block.

The caller chooses the blocks. The parts of one block do not depend on the others, so the numbers
are the same for a few blocks as for all.
"""

from __future__ import annotations

from itertools import chain, compress
from typing import Any, ClassVar, Final, Self

import numpy as np
from attrs import Factory, field, frozen
from numpy.typing import NDArray

from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import NANO, weighted_each
from mnemic.kernel.policy import Policy
from mnemic.projections.blocks.passages import Searched
from mnemic.projections.blocks.threads import Threads
from mnemic.projections.lexical.languages.words import Variants
from mnemic.projections.lexical.lexicon import Lexicon
from mnemic.projections.lexical.term_counts import Matches, TermCounts
from mnemic.projections.retrieval.recipes import dates
from mnemic.projections.retrieval.recipes.dates import Dates
from mnemic.projections.retrieval.recipes.plain import cosine
from mnemic.projections.state.active_blocks import Bools, Ints
from mnemic.projections.storage.array_bundle import Lazy
from mnemic.projections.storage.sorted_arrays import places
from mnemic.projections.view import View

Floats = NDArray[np.float32]

EVIDENCE: Final = ("lexical", "cosine", "author", "date")
PARTS: Final = (*EVIDENCE, "rarity")
"""Parts that count for a block; each in [0, 1], nano-units."""

SPREAD: Final = (600, 360, 216, 130)
"""Weight of a word one, two, three and four steps away, in thousandths of one of the text's own.

Of all parts the spread is worth most: without it recall@10 falls by 8 points, without authors by 3,
without dates by 2, without rarity by 1.
"""

TOTALS: Final = 2
"""Statistics that concern no term: the number of texts, and the sum of their lengths."""
UNKNOWN_REFERENCE: Final = -1
NAME: Final = -1
"""Statistic of a term that is not searched for, since it is an author's name."""

FEW: Final = 1024
"""Up to this many documents, the words of each and of its neighbours are looked up one by one."""


def weights(policy: Policy) -> tuple[int, ...]:
    """Return the weight of each part, nano-units."""
    return policy.relevance_weights


def _by_passage(asked: Asked) -> Lazy[Matches]:
    return Lazy(lambda: asked.passages_in_context(asked.counts))


def _words(asked: Asked) -> Lazy[Matches]:
    return Lazy(lambda: asked.searched.best(asked.by_passage.value))


@frozen(kw_only=True, eq=False)
class Asked:
    """A question, parsed against a view."""

    full_length: ClassVar[int | None] = None
    """As for ``TermCounts.spread``."""

    view: View
    query: str
    wording: list[str]
    """Its terms in order, repetitions kept."""
    vector: Vector | None
    pool: Ints
    """Numbers of the eligible blocks, ascending."""
    searched: Searched
    """The texts that its words are searched in, whole or as passages."""
    counts: TermCounts
    """Counts of its words in each of these."""
    authors: tuple[int, ...]
    """The authors it names."""
    dates: Dates
    """The dates it names."""
    reference: int
    """The recorded strength whose relevance is a half, if it is answered again; else
    ``UNKNOWN_REFERENCE``."""
    statistics: tuple[int, ...]
    """As ``RecallRecorded.statistics``, without the first."""
    by_passage: Lazy[Matches] = field(init=False, default=Factory(_by_passage, takes_self=True))
    """Every searched text, or passage of one, that contains some of the words."""
    words: Lazy[Matches] = field(init=False, default=Factory(_words, takes_self=True))
    """Every document that contains some of the words, itself or in its neighbours."""

    @classmethod
    def of(cls, view: View, query: str, vector: Vector | None, pool: Ints, **own: Any) -> Self:
        """Parse a question; *own* are the additional fields of a subclass.

        Names of authors ask who, not what, and are left out of the words unless nothing is left.
        """
        lexicon, sequence, alive = view.state.lexicon, view.state.sequence, view.present.alive
        searched = cls.searched_in(view)
        asked = cls.terms_of(searched.lexicon, query)
        authors = cls.authors_named(sequence, alive, [*chain.from_iterable(asked)])
        reference, *known = view.statistics[0] if view.statistics else (UNKNOWN_REFERENCE,)
        if known:
            kept = [size != NAME for size in known[TOTALS:]]
        else:
            names = frozenset().union(*map(sequence.name_terms, authors))
            kept = [names.isdisjoint(term) for term in asked]
            kept = kept if any(kept) else [True] * len(asked)
        about = list(compress(asked, kept))
        recorded = [each for each in known if each != NAME]
        counts = searched.lexicon.counts(about, searched.alive, recorded=recorded)
        sizes = iter(counts.statistics[TOTALS:])
        return cls(
            view=view,
            query=query,
            wording=lexicon.wording(query),
            vector=vector,
            pool=pool,
            searched=searched,
            counts=counts,
            authors=tuple(authors),
            dates=cls.dates_in(query),
            reference=reference,
            **own,
            statistics=(
                *counts.statistics[:TOTALS],
                *(next(sizes) if is_kept else NAME for is_kept in kept),
            ),
        )

    @classmethod
    def terms_of(cls, lexicon: Lexicon, query: str) -> list[Variants]:
        """Return the terms of a question, each by its variants: in any language the same one."""
        return [(term,) for term in lexicon.terms(query)]

    @classmethod
    def searched_in(cls, view: View) -> Searched:
        """Return the texts that words are searched in: whole ones."""
        state = view.state
        return Searched(lexicon=state.lexicon, alive=view.present.alive, links=state.sequence.links)

    @classmethod
    def authors_named(cls, sequence: Threads, alive: Bools, asked: list[str]) -> list[int]:
        """Return the authors that a question names, restricted to those of live documents."""
        spoke = sequence.author[: len(alive)]
        return [
            author for author in sequence.authors_named(asked) if (alive & (spoke == author)).any()
        ]

    @classmethod
    def dates_in(cls, query: str) -> Dates:
        """Return the dates that a question names."""
        return dates.named(query)

    @property
    def dated(self) -> bool:
        """Whether it names a date."""
        return any(self.dates)

    @property
    def names_author(self) -> bool:
        """Whether it names an author, even one whose texts were erased since."""
        return bool(self.authors) or NAME in self.statistics[TOTALS:]

    def parts(self, numbers: Ints) -> tuple[Ints, ...]:
        """Return each part of the match of some eligible blocks."""
        documents = self.view.documents(numbers)[1]
        return (
            self._lexical(documents),
            cosine(self.view, self.vector, numbers),
            self.said(documents),
            self.close(numbers),
            self.rarity(documents),
        )

    def strengths(self, parts: tuple[Ints, ...]) -> Ints:
        """Return the weighted sum of the parts, block by block; of the first ones, if not all."""
        return weighted_each(self.weights[: len(parts)], parts)

    @property
    def weights(self) -> tuple[int, ...]:
        """Weight of each part, nano-units."""
        return weights(self.view.policy)

    def rarity(self, documents: Ints) -> Ints:
        """Return how unusual the words of each document were when it was learned."""
        return self.view.state.lexicon.rarity.take(documents)

    def rough_cosines(self, numbers: Ints) -> Floats:
        """Return the cosine of each block with the question's vector, approximately, at least 0."""
        assert self.vector is not None, "without a vector there are no cosines"  # noqa: S101
        found = self.view.rough_cosines(self.vector, numbers)
        return np.maximum(found, 0, out=found)

    def rough_bonus(self, numbers: Ints) -> Floats | None:
        """Return what is added to the weighted sum of ``PARTS``, as fractions of rough precision.

        None: nothing is.
        """
        del numbers  # by this recipe
        return None

    def _lexical(self, documents: Ints) -> Ints:
        if self.words.made or len(documents) > FEW:
            return self.words.value.of(documents)
        near = self.counts.around(
            self.searched.of(documents)[0], self.searched.links, SPREAD, self.full_length
        )
        return self.searched.best(near.matches()).of(documents)

    def in_context(self, counts: TermCounts) -> Matches:
        """Return the match of every document in which some of *counts* count, neighbours added."""
        return self.searched.best(self.passages_in_context(counts))

    def passages_in_context(self, counts: TermCounts) -> Matches:
        """Return ``in_context`` of what is searched: passages or texts."""
        return counts.spread(self.searched.links, SPREAD, self.full_length).matches()

    def held(self, documents: Ints) -> Bools:
        """Return which of its words each of *documents* contains, shape (words, documents)."""
        passages, starts = self.searched.of(documents)
        held = self.counts.held(passages)
        if len(passages) == len(documents):
            return held
        found: Bools = np.logical_or.reduceat(held, starts, axis=1)
        return found

    def said(self, documents: Ints) -> Ints:
        """Return ``NANO`` for documents by a named author, else 0."""
        if not self.authors:
            return np.zeros(len(documents), dtype=np.int64)
        author = self.view.state.sequence.author[documents]
        return np.where(np.isin(author, self.authors), NANO, 0)

    def close(self, numbers: Ints) -> Ints:
        """Return the closeness of each block to the named dates."""
        if not self.dated:
            return np.zeros(len(numbers), dtype=np.int64)
        return dates.closeness(self.dates, self.view.life.column("created_us", numbers))

    def eligible(self, documents: Ints) -> tuple[Ints, Ints]:
        """Return those of *documents* that belong to eligible blocks, and these blocks."""
        alive = self.view.present.alive
        documents = documents[documents < len(alive)]
        documents = documents[alive[documents]]
        numbers = self.view.speakers()[documents].astype(np.int64)
        if self.pool is not self.view.present.numbers:
            among = places(self.pool, numbers) >= 0
            documents, numbers = documents[among], numbers[among]
        return documents, numbers
