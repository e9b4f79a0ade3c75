"""A parsed question to a view, and the parts of its match with each block.

The caller chooses the blocks, by their places among the active ones. The parts of one block do not
depend on the others, so the numbers are the same for a few blocks as for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, compress
from typing import Any, ClassVar, Final, Self

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import NANO, nano_each, weighted_each
from mnemic.kernel.policy import Policy
from mnemic.projections.blocks.passages import Searched
from mnemic.projections.blocks.threads import Threads
from mnemic.projections.lexical.languages.words import Variants
from mnemic.projections.lexical.lexicon import Lexicon
from mnemic.projections.lexical.term_counts import GRID, Matches, TermCounts, cut
from mnemic.projections.retrieval.recipes import dates
from mnemic.projections.retrieval.recipes.dates import Dates
from mnemic.projections.retrieval.recipes.match import BestPassage, Grade
from mnemic.projections.retrieval.recipes.plain import cosine
from mnemic.projections.state.active_blocks import Bools, Ints
from mnemic.projections.view import View
from mnemic.projections.view.active_columns import EVERY, ActiveColumns, At

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]

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

DENSE: Final = 4
"""One in this many texts: from there on the matches of a term are added faster all together."""
FEW: Final = 1024
"""Up to this many documents, the words of each and of its neighbours are looked up one by one."""


def fractions(nanos: Ints) -> Floats:
    """Return numbers in nano-units as fractions of rough precision."""
    found: Floats = nanos.astype(np.float32)
    found *= np.float32(1 / NANO)
    return found


def weights(policy: Policy) -> tuple[int, ...]:
    """Return the weight of each part, nano-units."""
    return policy.relevance_weights


@frozen(eq=False)
class TermMatch:
    """The match of one term with every searched text or passage, in grid units."""

    at: Ints | None
    """Where it counts: by place, or by passage; None: ``match`` holds all."""
    match: Floats64

    @classmethod
    def of(cls, at: Ints, match: Floats64, units: int) -> TermMatch:
        """Return the smaller of both forms."""
        if DENSE * len(at) < units:
            return cls(at, match)
        every = np.zeros(units)
        every[at] = match
        return cls(None, every)


@frozen(kw_only=True, eq=False)
class Words:
    """The match of the words of a question with every active block, in grid units."""

    by_place: Floats64
    by_passage: Floats64
    """By passage, or by place where texts are not cut."""
    reach: int
    """The maximum reach of the question, > 0."""

    def strengths(self, at: At) -> Ints:
        """Return the match of the blocks at some places, nano-units."""
        return nano_each(self.by_place[at] / self.reach)

    def rough_strengths(self, at: At) -> Floats:
        """Return the match of the blocks at some places as fractions of rough precision."""
        found: Floats = self.by_place[at].astype(np.float32)
        found *= np.float32(1 / self.reach)
        return found


@frozen(kw_only=True, eq=False)
class Asked:
    """A question, parsed against a view."""

    full_length: ClassVar[int | None] = None
    """As for ``TermCounts.spread``."""

    view: View
    columns: ActiveColumns
    query: str
    wording: list[str]
    """Its terms in order, repetitions kept."""
    vector: Vector | None
    pool: Ints
    """Numbers of the eligible blocks, ascending."""
    places: At
    """Their places."""
    searched: Searched
    """The texts that its words are searched in, whole or as passages."""
    terms: list[Variants]
    """Its terms that are searched for."""
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
    computed: dict[Any, Any] = field(init=False, factory=dict)
    """What was computed of it for every active block, by name."""

    @classmethod
    def of(cls, view: View, query: str, vector: Vector | None, pool: Ints, **own: Any) -> Self:
        """Parse a question; *own* are the additional fields of a subclass.

        Names of authors ask who, not what, and are left out of the words unless nothing is left.
        """
        lexicon, sequence, columns = view.state.lexicon, view.state.sequence, view.columns
        searched = cls.searched_in(view)
        asked = cls.terms_of(view, searched.lexicon, query)
        authors = cls.authors_named(sequence, columns, [*chain.from_iterable(asked)])
        reference, *known = view.statistics[0] if view.statistics else (UNKNOWN_REFERENCE,)
        if known:
            kept = [size != NAME for size in known[TOTALS:]]
        else:
            names = frozenset().union(*map(sequence.name_terms, authors))
            kept = [names.isdisjoint(term) for term in asked]
            kept = kept if any(kept) else [True] * len(asked)
        about = list(compress(asked, kept))
        recorded = [each for each in known if each != NAME]
        counts = searched.lexicon.counts(
            about, searched.alive, recorded=recorded, held=columns.terms(("held", searched.is_cut))
        )
        sizes = iter(counts.statistics[TOTALS:])
        return cls(
            view=view,
            columns=columns,
            query=query,
            wording=lexicon.wording(query),
            vector=vector,
            pool=pool,
            places=columns.places(pool),
            searched=searched,
            terms=about,
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
    def terms_of(cls, view: View, lexicon: Lexicon, query: str) -> list[Variants]:
        """Return the terms of a question, each by its variants: in any language the same one."""
        del view  # by this recipe
        return [(term,) for term in lexicon.terms(query)]

    @classmethod
    def searched_in(cls, view: View) -> Searched:
        """Return the texts that words are searched in: whole ones."""
        state = view.state
        return Searched(lexicon=state.lexicon, alive=view.present.alive, links=state.sequence.links)

    @classmethod
    def authors_named(
        cls, sequence: Threads, columns: ActiveColumns, asked: list[str]
    ) -> list[int]:
        """Return the authors that a question names, restricted to those of active blocks."""
        named = sequence.authors_named(asked)
        return [author for author in named if author in columns.living_authors]

    @classmethod
    def dates_in(cls, query: str) -> Dates:
        """Return the dates that a question names."""
        return dates.named(query)

    @property
    def words(self) -> Words:
        """The match of its words with every active block."""
        found: Words = self._once("words", self.searched_words)
        return found

    @property
    def every_cosine(self) -> Ints:
        """Its cosine with every active block, at least 0, and 0 at the end: for place -1."""
        found: Ints = self._once("cosines", self._cosines_by_place)
        return found

    def _once(self, name: Any, make: Callable[[], Any]) -> Any:
        found = self.computed.get(name)
        if found is None:
            found = self.computed[name] = make()
        return found

    @property
    def grade(self) -> Grade | None:
        """See ``Match``."""
        return None

    @property
    def passage(self) -> BestPassage | None:
        """See ``Match``."""
        return None

    @property
    def dated(self) -> bool:
        """Whether it names a date."""
        return any(self.dates)

    @property
    def names_author(self) -> bool:
        """Whether it names an author, even one whose texts were erased since."""
        return bool(self.authors) or NAME in self.statistics[TOTALS:]

    def parts(self, at: At) -> tuple[Ints, ...]:
        """Return each part of the match of the blocks at some places."""
        return (
            self.lexical(at),
            self.cosines(at),
            self.said(at),
            self.close(at),
            self.rarity(at),
        )

    def strengths(self, parts: tuple[Ints, ...]) -> Ints:
        """Return the weighted sum of the parts, block by block; of the first ones, if not all."""
        asked = self._asked_about(parts)
        weights = self.weights
        return weighted_each([weights[place] for place in asked], [parts[place] for place in asked])

    def _asked_about(self, parts: Sequence[Ints]) -> list[int]:
        """Return the places of the parts that are not 0 of every block."""
        zeros = self.columns.zeros(EVERY)
        return [place for place, part in enumerate(parts) if part is not zeros]

    def evidence(self, parts: Sequence[Ints]) -> Ints:
        """Return, from the parts of some blocks, what is 0 for blocks without any evidence.

        Rare words alone are none.
        """
        first, *others = self._asked_about(parts[: len(EVIDENCE)])
        found = parts[first]
        for place in others:
            found = found | parts[place]  # all are at least 0, so it is 0 where all are
        return found

    @property
    def weights(self) -> tuple[int, ...]:
        """Weight of each part, nano-units."""
        return weights(self.view.policy)

    def rarity(self, at: At) -> Ints:
        """Return how unusual the words of each text were when it was learned."""
        columns, lexicon = self.columns, self.view.state.lexicon
        every: Ints = columns.derived("rarity", lambda: lexicon.rarity.take(columns.documents))
        return every[at]

    def cosines(self, at: At) -> Ints:
        """Return the cosine of each block with the question's vector, at least 0."""
        if isinstance(at, slice) or "cosines" in self.computed:
            return self.every_cosine[:-1][at]
        return cosine(self.view, self.vector, self.columns.vectors[at])

    def _cosines_by_place(self) -> Ints:
        found = np.zeros(self.columns.count + 1, dtype=np.int64)
        found[:-1] = cosine(self.view, self.vector, self.columns.vectors)
        return found

    def rough_cosines(self, at: At) -> Floats:
        """Return the cosine of each block with the question's vector, approximately, at least 0."""
        assert self.vector is not None, "without a vector there are no cosines"  # noqa: S101
        found = self.view.rough_cosines(self.vector, self.columns.vectors[at])
        return np.maximum(found, 0, out=found)

    @property
    def rough_settled(self) -> Floats:
        """What the parts that no question changes add to the strength of each block, roughly."""
        rarity = self.rarity(EVERY)
        key = "rough settled", self.weights
        found: Floats = self.columns.following(key, lambda: self.rough_sum(rarity), rarity)
        return found

    def rough_sum(self, rarity: Ints) -> Floats:
        """Compute ``rough_settled`` from the rarity of each block."""
        settled = fractions(rarity)
        settled *= np.float32(self.weights[PARTS.index("rarity")] / NANO)
        return settled

    def add_rough_bonus(self, strength: Floats, at: At) -> None:
        """Add what is added to the weighted sum of ``PARTS``, as fractions of rough precision."""

    def lexical(self, at: At) -> Ints:
        """Return how well the words match each text."""
        if "words" in self.computed or self.columns.size(at) > FEW:
            return self.words.strengths(at)
        documents = self.columns.documents[at]
        near = self.counts.around(
            self.searched.of(documents)[0], self.searched.links, SPREAD, self.full_length
        )
        return self.searched.best(near.matches()).of(documents)

    def searched_words(self) -> Words:
        """Search all active texts for the words."""
        columns, searched = self.columns, self.searched
        units = self._units
        total = np.zeros(units)
        found = self._term_matches()
        for each in found:
            if each.at is None:
                total += each.match
        sparse = [(each.at, each.match) for each in found if each.at is not None]
        if sparse:
            at = np.concatenate([places for places, _ in sparse])
            total += np.bincount(at, np.concatenate([match for _, match in sparse]), units)
        reach = max(1, sum(round(bound * GRID) for bound in self.counts.bounds))
        if not searched.is_cut:
            return Words(by_place=total, by_passage=total, reach=reach)
        passages, starts = columns.of_set("passages", lambda: searched.of(columns.documents))
        best = np.maximum.reduceat(total[passages], starts) if columns.count else total
        return Words(by_place=best, by_passage=total, reach=reach)

    @property
    def _units(self) -> int:
        """Number of searched texts, or passages."""
        searched = self.searched
        return len(searched.alive) if searched.is_cut else self.columns.count

    def _term_matches(self) -> list[TermMatch]:
        """Return the match of each term, neighbours included.

        It follows from the set of active texts and the statistics of the term, so it is kept with
        the set.
        """
        columns, counts = self.columns, self.counts
        totals = counts.statistics[:TOTALS]
        keys = [
            (term, *totals, size)
            for term, size in zip(self.terms, counts.statistics[TOTALS:], strict=True)
        ]
        known = columns.terms(("spread", self.searched.is_cut, self.full_length))
        found = {key: known[key] for key in keys if key in known}
        missing = [place for place, key in enumerate(keys) if key not in found]
        if missing:
            spread = counts.only(missing).spread(self.searched.links, SPREAD, self.full_length)
            ends = np.cumsum([len(held) for held in spread.documents])
            matches = cut(spread.grid(), ends)
            for place, held, match in zip(missing, spread.documents, matches, strict=True):
                if not self.searched.is_cut:
                    at = columns.of_documents(held)
                    alive = at >= 0
                else:
                    at, alive = held, held < len(self.searched.alive)
                found[keys[place]] = TermMatch.of(at[alive], match[alive], self._units)
            known |= found
        return [found[key] for key in keys]

    def in_context(self, counts: TermCounts) -> Matches:
        """Return the match of every document in which some of *counts* count, neighbours added."""
        spread = counts.spread(self.searched.links, SPREAD, self.full_length)
        return self.searched.best(spread.matches())

    def held(self, at: At) -> Bools:
        """Return which of its words each text contains, shape (words, texts)."""
        documents = self.columns.documents[at]
        passages, starts = self.searched.of(documents)
        held = self.counts.held(passages)
        if len(passages) == len(documents):
            return held
        found: Bools = np.logical_or.reduceat(held, starts, axis=1)
        return found

    def said(self, at: At) -> Ints:
        """Return ``NANO`` for texts by a named author, else 0."""
        if not self.authors:
            return self.columns.zeros(at)
        author = self.columns.authors[at]
        is_theirs = author == self.authors[0]
        for each in self.authors[1:]:
            is_theirs |= author == each
        return np.where(is_theirs, NANO, 0)

    def close(self, at: At) -> Ints:
        """Return the closeness of each block to the named dates."""
        if not self.dated:
            return self.columns.zeros(at)
        return dates.closeness(self.dates, self.columns.life("created_us")[at])

    def eligible(self, documents: Ints) -> Ints:
        """Return the places of the eligible blocks that have some of these texts."""
        at = self.columns.of_documents(documents)
        at = at[at >= 0]
        return at if isinstance(self.places, slice) else at[self.columns.mask(self.places)[at]]
