"""The ledger: which blocks were used together, why, and what came of it.

Rules of this module:

1. Nothing is ever overwritten: compositions and labels are only added, and a retraction closes a
   label at its version. So what stood at a version is what was added up to it, less what was
   retracted up to it.
2. Members are history. Archiving or erasing a block takes nothing from here but its words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from attrs import define, frozen

from mnemic.kernel import identity
from mnemic.kernel.events import BlocksComposed, CompositionLabelled, LabelRetracted, Recorded
from mnemic.kernel.identity import CompositionId


@frozen
class Composed:
    """One composition as it stands in the log."""

    number: int
    """Its place in the order of composing, from 0."""
    id: CompositionId
    version: int
    active_us: int
    recorded_us: int
    event: BlocksComposed
    members: tuple[int, ...]
    """Numbers of the member blocks, in the order of the event's members; one may stand twice."""


@define
class Labelled:
    """One label as it stands in the log."""

    composition: int
    """Number of the composition."""
    version: int
    active_us: int
    recorded_us: int
    event: CompositionLabelled
    retracted: int | None = None
    """Version of its retraction."""

    def counts_at(self, version: int) -> bool:
        """Whether the label had been set by *version* and not been retracted."""
        if self.version > version:
            return False
        return self.retracted is None or self.retracted > version


class Ledger:
    """Compositions by number and by member, and their labels."""

    def __init__(self) -> None:
        self._compositions: list[Composed] = []
        self._numbers: dict[CompositionId, int] = {}
        self._of_block: defaultdict[int, list[int]] = defaultdict(list)
        self._labels: dict[int, Labelled] = {}
        """By version."""
        self._labels_of: defaultdict[int, list[Labelled]] = defaultdict(list)

    # --- what events do ---------------------------------------------------------------------

    def compose(self, event: BlocksComposed, at: Recorded, members: Sequence[int]) -> None:
        """Take in a composition.

        Args:
            event: What was composed.
            at: Its envelope.
            members: Numbers of the member blocks, in the order of the event's.
        """
        number = len(self._compositions)
        name = event.composition_id or identity.composition_id(at.version)
        self._compositions.append(
            Composed(number, name, at.version, at.active_us, at.recorded_us, event, tuple(members))
        )
        self._numbers[name] = number
        for block in dict.fromkeys(members):
            self._of_block[block].append(number)

    def label(self, event: CompositionLabelled, at: Recorded) -> None:
        """Take in a label."""
        composition = self._numbers[event.composition_id]
        labelled = Labelled(composition, at.version, at.active_us, at.recorded_us, event)
        self._labels[at.version] = labelled
        self._labels_of[composition].append(labelled)

    def retract(self, event: LabelRetracted, at: Recorded) -> None:
        """Let a label count no longer."""
        self._labels[event.label_version].retracted = at.version

    # --- what stood at a version ------------------------------------------------------------

    def find(self, composition: object, version: int) -> Composed | None:
        """Return the composition with this id, if it had been composed by *version*."""
        number = (
            self._numbers.get(CompositionId(composition)) if isinstance(composition, str) else None
        )
        if number is None or self._compositions[number].version > version:
            return None
        return self._compositions[number]

    def label_at(self, label: int, version: int) -> Labelled | None:
        """Return the label that was set at version *label*, if that was by *version*."""
        return self._labels.get(label) if label <= version else None

    def upto(self, version: int) -> Iterator[Composed]:
        """Yield every composition up to *version*, the latest first."""
        return (each for each in reversed(self._compositions) if each.version <= version)

    def of(self, block: int, version: int) -> list[Composed]:
        """Return the compositions up to *version* that a block is a member of, latest first."""
        if block not in self._of_block:
            return []
        found = (self._compositions[number] for number in reversed(self._of_block[block]))
        return [each for each in found if each.version <= version]

    def labels_of(self, composition: int, version: int) -> list[Labelled]:
        """Return the labels of a composition that counted at *version*, in the order of setting."""
        if composition not in self._labels_of:
            return []
        return [each for each in self._labels_of[composition] if each.counts_at(version)]
