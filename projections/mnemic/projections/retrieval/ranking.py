"""Ranking: selection, scores and order of the blocks of a recall.

The steps of a recall: eligible blocks → match strength of each → candidates → one hop of the graph
→ signals → composite score → order. All of it is a function of a view, so the same question on the
same view always gives the same answer, live and from the past.

Blocks of zones that may take only a share of an answer must not influence how the others rank: many
good matches make every other match look weak, many occurrences make words common. Nor must facts
that an extractor found in messages, which only repeat them. So if there are such blocks, the others
are also ranked apart from them. The ranking of all decides which places go to either group; among
those that are ranked apart, their own ranking decides which block takes a place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from mnemic.kernel.events import SIGNALS, AnswerRow, RunnerUp
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.policy import Frame
from mnemic.kernel.scoring.probability import PARTS as EVIDENCE
from mnemic.kernel.scoring.signals import composites
from mnemic.projections.retrieval.approximate_search import Near
from mnemic.projections.retrieval.expansion import expand
from mnemic.projections.retrieval.filters import Eligibility, eligible
from mnemic.projections.retrieval.recipes import Match, Recipe
from mnemic.projections.retrieval.signals import signals
from mnemic.projections.storage.order import Ids, ranked, settle_ties
from mnemic.projections.view import View
from mnemic.projections.view.active_columns import At

Ints = NDArray[np.int64]

NOT_COMPUTED = -1
SAID_ONCE_MAX = 512
"""Places, from the first, in which what is said twice is looked for."""


@frozen(kw_only=True, eq=False)
class Inquiry:
    """A question, validated and embedded."""

    query: str | None
    vector: Vector | None
    eligibility: Eligibility
    recipe: Recipe
    near: Near | None = None
    """The approximate search to use; None: the search is exact."""
    asked_by: str | None = None
    """Name or role of the asker; None: it is not known."""
    statistics: tuple[tuple[int, ...], ...] = ()
    """Word statistics of the question, if it is answered again; see ``RecallRecorded``."""

    @property
    def frame(self) -> Frame:
        """The frame of the question."""
        return self.eligibility.frame


@frozen(kw_only=True, eq=False)
class Ranking:
    """Every block that was scored, best first; ties by strength if the recipe says so, then id."""

    numbers: Ints
    scores: Ints
    table: Ints
    """One row per signal and part, one column per block, nano-units; -1 where not computed."""
    via: dict[int, int]
    """By block: the block whose edge brought it in."""
    guaranteed: frozenset[int]
    """Numbers of blocks that the frame always includes."""
    match: Match | None
    """Match strengths of the blocks considered; None without a question."""
    shares: Ints
    """Share of an answer that the zone of each block may take. Nano-units."""
    turns: Ints
    """Places in the order of admission, the guaranteed ones aside: by score, unless some blocks
    were ranked separately."""
    apart: Match | None = None
    """The match of the blocks that were ranked separately; None: none were."""
    probabilities: Ints | None = None
    """Probability that each block bears on the question, nano-units; None: not computed."""

    def __len__(self) -> int:
        return len(self.numbers)

    def row(self, place: int) -> AnswerRow:
        """Return the block at *place*, from 0."""
        return self.answer_rows([place])[0]

    def answer_rows(self, places: list[int]) -> tuple[AnswerRow, ...]:
        """Return the blocks at *places*, from 0."""
        numbers, scores = self.numbers[places].tolist(), self.scores[places].tolist()
        signals, via = self.table[:, places].T.tolist(), self.via
        return tuple(
            [
                AnswerRow(number, score, tuple(values), via.get(number, -1))
                for number, score, values in zip(numbers, scores, signals, strict=True)
            ]
        )

    def passage(self, number: int) -> tuple[int, int] | None:
        """Return the place of a block's best passage, from 0, and how many it has.

        None without a question, and where the recipe does not cut texts.
        """
        passage = None if self.match is None else self.match.passage
        return None if passage is None else passage(number)

    def evidence(self, recipe: Recipe, places: Ints | slice = slice(None)) -> Ints:
        """Return the parts that make a probability, shape (parts, places), nano-units."""
        at = [len(SIGNALS) + recipe.parts.index(name) for name in EVIDENCE]
        return self.table[:, places][at]

    def runners_up(self, places: Sequence[int]) -> tuple[RunnerUp, ...]:
        """Return the blocks at *places*, from 0, in the short form used for dropped blocks."""
        at = np.array(places, dtype=np.intp)
        return tuple(map(RunnerUp, self.numbers[at].tolist(), self.scores[at].tolist()))

    @property
    def near(self) -> tuple[int, ...] | None:
        """Blocks found by an approximate search; None: the search was exact."""
        if self.match is None or self.match.near is None:
            return None
        return tuple(self.match.near.tolist())

    @property
    def statistics(self) -> tuple[tuple[int, ...], ...]:
        """Word statistics of the question, see ``RecallRecorded``."""
        matches = (self.match, self.apart)
        return tuple(each.statistics for each in matches if each is not None)

    def matched(self, view: View, number: int) -> Match | None:
        """Return the match in which a block was compared; None without a question."""
        if self.apart is None or not view.ranked_apart(np.array([number])).any():
            return self.match
        return self.apart

    def order(self) -> list[int]:
        """Return the places in the order of admission: the guaranteed ones go first."""
        if not self.guaranteed:
            in_turn: list[int] = self.turns.tolist()
            return in_turn
        first = np.isin(self.numbers, list(self.guaranteed))
        turns = self.turns[~first[self.turns]]
        return [*first.nonzero()[0].tolist(), *turns.tolist()]

    def place(self, number: int) -> int | None:
        """Return the place of a block, from 0; None if it was not scored."""
        found = (self.numbers == number).nonzero()[0]
        return int(found[0]) if len(found) else None


Rankings: TypeAlias = tuple[Ranking, Ranking | None]
"""Every block, ranked among all, and those that others must not influence, ranked among themselves;
None: there are no others."""


def rank(view: View, inquiry: Inquiry) -> Ranking:
    """Return every scored block of *view* for *inquiry*.

    Source: DOMAIN section 6.
    """
    return _merged(view, inquiry, *rankings(view, inquiry))


def weighing_all(inquiry: Inquiry) -> Inquiry:
    """Return *inquiry* in its frame with every signal weighed, see ``reweighted``."""
    equal: dict[str, Any] = dict.fromkeys(SIGNALS, 1.0 / len(SIGNALS))
    frame = evolve(inquiry.frame, **equal)
    return evolve(inquiry, eligibility=evolve(inquiry.eligibility, frame=frame))


def reweighted(view: View, inquiry: Inquiry, known: Rankings) -> Ranking:
    """Return the ranking of *inquiry*, from rankings that differ in the weights of signals only.

    The weights decide nothing but scores and order, so matching, candidates and signals are reused:
    many weights for one question cost little more than one.

    Args:
        view: Of the rankings, under a policy that differs in nothing else but limits of answers.
        inquiry: The inquiry, with its own weights.
        known: What ``rankings`` gave for ``weighing_all(inquiry)``.
    """
    everything, apart = known
    return _merged(
        view,
        inquiry,
        _reweighted(view, inquiry, everything),
        None if apart is None else _reweighted(view, inquiry, apart),
    )


def _reweighted(view: View, inquiry: Inquiry, known: Ranking) -> Ranking:
    weights = inquiry.frame.weights(asked=known.match is not None)
    scores = composites(weights, list(np.maximum(0, known.table[: len(SIGNALS)])))
    order = best_first(
        view.state.catalogue.ids,
        known.numbers,
        scores,
        _strengths(inquiry, known.match, known.numbers),
    )
    return evolve(
        known,
        numbers=known.numbers[order],
        scores=scores[order],
        table=known.table[:, order],
        shares=known.shares[order],
        turns=np.arange(len(order)),
        probabilities=None if known.probabilities is None else known.probabilities[order],
    )


def _said_once(view: View, found: Ranking) -> Ints:
    """Return the order of admission without what is said before, which goes behind the others.

    Of a fact and the messages that it quotes, the one that ranks first takes a place: the fact goes
    behind if one of them is before it, and they go behind if it is before them.
    """
    numbers = found.numbers[found.turns[:SAID_ONCE_MAX]]
    are_facts = view.are_facts(numbers)
    if not are_facts.any():
        return found.turns
    before: set[int] = set()
    held: set[int] = set()
    said: list[int] = []
    for place, (number, is_fact) in enumerate(
        zip(numbers.tolist(), are_facts.tolist(), strict=True)
    ):
        sources = view.sources_of(number) if is_fact else set[int]()
        if sources & before or number in held:
            said.append(place)
            continue
        before.add(number)
        held |= sources
    if not said:
        return found.turns
    behind = np.array(said, dtype=np.int64)
    first = np.delete(found.turns[:SAID_ONCE_MAX], behind)
    return np.concatenate((first, found.turns[SAID_ONCE_MAX:], found.turns[behind]))


def rankings(view: View, inquiry: Inquiry) -> Rankings:
    """Return the rankings that ``rank`` merges."""
    view = view.knowing(inquiry.statistics)
    pool = eligible(view, inquiry.eligibility)
    if inquiry.vector is not None and inquiry.near is None and pool is view.present.numbers:
        view = view.multiplied_by(inquiry.vector)
    everything = _ranked(view, inquiry, pool)
    apart = view.apart()
    if apart is None:
        return everything, None
    # The approximate search covers all blocks; for a subset, every vector is looked at.
    apart = apart.knowing(inquiry.statistics[1:])
    own = evolve(inquiry, near=None)
    return everything, _ranked(apart, own, eligible(apart, own.eligibility))


def _ranked(view: View, inquiry: Inquiry, pool: Ints) -> Ranking:
    """Return every scored block of *pool*, ranked among all that are active."""
    columns = view.columns
    eligible_at = columns.places(pool)
    guaranteed = pool[:0]
    if inquiry.frame.always_tags:
        guaranteed = pool[view.promised(pool, inquiry.frame.always_tags)]
    match, at = None, eligible_at
    via: dict[int, int] = {}
    if inquiry.query is not None:
        match = inquiry.recipe.match(
            view,
            inquiry.query,
            inquiry.vector,
            pool,
            near=inquiry.near,
            asked_by=inquiry.asked_by,
        )
        chosen = match.candidates(view)
        if len(guaranteed):
            chosen[columns.places(guaranteed)] = True
        neighbours, via = expand(view, chosen, columns.mask(eligible_at))
        chosen[neighbours] = True
        at = chosen[:-1].nonzero()[0]
        match = match.over(at)
    scores, table = _scored(view, inquiry, match, at)
    numbers = columns.numbers_at(at)
    order = best_first(
        view.state.catalogue.ids, numbers, scores, _strengths(inquiry, match, numbers)
    )
    table = table[:, order]
    return Ranking(
        numbers=numbers[order],
        scores=scores[order],
        table=table,
        via=via,
        guaranteed=frozenset(guaranteed.tolist()),
        match=match,
        shares=columns.shares[at][order],
        turns=np.arange(len(numbers)),
        probabilities=_probabilities(inquiry, table),
    )


def _probabilities(inquiry: Inquiry, table: Ints) -> Ints | None:
    """Return the row of a table of signals and parts that holds the probabilities."""
    if inquiry.query is None or not inquiry.recipe.graded:
        return None
    found: Ints = table[len(SIGNALS) + inquiry.recipe.parts.index("probability")]
    return found


def _strengths(inquiry: Inquiry, match: Match | None, numbers: Ints) -> Ints | None:
    """Return the strengths that decide between equal scores; None: only ids do."""
    if match is None or not inquiry.recipe.graded:
        return None
    return match.strength[match.index(match.columns.of_numbers(numbers))]


def best_first(ids: Ids, numbers: Ints, scores: Ints, strengths: Ints | None) -> Ints:
    """Return positions, best score first; ties by strength, then by id.

    Args:
        ids: Public ids by number.
        numbers: The blocks.
        scores: Score of each.
        strengths: Strength of each; None: ids alone decide.
    """
    if not len(numbers):
        return numbers
    if strengths is None:
        return ranked(scores, numbers, ids, k=len(numbers))
    order = np.lexsort((-strengths, -scores))
    by_score, by_strength = scores[order], strengths[order]
    tie = (by_score[1:] == by_score[:-1]) & (by_strength[1:] == by_strength[:-1])
    settle_ties(order, tie, numbers, ids)
    return order


def _merged(view: View, inquiry: Inquiry, everything: Ranking, apart: Ranking | None) -> Ranking:
    whole = everything if apart is None else _joined(view, inquiry, everything, apart)
    turns = _said_once(view, whole)
    return whole if turns is whole.turns else evolve(whole, turns=turns)


def _joined(view: View, inquiry: Inquiry, everything: Ranking, apart: Ranking) -> Ranking:
    """Return *apart* joined with those of *everything* that are not ranked apart."""
    is_apart = view.ranked_apart(everything.numbers)
    numbers = np.concatenate((apart.numbers, everything.numbers[~is_apart]))
    scores = np.concatenate((apart.scores, everything.scores[~is_apart]))
    own = [
        _strengths(inquiry, ranking.match, kept)
        for ranking, kept in ((apart, apart.numbers), (everything, everything.numbers[~is_apart]))
    ]
    strengths = [each for each in own if each is not None]
    ids, joined = view.state.catalogue.ids, np.concatenate(strengths) if strengths else None
    order = best_first(ids, numbers, scores, joined)
    numbers = numbers[order]
    others = {*everything.numbers[~is_apart].tolist()}
    brought = {number: seed for number, seed in everything.via.items() if number in others}
    by_number = numbers.argsort()
    turns = by_number[numbers[by_number].searchsorted(_in_turn(everything, is_apart, apart))]
    table = np.concatenate((apart.table, everything.table[:, ~is_apart]), axis=1)[:, order]
    return Ranking(
        numbers=numbers,
        scores=scores[order],
        table=table,
        via=apart.via | brought,
        guaranteed=everything.guaranteed,
        match=everything.match,
        shares=view.shares(numbers),
        turns=turns,
        apart=apart.match,
        probabilities=_probabilities(inquiry, table),
    )


def _in_turn(everything: Ranking, is_apart: NDArray[np.bool_], apart: Ranking) -> Ints:
    """Return the blocks that are not guaranteed in the order of *everything*.

    Each place of a block that is ranked apart goes to the next best of these by their own ranking.
    """
    first = np.array(list(everything.guaranteed), dtype=np.int64)
    places = ~np.isin(everything.numbers, first)
    numbers = everything.numbers[places]
    own = apart.numbers[~np.isin(apart.numbers, first)]
    free = is_apart[places].nonzero()[0]
    taken = min(len(free), len(own))
    numbers[free[:taken]] = own[:taken]
    return np.concatenate((np.delete(numbers, free[taken:]), own[taken:]))


def digest(ids_and_scores: list[tuple[BlockId, int]]) -> str:
    """Return the digest of an ordered answer, 16 hex characters."""
    lines = "".join([f"{block} {score}\n" for block, score in ids_and_scores])
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def _scored(view: View, inquiry: Inquiry, match: Match | None, at: At) -> tuple[Ints, Ints]:
    """Return the score of each block, and its signals and parts as columns of a table."""
    count = view.columns.size(at)
    missing = np.full(count, NOT_COMPUTED, dtype=np.int64)
    parts, relevance, fresh = [missing] * len(inquiry.recipe.parts), None, None
    if match is not None:
        positions = match.index(view.columns.listed(at))
        parts = list(match.rows(positions))
        relevance = match.relevance(positions)
        if inquiry.frame.recency_clock == view.policy.relevance_recency_clock:
            fresh = dict(zip(inquiry.recipe.parts, parts, strict=True)).get("freshness")
    values = signals(view, inquiry.frame, at, relevance, known_recency=fresh)
    weights = inquiry.frame.weights(asked=match is not None)
    nothing = np.zeros(count, dtype=np.int64)
    used = [nothing if value is None else value for value in values]
    stored = [missing if value is None else value for value in values]
    return composites(weights, used), np.array([*stored, *parts])
