"""Authorization by trust zone: a writer may change blocks of its own zone and of lower zones.

Rules of this module:

1. Zones are ordered by the ceilings of the current policy. A writer without a zone may change all
   blocks.
2. A writer learns blocks in its own zone at most. A source of a higher zone is treated as of the
   writer's zone; an explicit request for a higher zone is refused.
3. A writer cannot change the state, text or value of a block of a higher zone: revise, forget,
   erase, rezone, reactivate or score it. It may assert or remove an edge if at least one end is not
   higher.
4. It may label a composition, or retract a label, if no member is higher.
5. It cannot assign a zone that the policy does not name, except its own: a later policy may name
   that zone and trust it.
6. A writer whose zone is not fully trusted may have a limited number of blocks in the inbox, since
   every recall promotes what is there.
7. Operations on the whole space (its policy, its embedder, a revert, its erasure) are reserved for
   writers of the highest zone.
7. A writer of a zone that the policy calls unattributed may name no author but itself and no date.
   What it dates in the future, and what any writer below full trust does, is dated now.

Source: DOMAIN section 8 (trust zones); Biba (1977): what is low does not write what is high.
"""

from __future__ import annotations

from mnemic.kernel.errors import Forbidden, InboxFull
from mnemic.kernel.events import BlocksComposed
from mnemic.kernel.model.blocks import BlockFacts
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import EdgeReading, Reading


def lesson_zone(reading: EdgeReading, source: str, asked: str | None) -> str:
    """Return the zone of a newly learned block.

    Args:
        reading: The state, with its policy and the writer's zone.
        source: The source of the block.
        asked: The zone that the writer requests, if any.

    Raises:
        Forbidden: The writer requests a higher zone than its own.
    """
    if asked is not None:
        check_zone(reading, asked)
        return asked
    zone = reading.policy.zone(source)
    own = reading.highest
    return zone if own is None or within(reading.policy, zone, own) else own


def check_zone(reading: EdgeReading, zone: str) -> None:
    """Check that the writer may assign *zone*.

    Raises:
        Forbidden: The zone is higher than the writer's, or could become so under a later policy.
    """
    own = reading.highest
    if own is None or zone == own:
        return
    if not within(reading.policy, zone, own):
        raise _forbidden(f"zone {zone!r:.100} is above {own!r}", own)
    if zone not in dict(reading.policy.zone_ceilings):
        raise _forbidden(f"the policy names no zone {zone!r:.100}", own)


def inbox_room(reading: Reading) -> int | None:
    """Return how many blocks the writer may still put into the inbox; None: any number."""
    own, policy = reading.highest, reading.policy
    if own is None or policy.ceiling(own) >= NANO:
        return None
    return max(0, policy.inbox_zone_max - reading.waiting_within(own))


def inbox_full(reading: Reading) -> InboxFull:
    """Return the refusal of a block for which the writer's zone has no room in the inbox."""
    most = reading.policy.inbox_zone_max
    return InboxFull(
        f"{most} blocks of the zone {reading.highest!r} may wait in the inbox, and no more",
        zone=reading.highest,
        most=most,
    )


def check_reach(reading: EdgeReading, *ends: BlockFacts) -> None:
    """Check that at least one of *ends* is not above the writer's zone.

    Raises:
        Forbidden: All of them are above it.
    """
    if not any(reaches(reading, facts) for facts in ends):
        named = " and ".join(f"{facts.id} ({facts.zone})" for facts in ends)
        raise _forbidden(f"{named}: above the zone {reading.highest!r}", str(reading.highest))


def check_members(reading: Reading, composition: BlocksComposed) -> None:
    """Check that no member of *composition* is above the writer's zone.

    Raises:
        Forbidden: A member is above it.
    """
    for member in composition.members:
        number = reading.number(member.block_id)
        if number is not None:
            check_reach(reading, reading.facts(number))


def reaches(reading: EdgeReading, facts: BlockFacts) -> bool:
    """Whether the writer may change a block."""
    return reading.highest is None or within(reading.policy, facts.zone, reading.highest)


def check_claims(reading: Reading, *, author: str | None, created_us: int | None) -> None:
    """Check that the writer may give a text this author and date.

    Raises:
        Forbidden: They are not the writer's own, and its zone may not claim others.
    """
    own = reading.highest
    if own is None or own not in reading.policy.zones_unattributed:
        return
    claimed = None if author in (None, reading.writer) else f"the author {author!r:.100}"
    if claimed is None and created_us is not None:
        claimed = "a date"
    if claimed is not None:
        raise Forbidden(
            f"a writer of the zone {own!r} cannot claim {claimed}",
            recovery="Leave out author and created_at: the log records who wrote it, and when. "
            "A policy can allow such claims (zones_unattributed).",
            zone=own,
        )


def dated(reading: Reading, zone: str, created_us: int | None) -> int | None:
    """Return the date of a text; None: now, which also replaces a date that is yet to come.

    Args:
        reading: The state, with its policy, the writer's zone and the time.
        zone: The zone of the text.
        created_us: The date given. Wall clock.
    """
    policy, own = reading.policy, reading.highest
    limited = zone in policy.zones_unattributed or (own is not None and not policy.privileges(own))
    if created_us is not None and limited and created_us > reading.now_us:
        return None
    return created_us


def check_whole(reading: EdgeReading, operation: str) -> None:
    """Check that the writer may perform an operation that changes the whole space.

    Raises:
        Forbidden: The writer's zone is not fully trusted.
    """
    own = reading.highest
    if own is not None and reading.policy.ceiling(own) < NANO:
        raise _forbidden(f"{operation} is not for writers of the zone {own!r}", own)


def within(policy: Policy, zone: str, highest: str) -> bool:
    """Whether *zone* is not higher than *highest*."""
    return policy.ceiling(zone) <= policy.ceiling(highest)


def _forbidden(message: str, zone: str) -> Forbidden:
    return Forbidden(
        message,
        recovery="Leave this to a writer of a higher zone, or learn it in your own zone; "
        "`mnemic token create` without --zone makes a token that is not bound to one.",
        zone=zone,
    )
