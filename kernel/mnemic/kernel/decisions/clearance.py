"""How far a writer of a zone may reach: to blocks of its own zone and of lower ones.

Rules of this module:

1. Zones are ordered by the ceilings of the policy in force. A writer without a zone reaches all.
2. What a writer learns is of its zone at most. A source of a higher one is read as its zone; to ask
   for a higher one outright is refused.
3. What a block of a higher zone is, says, or is worth, it cannot change: revise, forget, erase,
   rezone, bring back, score. An edge it may assert or remove where one end at least is no higher.
4. What came of a composition it may say, or take back, where no member is higher.
5. A zone that the policy does not name it cannot give, but for its own: a later policy may name it,
   and trust it.
6. What the whole space goes by (its policy, its embedder, a revert, its end) is for writers of the
   highest zone.

Source: DOMAIN section 8 (trust zones); Biba (1977): what is low does not write what is high.
"""

from __future__ import annotations

from mnemic.kernel.arithmetic import NANO
from mnemic.kernel.errors import Forbidden
from mnemic.kernel.events import BlocksComposed
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import BlockFacts, EdgeReading, Reading


def lesson_zone(reading: EdgeReading, source: str, asked: str | None) -> str:
    """Return the zone of what is learned.

    Args:
        reading: Whose policy and whose writer.
        source: Where it came from.
        asked: The zone that the writer asks for, if any.

    Raises:
        Forbidden: The writer asks for a higher zone than its own.
    """
    if asked is not None:
        check_zone(reading, asked)
        return asked
    zone = reading.policy.zone(source)
    own = reading.highest
    return zone if own is None or within(reading.policy, zone, own) else own


def check_zone(reading: EdgeReading, zone: str) -> None:
    """Refuse to give what is higher than the writer's zone, or may come to be.

    Raises:
        Forbidden: It is.
    """
    own = reading.highest
    if own is None or zone == own:
        return
    if not within(reading.policy, zone, own):
        raise _forbidden(f"zone {zone!r:.100} is above {own!r}", own)
    if zone not in dict(reading.policy.zone_ceilings):
        raise _forbidden(f"the policy names no zone {zone!r:.100}", own)


def check_reach(reading: EdgeReading, *ends: BlockFacts) -> None:
    """Refuse to touch what is above the writer's zone in every one of *ends*.

    Raises:
        Forbidden: They all are.
    """
    if not any(reaches(reading, facts) for facts in ends):
        told = " and ".join(f"{facts.id} ({facts.zone})" for facts in ends)
        raise _forbidden(f"{told}: above the zone {reading.highest!r}", str(reading.highest))


def check_members(reading: Reading, composition: BlocksComposed) -> None:
    """Refuse to judge what was composed of anything above the writer's zone.

    Raises:
        Forbidden: A member is.
    """
    numbers = (reading.number(member.block_id) for member in composition.members)
    for number in numbers if reading.highest is not None else ():
        if number is not None:
            check_reach(reading, reading.facts(number))


def reaches(reading: EdgeReading, facts: BlockFacts) -> bool:
    """Whether the writer may change a block."""
    return reading.highest is None or within(reading.policy, facts.zone, reading.highest)


def check_whole(reading: EdgeReading, verb: str) -> None:
    """Refuse what changes the whole space to a writer below the highest zone.

    Raises:
        Forbidden: The writer's zone is not trusted in full.
    """
    own = reading.highest
    if own is not None and reading.policy.ceiling(own) < NANO:
        raise _forbidden(f"{verb} is not for writers of the zone {own!r}", own)


def within(policy: Policy, zone: str, highest: str) -> bool:
    """Whether a zone is no higher than another."""
    return policy.ceiling(zone) <= policy.ceiling(highest)


def _forbidden(message: str, zone: str) -> Forbidden:
    return Forbidden(
        message,
        recovery="Leave this to a writer of a higher zone, or learn it as what it is; "
        "`mnemic token create` without --zone makes a token that is not bound to one.",
        zone=zone,
    )
