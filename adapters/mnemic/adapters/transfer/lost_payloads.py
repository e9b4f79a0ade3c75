"""Payloads that a damaged log has lost, and the erasures that make its copy sound."""

from __future__ import annotations

from collections import defaultdict

from attrs import frozen

from mnemic.adapters.codec.erasures import Erasures, Missing
from mnemic.adapters.transfer.results import PayloadsLost
from mnemic.kernel.events import LostPayload
from mnemic.kernel.model.identity import BlockId


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


def verdict(erasures: Erasures, read: int, *, payloads: int, gaps: bool) -> Verdict:
    """Return how much of a log that was read up to version *read* can be kept.

    Args:
        erasures: What is missing in the log, and which blocks were erased.
        read: The last version that was read.
        payloads: How many payloads are left.
        gaps: Whether what no erasure can account for may be accepted as lost.
    """
    everything = [each for each in erasures.missing() if not erasures.is_accepted(each)]
    if erasures.space_erased or not everything:
        return Verdict(kept=read)
    if not payloads:
        return Verdict(kept=read, erase_all=True, lost=_by_event(everything))
    kept = read
    while True:
        missing = [
            each
            for each in everything
            if each.version <= kept and not erasures.is_erased(each, kept)
        ]
        to_erase = dict.fromkeys(block for each in missing for block in _to_erase(erasures, each))
        rest = [each for each in missing if each.blocks.isdisjoint(to_erase)]
        if gaps or not rest:
            return Verdict(
                kept=kept,
                erase=tuple(map(BlockId, to_erase)),
                lost=_by_event([each for each in missing if not erasures.is_erased(each, read)]),
                accept=tuple(LostPayload(version=each.version, slot=each.slot) for each in rest),
            )
        kept = rest[0].version - 1


def _to_erase(erasures: Erasures, missing: Missing) -> frozenset[str]:
    """Return the blocks to erase for a lost payload: those erased for it, or its only owner."""
    erased = {
        block for block in missing.blocks if (erasures.erased_last(block) or 0) > missing.version
    }
    if erased:
        return frozenset(erased)
    return missing.blocks if len(missing.blocks) == 1 else frozenset()


def _by_event(missing: list[Missing]) -> tuple[PayloadsLost, ...]:
    """Return what is missing, event by event."""
    events: dict[int, list[Missing]] = defaultdict(list)
    for each in missing:
        events[each.version].append(each)
    return tuple(
        PayloadsLost(
            version=version,
            slots=tuple(each.slot for each in lost),
            blocks=tuple(
                BlockId(block) for block in sorted(set().union(*(each.blocks for each in lost)))
            ),
        )
        for version, lost in events.items()
    )
