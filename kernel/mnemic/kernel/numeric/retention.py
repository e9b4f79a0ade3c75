"""Retrievability of blocks: FSRS-6 with its published default parameters.

Reviews change stability and difficulty; retrievability is derived from them when it is needed.
A day of FSRS is 24 active hours, so idle days cause no forgetting here either.

Rules of this module:

1. The steps are those of the ``fsrs`` package; tests compare the two. At a review, elapsed time
   counts in whole days, as it does there; between reviews fractions of a day count.
2. Powers and exponentials are those of `mnemic.kernel.numeric.arithmetic`, so that every machine
   agrees to the last bit. There is no fuzz and no schedule, since nothing is scheduled for study.

Source: https://github.com/open-spaced-repetition (FSRS-6); specs/retention.toml.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from attrs import frozen

from mnemic.kernel.numeric.arithmetic import (
    MICROS_PER_HOUR,
    Floats,
    Integers,
    decay_nano_each,
    exp,
    ln,
    ln_each,
)

AGAIN, HARD, GOOD, EASY = 1, 2, 3, 4

MICROS_PER_FSRS_DAY: Final = 24 * MICROS_PER_HOUR

PARAMETERS: Final = (
    *(0.212, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194),
    *(0.001, 1.8722, 0.1666, 0.796, 1.4835, 0.0614, 0.2629),
    *(1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542),
)
"""w0 to w20 as the authors fitted them to many learners."""

STABILITY_MIN: Final = 0.001
DIFFICULTY_MIN: Final = 1.0
DIFFICULTY_MAX: Final = 10.0

_W: Final = PARAMETERS
_DECAY: Final = _W[20]
_FACTOR: Final = exp(-ln(0.9) / _DECAY) - 1.0
"""Chosen so that retrievability is .9 when the days elapsed equal the stability."""


class Review(NamedTuple):
    """One review of a block: feedback on whether it was useful."""

    version: int
    active_us: int
    rating: int
    """AGAIN, HARD, GOOD or EASY."""


@frozen
class Memory:
    """FSRS state of a block after its reviews."""

    stability: float
    """Days of 24 active hours until retrievability is .9. Range: from .001."""
    difficulty: float
    """Range: [1, 10]."""
    reps: int
    """Successful reviews, not counting the first."""
    lapses: int
    """Reviews that failed."""
    reviewed_us: int
    """Active time of the last review."""


def first(rating: int, active_us: int) -> Memory:
    """Return the memory after its first review."""
    return Memory(
        stability=_W[rating - 1],
        difficulty=_difficulty(_first_difficulty(rating)),
        reps=0,
        lapses=int(rating == AGAIN),
        reviewed_us=active_us,
    )


def reviewed(memory: Memory, rating: int, active_us: int) -> Memory:
    """Return the memory after one more review.

    Args:
        memory: The state before the review.
        rating: AGAIN, HARD, GOOD or EASY.
        active_us: Active time of the review; within a day of the last one it counts as a same-day
            review.
    """
    days = max(0, active_us - memory.reviewed_us) // MICROS_PER_FSRS_DAY
    if days < 1:
        stability = _same_day(memory.stability, rating)
    else:
        left = _left(float(days), memory.stability)
        step = _forgotten if rating == AGAIN else _recalled
        stability = step(memory, left, rating)
    return Memory(
        stability=max(stability, STABILITY_MIN),
        difficulty=_next_difficulty(memory.difficulty, rating),
        reps=memory.reps + int(rating != AGAIN),
        lapses=memory.lapses + int(rating == AGAIN),
        reviewed_us=active_us,
    )


def retrievabilities(stability: Floats, elapsed_us: Integers) -> Integers:
    """Return the probability that each memory is still retrievable, in nano-units.

    Args:
        stability: Days of 24 active hours, > 0.
        elapsed_us: Active time since the last review; a negative value counts as 0.
    """
    days = np.maximum(elapsed_us, 0).astype(np.float64) / float(MICROS_PER_FSRS_DAY)
    return decay_nano_each(-_DECAY * ln_each(1.0 + (_FACTOR * days) / stability))


# --- the steps of FSRS-6 ---------------------------------------------------------------------


def _power(base: float, exponent: float) -> float:
    return exp(exponent * ln(base))


def _left(days: float, stability: float) -> float:
    return _power(1.0 + _FACTOR * days / stability, -_DECAY)


def _same_day(stability: float, rating: int) -> float:
    growth = exp(_W[17] * (rating - 3 + _W[18])) * _power(stability, -_W[19])
    return stability * (growth if rating == AGAIN else max(growth, 1.0))


def _recalled(memory: Memory, left: float, rating: int) -> float:
    bonus = {HARD: _W[15], EASY: _W[16]}.get(rating, 1.0)
    ease = exp(_W[8]) * (11.0 - memory.difficulty) * _power(memory.stability, -_W[9])
    return memory.stability * (1.0 + ease * (exp((1.0 - left) * _W[10]) - 1.0) * bonus)


def _forgotten(memory: Memory, left: float, _: int) -> float:
    difficulty, stability = memory.difficulty, memory.stability
    lasting = _W[11] * _power(difficulty, -_W[12]) * (_power(stability + 1.0, _W[13]) - 1.0)
    return min(lasting * exp((1.0 - left) * _W[14]), stability / exp(_W[17] * _W[18]))


def _first_difficulty(rating: int) -> float:
    return _W[4] - exp(_W[5] * (rating - 1)) + 1.0


def _next_difficulty(difficulty: float, rating: int) -> float:
    step = -_W[6] * (rating - 3) * (10.0 - difficulty) / 9.0
    return _difficulty(_W[7] * _first_difficulty(EASY) + (1.0 - _W[7]) * (difficulty + step))


def _difficulty(difficulty: float) -> float:
    return min(max(difficulty, DIFFICULTY_MIN), DIFFICULTY_MAX)
