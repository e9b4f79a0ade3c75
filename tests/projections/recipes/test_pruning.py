"""A pruned match gives its blocks the same values as a full match."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import attrs
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.kernel.model.vectors import quantise
from mnemic.kernel.numeric.arithmetic import weighted
from mnemic.kernel.policy import DEFAULT, RELEVANCE_WEIGHTS, Policy
from mnemic.projections.retrieval.approximate_search import Recorded
from mnemic.projections.retrieval.recipes import (
    CURRENT,
    PLAIN,
    Match,
    aged_context,
    context,
    exact_scoring,
    question,
)
from mnemic.projections.retrieval.recipes.aged_context import AgedAsked
from mnemic.projections.retrieval.recipes.exact_scoring import Adjustment
from mnemic.projections.retrieval.recipes.pruning import SIZES, Sizes, pruned
from mnemic.projections.retrieval.recipes.question import Asked
from tests.projections.scripted_state import Talk

FEW = attrs.evolve(DEFAULT, name="few", candidates=1)
ASKED = "where do Ann's bees sleep in May"
WORDS = ("bees", "sleep", "porch", "cake", "harbour")
SPEAKERS = ("Ann", "Ben", None, None, None, None, None)
BLOCKS = 24
SMALL = Sizes(holders=4, overlooked=5, beside=2)


def talk_of(notes: list[tuple[int, int]]) -> Talk:
    """Return texts about few things, with vectors in all directions, and near-duplicates."""
    talk = Talk(FEW)
    for number in range(BLOCKS):
        angle = 2 * math.pi * number / BLOCKS
        talk.say(
            f"{WORDS[number % 5]} {WORDS[number % 3]} thing {number}",
            author=SPEAKERS[number % 7],
            category="knowledge",
            minute=1440 * number,
            vector=(math.cos(angle), math.sin(angle)),
        )
    for block, other in notes:
        talk.note(block, other)
        talk.contradict(block, other)
    return talk


def asked_of(talk: Talk, query: str = ASKED, pool: tuple[int, ...] = tuple(range(BLOCKS))) -> Asked:
    vector = quantise((1.0, 0.2), dimension=2)
    return Asked.of(talk.view(), query, vector, np.array(pool, dtype=np.int64))


def match_of(talk: Talk, near: Recorded | None) -> Match:
    view = talk.view()
    pool = np.arange(BLOCKS)
    vector = quantise((1.0, 0.2), dimension=2)
    return CURRENT.match(view, ASKED, vector, pool, near=near)


def values_of(match: Match, numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[list[int]]:
    """Return all values that a match has for some blocks."""
    places = match.places(numbers)
    columns = (match.strength, *match.parts, *match.searches)
    return [*(each[places].tolist() for each in columns), *map(list, match.rows(places))]


def plainly(asked: Asked, near: set[int], sizes: Sizes) -> list[int]:
    """Return the blocks that pruning selects, computed plainly from its docstring."""
    holders = [len(documents) for documents in asked.counts.documents]
    rarest: list[int] = []
    for term in sorted(range(len(holders)), key=holders.__getitem__):
        if rarest and sum(holders[each] for each in (*rarest, term)) > sizes.holders:
            break
        rarest.append(term)
    none = asked.counts.lengths[:0]
    counts = attrs.evolve(
        asked.counts,
        documents=tuple(
            documents if term in rarest else none
            for term, documents in enumerate(asked.counts.documents)
        ),
        counts=tuple(
            own if term in rarest else none for term, own in enumerate(asked.counts.counts)
        ),
    )
    words = counts.spread(asked.view.state.sequence.links, question.SPREAD)
    parts = [part.tolist() for part in asked.parts(asked.places)]
    lexical = words.strengths(asked.columns.documents[asked.places]).tolist()
    weights = question.weights(asked.view.policy)
    rows = {
        number: (found, *rest)
        for number, found, *rest in zip(asked.pool.tolist(), lexical, *parts[1:], strict=True)
        if found or rest[1] or rest[2]
    }
    most = asked.view.policy.candidates
    best = sorted(rows, key=lambda number: (-rows[number][0], number))[:most]

    def strength(number: int, *, with_cosine: bool) -> tuple[int, int]:
        first, cosine, *others = rows[number]
        return -weighted(weights, (first, cosine if with_cosine else 0, *others)), number

    some = sorted(rows, key=lambda number: strength(number, with_cosine=False))
    strong = sorted(some[: sizes.overlooked], key=lambda number: strength(number, with_cosine=True))
    return sorted({*near, *best, *strong[: sizes.beside * most]})


PAIRS = st.tuples(st.integers(0, BLOCKS - 1), st.integers(0, BLOCKS - 1)).filter(
    lambda pair: pair[0] != pair[1]
)
NOTES = st.lists(PAIRS, max_size=6)
NUMBERS = st.sets(st.integers(0, BLOCKS - 1))
NEAR = st.sets(st.integers(0, BLOCKS - 1), max_size=8).map(lambda near: tuple(sorted(near)))
QUERIES = st.lists(
    st.sampled_from((*WORDS, "thing", "Ann", "Ben", "7 May", "2023", "nothing")), max_size=5
).map(" ".join)


@given(NOTES, NEAR, NUMBERS)
def test_scored_blocks_have_the_same_parts_and_strength_as_without_pruning(
    notes: list[tuple[int, int]], near: tuple[int, ...], more: set[int]
) -> None:
    talk = talk_of(notes)
    exact, pruned_match = match_of(talk, None), match_of(talk, Recorded(near))
    wider = pruned_match.over(np.array(sorted({*near, *more}), dtype=np.int64))
    assert values_of(wider, wider.numbers) == values_of(exact, wider.numbers)
    assert wider.curve == pruned_match.curve


@given(NOTES)
def test_pruning_with_every_block_near_equals_the_full_match(notes: list[tuple[int, int]]) -> None:
    talk = talk_of(notes)
    exact, pruned_match = match_of(talk, None), match_of(talk, Recorded(tuple(range(BLOCKS))))
    assert values_of(pruned_match, exact.numbers) == values_of(exact, exact.numbers)
    assert pruned_match.curve == exact.curve
    view = talk.view()
    assert pruned_match.candidates(view).tolist() == exact.candidates(view).tolist()


@given(QUERIES, NUMBERS, NEAR, st.sampled_from((SIZES, SMALL)))
def test_pruning_selects_the_documented_blocks(
    query: str, pool: set[int], near: tuple[int, ...], sizes: Sizes
) -> None:
    asked = asked_of(talk_of([]), query, tuple(sorted(pool)))
    found = sorted({*near} & pool)
    pruned_match = pruned(asked, np.array(found, dtype=np.int64), sizes)
    assert pruned_match.tolist() == plainly(asked, set(found), sizes)


def test_pruned_blocks_are_not_candidates() -> None:
    pruned_match = match_of(talk_of([]), Recorded((3,)))
    assert pruned_match.near is not None
    assert pruned_match.near.tolist() == [3]
    assert 3 in pruned_match.numbers
    assert len(pruned_match.numbers) < BLOCKS
    assert pruned_match.places(np.setdiff1d(pruned_match.pool, pruned_match.numbers)).max() == -1


def test_a_full_match_is_not_widened() -> None:
    exact = match_of(talk_of([]), None)
    assert exact.over(np.array([5])) is exact
    assert exact.near is None


def test_the_older_recipe_ignores_the_approximate_search() -> None:
    talk = talk_of([])
    near = Recorded((3,))
    recall_1 = PLAIN.match(talk.view(), ASKED, None, np.arange(BLOCKS), near=near)
    assert recall_1.near is None


# --- the rough scan ---------------------------------------------------------------------------

VECTORS = st.sampled_from(((1.0, 0.2), (-0.3, 1.0), (0.0, 0.0), None))
SHARES = st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(any)
"""Relative weights of the parts of relevance; usually some are 0."""
MANY = 70
"""Enough blocks for a scan to compare maxima of groups."""


@cache
def talk_of_many() -> Talk:
    """Return texts in which each thing occurs several times, with similar vectors."""
    talk = Talk()
    for number in range(MANY):
        angle = number % 7 + (number % 3) * 1e-3
        talk.say(
            f"{WORDS[number % 5]} {WORDS[number % 3]}",
            author=SPEAKERS[number % 7],
            category="knowledge",
            minute=1440 * (number % 9),
            vector=(math.cos(angle), math.sin(angle)) if number % 11 else (0.0, 0.0),
        )
    for number in range(0, MANY, 10):
        talk.note(number, (7 * number + 3) % MANY)
        talk.contradict(number, (7 * number + 4) % MANY)
    talk.contradict(3, 4)
    talk.contradict(4, 5)
    for number in (11, 22, 33):
        talk.supersede(number, number + 11)
    return talk


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Draw a policy with any number of candidates and any weights."""
    shares = draw(SHARES)
    weighing: dict[str, Any] = {
        name: share / sum(shares) for name, share in zip(RELEVANCE_WEIGHTS, shares, strict=True)
    }
    return attrs.evolve(
        DEFAULT,
        name="drawn",
        candidates=draw(st.sampled_from((0, 1, 2, 3, 20, 1000))),
        relevance_rank=draw(st.sampled_from((1, 2, 5, 1000))),
        relevance_floor=draw(st.sampled_from((0.0, 0.15, 1.0))),
        relevance_recency=draw(st.sampled_from((0.0, 0.02, 1.0))),
        relevance_recency_clock=draw(st.sampled_from(("active", "created"))),
        rarity_trust=draw(st.sampled_from((0, 20))),
        **weighing,
    )


