"""A match that looks at some vectors says of those what a match that looks at all does."""

from __future__ import annotations

import math

import attrs
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.vectors import quantise
from mnemic.projections.proximity import Recorded
from mnemic.projections.recipes import CURRENT, PLAIN, Match, context
from tests.projections.talks import Talk

FEW = attrs.evolve(DEFAULT, name="few", candidates=1)
ASKED = "where do the bees sleep"
WORDS = ("bees", "sleep", "porch", "cake", "harbour")
BLOCKS = 24


def talk_of(notes: list[tuple[int, int]]) -> Talk:
    """Return a talk of texts about few things, with vectors all around, and noted versions."""
    talk = Talk(FEW)
    for number in range(BLOCKS):
        angle = 2 * math.pi * number / BLOCKS
        talk.say(
            f"{WORDS[number % 5]} {WORDS[number % 3]} thing {number}",
            category="knowledge",
            vector=(math.cos(angle), math.sin(angle)),
        )
    for block, other in notes:
        talk.note(block, other)
    return talk


def match_of(talk: Talk, near: Recorded | None) -> Match:
    view = talk.view()
    pool = np.arange(BLOCKS)
    vector = quantise((1.0, 0.2), dimension=2)
    return CURRENT.match(view, ASKED, vector, pool, near=near)


PAIRS = st.tuples(st.integers(0, BLOCKS - 1), st.integers(0, BLOCKS - 1)).filter(
    lambda pair: pair[0] != pair[1]
)
NOTES = st.lists(PAIRS, max_size=6)
NEAR = st.sets(st.integers(0, BLOCKS - 1), max_size=8).map(lambda near: tuple(sorted(near)))


@given(NOTES, NEAR, st.sets(st.integers(0, BLOCKS - 1)))
def test_what_is_looked_at_has_the_parts_and_the_strength_that_it_has_anyway(
    notes: list[tuple[int, int]], near: tuple[int, ...], more: set[int]
) -> None:
    talk = talk_of(notes)
    exact, glimpsed = match_of(talk, None), match_of(talk, Recorded(near))
    numbers = np.array(sorted({*near, *more}), dtype=np.int64)
    wider = glimpsed.over(numbers)
    assert wider.strength[numbers].tolist() == exact.strength[numbers].tolist()
    for part, expected in zip(wider.parts, exact.parts, strict=True):
        assert part[numbers].tolist() == expected[numbers].tolist()
    assert wider.curve == glimpsed.curve


@given(NOTES)
def test_a_glimpse_of_everything_is_the_match(notes: list[tuple[int, int]]) -> None:
    talk = talk_of(notes)
    exact, glimpsed = match_of(talk, None), match_of(talk, Recorded(tuple(range(BLOCKS))))
    assert glimpsed.strength.tolist() == exact.strength.tolist()
    assert [each.tolist() for each in glimpsed.searches] == [
        each.tolist() for each in exact.searches
    ]
    assert glimpsed.curve == exact.curve
    view = talk.view()
    assert glimpsed.candidates(view).tolist() == exact.candidates(view).tolist()


def test_what_is_not_looked_at_is_found_by_its_words_alone() -> None:
    glimpsed = match_of(talk_of([]), Recorded((3,)))
    unseen = np.flatnonzero(glimpsed.searches[1] == 0)
    assert len(unseen) >= BLOCKS - context.BESIDE - 1 - BLOCKS // 2
    assert glimpsed.near is not None
    assert glimpsed.near.tolist() == [3]
    exact = match_of(talk_of([]), None)
    assert glimpsed.searches[0].tolist() == exact.searches[0].tolist()


def test_a_match_that_looks_at_everything_has_nothing_to_add() -> None:
    exact = match_of(talk_of([]), None)
    assert exact.over(np.array([5])) is exact
    assert exact.near is None


def test_the_older_recipe_looks_at_everything_whoever_says_what_is_near() -> None:
    talk = talk_of([])
    near = Recorded((3,))
    recall_1 = PLAIN.match(talk.view(), ASKED, None, np.arange(BLOCKS), near=near)
    assert recall_1.near is None
