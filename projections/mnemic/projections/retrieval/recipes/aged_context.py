"""Recipe ``recall-3``: ``recall-2`` with age inside relevance, and probabilities. Frozen.

It differs from ``recall-2`` (``context``) in these parts:

``lexical``  that of the best passage of a text, by words of its language (``languages.words``).
             Words are counted in passages (``kernel.passages``), and so are their statistics;
             neighbours are the passages before and after, of the same text or of those around it. A
             passage of more than 24 terms counts the words of its neighbours less, by 24 / length:
             a long one answers for itself, a short one is understood by what is around it.
``date``     also to dates in the words of other languages (``dates.named_in``).
``rarity``   is drawn towards 1/2 while few texts are known (``Lexicon.trusted_rarity``): a first
             text is not unusual because every word is new. A successor has at least the rarity of
             what it superseded, since its words were said before by its predecessor only.
``freshness``  Recency: decay since the last reinforcement, in active hours, or by age in days
             (policy), not by the clock of the frame. Its small weight is added to the strength,
             so that age decides between matches of about equal strength and never buries a better
             one: outside the curve any weight does.
``asker``    1 for what the asker said, where the question is in the first person, and for
             what the other side said, where it is in the second person alone
             (``kernel.questions.pronouns``); not where the question asks for a summary
             (``kernel.questions.aggregates``).
             The asker is known by name, else it is the role ``user``; names of roles are
             not names of authors. Its weight is added to the strength too.
``phrase``   Share of the pairs of neighbouring terms in the question that are neighbours in the
             text (``Lexicon.phrases``). Its weight is added to the strength too.
``nearby``   Half the sum of the cosines of the texts before and after in the conversation, at least
             0 each; of a text of more than 16 terms, times 16 / length: a short answer is
             understood by what is around it. Its weight is added to the strength too.
``distinct`` 1 - typicality (``kernel.scoring.typicality``): a text that is about what everything is
             about is near to every question. Its weight is added to the strength too.
``raised``   What the newer of two contradicting blocks gains. Weight 1. If every term of the
             question that the older one holds is held by the newer too, the question cannot tell
             them apart, and the newer is stronger than the older by at least a nano-unit; unless it
             is of a lower zone.

and three that have no weight in the strength (``probability``):

``own``      Share of the question's terms, weighted by their rarity among the active texts, that
             the text holds itself, without its neighbours.
``missed``   1 where the question names an author and the text is not theirs.
``probability``  That the block bears on the question.

Near-duplicates do not correct each other any more. Blocks of equal score are ordered by strength,
then by id.

Source: docs/adr/0041 to docs/adr/0048; measured with benchmarks/retrieval.py and
benchmarks/abstention.py.
"""

from __future__ import annotations

from functools import partial
from itertools import filterfalse
from typing import ClassVar, Final

import numpy as np
from attrs import frozen

from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import NANO, nano, nano_each
from mnemic.kernel.policy import Policy
from mnemic.kernel.scoring import probability
from mnemic.projections.blocks.passages import Searched
from mnemic.projections.blocks.threads import Threads
from mnemic.projections.lexical.languages import words
from mnemic.projections.lexical.languages.words import Variants
from mnemic.projections.lexical.lexicon import Lexicon
from mnemic.projections.retrieval.approximate_search import Near
from mnemic.projections.retrieval.recency import recency, rough_recency
from mnemic.projections.retrieval.recipes import dates, exact_scoring, question
from mnemic.projections.retrieval.recipes.asker import Side, asked_side
from mnemic.projections.retrieval.recipes.dates import Dates
from mnemic.projections.retrieval.recipes.exact_scoring import Adjustment
from mnemic.projections.retrieval.recipes.match import BestPassage, Grade, Ints, Match
from mnemic.projections.retrieval.recipes.question import SPREAD, Asked, Floats, fractions
from mnemic.projections.storage.sorted_arrays import places
from mnemic.projections.view import View
from mnemic.projections.view.active_columns import ActiveColumns, At