@st.composite
def questions(draw: st.DrawFn) -> tuple[Asked, Adjustment]:
    """Draw a question to some of the blocks, now or earlier, by either recipe, under any policy."""
    talk = talk_of(draw(NOTES)) if draw(st.booleans()) else talk_of_many()
    view = talk.view(draw(st.sampled_from((talk.version, talk.version // 2))))
    left_out = draw(NUMBERS)
    pool = np.setdiff1d(view.present.numbers, np.array(sorted(left_out), dtype=np.int64))
    vector = draw(VECTORS)
    quantised = None if vector is None else quantise(vector, dimension=2)
    kind, adjustment = draw(
        st.sampled_from(((Asked, context.CORRECTED), (AgedAsked, aged_context.RAISED)))
    )
    return kind.of(view.under(draw(policies())), draw(QUERIES), quantised, pool), adjustment


@settings(max_examples=8 * settings().max_examples)
@given(questions())
def test_a_scan_finds_what_scoring_every_block_does(drawn: tuple[Asked, Adjustment]) -> None:
    asked, adjustment = drawn
    view = asked.view
    whole = exact_scoring.seen(asked, adjustment, asked.places)
    scan = exact_scoring.scanned(asked, adjustment)
    assert scan.candidates(view).tolist() == whole.candidates(view).tolist()
    assert scan.curve == whole.curve
    assert values_of(scan, scan.numbers) == values_of(whole, scan.numbers)
    everything = scan.over(asked.columns.listed(asked.places))
    assert values_of(everything, asked.pool) == values_of(whole, asked.pool)
