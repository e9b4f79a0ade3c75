"""Signals at the edges of their range, in whole numbers whatever comes in."""

from __future__ import annotations

import numpy as np
import pytest

from mnemic.kernel.arithmetic import NANO, share
from mnemic.kernel.decay import Ints
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.scoring import (
    SHARED_MAX,
    centrality,
    edge_score,
    frequency,
    reinforcement,
    usefulness,
)

COSINE_ALONE = Policy(
    edge_cosine=1.0, edge_tags=0.0, edge_category=0.0, edge_temporal=0.0, cosine_guard=0.0
)


def column(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def whole(values: Ints) -> list[int]:
    """Return what stands in a column of 64-bit integers, which every signal has to be."""
    assert values.dtype == np.int64
    told: list[int] = values.tolist()
    return told


@pytest.mark.parametrize("cosine", [0, 1, NANO])
def test_the_cosine_counts_to_the_last_unit(cosine: int) -> None:
    score = edge_score(cosine, (), (), same_category=False, delta_us=0, policy=COSINE_ALONE)
    assert score == cosine


def test_no_usefulness_is_rounded_however_much_evidence_there_is() -> None:
    alpha = column(1, SHARED_MAX // 3, SHARED_MAX - 1, 2 * SHARED_MAX)
    beta = column(2, SHARED_MAX, 2, SHARED_MAX)
    shares = [share(int(a), int(a + b)) for a, b in zip(alpha, beta, strict=True)]
    assert whole(usefulness(alpha, beta)) == shares
    assert whole(usefulness(alpha[:1], beta[:1])) == shares[:1]


@pytest.mark.parametrize(
    ("cap", "signals"),
    [(0, [0, NANO, NANO]), (1, [0, NANO, NANO]), (2, [0, NANO // 2, NANO])],
)
def test_retrievals_count_up_to_the_cap_however_low(cap: int, signals: list[int]) -> None:
    assert whole(frequency(column(0, 1, 2), Policy(frequency_cap=cap))) == signals
    assert whole(frequency(column(), Policy(frequency_cap=cap))) == []


@pytest.mark.parametrize(
    ("degrees", "shares"),
    [([], []), ([0, 0], [0, 0]), ([1, 0], [NANO, 0]), ([1, 2, 4], [NANO // 4, NANO // 2, NANO])],
)
def test_centrality_is_a_share_of_the_greatest_degree(
    degrees: list[int], shares: list[int]
) -> None:
    assert whole(centrality(column(*degrees))) == shares


@pytest.mark.parametrize(
    ("counts", "signals"),
    [([], []), ([0, 0], [0, 0]), ([1, 0], [NANO, 0]), ([1, 3], [NANO // 2, NANO])],
)
def test_reinforcement_is_a_share_of_the_greatest_logarithm(
    counts: list[int], signals: list[int]
) -> None:
    assert whole(reinforcement(column(*counts))) == signals


def test_the_weights_of_an_edge_sum_to_one() -> None:
    same = edge_score(NANO, ("a",), ("a",), same_category=True, delta_us=0, policy=DEFAULT)
    assert same == NANO