NAME: Final = "recall-3"
PARTS: Final = (
    *question.PARTS,
    "freshness",
    "asker",
    "phrase",
    "nearby",
    "distinct",
    "raised",
    "own",
    "missed",
    "probability",
)
SEARCHES: Final = ("lexical", "cosine", "strength")

FULL_LENGTH: Final = 24
"""Terms of a passage from which on the words of its neighbours count less.

Measured between 16 and 32: no difference on dialogues, and on conversations with an assistant
recall@10 is 2 points higher than without it.
"""
ALONE: Final = 16
"""Terms of a text from which on the vectors of its neighbours count less. Between 8 and 32 there is
no difference."""


def weights(policy: Policy) -> tuple[int, ...]:
    """Return the weight of each part, nano-units."""
    return (*_weights(policy), NANO, 0, 0, 0)


def _weights(policy: Policy) -> tuple[int, ...]:
    """Return the weights of all parts up to ``raised``."""
    return (*question.weights(policy), *policy.added_weights)


def match(
    view: View,
    query: str,
    vector: Vector | None,
    pool: Ints,
    *,
    near: Near | None = None,
    asked_by: str | None = None,
) -> Match:
    """Return the match of the blocks of *pool*, restricted to possible candidates."""
    side = asked_side(view.state.sequence, query, asked_by)
    asked = AgedAsked.of(view, query, vector, pool, side=side)
    return exact_scoring.match(asked, RAISED, near=near)


@frozen(kw_only=True, eq=False)
class Phrases:
    """The share of a question's wording that each active block repeats: of most of them none."""

    repeating: Ints
    """Places of the blocks that repeat some."""
    shares: Ints
    """Share of each, nano-units."""
    count: int
    """Number of active blocks."""

    def of(self, at: At) -> Ints:
        """Return the share of the blocks at some places."""
        every = np.zeros(self.count, dtype=np.int64)
        every[self.repeating] = self.shares
        return every[at]


