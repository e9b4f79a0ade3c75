from __future__ import annotations

import hashlib
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.kernel.numeric import arithmetic
from mnemic.kernel.numeric.arithmetic import MICROS_PER_DAY, MICROS_PER_HOUR, NANO

FINITE = st.floats(allow_nan=False, allow_infinity=False)
POWERS = st.floats(-745.2, 709.78)
SIGNALS = st.integers(0, NANO)
SIGNED = st.integers(-NANO, NANO)
ACTIVE_US = st.integers(0, 10**16)
"""Up to 300 years of active time."""


def bits(values: NDArray[np.float64]) -> list[int]:
    """Return the bit patterns of floats, so that equal means equal to the last bit."""
    return [int(pattern) for pattern in values.view(np.int64)]


def integers(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def ulps_off(got: float, exact: Decimal) -> Decimal:
    return abs(Decimal(got) - exact) / Decimal(math.ulp(got))


def half_up(exact: Fraction) -> int:
    return math.floor(exact + Fraction(1, 2))


# --- exponential and logarithm ---------------------------------------------------------------


@given(st.floats(-708.0, 709.78) | st.floats(-1.0, 1.0) | st.floats(-1e-9, 1e-9))
def test_exp_is_within_two_thirds_of_an_ulp(x: float) -> None:
    with localcontext(Context(prec=40)):
        assert ulps_off(arithmetic.exp(x), Decimal(x).exp()) < Decimal("0.65")


@given(st.floats(-745.2, -708.0))
def test_a_subnormal_exp_is_off_by_its_last_unit_at_most(x: float) -> None:
    with localcontext(Context(prec=40)):
        assert ulps_off(arithmetic.exp(x), Decimal(x).exp()) <= 1


@given(st.floats(5e-324, 1.7e308) | st.floats(0.5, 2.0) | st.floats(0.999, 1.001))
def test_ln_is_within_one_ulp(x: float) -> None:
    with localcontext(Context(prec=40)):
        assert ulps_off(arithmetic.ln(x), Decimal(x).ln()) < 1


@given(st.lists(POWERS))
def test_exp_of_an_array_equals_exp_of_each_bit_by_bit(powers: list[float]) -> None:
    x = np.array(powers, dtype=np.float64)
    assert bits(arithmetic.exp_each(x)) == bits(np.array([arithmetic.exp(p) for p in powers], "d"))


@given(st.lists(st.floats(5e-324, 1.7e308)))
def test_ln_of_an_array_equals_ln_of_each_bit_by_bit(numbers: list[float]) -> None:
    x = np.array(numbers, dtype=np.float64)
    assert bits(arithmetic.ln_each(x)) == bits(np.array([arithmetic.ln(n) for n in numbers], "d"))


def test_the_landmarks_of_exp_are_exact() -> None:
    landmarks = [0.0, -0.0, 1.0, -math.inf, -745.14, -1e300, -745.13]
    assert [arithmetic.exp(x) for x in landmarks] == [1.0, 1.0, math.e, 0.0, 0.0, 0.0, 5e-324]


def test_the_landmarks_of_ln_are_exact() -> None:
    assert [arithmetic.ln(x) for x in [1.0, 2.0, math.e]] == [0.0, float(Decimal(2).ln()), 1.0]


def test_the_bits_are_the_same_on_every_machine() -> None:
    grid = np.arange(-8000, 5600, dtype=np.float64) / 8.0
    digest = hashlib.sha256()
    exps = arithmetic.exp_each(np.clip(grid, -740.0, 700.0))
    digest.update(exps.astype("<f8").tobytes())
    digest.update(arithmetic.ln_each(exps).astype("<f8").tobytes())
    assert digest.hexdigest()[:16] == "bf81a528e80b3435"


@pytest.mark.parametrize("x", [709.79, 1e300, math.inf])
def test_an_exp_beyond_float64_overflows(x: float) -> None:
    with pytest.raises(OverflowError, match="exceeds float64"):
        arithmetic.exp(x)
    with pytest.raises(OverflowError, match="exceeds float64"):
        arithmetic.exp_each(np.array([0.0, x]))


def test_nan_has_no_exp() -> None:
    with pytest.raises(ValueError, match="nan"):
        arithmetic.exp(math.nan)
    with pytest.raises(ValueError, match="nan"):
        arithmetic.exp_each(np.array([0.0, math.nan]))


@pytest.mark.parametrize("x", [0.0, -0.0, -1.0, -math.inf, math.inf, math.nan])
def test_only_a_positive_finite_number_has_a_logarithm(x: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        arithmetic.ln(x)
    with pytest.raises(ValueError, match="above 0"):
        arithmetic.ln_each(np.array([1.0, x]))


# --- nano-units ------------------------------------------------------------------------------


@given(st.lists(st.floats(-9.2e9, 9.2e9)))
def test_nano_of_an_array_is_nano_of_each(numbers: list[float]) -> None:
    x = np.array(numbers, dtype=np.float64)
    assert arithmetic.nano_each(x).tolist() == [arithmetic.nano(n) for n in numbers]


HALVES = st.integers(0, NANO - 1).map(lambda nano: (nano + 0.5) / NANO)
"""Numbers as near to the middle between two nano-units as a float can be."""


@given(st.lists(st.floats(-800.0, 0.0) | HALVES.filter(bool).map(math.log)))
def test_the_nano_units_of_a_decay_are_those_of_its_exponential(exponents: list[float]) -> None:
    x = np.array(exponents, dtype=np.float64)
    expected = arithmetic.nano_each(arithmetic.exp_each(x)).tolist()
    assert arithmetic.decay_nano_each(x).tolist() == expected


@given(st.lists(st.floats(-60.0, 60.0) | HALVES.map(lambda share: math.log(share / (1.0 - share)))))
def test_the_nano_units_of_a_logistic_curve_are_those_of_its_exponential(
    exponents: list[float],
) -> None:
    x = np.array(exponents, dtype=np.float64)
    curve = 1.0 / (1.0 + arithmetic.exp_each(np.clip(-x, -50.0, 50.0)))
    assert arithmetic.logistic_nano_each(x).tolist() == arithmetic.nano_each(curve).tolist()


def test_nan_has_no_decay() -> None:
    with pytest.raises(ValueError, match="nan"):
        arithmetic.decay_nano_each(np.array([0.0, math.nan]))


def test_nano_rounds_a_half_to_the_even_neighbour() -> None:
    # 5**9 / 2**10 nano-units and its odd multiples end in exactly one half.
    odd = [1, 3, -1, -3]
    halves = [n / 2**10 for n in odd]
    assert [arithmetic.nano(x) for x in halves] == [976562, 2929688, -976562, -2929688]
    assert [arithmetic.nano(x) for x in [0.0, 0.25, 1.0]] == [0, 250_000_000, NANO]


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_infinity_and_nan_have_no_nano_units(x: float) -> None:
    with pytest.raises(ValueError, match="nano-units"):
        arithmetic.nano(x)
    with pytest.raises(ValueError, match="nano-units"):
        arithmetic.nano_each(np.array([0.0, x]))


@pytest.mark.parametrize("x", [9.3e9, -9.3e9, 1e300])
def test_nano_units_stay_within_64_bits(x: float) -> None:
    with pytest.raises(OverflowError, match="64 bits"):
        arithmetic.nano(x)
    with pytest.raises(OverflowError, match="64 bits"):
        arithmetic.nano_each(np.array([0.0, x]))


@given(st.lists(st.tuples(SIGNED, SIGNED), min_size=1, max_size=6))
def test_a_weighted_sum_rounds_once_and_half_up(terms: list[tuple[int, int]]) -> None:
    weights, signals = [weight for weight, _ in terms], [signal for _, signal in terms]
    exact = Fraction(sum(weight * signal for weight, signal in terms), NANO)
    assert arithmetic.weighted(weights, signals) == half_up(exact)


@given(st.lists(st.tuples(SIGNED, SIGNED, SIGNED)))
def test_weighted_columns_equal_weighted_rows(rows: list[tuple[int, int, int]]) -> None:
    weights = (550_000_000, 200_000_000, 250_000_000)
    columns = [integers([row[place] for row in rows]) for place in range(3)]
    expected = [arithmetic.weighted(weights, row) for row in rows]
    assert arithmetic.weighted_each(weights, columns).tolist() == expected


def test_weights_and_signals_must_pair_up() -> None:
    with pytest.raises(ValueError, match="zip"):
        arithmetic.weighted([1, 2], [1])
    with pytest.raises(ValueError, match="zip"):
        arithmetic.weighted_each([1, 2], [integers([1])])
    with pytest.raises(ValueError, match="at least one"):
        arithmetic.weighted_each([], [])


@given(st.integers(0, 10**30), st.integers(1, 10**30))
def test_a_share_is_the_fraction_rounded_half_up(part: int, whole: int) -> None:
    assert arithmetic.share(part, whole) == half_up(Fraction(part * NANO, whole))


@given(st.lists(st.tuples(st.integers(0, 9 * NANO), st.integers(0, 9 * 10**15))))
def test_shares_of_arrays_equal_the_share_of_each(pairs: list[tuple[int, int]]) -> None:
    parts, wholes = integers([p for p, _ in pairs]), integers([w for _, w in pairs])
    expected = [arithmetic.share(part, whole) for part, whole in pairs]
    assert arithmetic.share_each(parts, wholes).tolist() == expected


def test_a_share_of_zero_is_zero() -> None:
    assert arithmetic.share(0, 0) == 0
    assert arithmetic.share_each(integers([0, 1]), integers([0, 3])).tolist() == [0, 333_333_333]


@pytest.mark.parametrize(("part", "whole"), [(-1, 1), (1, -1)])
def test_a_negative_share_is_refused(part: int, whole: int) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        arithmetic.share(part, whole)
    with pytest.raises(ValueError, match="at least 0"):
        arithmetic.share_each(integers([part]), integers([whole]))


def test_shares_that_might_overflow_are_refused() -> None:
    with pytest.raises(OverflowError, match="wholes up to 9e15"):
        arithmetic.share_each(integers([0]), integers([9 * 10**15 + 1]))
    with pytest.raises(OverflowError, match="parts up to 9e9 of them"):
        arithmetic.share_each(integers([9 * NANO + 1]), integers([1]))


@given(st.lists(st.tuples(SIGNED, SIGNED)))
def test_products_round_half_up_one_by_one_and_in_arrays(pairs: list[tuple[int, int]]) -> None:
    expected = [half_up(Fraction(a * b, NANO)) for a, b in pairs]
    assert [arithmetic.product(a, b) for a, b in pairs] == expected
    a, b = integers([a for a, _ in pairs]), integers([b for _, b in pairs])
    assert arithmetic.product_each(a, b).tolist() == expected


# --- decay and nearness ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "hours", "left"),
    [
        (10_000_000, 0, NANO),
        (10_000_000, -5, NANO),
        (10_000_000, 100, 367_879_441),
        (10_000_000, 300, 49_787_068),
        (1_000_000, 693, 500_073_596),
        (0, 10**6, NANO),
        (NANO, 1000, 0),
    ],
)
def test_decay_is_the_exponential_of_rate_and_idle_hours(rate: int, hours: int, left: int) -> None:
    assert arithmetic.decayed(rate, hours * MICROS_PER_HOUR) == left


@given(st.integers(0, NANO), ACTIVE_US)
def test_decay_is_within_a_nano_unit_of_the_truth(rate: int, idle: int) -> None:
    with localcontext(Context(prec=40)):
        exact = (-Decimal(rate) * idle / (NANO * MICROS_PER_HOUR)).exp() * NANO
        assert abs(arithmetic.decayed(rate, idle) - exact) <= Decimal("0.501")


@given(SIGNALS, ACTIVE_US, ACTIVE_US)
def test_longer_idle_time_never_leaves_more(rate: int, idle: int, more: int) -> None:
    assert arithmetic.decayed(rate, idle + more) <= arithmetic.decayed(rate, idle) <= NANO


@given(st.lists(st.tuples(SIGNALS, st.integers(-(10**16), 10**16))))
def test_decay_of_arrays_equals_the_decay_of_each(pairs: list[tuple[int, int]]) -> None:
    rates, idle = integers([r for r, _ in pairs]), integers([i for _, i in pairs])
    expected = [arithmetic.decayed(rate, us) for rate, us in pairs]
    assert arithmetic.decayed_each(rates, idle).tolist() == expected


def test_a_negative_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        arithmetic.decayed(-1, 0)
    with pytest.raises(ValueError, match="at least 0"):
        arithmetic.decayed_each(integers([-1]), integers([0]))


@pytest.mark.parametrize(
    ("hours", "near"),
    [(0, NANO), (8, 606_530_660), (-8, 606_530_660), (24, 11_108_997), (1000, 0)],
)
def test_nearness_is_a_bell_over_the_hours_between(hours: int, near: int) -> None:
    delta_us = integers([hours * MICROS_PER_HOUR])
    assert arithmetic.nearness_each(delta_us, 8 * MICROS_PER_HOUR).tolist() == [near]


@given(st.lists(st.integers(-(10**16), 10**16)), st.integers(1, 100 * MICROS_PER_DAY))
def test_nearness_is_the_rounded_exponential_of_each(deltas: list[int], sigma: int) -> None:
    hours = [abs(float(delta)) / MICROS_PER_HOUR for delta in deltas]
    width = float(sigma) / MICROS_PER_HOUR
    expected = [
        arithmetic.nano(arithmetic.exp(-(each * each) / (2.0 * width * width))) for each in hours
    ]
    assert arithmetic.nearness_each(integers(deltas), sigma).tolist() == expected


def test_a_bell_without_width_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 0"):
        arithmetic.nearness_each(integers([0]), 0)
