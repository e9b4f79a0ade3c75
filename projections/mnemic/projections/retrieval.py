"""recall: what comes to mind, why, and in which order.

The way of a question: eligible blocks → how well each matches → candidates → one hop of the graph
→ signals → composite score → order. All of it is a function of a view, so the same question on the
same view gives the same answer, live and for ever after.

Blocks of zones that may take only a share of an answer must not decide how the others stand: many
good matches make every other match look weak, many words make words common. So where there are
some, the others are ranked as though they were alone. How they compare with the rest is told by
the ranking of all; which of them it is that have a place there, by their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import NANO
from mnemic.kernel.events import AnswerRow, RunnerUp
from mnemic.kernel.identity import BlockId
from mnemic.kernel.policy import Frame
from mnemic.kernel.scoring import composites
from mnemic.kernel.vectors import Vector
from mnemic.projections.expansion import expand
from mnemic.projections.order import ranked
from mnemic.projections.proximity import Near
from mnemic.projections.recipes import Match, Recipe
from mnemic.projections.signals import signals
from mnemic.projections.views import View
from mnemic.projections.where import Gate, eligible

Ints = NDArray[np.int64]

NOT_COMPUTED = -1


@frozen(kw_only=True, eq=False)
class Inquiry:
    """A question, checked and embedded."""

    query: str | None
    vector: Vector | None
    gate: Gate
    recipe: Recipe
    near: Near | None = None
    """Who says which vectors are near; None: all are looked at."""

    @property
    def frame(self) -> Frame:
        """The frame it is asked in."""
        return self.gate.frame


@frozen(kw_only=True, eq=False)
class Ranking:
    """Every block that was scored, best first, ties by id."""

    numbers: Ints
    scores: Ints
    table: Ints
    """One row per block, one column per signal and part, nano-units; -1 where not computed."""
    via: dict[int, int]
    """By block: the one whose edge brought it in."""
    guaranteed: frozenset[int]
    """Numbers of blocks that the frame always lets in."""
    match: Match | None
    """How well the blocks that were looked at matched; None without a question."""
    shares: Ints
    """Of an answer, what the zone of each may take. Nano-units."""
    turns: Ints
    """Places in the order in which blocks are let in but for the guaranteed: by score, unless some
    were ranked apart."""
    apart: Match | None = None
    """The match of those that were ranked apart; None: none were."""

    def __len__(self) -> int:
        return len(self.numbers)

    def row(self, place: int) -> AnswerRow:
        """Return the block at *place*, from 0."""
        number = int(self.numbers[place])
        return AnswerRow(
            number,
            int(self.scores[place]),
            tuple(self.table[place].tolist()),
            self.via.get(number, -1),
        )

    def runner_up(self, place: int) -> RunnerUp:
        """Return the block at *place*, from 0, in the short form of those that were left out."""
        return RunnerUp(int(self.numbers[place]), int(self.scores[place]))

    @property
    def near(self) -> tuple[int, ...] | None:
        """What an approximate search found; None: every vector was looked at."""
        if self.match is None or self.match.near is None:
            return None
        return tuple(self.match.near.tolist())

    def matched(self, view: View, number: int) -> Match | None:
        """Return the match that a block was held in; None without a question."""
        limited = view.policy.places(view.zone(number)) < NANO
        return self.match if limited or self.apart is None else self.apart

    def order(self) -> list[int]:
        """Return the places in which blocks are let in: the guaranteed ones go first."""
        first = np.isin(self.numbers, list(self.guaranteed))
        turns = self.turns[~first[self.turns]]
        return [*np.flatnonzero(first).tolist(), *turns.tolist()]

    def place(self, number: int) -> int | None:
        """Return where a block stands, from 0; None when it was not scored."""
        found = np.flatnonzero(self.numbers == number)
        return int(found[0]) if len(found) else None


def rank(view: View, inquiry: Inquiry) -> Ranking:
    """Return every scored block of *view* for *inquiry*.

    Source: DOMAIN section 6.
    """
    apart = view.unlimited()
    everything = _ranked(view, inquiry)
    if apart is None:
        return everything
    # Whoever is near is asked about all; of some, every vector is looked at.
    return _merged(view, everything, _ranked(apart, evolve(inquiry, near=None)))


def _ranked(view: View, inquiry: Inquiry) -> Ranking:
    """Return every scored block, all that are active held against each other."""
    pool = eligible(view, inquiry.gate)
    guaranteed = pool[:0]
    if inquiry.frame.always_tags:
        guaranteed = pool[view.promised(pool, inquiry.frame.always_tags)]
    match, via, numbers = None, {}, pool
    if inquiry.query is not None:
        match = inquiry.recipe.match(view, inquiry.query, inquiry.vector, pool, near=inquiry.near)
        seeds = view.union(match.candidates(view), guaranteed)
        via = expand(view, seeds, pool)
        numbers = view.union(seeds, np.array(list(via), dtype=np.int64))
        match = match.over(numbers)
    scores, table = _scored(view, inquiry, match, numbers)
    order = _order(view, numbers, scores)
    return Ranking(
        numbers=numbers[order],
        scores=scores[order],
        table=table[order],
        via=via,
        guaranteed=frozenset(guaranteed.tolist()),
        match=match,
        shares=view.shares(numbers[order]),
        turns=np.arange(len(numbers)),
    )


def _order(view: View, numbers: Ints, scores: Ints) -> Ints:
    if not len(numbers):
        return numbers
    return ranked(scores, numbers, view.state.catalogue.ids, k=len(numbers))


def _merged(view: View, everything: Ranking, apart: Ranking) -> Ranking:
    """Return *apart* with those of *everything* that may take only a share of an answer."""
    limited = everything.shares < NANO
    numbers = np.concatenate((apart.numbers, everything.numbers[limited]))
    scores = np.concatenate((apart.scores, everything.scores[limited]))
    order = _order(view, numbers, scores)
    merged = numbers[order]
    places = {number: place for place, number in enumerate(merged.tolist())}
    others = {*numbers.tolist()} - {*apart.numbers.tolist()}
    brought = {number: seed for number, seed in everything.via.items() if number in others}
    turns = [places[number] for number in _in_turn(everything, apart)]
    return Ranking(
        numbers=merged,
        scores=scores[order],
        table=np.concatenate((apart.table, everything.table[limited]))[order],
        via=apart.via | brought,
        guaranteed=everything.guaranteed,
        match=everything.match,
        shares=view.shares(merged),
        turns=np.array(turns, dtype=np.int64),
        apart=apart.match,
    )


def _in_turn(everything: Ranking, apart: Ranking) -> Iterator[int]:
    """Yield blocks that are not guaranteed as they are in *everything*.

    But where it has one of those ranked apart, the next best of these by their own ranking stands.
    """
    first = everything.guaranteed
    own = (number for number in apart.numbers.tolist() if number not in first)
    for number, share in zip(everything.numbers.tolist(), everything.shares.tolist(), strict=True):
        if number in first:
            continue
        following = number if share < NANO else next(own, None)
        if following is not None:
            yield following
    yield from own


def digest(ids_and_scores: list[tuple[BlockId, int]]) -> str:
    """Return the digest of an ordered answer, 16 hex characters."""
    lines = "".join(f"{block} {score}\n" for block, score in ids_and_scores)
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def _scored(view: View, inquiry: Inquiry, match: Match | None, numbers: Ints) -> tuple[Ints, Ints]:
    """Return the score of each block, and its signals and parts as a row of a table."""
    parts = [np.full_like(numbers, NOT_COMPUTED)] * len(inquiry.recipe.parts)
    relevance = None
    if match is not None:
        places = match.places(numbers)
        parts = [part[places] for part in match.parts]
        relevance = match.relevance(places)
    values = signals(view, inquiry.frame, numbers, relevance)
    weights = inquiry.frame.weights(asked=match is not None)
    used = [np.zeros_like(numbers) if value is None else value for value in values]
    missing = np.full_like(numbers, NOT_COMPUTED)
    stored = [missing if value is None else value for value in values]
    return composites(weights, used), np.stack([*stored, *parts], axis=1)
