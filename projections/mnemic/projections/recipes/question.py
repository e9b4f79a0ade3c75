"""A question to a view, taken apart, and what each block has of the parts of its match.

Whoever asks says of which blocks. What a part says of one owes nothing to the others asked about,
so few can be asked about as well as all, and the numbers are the same.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from attrs import Factory, field, frozen

from mnemic.kernel.arithmetic import NANO, weighted_each
from mnemic.kernel.policy import Policy
from mnemic.kernel.vectors import Vector
from mnemic.projections.parts import Lazy
from mnemic.projections.present import Bools, Ints, places
from mnemic.projections.recipes import dates
from mnemic.projections.recipes.plain import cosine
from mnemic.projections.sequence import Sequence
from mnemic.projections.term_counts import Matches, TermCounts
from mnemic.projections.views import View

EVIDENCE: Final = ("lexical", "cosine", "author", "date")
PARTS: Final = (*EVIDENCE, "rarity")
"""What speaks for a block; each in [0, 1], nano-units."""

SPREAD: Final = (600, 360, 216, 130)
"""What a word counts one, two, three and four steps away, in thousandths of one of the text's own.

With the author, the date and the steps themselves worth most: without the spread recall@10 falls
by 8 points, without authors by 3, without dates by 2, without rarity by 1.
"""

FEW: Final = 1024
"""Up to so many documents, the words of each and of its neighbours are looked up one by one."""


def weights(policy: Policy) -> tuple[int, ...]:
    """Return what each part counts, nano-units."""
    return policy.relevance_weights


def _words(asked: Asked) -> Lazy[Matches]:
    links = asked.view.state.sequence.links
    return Lazy(lambda: asked.counts.spread(links, SPREAD).matches())


@frozen(kw_only=True, eq=False)
class Asked:
    """What a question asks of a view."""

    view: View
    query: str
    vector: Vector | None
    pool: Ints
    """Numbers of the eligible blocks, rising."""
    counts: TermCounts
    """The words it is about, where they stand themselves."""
    authors: tuple[int, ...]
    """Those it names."""
    dated: bool
    """Whether it names a date."""
    words: Lazy[Matches] = field(init=False, default=Factory(_words, takes_self=True))
    """Every document that answers some of the words, itself or by its neighbours."""

    @classmethod
    def of(cls, view: View, query: str, vector: Vector | None, pool: Ints) -> Asked:
        """Take a question apart.

        Names of authors ask who, not what, and are left out of the words unless nothing is left.
        """
        lexicon, sequence, alive = view.state.lexicon, view.state.sequence, view.present.alive
        asked = lexicon.terms(query)
        authors = _named(sequence, alive, asked)
        names = frozenset().union(*map(sequence.name_terms, authors))
        about = [term for term in asked if term not in names] or asked
        return cls(
            view=view,
            query=query,
            vector=vector,
            pool=pool,
            counts=lexicon.counts(about, alive),
            authors=tuple(authors),
            dated=any(dates.named(query)),
        )

    def parts(self, numbers: Ints) -> tuple[Ints, ...]:
        """Return how much each of some eligible blocks has of each part."""
        documents = self.view.documents(numbers)[1]
        return (
            self._lexical(documents),
            cosine(self.view, self.vector, numbers),
            self.said(documents),
            self.close(numbers),
            self.view.state.lexicon.rarity.take(documents),
        )

    def strengths(self, parts: tuple[Ints, ...]) -> Ints:
        """Return the weighted sum of the parts, block by block."""
        return weighted_each(weights(self.view.policy), parts)

    def _lexical(self, documents: Ints) -> Ints:
        if self.words.made or len(documents) > FEW:
            return self.words.value.of(documents)
        links = self.view.state.sequence.links
        return self.counts.around(documents, links, SPREAD).matches().of(documents)

    def said(self, documents: Ints) -> Ints:
        """Return one whole where somebody who is named said a document."""
        if not self.authors:
            return np.zeros(len(documents), dtype=np.int64)
        author = self.view.state.sequence.author[documents]
        return np.where(np.isin(author, self.authors), NANO, 0)

    def close(self, numbers: Ints) -> Ints:
        """Return how close each block lies to the dates that are named."""
        if not self.dated:
            return np.zeros(len(numbers), dtype=np.int64)
        return dates.closeness(self.query, self.view.life.column("created_us", numbers))

    def eligible(self, documents: Ints) -> tuple[Ints, Ints]:
        """Return those of *documents* that eligible blocks say, and these blocks."""
        alive = self.view.present.alive
        documents = documents[documents < len(alive)]
        documents = documents[alive[documents]]
        numbers = self.view.speakers()[documents].astype(np.int64)
        if self.pool is not self.view.present.numbers:
            among = places(self.pool, numbers) >= 0
            documents, numbers = documents[among], numbers[among]
        return documents, numbers


def _named(sequence: Sequence, alive: Bools, asked: list[str]) -> list[int]:
    """Return the authors that a question names, of those who said something that is alive."""
    spoke = sequence.author[: len(alive)]
    return [author for author in sequence.authors_named(asked) if (alive & (spoke == author)).any()]
