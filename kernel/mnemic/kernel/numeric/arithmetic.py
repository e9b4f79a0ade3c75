"""Deterministic arithmetic for every number that a decision depends on.

A comparison with a limit or threshold, or a sort order, must give the same result live and on
replay, for one block and for a hundred thousand, on every machine. Hence the rules of this module:

1. Only ``+ - * /``, square roots, rounding to a whole number and scaling by powers of two touch a
   float. IEEE 754 fixes the result of each to the last bit; it says nothing of the kind about
   ``math.exp`` or ``numpy.exp``, which differ from each other and between processors. The one
   exception is ``_rounded``, whose result does not depend on their last bits.
2. Each function of one number has a twin ``..._each`` for arrays. Both run the same steps in the
   same order (mostly the same lines), so they agree bit for bit.
3. Values that are compared are integers: nano-units (10**9 to one), rounded once.
4. Sums are taken over integers, where the order of the terms cannot matter.

Array integers are int64, and each function says which bound keeps them from overflowing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

NANO: Final[int] = 10**9
"""Nano-units in 1.0: the unit of signals, weights and scores."""

MICROS_PER_HOUR: Final[int] = 3_600_000_000
MICROS_PER_DAY: Final[int] = 86_400_000_000

_Number = TypeVar("_Number", float, Floats)

# ln 2 in two pieces. The upper one ends in enough zero bits that k * _LN2_UPPER is exact for every
# exponent k of a float64; the lower one carries the next 53 bits.
_LN2_UPPER: Final = float.fromhex("0x1.62e42fefap-1")
_LN2_LOWER: Final = float.fromhex("0x1.cf79abc9e3b3ap-40")
_PER_LN2: Final = float.fromhex("0x1.71547652b82fep+0")

_EXP_LARGEST: Final = float.fromhex("0x1.62e42fefa39efp+9")
"""The last x whose exponential is a finite float64 (709.78...)."""
_EXP_SMALLEST: Final = -746.0
"""Below this every exponential rounds to 0.0 (the last that does not is at -745.13...)."""
_EXP_NORMAL: Final = 708.0
"""Up to here, either way, the power of two in an exponential is a normal float64."""
LOGISTIC_MAX: Final = 50.0
"""Beyond it, either way, a logistic curve is flat to the last nano-unit."""
_EXPONENT_BIAS: Final = 1023
_MANTISSA_BITS: Final = 52
_ROOT_HALF: Final = float.fromhex("0x1.6a09e667f3bcdp-1")
_INT64_SPAN: Final = 2.0**63
_FAR_FROM_SPAN: Final = 9e9
"""Numbers below it have nano-units within 64 bits."""
_CLEAR_OF_HALF: Final = 0.5 - 2.0**-16
"""Nano-units: a number that is at most this far from a whole one has the same nano-units by every
exponential that is off by less than 60 units in the last place. See ``_rounded``."""

# Taylor's 1/n!, n = 14 .. 2. On |r| <= ln(2)/2 the first term left out is below 1e-19.
_EXP_TERMS: Final = tuple(1.0 / math.factorial(n) for n in range(14, 1, -1))
# 2/(2n+1), n = 10 .. 1: the series of 2*artanh(s) beyond its first term, as a polynomial in s*s.
# |s| <= 3 - 2*sqrt(2), so the first term left out is below 1e-18 of the whole.
_LN_TERMS: Final = tuple(2.0 / (2 * n + 1) for n in range(10, 0, -1))


# --- exponential and logarithm ---------------------------------------------------------------


def exp(x: float) -> float:
    """Return e**x, within 0.65 units in the last place of the true value.

    A result under the smallest normal float64 is rounded once more; below -745.14 it is 0.0.

    Raises:
        ValueError: *x* is not a number.
        OverflowError: The result exceeds every float64 (x > 709.78).
    """
    if math.isnan(x):
        raise ValueError("exp of nan: pass a number")
    if x > _EXP_LARGEST:
        raise OverflowError(f"exp of {x!r} exceeds float64: pass at most {_EXP_LARGEST!r}")
    x = max(x, _EXP_SMALLEST)
    power = round(x * _PER_LN2)
    # Two factors, since 2**power alone may be subnormal: the first product is exact and only the
    # second can round.
    half = power // 2
    return (_exp_near_zero(x, float(power)) * math.ldexp(1.0, half)) * math.ldexp(1.0, power - half)


def exp_each(x: Floats) -> Floats:
    """Return `exp` of every element of *x*, bit-equal to it."""
    if not x.size:
        return np.zeros_like(x)
    largest = np.maximum.reduce(x, axis=None)
    if not largest <= _EXP_LARGEST:  # nan is not below it either
        if math.isnan(largest):
            raise ValueError("exp of nan: pass numbers")
        raise OverflowError(f"exp of {largest!r} exceeds float64: pass at most {_EXP_LARGEST!r}")
    if np.minimum.reduce(x, axis=None) >= -_EXP_NORMAL and largest <= _EXP_NORMAL:
        power = np.rint(x * _PER_LN2)
        # The power of two in one factor, made of its bits: an exponent and no mantissa.
        whole = power.astype(np.int64)
        whole += _EXPONENT_BIAS
        whole <<= _MANTISSA_BITS
        scaled: Floats = _exp_near_zero(x, power)
        scaled *= whole.view(np.float64)
        return scaled
    x = np.maximum(x, _EXP_SMALLEST)
    power = np.rint(x * _PER_LN2)
    exponent = power.astype(np.int32)
    half = exponent >> 1
    with np.errstate(under="ignore"):
        near = _exp_near_zero(x, power)
        found: Floats = (near * np.ldexp(1.0, half)) * np.ldexp(1.0, exponent - half)
    return found


def ln(x: float) -> float:
    """Return the natural logarithm of *x*, within one unit in the last place of the true value.

    Raises:
        ValueError: *x* is not a finite number above 0.
    """
    if not 0.0 < x < math.inf:
        raise ValueError(f"ln of {x!r}: pass a finite number above 0")
    mantissa, power = math.frexp(x)
    if mantissa < _ROOT_HALF:
        mantissa, power = mantissa * 2.0, power - 1
    return _ln_near_one(mantissa, float(power))


def ln_each(x: Floats) -> Floats:
    """Return `ln` of every element of *x*, bit-equal to it."""
    if not ((x > 0.0) & (x < math.inf)).all():
        raise ValueError("ln of an array: every element must be a finite number above 0")
    mantissa, whole = np.frexp(x)
    low = mantissa < _ROOT_HALF
    mantissa = np.where(low, mantissa * 2.0, mantissa)
    return _ln_near_one(mantissa, (whole - low).astype(np.float64))


def _exp_near_zero(x: _Number, power: _Number) -> _Number:
    """Return exp(x - power * ln 2), the remainder being at most ln(2)/2 either way."""
    lower = power * _LN2_LOWER
    upper = x - power * _LN2_UPPER
    r = upper - lower
    lost = (upper - r) - lower
    # 1 + r rounds; what it drops is recovered exactly and joins the small terms, so that the last
    # addition is the only one whose rounding shows.
    leading = r + 1.0
    small = (r - (leading - 1.0)) + (lost + (r * r) * _polynomial(_EXP_TERMS, r))
    return leading + small


def _ln_near_one(mantissa: _Number, power: _Number) -> _Number:
    """Return ln(mantissa * 2**power) for a mantissa between sqrt(1/2) and sqrt(2)."""
    f = mantissa - 1.0
    s = f / (f + 2.0)
    square = s * s
    # ln(1+f) = 2s + s*R = f - (h - s*(h + R)) with h = f*f/2: f is exact, so the division's
    # rounding only reaches the small second part.
    h = f * f * 0.5
    bend = h - s * (h + square * _polynomial(_LN_TERMS, square))
    upper = power * _LN2_UPPER
    leading = upper + f
    small = (f - (leading - upper)) + (power * _LN2_LOWER - bend)
    return leading + small


def _polynomial(terms: tuple[float, ...], x: _Number) -> _Number:
    """Evaluate the polynomial with *terms* from the highest power down (Horner's scheme)."""
    total = x * terms[0] + terms[1]
    for term in terms[2:]:
        total *= x
        total += term
    return total


# --- nano-units ------------------------------------------------------------------------------


def nano(x: float) -> int:
    """Return *x* in nano-units, a half rounded to the even neighbour.

    Raises:
        ValueError: *x* is NaN or infinite.
        OverflowError: The result would not fit 64 bits (|x| above 9.2e9).
    """
    if not math.isfinite(x):
        raise ValueError(f"{x!r} has no nano-units: pass a finite number")
    scaled = x * 1e9
    if not -_INT64_SPAN < scaled < _INT64_SPAN:
        raise OverflowError(f"{x!r} in nano-units exceeds 64 bits: pass at most 9.2e9")
    return round(scaled)


def nano_each(x: Floats) -> Integers:
    """Return `nano` of every element of *x*."""
    largest = np.maximum.reduce(np.abs(x), axis=None, initial=0.0)  # nan, if one is
    scaled = x * 1e9 if largest < _FAR_FROM_SPAN else _within_span(x)
    return np.rint(scaled, out=scaled).astype(np.int64)


def decay_nano_each(x: Floats) -> Integers:
    """Return ``nano_each(exp_each(x))``, in a third of the time.

    Args:
        x: At most 0.
    """
    fast = np.exp(x)
    fast *= 1e9
    return _rounded(fast, x, exp_each)


def logistic_nano_each(x: Floats) -> Integers:
    """Return the nano-units of 1 / (1 + exp(-x)), as ``exp_each`` gives it, in less time.

    Args:
        x: In [-``LOGISTIC_MAX``, ``LOGISTIC_MAX``]; what is beyond counts as the limit.
    """
    exponent = np.minimum(np.maximum(-x, -LOGISTIC_MAX), LOGISTIC_MAX)
    fast = np.exp(exponent)
    fast += 1.0
    return _rounded(1e9 / fast, exponent, lambda few: 1.0 / (1.0 + exp_each(few)))


def _rounded(fast: Floats, x: Floats, exact: Callable[[Floats], Floats]) -> Integers:
    """Return ``nano_each(exact(x))``, computing *exact* only where it matters.

    The exponential of numpy is within a few units in the last place, but differs between
    processors. That moves a number of nano-units by less than 1e-5, so it decides how one is
    rounded only if it is as close as that to the middle between two whole ones. These are computed
    again: some 3 in 100,000.

    Args:
        fast: The numbers in nano-units by numpy's exponential, in [0, 1e9]; overwritten.
        x: What they were computed from.
        exact: Computes the numbers by ``exp_each``.
    """
    whole = np.rint(fast)
    fast -= whole
    off = np.abs(fast, out=fast)
    if not np.maximum.reduce(off, axis=None, initial=0.0) <= _CLEAR_OF_HALF:  # nan is not either
        unclear = ~(off <= _CLEAR_OF_HALF)
        whole[unclear] = nano_each(exact(x[unclear]))
    return whole.astype(np.int64)


def _within_span(x: Floats) -> Floats:
    """Return *x* in nano-units, not yet rounded, if every element has some."""
    with np.errstate(over="ignore"):
        scaled = x * 1e9
    if not (np.abs(scaled) < _INT64_SPAN).all():
        if not np.isfinite(x).all():
            raise ValueError("an array with NaN or infinity has no nano-units: pass finite numbers")
        raise OverflowError("nano-units of an array exceed 64 bits: pass at most 9.2e9")
    return scaled


def weighted(weights: Sequence[int], signals: Sequence[int]) -> int:
    """Return the sum of weight times signal in nano-units, rounded half up, once, at the end.

    Args:
        weights: Nano-units.
        signals: Nano-units, as many as *weights*.
    """
    total = sum(weight * signal for weight, signal in zip(weights, signals, strict=True))
    return (total + NANO // 2) // NANO


def weighted_each(weights: Sequence[int], signals: Sequence[Integers]) -> Integers:
    """Return `weighted` column by column.

    Weights that sum to at most one whole and signals within [-NANO, NANO] keep every partial sum
    within 1e18, and int64 holds 9.2e18.

    Raises:
        ValueError: There are no signals, or not as many as weights.
    """
    if not signals:
        raise ValueError("no signals given: pass at least one array")
    total: Integers | None = None
    for weight, signal in zip(weights, signals, strict=True):
        if total is None:
            total = np.multiply(signal, weight, dtype=np.int64)
        elif weight:
            total += np.multiply(signal, weight, dtype=np.int64)
    assert total is not None, "there are signals"  # noqa: S101
    total += NANO // 2
    total //= NANO
    return total


def share(part: int, whole: int) -> int:
    """Return part/whole in nano-units, rounded half up in exact integers; 0 when *whole* is 0.

    Args:
        part: >= 0.
        whole: >= 0, in the same unit.
    Raises:
        ValueError: One of them is negative.
    """
    if part < 0 or whole < 0:
        raise ValueError(f"share of {part} in {whole}: pass counts of at least 0")
    return (part * NANO + whole // 2) // whole if whole else 0


_SHARE_LIMITS: Final = "shares of an array: pass wholes up to 9e15, parts up to 9e9 of them"


def share_each(part: Integers, whole: Integers) -> Integers:
    """Return `share` of every pair.

    If a part is above 9e9, by long division, three decimal digits a step, so that no step leaves
    int64.

    Raises:
        ValueError: An element is negative.
        OverflowError: A whole exceeds 9e15, or a part is more than 9e9 times its whole.
    """
    if (part < 0).any() or (whole < 0).any():
        raise ValueError("shares of an array: pass counts of at least 0")
    if (whole > 9 * 10**15).any():
        raise OverflowError(_SHARE_LIMITS)
    divisor = np.maximum(whole, 1)
    part = np.where(whole == 0, 0, part)
    if part.max(initial=0) <= 9 * NANO:
        return (part * NANO + whole // 2) // divisor
    digits, rest = np.divmod(part, divisor)
    if (digits > 9 * NANO).any():
        raise OverflowError(_SHARE_LIMITS)
    for _ in range(3):
        more, rest = np.divmod(rest * 1000, divisor)
        digits = digits * 1000 + more
    return digits + (2 * rest >= divisor)


def product(a_nano: int, b_nano: int) -> int:
    """Return the product of two numbers in nano-units, rounded half up."""
    return (a_nano * b_nano + NANO // 2) // NANO


def product_each(a_nano: Integers, b_nano: Integers | int) -> Integers:
    """Return `product` of every pair; within [-NANO, NANO] no product exceeds 1e18."""
    return (np.multiply(a_nano, b_nano, dtype=np.int64) + NANO // 2) // NANO


# --- decay and nearness in active time -------------------------------------------------------

_NANO_HOUR: Final = -float(NANO * MICROS_PER_HOUR)
"""From nano-units per hour times microseconds to the exponent; negative, since decay is."""


def decayed(rate_nano_per_hour: int, idle_us: int) -> int:
    """Return exp(-rate * idle hours) in nano-units: the remaining fraction after decay.

    Args:
        rate_nano_per_hour: Decay per active hour in nano-units, >= 0.
        idle_us: Active microseconds without use; a negative value counts as 0.
    Returns:
        Range: [0, NANO].
    Raises:
        ValueError: The rate is negative.
    """
    if rate_nano_per_hour < 0:
        raise ValueError(f"decay rate {rate_nano_per_hour}: pass at least 0")
    idle = float(max(idle_us, 0))
    return nano(exp(float(rate_nano_per_hour) * idle / _NANO_HOUR))


def decayed_each(rates_nano_per_hour: Integers, idle_us: Integers) -> Integers:
    """Return `decayed` of every pair of rate and idle time."""
    if np.minimum.reduce(rates_nano_per_hour, axis=None, initial=0) < 0:
        raise ValueError("decay rates of an array: pass at least 0")
    exponent = np.maximum(idle_us, 0).astype(np.float64)
    exponent *= rates_nano_per_hour
    exponent /= _NANO_HOUR
    return decay_nano_each(exponent)


def nearness_each(delta_us: Integers, sigma_us: int) -> Integers:
    """Return exp(-d*d / (2*s*s)) in nano-units, d and s in hours: closeness of pairs of times.

    Args:
        delta_us: Active microseconds between them, of either sign.
        sigma_us: Width of the bell, > 0.
    Returns:
        Range: [0, NANO].
    Raises:
        ValueError: The width is not positive.
    """
    hours = np.abs(delta_us.astype(np.float64)) / MICROS_PER_HOUR
    return decay_nano_each(-(hours * hours) / _bell(sigma_us))


def _bell(sigma_us: int) -> float:
    if sigma_us <= 0:
        raise ValueError(f"width {sigma_us} µs of a bell: pass more than 0")
    hours = float(sigma_us) / MICROS_PER_HOUR
    return 2.0 * hours * hours