@frozen(kw_only=True, eq=False)
class AgedAsked(Asked):
    """A question to a view in which age counts."""

    full_length: ClassVar[int | None] = FULL_LENGTH

    side: Side | None = None
    """The side that the question's pronouns refer to; None: neither."""

    @property
    def phrases(self) -> Phrases:
        """Which blocks repeat some of its wording."""
        found: Phrases = self._once("phrases", self._repeated)
        return found

    @property
    def rough(self) -> Floats:
        """Rough cosines, at least 0, of the blocks of the pool and of their neighbours.

        By place, 0 for every other one, and once more at the end: for place -1.
        """
        found: Floats = self._once("rough", self._rough_by_place)
        return found

    @classmethod
    def terms_of(cls, view: View, lexicon: Lexicon, query: str) -> list[Variants]:
        """Return the terms of a question, each by its variants in the languages of the texts."""
        return lexicon.asked(query, view.state.passages.count(view.text_count))

    @classmethod
    def dates_in(cls, query: str) -> Dates:
        """Return the dates that a question names in its language."""
        return dates.named_in(query, words.language(query))

    @classmethod
    def searched_in(cls, view: View) -> Searched:
        """Return the texts that words are searched in: passages."""
        return view.state.passages.under(view.present.alive)

    @classmethod
    def authors_named(
        cls, sequence: Threads, columns: ActiveColumns, asked: list[str]
    ) -> list[int]:
        """Return the authors that a question names; a role is not a name.

        Nor is a single character, which many names share.
        """
        named = super().authors_named(sequence, columns, [*filterfalse(words.is_character, asked)])
        return [author for author in named if sequence.is_person(author)]

    def parts(self, at: At) -> tuple[Ints, ...]:
        """Return each part of the match of the blocks at some places."""
        return (
            *super().parts(at),
            recency(self.view, self.view.policy.relevance_recency_clock, at),
            self._meant(at),
            self.phrases.of(at),
            self._nearby(at),
            self.columns.distinct[at],
        )

    def _repeated(self) -> Phrases:
        found = self.view.state.lexicon.phrases(self.wording)
        at = self.columns.of_documents(found.documents)
        there = at >= 0
        return Phrases(repeating=at[there], shares=found.strengths[there], count=self.columns.count)

    def _nearby(self, at: At) -> Ints:
        """Return the part ``nearby`` of some blocks."""
        before, after = (side[at] for side in self.columns.neighbours)
        if isinstance(at, slice) or "cosines" in self.computed:
            every = self.every_cosine
            both = every.take(before) + every.take(after)
        else:
            near = np.concatenate((before, after))
            there = (near >= 0).nonzero()[0]
            cosines = np.zeros(len(near), dtype=np.int64)
            cosines[there] = self.cosines(near[there])
            both = cosines.reshape(2, -1).sum(axis=0)
        return damped_context(both, self.columns.lengths[at])

    @property
    def grade(self) -> Grade:
        """See ``Match``."""
        return self._graded

    @property
    def passage(self) -> BestPassage | None:
        """See ``Match``."""
        return self._best_passage if self.searched.is_cut else None

    def _graded(self, at: At, parts: tuple[Ints, ...]) -> tuple[Ints, ...]:
        """Return the parts of some scored blocks that do not count in the strength."""
        own = self.counts.coverage(self.held(at))
        missed = NANO - parts[2] if self.names_author else np.zeros_like(own)
        evidence = (*parts[: len(question.PARTS)], own, missed)
        return own, missed, probability.probabilities(self.view.policy, evidence)

    def _best_passage(self, number: int) -> tuple[int, int]:
        """Return the place of the passage that gives ``lexical``, from 0, and their number."""
        found: tuple[int, int] = self._once(("passage", number), partial(self._best_of, number))
        return found

    def _best_of(self, number: int) -> tuple[int, int]:
        first, text = self.searched.first, self.view.life.get("text", number)
        if first is None or first[text + 1] == first[text] + 1:
            return 0, 1
        passages = np.arange(first[text], first[text + 1])
        if "words" in self.computed:
            found = nano_each(self.words.by_passage[passages] / self.words.reach)
        else:
            near = self.counts.around(passages, self.searched.links, SPREAD, FULL_LENGTH)
            found = near.matches().of(passages)
        return int(found.argmax()), len(passages)

    def _meant(self, at: At) -> Ints:
        """Return ``NANO`` for texts of the side that the question means, else 0."""
        if self.side is None:
            return self.columns.zeros(at)
        spoke = self.side.spoke(self.view.state.sequence, self.columns.documents[at])
        return np.where(spoke, NANO, 0)

    @property
    def weights(self) -> tuple[int, ...]:
        """Weight of each part, nano-units."""
        return _weights(self.view.policy)

    def rarity(self, at: At) -> Ints:
        """Return how unusual the words of each text were when it was learned."""
        view, columns = self.view, self.columns
        keep = columns.derived if view.has_successions else columns.of_set
        every: Ints = keep(
            ("inherited rarity", view.policy.rarity_trust),
            lambda: inherited_rarity(view).take(columns.documents),
        )
        return every[at]

    def _rough_by_place(self) -> Floats:
        columns, at = self.columns, self.places
        found: Floats = np.zeros(columns.count + 1, dtype=np.float32)
        if not isinstance(at, slice):
            around = columns.mask(at)
            for side in columns.neighbours:
                around[side[at]] = True
            at = around[:-1].nonzero()[0]
        found[:-1][at] = super().rough_cosines(at)
        return found

    def rough_cosines(self, at: At) -> Floats:
        """Return the cosine of each block with the question's vector, approximately, at least 0."""
        return self.rough[:-1][at]

    def rough_sum(self, rarity: Ints) -> Floats:
        """Compute ``rough_settled`` from the rarity of each block."""
        settled = super().rough_sum(rarity)
        settled += self.columns.distinct * np.float32(self.view.policy.relevance_distinct / NANO)
        return settled

    def _add_rough_phrases(self, strength: Floats, at: At) -> None:
        phrases = self.phrases
        positions, shares = phrases.repeating, phrases.shares
        if not isinstance(at, slice):
            positions = places(at, positions)
            positions, shares = positions[positions >= 0], shares[positions >= 0]
        strength[positions] += fractions(shares) * np.float32(self.view.policy.relevance_phrase)

    def _rough_nearby(self, at: At) -> Floats:
        columns = self.columns
        before, after = (side[at] for side in columns.neighbours)
        damping: Floats = columns.of_set("damping", lambda: damping_of(columns.lengths))
        around: Floats = self.rough[before]
        around += self.rough[after]
        around *= damping[at]
        return around

    def add_rough_bonus(self, strength: Floats, at: At) -> None:
        """Add what the parts beyond ``question.PARTS`` add, approximately."""
        policy = self.view.policy
        if nano(policy.relevance_recency):
            recent = rough_recency(self.view, policy.relevance_recency_clock, at)
            recent *= np.float32(policy.relevance_recency)
            strength += recent
        if self.side is not None and nano(policy.relevance_asker):
            strength += (self._meant(at) > 0) * np.float32(policy.relevance_asker)
        if nano(policy.relevance_phrase):
            self._add_rough_phrases(strength, at)
        if self.vector is not None and nano(policy.relevance_nearby):
            near = self._rough_nearby(at)
            near *= np.float32(policy.relevance_nearby)
            strength += near


