"""The composition ledger: sets of blocks that were used together, and labels of their outcomes.

Rules of this module:

1. Nothing is ever overwritten: compositions and labels are append-only, and a label records the
   versions at which it was retracted and restored. So the ledger at a version is what was
   added up to it, less what was retracted by then.
2. Members are history. Archiving or erasing a block removes nothing from here but its text.
3. The content of a checkpoint is decoded on demand: few processes need any of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from mnemic.kernel.events import (
    BlocksComposed,
    CompositionLabelled,
    LabelRetracted,
    Member,
    Recorded,
)
from mnemic.kernel.model import identity
from mnemic.kernel.model.identity import CompositionId
from mnemic.kernel.model.texts import ERASED
from mnemic.kernel.values import Value
from mnemic.projections.ledger.event_codec import EventCodec
from mnemic.projections.storage.array_bundle import (
    ArrayBundle,
    nested,
    numbered,
    packed,
    unpacked,
    within,
)
from mnemic.projections.storage.growable_array import GrowableArray
from mnemic.projections.storage.multimap import Multimap


@frozen
class Composed(Value):
    """One composition in the log."""

    number: int
    """Its position in the order of composing, from 0."""
    id: CompositionId
    version: int
    active_us: int
    recorded_us: int
    event: BlocksComposed
    members: tuple[int, ...]
    """Numbers of the member blocks, in the order of the event's members; one may occur twice."""


@frozen
class Labelled(Value):
    """One label in the log."""

    composition: int
    """Number of the composition."""
    version: int
    active_us: int
    recorded_us: int
    event: CompositionLabelled
    turns: tuple[int, ...] = ()
    """Versions at which it was retracted and restored, alternating."""

    @property
    def retracted(self) -> int | None:
        """Version of its retraction; None while it counts."""
        return self.turns[-1] if len(self.turns) % 2 else None

    def counts_at(self, version: int) -> bool:
        """Whether the label was set by *version* and not retracted."""
        return self.version <= version and bisect_right(self.turns, version) % 2 == 0


