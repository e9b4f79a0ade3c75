"""A match that looks at some vectors says of those what a match that looks at all does."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import attrs
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.kernel.arithmetic import weighted
from mnemic.kernel.policy import DEFAULT, RELEVANCE_WEIGHTS, Policy
from mnemic.kernel.vectors import quantise
from mnemic.projections.proximity import Recorded
from mnemic.projections.recipes import CURRENT, PLAIN, Match, context, question
from mnemic.projections.recipes.looking import SIZES, Sizes, glimpsed
from mnemic.projections.recipes.question import Asked
from tests.projections.talks import Talk

FEW = attrs.evolve(DEFAULT, name="few", candidates=1)
ASKED = "where do Ann's bees sleep in May"
WORDS = ("bees", "sleep", "porch", "cake", "harbour")
SPEAKERS = ("Ann", "Ben", None, None, None, None, None)
BLOCKS = 24
SMALL = Sizes(holders=4, overlooked=5, beside=2)


def talk_of(notes: list[tuple[int, int]]) -> Talk:
    """Return a talk of texts about few things, with vectors all around, and noted versions."""
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
    return talk


def asked_of(talk: Talk, query: str = ASKED, pool: tuple[int, ...] = tuple(range(BLOCKS))) -> Asked:
    vector = quantise((1.0, 0.2), dimension=2)
    return Asked.of(talk.view(), query, vector, np.array(pool, dtype=np.int64))


def match_of(talk: Talk, near: Recorded | None) -> Match:
    view = talk.view()
    pool = np.arange(BLOCKS)
    vector = quantise((1.0, 0.2), dimension=2)
    return CURRENT.match(view, ASKED, vector, pool, near=near)


def told_of(match: Match, numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[list[int]]:
    """Return everything that a match says of some blocks."""
    places = match.places(numbers)
    return [each[places].tolist() for each in (match.strength, *match.parts, *match.searches)]


def plainly(asked: Asked, near: set[int], sizes: Sizes) -> list[int]:
    """Return what a glimpse looks at, block by block and in the words of its docstring."""
    holders = [len(documents) for documents in asked.counts.documents]
    telling: list[int] = []
    for term in sorted(range(len(holders)), key=holders.__getitem__):
        if telling and sum(holders[each] for each in (*telling, term)) > sizes.holders:
            break
        telling.append(term)
    none = asked.counts.lengths[:0]
    counts = attrs.evolve(
        asked.counts,
        documents=tuple(
            documents if term in telling else none
            for term, documents in enumerate(asked.counts.documents)
        ),
        counts=tuple(
            own if term in telling else none for term, own in enumerate(asked.counts.counts)
        ),
    )
    words = counts.spread(asked.view.state.sequence.links, question.SPREAD)
    parts = [part.tolist() for part in asked.parts(asked.pool)]
    lexical = words.strengths(asked.view.documents(asked.pool)[1]).tolist()
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
def test_what_is_looked_at_has_the_parts_and_the_strength_that_it_has_anyway(
    notes: list[tuple[int, int]], near: tuple[int, ...], more: set[int]
) -> None:
    talk = talk_of(notes)
    exact, glimpse = match_of(talk, None), match_of(talk, Recorded(near))
    wider = glimpse.over(np.array(sorted({*near, *more}), dtype=np.int64))
    assert told_of(wider, wider.numbers) == told_of(exact, wider.numbers)
    assert wider.curve == glimpse.curve


@given(NOTES)
def test_a_glimpse_of_everything_is_the_match(notes: list[tuple[int, int]]) -> None:
    talk = talk_of(notes)
    exact, glimpse = match_of(talk, None), match_of(talk, Recorded(tuple(range(BLOCKS))))
    assert told_of(glimpse, exact.numbers) == told_of(exact, exact.numbers)
    assert glimpse.curve == exact.curve
    view = talk.view()
    assert glimpse.candidates(view).tolist() == exact.candidates(view).tolist()


@given(QUERIES, NUMBERS, NEAR, st.sampled_from((SIZES, SMALL)))
def test_a_glimpse_looks_at_what_it_says(
    query: str, pool: set[int], near: tuple[int, ...], sizes: Sizes
) -> None:
    asked = asked_of(talk_of([]), query, tuple(sorted(pool)))
    found = sorted({*near} & pool)
    glimpse = glimpsed(asked, np.array(found, dtype=np.int64), sizes)
    assert glimpse.tolist() == plainly(asked, set(found), sizes)


def test_what_is_not_looked_at_is_not_found() -> None:
    glimpse = match_of(talk_of([]), Recorded((3,)))
    assert glimpse.near is not None
    assert glimpse.near.tolist() == [3]
    assert 3 in glimpse.numbers
    assert len(glimpse.numbers) < BLOCKS
    assert glimpse.places(np.setdiff1d(glimpse.pool, glimpse.numbers)).max() == -1


def test_a_match_that_looks_at_everything_has_nothing_to_add() -> None:
    exact = match_of(talk_of([]), None)
    assert exact.over(np.array([5])) is exact
    assert exact.near is None


def test_the_older_recipe_looks_at_everything_whoever_says_what_is_near() -> None:
    talk = talk_of([])
    near = Recorded((3,))
    recall_1 = PLAIN.match(talk.view(), ASKED, None, np.arange(BLOCKS), near=near)
    assert recall_1.near is None


# --- the rough scan ---------------------------------------------------------------------------

VECTORS = st.sampled_from(((1.0, 0.2), (-0.3, 1.0), (0.0, 0.0), None))
SHARES = st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(any)
"""What the parts of relevance count beside each other; most often some count nothing."""
MANY = 70
"""Enough that a scan compares the greatest of many with each other."""


@cache
def talk_of_many() -> Talk:
    """Return a talk in which each thing is said by several, most of them about as near."""
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
    return talk


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Draw a policy that asks for few or many, and for whatever it likes."""
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
        **weighing,
    )


@st.composite
def questions(draw: st.DrawFn) -> Asked:
    """Draw a question to some of a talk, now or earlier, under some policy."""
    talk = talk_of(draw(NOTES)) if draw(st.booleans()) else talk_of_many()
    view = talk.view(draw(st.sampled_from((talk.version, talk.version // 2))))
    left_out = draw(NUMBERS)
    pool = np.setdiff1d(view.present.numbers, np.array(sorted(left_out), dtype=np.int64))
    vector = draw(VECTORS)
    quantised = None if vector is None else quantise(vector, dimension=2)
    return Asked.of(view.under(draw(policies())), draw(QUERIES), quantised, pool)


@settings(max_examples=6 * settings().max_examples)
@given(questions())
def test_a_scan_finds_what_a_look_at_everything_does(asked: Asked) -> None:
    view = asked.view
    whole, scan = context.seen(asked, asked.pool), context.scanned(asked)
    assert scan.candidates(view).tolist() == whole.candidates(view).tolist()
    assert scan.curve == whole.curve
    assert told_of(scan, scan.numbers) == told_of(whole, scan.numbers)
    everything = scan.over(asked.pool)
    assert told_of(everything, asked.pool) == told_of(whole, asked.pool)
