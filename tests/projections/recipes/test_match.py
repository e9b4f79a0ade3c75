from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.projections.retrieval.recipes.match import Curve, nth_best

STRENGTHS = st.lists(st.integers(min_value=0, max_value=NANO), max_size=30)
CURVES = st.builds(
    Curve,
    reference=st.integers(min_value=0, max_value=NANO),
    width=st.integers(min_value=100_000, max_value=10 * NANO),
)


def numbers(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


@given(CURVES, STRENGTHS)
def test_a_stronger_match_is_never_less_relevant(curve: Curve, strengths: list[int]) -> None:
    relevance = curve(numbers(*sorted(strengths))).tolist()
    assert relevance == sorted(relevance)
    assert all(0 <= value <= NANO for value in relevance)


@given(CURVES)
def test_the_reference_is_half_relevant(curve: Curve) -> None:
    assert curve(numbers(curve.reference)).tolist() == [NANO // 2]


def test_the_curve_at_whole_widths_is_the_logistic_function() -> None:
    curve = Curve(reference=300_000_000, width=100_000_000)
    strengths = numbers(100_000_000, 200_000_000, 400_000_000, 500_000_000, 900_000_000)
    assert curve(strengths).tolist() == [
        119_202_922,
        268_941_421,
        731_058_579,
        880_797_078,
        997_527_377,
    ]


def test_the_ends_of_a_steep_curve_are_flat() -> None:
    curve = Curve(reference=NANO // 2, width=100_000)
    assert curve(numbers(0, NANO)).tolist() == [0, NANO]


def test_a_curve_of_an_empty_array_is_empty() -> None:
    assert Curve(reference=0, width=1)(numbers()).tolist() == []


@pytest.mark.parametrize(
    ("values", "rank", "floor", "found"),
    [
        ((5, 9, 7), 1, 0, 9),
        ((5, 9, 7), 2, 0, 7),
        ((5, 9, 7), 3, 0, 5),
        ((5, 9, 7), 4, 0, 0),
        ((5, 9, 7), 2, 8, 8),
        ((5, 9, 7), 4, 8, 8),
        ((7, 7, 7), 2, 0, 7),
        ((), 1, 3, 3),
    ],
)
def test_the_value_at_a_rank_counts_unless_the_floor_is_higher(
    values: tuple[int, ...], rank: int, floor: int, found: int
) -> None:
    assert nth_best(numbers(*values), rank, floor) == found


@given(STRENGTHS, st.integers(min_value=1, max_value=31))
def test_the_value_at_a_rank_is_that_of_the_sorted_values(values: list[int], rank: int) -> None:
    best = sorted(values, reverse=True)
    assert nth_best(numbers(*values), rank, 0) == (best[rank - 1] if rank <= len(best) else 0)