def damping_of(lengths: Ints) -> Floats:
    """Return, for texts of some lengths, the weight in ``nearby`` of each cosine beside them."""
    damping: Floats = np.float32(ALONE / 2) / np.maximum(lengths, ALONE).astype(np.float32)
    return damping


def damped_context(cosines: Ints, lengths: Ints) -> Ints:
    """Return the part ``nearby`` of some texts, nano-units.

    Args:
        cosines: The sum of those of the texts before and after, at least 0 each.
        lengths: Terms of each text.
    """
    found: Ints = cosines * ALONE // (2 * np.maximum(lengths, ALONE))
    return found


def inherited_rarity(view: View) -> Ints:
    """Return the trusted rarity by document, that of a successor at least its predecessors'.

    Documents of blocks that were not known at the view's version are not to be looked up.
    """
    rarity = view.state.lexicon.trusted_rarity(view.policy.rarity_trust, view.extracted_texts())
    old, new = view.successions()
    if not len(old):
        return rarity
    rarity = rarity.copy()
    order = np.argsort(old)
    old, new = old[order], new[order]
    given, taking = view.life.column("text", old), view.life.column("text", new)
    step = places(old, new)
    # Each round doubles the distance along a chain of successors, so few are needed.
    for _ in range(len(old).bit_length()):
        np.maximum.at(rarity, taking, rarity[given])
        going = step >= 0
        if not going.any():
            break
        taking = np.where(going, taking[step], taking)
        step = np.where(going, step[step], step)
    return rarity


def _raised(asked: Asked, at: At, pairs: Ints, strength: Ints) -> Ints:
    """Return the strengths, with the newer of contradicting blocks above the older.

    Only where the newer holds each term of the question that the older holds, and is of no lower
    zone.
    """
    if not len(pairs):
        return strength
    view, columns = asked.view, asked.columns
    said = view.said_order(columns.numbers[pairs.ravel()]).reshape(-1, 2)
    older, newer, said_older, said_newer = exact_scoring.in_order(at, pairs, said)
    held = asked.held(at)
    lacking = (held[:, older] & ~held[:, newer]).any(axis=0)
    ceilings = columns.ceilings[at]
    # The oldest first, so that the newest of several ends up above all.
    order = np.lexsort((said_older, said_newer))
    allowed = ~lacking & (ceilings[newer] >= ceilings[older])
    order = order[allowed[order]]
    raised = strength.copy()
    for old, new in zip(older[order].tolist(), newer[order].tolist(), strict=True):
        raised[new] = max(raised[new], raised[old] + 1)
    return raised


RAISED: Final = Adjustment(pairs=View.contradictions, strengths=_raised, raises=True)