class Ledger:
    """Compositions by number and by member, and their labels."""

    def __init__(self) -> None:
        self._composed = Envelopes()
        self._compositions = EventCodec(BlocksComposed)
        self._names: list[CompositionId] = []
        self._numbers: dict[CompositionId, int] = {}
        self._members = GrowableArray(np.int32)
        self._ends = GrowableArray(np.int32)
        """By composition: where its members end in the list of all members."""
        self._of_block = Multimap()
        """Compositions by member."""
        self._labelled = Envelopes()
        self._labels = EventCodec(CompositionLabelled)
        self._subjects = GrowableArray(np.int32)
        """By label: its composition."""
        self._labels_of = Multimap()
        """Labels by composition."""
        self._turns: dict[int, tuple[int, ...]] = {}
        """By label, as in ``Labelled``."""

    def frozen(self) -> ArrayBundle:
        """Return everything as arrays."""
        return nested(
            compositions=nested(
                at=self._composed.frozen(),
                bodies=self._compositions.frozen(),
                members={"blocks": self._members.values, "ends": self._ends.values},
                names={"packed": packed(self._names)},
            ),
            labels=nested(
                at=self._labelled.frozen(),
                bodies=self._labels.frozen(),
                subjects={"compositions": self._subjects.values},
                turns={"packed": packed(sorted(self._turns.items()))},
            ),
        )

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Ledger:
        """Return the ledger that was frozen."""
        ledger, compositions, labels = cls(), within(parts, "compositions"), within(parts, "labels")
        ledger._composed = Envelopes.thawed(within(compositions, "at"))
        ledger._compositions = EventCodec.thawed(within(compositions, "bodies"), BlocksComposed)
        ledger._names = unpacked(compositions["names/packed"])
        ledger._numbers = numbered(ledger._names)
        blocks, ends = compositions["members/blocks"], compositions["members/ends"]
        ledger._members, ledger._ends = GrowableArray.thawed(blocks), GrowableArray.thawed(ends)
        ledger._of_block = Multimap(
            blocks, np.repeat(np.arange(len(ends), dtype=np.int32), np.diff(ends, prepend=0))
        )
        ledger._labelled = Envelopes.thawed(within(labels, "at"))
        ledger._labels = EventCodec.thawed(within(labels, "bodies"), CompositionLabelled)
        subjects = labels["subjects/compositions"]
        ledger._subjects = GrowableArray.thawed(subjects)
        ledger._labels_of = Multimap(subjects, np.arange(len(subjects), dtype=np.int32))
        turns = unpacked(labels["turns/packed"])
        ledger._turns = {number: tuple(versions) for number, versions in turns}
        return ledger

    def erased(self, block: str) -> Ledger:
        """Return a ledger without the texts about *block*, which shares everything else."""

        def replaced(event: BlocksComposed) -> BlocksComposed:
            return evolve(event, members=tuple(map(member_without, event.members)))

        def member_without(member: Member) -> Member:
            is_its = member.text is not None and block in member.text.of
            return evolve(member, text=ERASED) if is_its else member

        other = copy(self)
        vars(other).update(_compositions=self._compositions.erased(block, replaced))
        return other

    # --- what events do ---------------------------------------------------------------------

    def compose(self, event: BlocksComposed, at: Recorded, members: Sequence[int]) -> None:
        """Add a composition.

        Args:
            event: What was composed.
            at: Its envelope.
            members: Numbers of the member blocks, in the order of the event's.
        """
        number = len(self._compositions)
        name = event.composition_id or identity.composition_id(at.version)
        self._composed.append(at)
        self._compositions.append(event)
        self._names.append(name)
        self._numbers[name] = number
        for block in members:
            self._members.append(block)
            self._of_block.file(block, number)
        self._ends.append(len(self._members))

    def label(self, event: CompositionLabelled, at: Recorded) -> None:
        """Add a label."""
        number, composition = len(self._labels), self._numbers[event.composition_id]
        self._labelled.append(at)
        self._labels.append(event)
        self._subjects.append(composition)
        self._labels_of.file(composition, number)

    def retract(self, event: LabelRetracted, at: Recorded) -> None:
        """Retract a label."""
        self.turn(event.label_version, at.version)

    def turn(self, label: int, version: int) -> None:
        """Retract the label that was set at version *label*, or restore it."""
        number = self._labelled.upto(label) - 1
        self._turns[number] = (*self._turns.get(number, ()), version)

    def labels(self, first: int, last: int) -> Iterator[Labelled]:
        """Yield the labels that were set, retracted or restored from *first* to *last*."""
        for number, version in enumerate(self._labelled.versions.tolist()):
            if any(first <= each <= last for each in (version, *self._turns.get(number, ()))):
                yield self._label(number)

    # --- the ledger at a version ------------------------------------------------------------

    def find(self, composition: object, version: int) -> Composed | None:
        """Return the composition with this id, if it existed at *version*."""
        number = (
            self._numbers.get(CompositionId(composition)) if isinstance(composition, str) else None
        )
        if number is None or number >= self._composed.upto(version):
            return None
        return self._composition(number)

    def label_at(self, label: int, version: int) -> Labelled | None:
        """Return the label that was set at version *label*, if that is at most *version*."""
        number = self._labelled.upto(label) - 1
        is_set = number >= 0 and self._labelled.versions[number] == label <= version
        return self._label(number) if is_set else None

    def upto(self, version: int) -> Iterator[Composed]:
        """Yield every composition up to *version*, the latest first."""
        return map(self._composition, reversed(range(self._composed.upto(version))))

    def of(self, block: int, version: int) -> list[Composed]:
        """Return the compositions up to *version* that a block is a member of, latest first."""
        count = self._composed.upto(version)
        numbers = reversed(self._of_block.under(block))
        return [self._composition(number) for number in numbers if number < count]

    def labels_of(self, composition: int, version: int) -> list[Labelled]:
        """Return the labels of a composition that count at *version*, in the order of setting."""
        found = map(self._label, self._labels_of.under(composition))
        return [each for each in found if each.counts_at(version)]

    # --- decoding ---------------------------------------------------------------------------

    def _composition(self, number: int) -> Composed:
        ends = self._ends.values
        members = self._members.values[ends[number - 1] if number else 0 : ends[number]]
        return Composed(
            number,
            self._names[number],
            *self._composed.of(number),
            self._compositions[number],
            tuple(members.tolist()),
        )

    def _label(self, number: int) -> Labelled:
        return Labelled(
            int(self._subjects.values[number]),
            *self._labelled.of(number),
            self._labels[number],
            self._turns.get(number, ()),
        )


class Envelopes:
    """Version, active time and wall clock of the events of one kind, by their number."""

    def __init__(self) -> None:
        """Start empty."""
        self._version = GrowableArray(np.int32)
        self._active_us = GrowableArray(np.int64)
        self._recorded_us = GrowableArray(np.int64)

    def frozen(self) -> ArrayBundle:
        """Return everything as arrays."""
        return {
            "version": self._version.values,
            "active_us": self._active_us.values,
            "recorded_us": self._recorded_us.values,
        }

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Envelopes:
        """Return the envelopes that were frozen."""
        envelopes = cls()
        envelopes._version = GrowableArray.thawed(parts["version"])
        envelopes._active_us = GrowableArray.thawed(parts["active_us"])
        envelopes._recorded_us = GrowableArray.thawed(parts["recorded_us"])
        return envelopes

    def append(self, at: Recorded) -> None:
        """Append the envelope of the next event."""
        self._version.append(at.version)
        self._active_us.append(at.active_us)
        self._recorded_us.append(at.recorded_us)

    @property
    def versions(self) -> NDArray[np.int32]:
        """All versions, ascending."""
        return self._version.values

    def upto(self, version: int) -> int:
        """Return how many of the events are at *version* or before."""
        return int(np.searchsorted(self.versions, version, side="right"))

    def of(self, number: int) -> tuple[int, int, int]:
        """Return version, active time and wall clock of an event."""
        columns = (self._version, self._active_us, self._recorded_us)
        version, active_us, recorded_us = (int(column.values[number]) for column in columns)
        return version, active_us, recorded_us
