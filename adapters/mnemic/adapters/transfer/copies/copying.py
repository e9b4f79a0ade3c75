"""Events that a copy adds after those of its original, to account for text that it lacks."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from mnemic.adapters.codec import Codec
from mnemic.kernel.events import (
    BlockErased,
    Event,
    LossAccepted,
    LostPayload,
    Recorded,
    SpaceErased,
)
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.ports import Clock, Entropy, Head, Log, Record
from mnemic.kernel.values import Value


@frozen(kw_only=True)
class CopyContext(Value):
    """The actor of a copy, and what stamps the events that a copy adds."""

    clock: Clock
    entropy: Entropy
    actor: str


def record_losses(
    log: Log,
    last: Recorded,
    copy_context: CopyContext,
    *,
    after: Head,
    erase: Sequence[BlockId] = (),
    lost: Sequence[LostPayload] = (),
    erase_all: bool = False,
) -> None:
    """Record in a copy which text it lacks; without these events it would appear damaged.

    Args:
        log: The copy.
        last: The last event copied; no active time passes after it.
        copy_context: The actor of the copy.
        after: Where the copy ends.
        erase: Blocks that the original erased after the copy's end, or whose text it has lost.
        lost: What else is missing, and is accepted as lost.
        erase_all: Whether the copy is erased as a whole instead.
    """
    events: list[Event] = [SpaceErased()] if erase_all else []
    events += [BlockErased(block_id=block) for block in erase]
    if lost:
        events.append(LossAccepted(payloads=tuple(lost)))
    if events:
        records = behind(last, events, copy_context)
        with log.write_lock():
            log.append(records, (), after=after, erase=erase, erase_all=erase_all)


def behind(last: Recorded, events: Sequence[Event], copy_context: CopyContext) -> list[Record]:
    """Return events without payloads as the records of one command after *last*."""
    codec, command = Codec(copy_context.entropy), CommandId(copy_context.entropy.token(8).hex())
    return [
        codec.encode(
            Recorded(
                version=version,
                active_us=last.active_us,
                recorded_us=copy_context.clock.now_us(),
                command_id=command,
                actor=copy_context.actor,
                event=event,
            )
        )[0]
        for version, event in enumerate(events, start=last.version + 1)
    ]
