"""revert: the event, whole."""

from __future__ import annotations

import pytest
from attrs import evolve

from mnemic.kernel.decisions.reverting import changes, decide_revert
from mnemic.kernel.errors import FieldRefused, NoteTooLong, PointOutOfRange
from mnemic.kernel.events import (
    BlockErased,
    BlockForgotten,
    BlockRezoned,
    EdgeConnected,
    EdgeDisconnected,
    Event,
    Objection,
    OutcomeRecorded,
    Reverted,
    SpaceOpened,
)
from mnemic.kernel.identity import BlockId
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.texts import Remark, Salt
from mnemic.projections.views import View
from tests.kernel.decisions.logs import adopted, folded, learned

A, B, C = (BlockId(name * 16) for name in "abc")
BEGUN: tuple[Event, ...] = (
    SpaceOpened(nonce="0" * 32, salt=Salt(value=b"salt")),
    adopted(DEFAULT),
    learned(A),
    learned(B),
    learned(C),
)
FIRST = len(BEGUN)
"""The version of the first event of each test."""


def decided(*events: Event, length: int = 1, reason: str | None = None) -> Reverted:
    """Return how the first *length* of some events are taken back after all of them."""
    view = after(*events)
    head = view.point.version
    return decide_revert(view, FIRST, FIRST + length - 1, head=head, reason=reason)


def after(*events: Event) -> View:
    return folded(*BEGUN, *events)


def connected(source: BlockId, target: BlockId, relation: str = "supports") -> EdgeConnected:
    return EdgeConnected(
        source=source, target=target, relation=relation, weight=700_000_000, action="created"
    )


def left(what: str, of: tuple[str, ...], why: str, version: int | None = None) -> Objection:
    return Objection(what=what, of=of, why=why, version=version)


NOTHING = Reverted(first=FIRST, last=FIRST)


def test_a_learned_block_is_forgotten() -> None:
    view = after()
    event = decide_revert(view, 4, 4, head=4, reason=None)
    assert event == Reverted(first=4, last=4, forgotten=(C,))


def test_an_edge_goes_with_the_reason_of_the_caller() -> None:
    assert decided(connected(B, A), reason=" typo ") == evolve(
        NOTHING, unlinked=((A, B),), reason=Remark(text="typo")
    )


def test_a_forgotten_block_comes_back_with_its_edge() -> None:
    view = after(connected(A, B), BlockForgotten(block_id=A))
    version = FIRST + 1
    assert decide_revert(view, version, version, head=version, reason=None) == Reverted(
        first=version, last=version, lives=(A,), linked=((A, B),)
    )


def test_an_edge_stays_away_while_an_end_is_archived() -> None:
    cut = EdgeDisconnected(source=A, target=B, relation="supports", weight=700_000_000)
    view = after(connected(A, B), cut, BlockForgotten(block_id=B))
    event = decide_revert(view, FIRST + 1, FIRST + 1, head=FIRST + 2, reason=None)
    assert event == Reverted(
        first=FIRST + 1,
        last=FIRST + 1,
        unbarred=((A, B),),
        left=(left("edge", (A, B), "archived"),),
    )


def test_the_higher_class_and_then_the_heavier_edge_gets_the_last_place() -> None:
    narrow = adopted(Policy(name="narrow", degree_cap=1))
    light = evolve(connected(A, B), weight=1)
    cut = [EdgeDisconnected(source=A, target=other) for other in (B, C)]
    view = after(light, connected(A, C), narrow, *cut)
    event = decide_revert(view, FIRST + 3, FIRST + 4, head=FIRST + 4, reason=None)
    assert (event.linked, event.left) == (((A, C),), (left("edge", (A, B), "no-room"),))


def test_room_is_counted_under_the_policy_that_comes_back() -> None:
    narrow = adopted(Policy(name="narrow", degree_cap=1))
    cut = [EdgeDisconnected(source=A, target=other) for other in (B, C)]
    view = after(connected(A, B), connected(A, C), narrow, *cut)
    event = decide_revert(view, FIRST + 2, FIRST + 4, head=FIRST + 4, reason=None)
    assert (event.linked, event.policy_id, event.left) == (((A, B), (A, C)), DEFAULT.id, ())


def test_what_was_touched_since_is_left_with_the_first_version_that_did() -> None:
    zones = [BlockRezoned(block_id=A, zone=zone) for zone in ("one", "two", "three")]
    assert decided(*zones) == evolve(NOTHING, left=(left("life", (A,), "touched", FIRST + 1),))


def test_what_somebody_undid_already_is_no_conflict() -> None:
    away, back = (BlockRezoned(block_id=A, zone=zone) for zone in ("elsewhere", "trusted"))
    event = decided(away, back)
    assert (event, changes(event)) == (NOTHING, False)


def test_a_block_that_an_outcome_told_of_is_not_put_away() -> None:
    scored = OutcomeRecorded(block_ids=(C,), signal=900_000_000)
    event = decide_revert(after(scored), 4, 4, head=FIRST, reason=None)
    assert event == Reverted(first=4, last=4, left=(left("life", (C,), "touched", FIRST),))


def test_erased_words_stay_gone() -> None:
    erased = BlockErased(block_id=A)
    event = decided(BlockForgotten(block_id=A), erased)
    assert event == evolve(NOTHING, left=(left("life", (A,), "touched", FIRST + 1),))


def test_a_log_keeps_the_policy_of_its_start() -> None:
    assert decide_revert(after(), 1, 1, head=4, reason=None) == Reverted(first=1, last=1)


@pytest.mark.parametrize(
    ("first", "last", "refusal"),
    [
        (0, 1, PointOutOfRange),
        (1, 5, PointOutOfRange),
        (3, 2, FieldRefused),
        ("1", 2, FieldRefused),
        (1, True, FieldRefused),
    ],
)
def test_a_stretch_that_is_none_is_refused(first: int, last: int, refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        decide_revert(after(), first, last, head=4, reason=None)


def test_a_long_reason_is_refused() -> None:
    with pytest.raises(NoteTooLong):
        decided(connected(A, B), reason="x" * 501)
