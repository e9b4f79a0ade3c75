"""Payloads that a damaged log has lost, and the erasures that make its copy sound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from attrs import frozen

from mnemic.adapters.codec import Codec
from mnemic.adapters.transfer.results import PayloadsLost
from mnemic.kernel.events import BlockErased, LossAccepted, LostPayload, Recorded, SpaceErased
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.ports import Record


@frozen(kw_only=True)
class _Missing:
    """One payload that is missing."""

    version: int
    slot: int
    owners: frozenset[str]
    """Blocks whose erasure accounts for it; only these may be erased for its loss."""


@frozen(kw_only=True)
class Verdict:
    """What to keep of a log, and which erasures the copy has to add."""

    kept: int
    """The last version."""
    erase: tuple[BlockId, ...] = ()
    """Blocks that the copy has to erase."""
    erase_all: bool = False
    """Whether it has to erase everything: no payload at all is left."""
    lost: tuple[PayloadsLost, ...] = ()
    accept: tuple[LostPayload, ...] = ()
    """What is missing that no erasure can account for: the copy has to accept the loss."""


class LostPayloads:
    """Reads a log from its beginning to its end, or to its damage."""

    def __init__(self) -> None:
        self._missing: list[_Missing] = []
        self._erased: dict[str, list[int]] = defaultdict(list)
        self._space_erased = False
        self._accepted: set[tuple[int, int]] = set()
        self._payloads = 0

    def see(self, record: Record, recorded: Recorded, slots: Collection[int], codec: Codec) -> None:
        """Process one event and the slots of the payloads that are present and sound."""
        event = recorded.event
        self._payloads += len(slots)
        if isinstance(event, SpaceErased):
            self._space_erased = True
        if isinstance(event, LossAccepted):
            self._accepted.update((each.version, each.slot) for each in event.payloads)
        if isinstance(event, BlockErased):
            self._erased[event.block_id].append(recorded.version)
        gone = [slot for slot, _ in codec.references(record) if slot not in slots]
        owners = codec.owners(record) if gone else ()
        for slot in gone:
            self._missing.append(
                _Missing(version=record.version, slot=slot, owners=frozenset(owners[slot]))
            )

    def verdict(self, read: int, *, gaps: bool) -> Verdict:
        """Return how much of a log that was read up to version *read* can be kept.

        Args:
            read: The last version that was read.
            gaps: Whether what no erasure can account for may be accepted as lost.
        """
        self._missing = [
            each for each in self._missing if (each.version, each.slot) not in self._accepted
        ]
        if self._space_erased or not self._missing:
            return Verdict(kept=read)
        if not self._payloads:
            return Verdict(kept=read, erase_all=True, lost=_told(self._missing))
        kept = read
        while True:
            missing = [
                each
                for each in self._missing
                if each.version <= kept and not self._is_erased(each, kept)
            ]
            bearers = dict.fromkeys(block for each in missing for block in self._bearers(each))
            unborne = [each for each in missing if each.owners.isdisjoint(bearers)]
            if gaps or not unborne:
                lost = [each for each in missing if not self._is_erased(each, read)]
                erase = tuple(map(BlockId, bearers))
                accept = tuple(LostPayload(version=x.version, slot=x.slot) for x in unborne)
                return Verdict(kept=kept, erase=erase, lost=_told(lost), accept=accept)
            kept = unborne[0].version - 1

    def _is_erased(self, missing: _Missing, upto: int) -> bool:
        """Whether an erasure in the log up to version *upto* accounts for it."""
        return any(
            missing.version < version <= upto
            for block in missing.owners
            for version in self._erased[block]
        )

    def _bearers(self, missing: _Missing) -> frozenset[str]:
        """Return the blocks to erase for a lost payload: those erased for it, or its only one."""
        erased = {block for block in missing.owners if self._erased[block][-1:] > [missing.version]}
        if erased:
            return frozenset(erased)
        return missing.owners if len(missing.owners) == 1 else frozenset()


def _told(missing: list[_Missing]) -> tuple[PayloadsLost, ...]:
    """Return what is missing, event by event."""
    events: dict[int, list[_Missing]] = defaultdict(list)
    for each in missing:
        events[each.version].append(each)
    return tuple(
        PayloadsLost(
            version=version,
            slots=tuple(each.slot for each in lost),
            blocks=tuple(
                BlockId(block) for block in sorted(set().union(*(x.owners for x in lost)))
            ),
        )
        for version, lost in events.items()
    )
