"""Outcomes in the order of the log: which block was scored how, and for which decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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

    def note_each(
        self, blocks: Iterable[int], version: int, decision: int | None, *, signal: int, weight: int
    ) -> None:
        """Record an outcome.

        Args:
            blocks: The scored blocks.
            version: Version of the outcome.
            decision: Version of the decision that it names; None: it names none.
            signal: Nano-units, [0, 1].
            weight: Nano-units.
        """
        named = NO_DECISION if decision is None else decision
        for block in blocks:
            self._noted.append((block, version, named, signal, weight))

    def columns(self, version: int) -> dict[str, NDArray[Any]]:
        """Return the rows up to *version* by column: block, version, decision, signal, weight."""
        upto = int(np.searchsorted(self._noted.column("version"), version, side="right"))
        return {name: self._noted.column(name)[:upto] for name in _NOTED}
