"""Bootstrap confidence intervals of means: groups resampled with replacement, a thousand times.

Decisions of one session are correlated, so sessions are resampled and not decisions. The random
numbers are SplitMix64 of a seed: the same seed gives the same interval on every machine and with
every release of numpy. Sums of integer nano-units stay below 2^53, so floats hold them exactly.

Source: Efron and Tibshirani (1993), chapter 13, for percentiles; Steele, Lea and Flood (2014).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.values import Value

RESAMPLINGS: Final = 1000
TAIL: Final = 25
"""Number of resamplings beyond each end of a 95 % interval."""
CELLS_MAX: Final = 4_000_000
"""Number of draws made at a time."""

GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
MIX_A: Final = np.uint64(0xBF58476D1CE4E5B9)
MIX_B: Final = np.uint64(0x94D049BB133111EB)
HALF: Final = np.uint64(32)


@frozen
class Interval(Value):
    """A mean, and the interval that contains it in 95 of 100 resamplings."""

    mean: float
    low: float | None
    """None, like high, if all values are of one group: there is no variation."""
    high: float | None


def intervals(
    columns: Sequence[Sequence[int | None]], groups: Sequence[Hashable], *, seed: int
) -> list[Interval | None]:
    """Return the mean of each column with its interval; None for a column without a value.

    Args:
        columns: One value per decision, in any unit; None where there is none.
        groups: The group of each decision.
        seed: Any integer.
    """
    places = {group: place for place, group in enumerate(dict.fromkeys(groups))}
    of_row = np.array([places[group] for group in groups], dtype=np.int64)
    table = np.array(
        [[0 if value is None else value for value in column] for column in columns],
        dtype=np.float64,
    ).reshape(len(columns), len(groups))
    there = np.array(
        [[value is not None for value in column] for column in columns], dtype=np.float64
    ).reshape(len(columns), len(groups))
    sums, counts = _by_group(table, of_row, len(places)), _by_group(there, of_row, len(places))
    drawn_sums, drawn_counts = _drawn(sums, counts, seed)
    return [
        _interval(
            sums[:, column], counts[:, column], drawn_sums[:, column], drawn_counts[:, column]
        )
        for column in range(len(columns))
    ]


def _by_group(
    table: NDArray[np.float64], of_row: NDArray[np.int64], groups: int
) -> NDArray[np.float64]:
    """Return the sum of each group (rows) in each column."""
    found = np.zeros((groups, len(table)))
    np.add.at(found, of_row, table.T)
    return found


def _drawn(
    sums: NDArray[np.float64], counts: NDArray[np.float64], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums and counts of each resampling (rows) in each column."""
    groups, columns = sums.shape
    drawn_sums, drawn_counts = (np.zeros((RESAMPLINGS, columns)) for _ in range(2))
    if not groups:
        return drawn_sums, drawn_counts
    step = max(1, min(RESAMPLINGS, CELLS_MAX // groups))
    for first in range(0, RESAMPLINGS, step):
        rows = min(step, RESAMPLINGS - first)
        words = random_words(seed, first * groups, rows * groups)
        who = (((words >> HALF) * np.uint64(groups)) >> HALF).astype(np.int64)
        flat = who + np.repeat(np.arange(rows, dtype=np.int64) * groups, groups)
        times = np.bincount(flat, minlength=rows * groups).reshape(rows, groups).astype(np.float64)
        drawn_sums[first : first + rows] = times @ sums
        drawn_counts[first : first + rows] = times @ counts
    return drawn_sums, drawn_counts


def random_words(seed: int, first: int, count: int) -> NDArray[np.uint64]:
    """Return *count* words of SplitMix64 from position *first* on.

    Args:
        seed: Any integer; its low 64 bits count.
        first: From 0.
        count: How many.
    """
    start = np.full(count, seed & (2**64 - 1), dtype=np.uint64)
    word = start + np.arange(first + 1, first + count + 1, dtype=np.uint64) * GAMMA
    word = (word ^ (word >> np.uint64(30))) * MIX_A
    word = (word ^ (word >> np.uint64(27))) * MIX_B
    mixed: NDArray[np.uint64] = word ^ (word >> np.uint64(31))
    return mixed


def _interval(
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    drawn_sums: NDArray[np.float64],
    drawn_counts: NDArray[np.float64],
) -> Interval | None:
    if not counts.sum():
        return None
    mean = float(sums.sum() / counts.sum())
    if np.count_nonzero(counts) == 1:
        return Interval(mean, None, None)
    answer = drawn_counts > 0
    means = np.sort(drawn_sums[answer] / drawn_counts[answer])
    tail = len(means) * TAIL // RESAMPLINGS
    return Interval(mean, float(means[tail]), float(means[len(means) - 1 - tail]))
