"""Scalar and array formulas must agree, also for odd rates and on both sides of each threshold."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.scoring.decay import (
    Ints,
    edge_rate,
    edge_rates,
    effective_weight,
    effective_weights,
    halved,
)

RATES = (0, 1, 2, 3, 10_000, 10_001, 999_999_999)
COUNTS = (0, 9, 10, 11)


def column(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(("rate", "half"), [(0, 0), (1, 1), (2, 1), (3, 2), (9, 5), (10, 5)])
def test_half_a_rate_is_rounded_up(rate: int, half: int) -> None:
    assert halved(rate) == half


@pytest.mark.parametrize(
    ("count", "rate"), [(0, 501), (9, 501), (10, 251), (11, 251), (10**6, 251)]
)
def test_an_established_edge_fades_half_as_fast(count: int, rate: int) -> None:
    assert edge_rate(1_001, 5_000, count, DEFAULT) == rate
    assert edge_rate(5_000, 1_001, count, DEFAULT) == rate


@pytest.mark.parametrize("policy", [DEFAULT, Policy(established_count=0)], ids=["ten", "none"])
def test_rates_of_many_edges_are_the_rates_of_each(policy: Policy) -> None:
    edges = list(product(RATES, RATES, COUNTS))
    rates_a, rates_b, counts = (column(*values) for values in zip(*edges, strict=True))
    found = edge_rates(rates_a, rates_b, counts, policy)
    assert found.dtype == np.int64
    assert found.tolist() == [edge_rate(*edge, policy) for edge in edges]


def test_weights_of_many_edges_are_the_weights_of_each() -> None:
    idle = (-1, 0, 1, MICROS_PER_HOUR, 400 * MICROS_PER_HOUR)
    edges = list(product((0, 1, 650_000_000, NANO), RATES, idle))
    found = effective_weights(*(column(*values) for values in zip(*edges, strict=True)))
    assert found.tolist() == [effective_weight(*edge) for edge in edges]
