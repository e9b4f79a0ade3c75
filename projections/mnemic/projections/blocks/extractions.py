"""Extractions: which facts were found in which messages, and on what each fact rests.

Rules of this module:

1. Extractions are append-only, so those at a version are the ones added up to it. Whether a block
   that they name is active, archived or erased is a matter of its life.
2. No text is kept here: a quotation is a span of a message, and reads as erased with it. The raw
   answer and the texts that were refused are in the log alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from mnemic.kernel.events import FactsExtracted, Recorded
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.values import Value
from mnemic.projections.ledger.event_codec import EventCodec
from mnemic.projections.storage.array_bundle import ArrayBundle, nested, within
from mnemic.projections.storage.growable_array import GrowableArray
from mnemic.projections.storage.multimap import Multimap


@frozen
class Extraction(Value):
    """One extraction in the log."""

    version: int
    recorded_us: int
    event: FactsExtracted
    """Without texts."""


class Extractions:
    """Extractions in the order of the log, by message and by fact."""

    def __init__(self) -> None:
        self._events = EventCodec(FactsExtracted)
        self._version = GrowableArray(np.int32)
        self._recorded_us = GrowableArray(np.int64)
        self._of = {name: Multimap() for name in _SIDES}
        """By side, the numbers of extractions under the blocks."""

    def frozen(self) -> ArrayBundle:
        """Return everything as arrays."""
        columns = {name: of.columns() for name, of in self._of.items()}
        return nested(
            bodies=self._events.frozen(),
            at={"version": self._version.values, "recorded_us": self._recorded_us.values},
            **{
                name: {"block": blocks, "number": numbers}
                for name, (blocks, numbers) in columns.items()
            },
        )

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Extractions:
        """Return the extractions that were frozen."""
        made = cls()
        made._events = EventCodec.thawed(within(parts, "bodies"), FactsExtracted)
        made._version = GrowableArray.thawed(parts["at/version"])
        made._recorded_us = GrowableArray.thawed(parts["at/recorded_us"])
        for name in _SIDES:
            made._of[name] = Multimap(parts[f"{name}/block"], parts[f"{name}/number"])
        return made

    def add(self, event: FactsExtracted, at: Recorded, numbers: Mapping[BlockId, int]) -> None:
        """Add an extraction.

        Args:
            event: What was extracted.
            at: Its envelope.
            numbers: Numbers of blocks.
        """
        refused = tuple(evolve(each, text=None) for each in event.refused)
        number = len(self._events)
        self._events.append(evolve(event, answer=None, refused=refused))
        self._version.append(at.version)
        self._recorded_us.append(at.recorded_us)
        for name, blocks in (
            ("messages", event.messages),
            ("facts", tuple(each.block_id for each in event.facts)),
            (_CREATED, tuple(each.block_id for each in event.facts if each.action == _CREATED)),
        ):
            for block in dict.fromkeys(blocks):
                self._of[name].file(numbers[block], number)

    def upto(self, version: int) -> Iterator[Extraction]:
        """Yield the extractions up to *version*, in order."""
        return self.between(-1, version)

    def between(self, after: int, upto: int) -> Iterator[Extraction]:
        """Yield the extractions at versions in (*after*, *upto*], in order."""
        return map(self._extraction, range(self.count(after), self.count(upto)))

    def count(self, version: int) -> int:
        """Return how many extractions there are up to *version*."""
        return int(self._version.values.searchsorted(version, side="right"))

    def are_facts(self, blocks: NDArray[np.int64], version: int) -> NDArray[np.bool_]:
        """Return which of *blocks* an extraction up to *version* found as facts."""
        return self._among("facts", blocks, version)

    def were_extracted(self, blocks: NDArray[np.int64], version: int) -> NDArray[np.bool_]:
        """Return which of *blocks* exist only since an extraction up to *version* found them.

        Whether that is so never changes: what was learned before stays what was learned, even if a
        message says it again.
        """
        return self._among(_CREATED, blocks, version)

    def _among(self, name: str, blocks: NDArray[np.int64], version: int) -> NDArray[np.bool_]:
        if not len(self._version):
            return np.zeros(len(blocks), dtype=np.bool_)
        found, extractions = self._of[name].columns()
        return np.isin(blocks, found[extractions < self.count(version)])

    def of_message(self, message: int, version: int) -> list[Extraction]:
        """Return the extractions up to *version* that were shown a block, in order."""
        return self._under("messages", message, version)

    def of_fact(self, fact: int, version: int) -> list[Extraction]:
        """Return the extractions up to *version* that found the fact in a block, in order."""
        return self._under("facts", fact, version)

    def _under(self, name: str, block: int, version: int) -> list[Extraction]:
        found = map(self._extraction, self._of[name].under(block))
        return [each for each in found if each.version <= version]

    def _extraction(self, number: int) -> Extraction:
        version, recorded_us = self._version.values[number], self._recorded_us.values[number]
        return Extraction(int(version), int(recorded_us), self._events[number])


_CREATED = "created"
"""The facts whose blocks did not exist before, as ``ExtractedFact.action`` has it."""
_SIDES = ("messages", "facts", _CREATED)
