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


@frozen(kw_only=True)
class CopyContext:
    """The actor of a copy, and what stamps the events that a copy adds."""

    clock: Clock
    entropy: Entropy
    actor: str


def erase_again(
    log: Log,
    blocks: Sequence[BlockId],
    last: Recorded,
    copy_context: CopyContext,
    *,
    after: Head,
    lost: Sequence[LostPayload] = (),
) -> None:
    """Record in a copy the erasure of blocks that the original erased after the copy's end.

    Their text was not copied; without these events the copy would appear to have lost it.

    Args:
        log: The copy.
        blocks: Blocks whose text is missing.
        last: The last event copied; no active time passes after it.
        copy_context: The actor of the copy.
        after: Where the copy ends.
        lost: What else is missing, and is accepted as lost.
    """
    events: list[Event] = [BlockErased(block_id=block) for block in blocks]
    if lost:
        events.append(LossAccepted(payloads=tuple(lost)))
    if events:
        records = behind(last, events, copy_context)
        with log.write_lock():
            log.append(records, (), after=after, erase=blocks)


def erase_all_again(log: Log, last: Recorded, copy_context: CopyContext, *, after: Head) -> None:
    """Erase a copy whose original was erased as a whole while it was made. As ``erase_again``."""
    records = behind(last, [SpaceErased()], copy_context)
    with log.write_lock():
        log.append(records, (), after=after, erase_all=True)


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
