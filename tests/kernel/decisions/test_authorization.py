"""Trust zones of writers: what is refused, and how a refusal reads."""

from __future__ import annotations

import pytest

from mnemic.kernel.decisions.authorization import (
    check_members,
    check_reach,
    check_whole,
    check_zone,
    lesson_zone,
)
from mnemic.kernel.errors import Forbidden
from mnemic.kernel.events import BlockLearned, BlocksComposed, Member, SpaceOpened
from mnemic.kernel.model.identity import BlockId, CompositionId
from mnemic.kernel.model.texts import BlockText, Salt
from mnemic.kernel.policy import Policy
from mnemic.projections.view import View
from tests.kernel.decisions.logs import adopted, folded

ZONES = (("trusted", 1.0), ("shared", 0.5), ("external", 0.5), ("untrusted", 0.25))
HIGH, EVEN, LOW, UNKNOWN = (BlockId(name * 16) for name in "abcd")
WHERE = {HIGH: "trusted", EVEN: "shared", LOW: "untrusted"}
LONG = "z" * 150


def writer(zone: str | None) -> View:
    """Return the state that a writer of *zone* sees: a block above, one beside and one below."""
    view = folded(
        SpaceOpened(nonce="0" * 32, salt=Salt(value=b"salt")),
        adopted(Policy(zone_ceilings=ZONES)),
        *(
            BlockLearned(block_id=block, text=BlockText(of=(block,), content=block), zone=zone)
            for block, zone in WHERE.items()
        ),
    )
    view.highest = zone
    return view


def reach(view: View, *blocks: BlockId) -> None:
    check_reach(view, *(view.facts([*WHERE].index(block)) for block in blocks))


def composed(*blocks: BlockId) -> BlocksComposed:
    members = tuple(Member(block_id=block, role="related") for block in blocks)
    return BlocksComposed(members=members, composition_id=CompositionId("lane"))


@pytest.mark.parametrize(
    ("zone", "message"),
    [
        ("trusted", "zone 'trusted' is above 'external'"),
        ("unheard of", "the policy names no zone 'unheard of'"),
        (LONG, f"the policy names no zone '{'z' * 99}"),
    ],
)
def test_a_zone_above_or_unknown_cannot_be_assigned(zone: str, message: str) -> None:
    with pytest.raises(Forbidden) as refused:
        check_zone(writer("external"), zone)
    assert refused.value.to_dict() == {
        "code": "forbidden",
        "detail": message,
        "recovery": "Leave this to a writer of a higher zone, or learn it in your own zone; "
        "`mnemic token create` without --zone makes a token that is not bound to one.",
        "zone": "external",
    }


def test_the_name_of_a_higher_zone_is_cut() -> None:
    policy = Policy(zone_ceilings=((LONG, 1.0), ("external", 0.5)))
    with pytest.raises(Forbidden) as refused:
        check_zone(writer("external").under(policy), LONG)
    assert refused.value.message == f"zone '{'z' * 99} is above 'external'"


@pytest.mark.parametrize(
    ("own", "zone"),
    [
        ("external", "external"),
        ("external", "shared"),
        ("external", "untrusted"),
        ("of the mailbox", "of the mailbox"),
        (None, "unheard of"),
    ],
)
def test_a_zone_that_is_not_higher_can_be_assigned(own: str | None, zone: str) -> None:
    check_zone(writer(own), zone)
    assert lesson_zone(writer(own), "user", zone) == zone


@pytest.mark.parametrize(
    ("own", "source", "zone"),
    [
        (None, "user", "trusted"),
        ("trusted", "user", "trusted"),
        ("external", "user", "external"),
        ("external", "web", "external"),
        ("shared", "web", "external"),
        ("external", "unheard of", "untrusted"),
    ],
)
def test_a_lesson_gets_the_zone_of_its_source_up_to_the_writers(
    own: str | None, source: str, zone: str
) -> None:
    assert lesson_zone(writer(own), source, None) == zone


def test_a_change_needs_one_block_within_reach() -> None:
    view = writer("external")
    reach(view, HIGH, EVEN)
    reach(view, LOW)
    with pytest.raises(Forbidden) as refused:
        reach(view, HIGH, HIGH)
    assert (refused.value.message, refused.value.facts) == (
        f"{HIGH} (trusted) and {HIGH} (trusted): above the zone 'external'",
        {"zone": "external"},
    )
    reach(writer(None), HIGH)


def test_every_member_of_a_labelled_composition_must_be_within_reach() -> None:
    view = writer("external")
    check_members(view, composed(UNKNOWN, EVEN, LOW))
    check_members(writer(None), composed(HIGH))
    with pytest.raises(Forbidden) as refused:
        check_members(view, composed(UNKNOWN, LOW, HIGH))
    assert refused.value.message == f"{HIGH} (trusted): above the zone 'external'"


def test_only_fully_trusted_writers_change_the_whole_space() -> None:
    check_whole(writer(None), "revert")
    check_whole(writer("trusted"), "revert")
    with pytest.raises(Forbidden) as refused:
        check_whole(writer("shared"), "revert")
    assert (refused.value.message, refused.value.facts) == (
        "revert is not for writers of the zone 'shared'",
        {"zone": "shared"},
    )
