"""The periods in which facts of blocks hold, numbered; the table of lives has the numbers."""

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from mnemic.kernel.model.periods import ALWAYS, Period
from mnemic.projections.storage.array_bundle import packed, unpacked

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_FIRST: Final = int(np.iinfo(np.int64).min)
_LAST: Final = int(np.iinfo(np.int64).max)


@define(eq=False)
class Periods:
    """Distinct periods in the order of their first use. Number 0 is ``ALWAYS``.

    Extended by the writer only: readers of an earlier version know none of the later numbers.
    """

    known: list[Period] = field(factory=lambda: [ALWAYS])
    _numbers: dict[Period, int] = field(factory=lambda: {ALWAYS: 0}, init=False)
    _bounds: NDArray[np.int64] = field(
        factory=lambda: np.array([[_FIRST, _LAST]], dtype=np.int64), init=False
    )

    def frozen(self) -> NDArray[Any]:
        """Return all periods as one array of bytes."""
        return packed([(period.from_us, period.until_us) for period in self.known])

    @classmethod
    def thawed(cls, part: NDArray[Any]) -> Self:
        """Return the periods that were frozen."""
        periods = cls([Period(*ends) for ends in unpacked(part)])
        periods._numbers = {period: number for number, period in enumerate(periods.known)}
        return periods

    @property
    def only_always(self) -> bool:
        """Whether no block has ever said when its fact holds."""
        return len(self.known) == 1

    def number(self, from_us: int | None, until_us: int | None) -> int:
        """Return the number of a period, the next one at its first use."""
        if from_us is None and until_us is None:
            return 0  # always: most blocks
        period = Period(from_us, until_us)
        number = self._numbers.get(period)
        if number is None:
            number = self._numbers[period] = len(self.known)
            self.known.append(period)
        return number

    def holding(self, numbers: Ints, instant_us: int) -> Bools:
        """Return which of some periods, given by number, include a moment."""
        bounds = self._bounds
        if len(bounds) < len(self.known):
            bounds = self._bounds = np.array(
                [
                    (
                        _FIRST if period.from_us is None else period.from_us,
                        _LAST if period.until_us is None else period.until_us,
                    )
                    for period in self.known
                ],
                dtype=np.int64,
            )
        first, last = bounds[numbers].T
        holds: Bools = (first <= instant_us) & (instant_us < last)
        return holds
