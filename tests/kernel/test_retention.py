"""FSRS-6 compared with the package of its authors."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from fsrs import Card, Rating, Scheduler
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.numeric.retention import (
    MICROS_PER_FSRS_DAY,
    Memory,
    first,
    retrievabilities,
    reviewed,
)
from tests.specs.columns import retrievability

START = datetime(2026, 1, 1, tzinfo=UTC)

steps = st.tuples(
    st.one_of(
        st.integers(0, 3 * MICROS_PER_FSRS_DAY),
        st.integers(0, 400).map(lambda days: days * MICROS_PER_FSRS_DAY),
    ),
    st.integers(1, 4),
)
"""Active time since the last review, and its rating."""


def by_the_package(story: list[tuple[int, int]], ask_days: int) -> tuple[float, float, float]:
    """Return stability, difficulty and retrievability *ask_days* after the last review."""
    scheduler, card, now = Scheduler(enable_fuzzing=False), Card(), START
    for waited_us, rating in story:
        now += timedelta(microseconds=waited_us)
        card, _ = scheduler.review_card(card, Rating(rating), review_datetime=now)
    left = scheduler.get_card_retrievability(card, now + timedelta(days=ask_days))
    assert card.stability is not None
    assert card.difficulty is not None
    return card.stability, card.difficulty, left


def ours(story: list[tuple[int, int]]) -> Memory:
    (now, rating), *later = story
    memory = first(rating, now)
    for waited_us, rating in later:
        now += waited_us
        memory = reviewed(memory, rating, now)
    return memory


@given(story=st.lists(steps, min_size=1, max_size=12), ask_days=st.integers(0, 5000))
def test_any_sequence_of_reviews_agrees_with_the_package(
    story: list[tuple[int, int]], ask_days: int
) -> None:
    memory = ours(story)
    stability, difficulty, left = by_the_package(story, ask_days)
    assert memory.stability == pytest.approx(stability, rel=1e-9)
    assert memory.difficulty == pytest.approx(difficulty, rel=1e-9)
    at = memory.reviewed_us + ask_days * MICROS_PER_FSRS_DAY
    assert retrievability(memory, at) == pytest.approx(left * NANO, abs=2)


def test_retrievability_falls_smoothly_between_whole_days() -> None:
    hours = np.arange(0, 72, dtype=np.int64) * (MICROS_PER_FSRS_DAY // 24)
    left = retrievabilities(np.full(72, 2.3065), hours)
    assert (np.diff(left) < 0).all()


def test_reps_count_later_successes_and_lapses_count_failures() -> None:
    memory = ours([(0, 3), (5, 3), (5, 1), (5, 4)])
    assert (memory.reps, memory.lapses, memory.reviewed_us) == (2, 1, 15)
