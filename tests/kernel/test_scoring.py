"""Signals at the limits of their range, always in whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from mnemic.kernel.numeric.arithmetic import NANO, ln, nano, share
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.scoring.decay import Ints
from mnemic.kernel.scoring.signals import (
    SHARED_MAX,
    centrality,
    edge_pull,
    frequency,
    reinforcement,
    usefulness,
)
from tests.specs.columns import edge_score

COSINE_ALONE = Policy(
    edge_cosine=1.0, edge_tags=0.0, edge_category=0.0, edge_temporal=0.0, cosine_guard=0.0
)


def column(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def whole(values: Ints) -> list[int]:
    """Return the values of a column, which must be 64-bit integers."""
    assert values.dtype == np.int64
    found: list[int] = values.tolist()
    return found


@pytest.mark.parametrize("cosine", [0, 1, NANO])
def test_the_cosine_counts_to_the_last_unit(cosine: int) -> None:
    score = edge_score(cosine, (), (), same_category=False, delta_us=0, policy=COSINE_ALONE)
    assert score == cosine


def test_usefulness_is_exact_for_any_amount_of_evidence_in_columns() -> None:
    alpha = column(1, SHARED_MAX // 3, SHARED_MAX - 1, 2 * SHARED_MAX)
    beta = column(2, SHARED_MAX, 2, SHARED_MAX)
    shares = [share(int(a), int(a + b)) for a, b in zip(alpha, beta, strict=True)]
    assert whole(usefulness(alpha, beta)) == shares
    assert whole(usefulness(alpha[:1], beta[:1])) == shares[:1]


@pytest.mark.parametrize(
    ("cap", "signals"),
    [(0, [0, NANO, NANO]), (1, [0, NANO, NANO]), (2, [0, NANO // 2, NANO])],
)
def test_retrievals_count_up_to_any_cap(cap: int, signals: list[int]) -> None:
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


@pytest.mark.parametrize("counts", [[], [0], [3, 0, 1, 1, 3], [0, 1, 2, 2], [40, 2], [0, 7]])
def test_an_edge_pulls_more_with_every_use_however_its_logarithm_is_computed(
    counts: list[int],
) -> None:
    """Few different counts are looked up in a table, others computed one by one."""
    policy = Policy(centrality_count_bonus=0.5)
    weights = [100 * place for place, _ in enumerate(counts)]
    expected = [
        weight + nano(0.5 * ln(1.0 + count)) for weight, count in zip(weights, counts, strict=True)
    ]
    assert whole(edge_pull(column(*weights), column(*counts), policy)) == expected


def test_the_weights_of_an_edge_sum_to_one() -> None:
    same = edge_score(NANO, ("a",), ("a",), same_category=True, delta_us=0, policy=DEFAULT)
    assert same == NANO
