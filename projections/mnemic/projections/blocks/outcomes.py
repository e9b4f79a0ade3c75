"""Outcomes in the order of the log: which block was scored how, and for which decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.storage.event_columns import EventColumns

NO_DECISION: Final = -1
_NOTED: Mapping[str, type[np.generic]] = {
    "block": np.int32,
    "version": np.int32,
    "decision": np.int32,
    "signal": np.int64,
    "weight": np.int64,
}


class Outcomes:
    """One row for each block that an outcome scored."""

    def __init__(self) -> None:
        self._noted = EventColumns(**_NOTED)

    def frozen(self) -> ArrayBundle:
        """Return all rows as arrays."""
        return self._noted.frozen()

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Outcomes:
        """Return the outcomes that were frozen."""
        outcomes = cls()
        outcomes._noted = EventColumns.thawed(parts, _NOTED)
        return outcomes

    def note(self, row: tuple[int, ...]) -> None:
        """Record an outcome of one block.

        Args:
            row: The block, the version of the outcome, the version of the decision that it names or
                `NO_DECISION`, signal and weight in nano-units.
        """
        self._noted.append(row)

    def note_each(self, rows: NDArray[np.int64]) -> None:
        """Do ``note`` many times, given the columns of the rows, shape (5, rows)."""
        self._noted.extend(rows)

    def columns(self, version: int) -> dict[str, NDArray[Any]]:
        """Return the rows up to *version* by column: block, version, decision, signal, weight."""
        upto = int(np.searchsorted(self._noted.column("version"), version, side="right"))
        return {name: self._noted.column(name)[:upto] for name in _NOTED}
