"""Rows of the table: what is measured, what is wanted, and what was found.

A check makes scripts, and turns what a memory returned into figures, one for each of its rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from attrs import frozen
from conversations import Conversation
from numpy.typing import NDArray
from peers.port import Answer
from peers.scripts import Outcome, Script

SOME = 0.005
"""Rounding that does not make a figure miss its goal."""


@frozen
class Row:
    """One line of the table."""

    key: str
    what: str
    sign: str
    """``>=``, ``<=`` or ``=``; empty where nothing is wanted."""
    wanted: float
    """A count, or a share in [0, 1]."""

    def met(self, value: float) -> bool:
        """Whether *value* is what is wanted."""
        match self.sign:
            case ">=":
                return value >= self.wanted - SOME
            case "<=":
                return value <= self.wanted + SOME
            case "=":
                return abs(value - self.wanted) <= SOME
            case _:
                return True


@frozen
class Figure:
    """A count out of a total, or a share of 1."""

    value: float
    of: int | None = None

    def __str__(self) -> str:
        return f"{self.value:.3f}" if self.of is None else f"{self.value:.0f} of {self.of}"


@frozen(kw_only=True)
class Data:
    """What the checks are made from; empty where a file is absent."""

    conversations: Sequence[Conversation] = ()
    pairs: Sequence[Mapping[str, Any]] = ()
    quick: bool = False
    """A part of the scripts of each check."""

    def part(self, values: Sequence[Any], quick: int) -> list[Any]:
        """Return all values, or *quick* of them, evenly spread."""
        if not self.quick or len(values) <= quick:
            return list(values)
        return [values[place * len(values) // quick] for place in range(quick)]


class Check(ABC):
    """One question about a memory."""

    title: ClassVar[str]
    rows: ClassVar[tuple[Row, ...]]

    def __init__(self, data: Data) -> None:
        """Draw what is asked from *data*."""
        self._data = data

    @abstractmethod
    def scripts(self) -> list[Script]:
        """Return its scripts, the same every time; none without the data that they need."""

    @abstractmethod
    def figures(self, outcomes: Sequence[Outcome]) -> dict[str, Figure]:
        """Return a figure by the key of its row; those that cannot be told are left out.

        Args:
            outcomes: Of the scripts, in their order.
        """


def answer(plain: Mapping[str, Any]) -> Answer:
    """Return the answer in an outcome."""
    return Answer(**plain)


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Return the probability that one of *positives* exceeds one of *negatives*.

    Ties count half. Source: Mann and Whitney (1947).
    """
    sorted_negatives = np.sort(np.asarray(negatives, dtype=np.float64))
    values: NDArray[np.float64] = np.asarray(positives, dtype=np.float64)
    below = np.searchsorted(sorted_negatives, values, side="left")
    not_above = np.searchsorted(sorted_negatives, values, side="right")
    return float((below + not_above).sum() / 2 / (len(positives) * len(negatives)))


def share(count: int, total: int) -> Figure | None:
    """Return a share; None of nothing."""
    return Figure(count / total) if total else None


def told(figures: Mapping[str, Figure | None]) -> dict[str, Figure]:
    """Return the figures that there are."""
    return {key: figure for key, figure in figures.items() if figure is not None}
