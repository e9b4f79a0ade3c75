"""Complete events of revert."""

from __future__ import annotations

import pytest
from attrs import evolve

from mnemic.kernel.decisions.reverting import changes, decide_revert
from mnemic.kernel.errors import FieldRefused, NoteTooLong, PointOutOfRange, Refused
from mnemic.kernel.events import (
    BlockErased,
    BlockForgotten,
    BlockLearned,
    BlockRezoned,
    BlocksComposed,
    BlocksPromoted,
    BlockSuperseded,
    CompositionLabelled,
    EdgeConnected,
    EdgeDeferred,
    EdgeDisconnected,
    EmbedderAdopted,
    EmbedderIdentity,
    Event,
    LabelRetracted,
    Member,
    Objection,
    OutcomeRecorded,
    Reverted,
    SpaceOpened,
    Supersession,
)
from mnemic.kernel.model.identity import BlockId, CompositionId
from mnemic.kernel.model.texts import ERASED, Remark, Salt
from mnemic.kernel.model.vectors import quantise
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.projections.view import View
from mnemic.specs.reference.fold import fold
from mnemic.specs.reference.reverting import expected_revert
from tests.kernel.decisions.logs import adopted, folded, learned, promotion, recorded

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
    """Return the revert of the first *length* of some events after all of them."""
    view = after(*events)
    return decide_revert(view, FIRST, FIRST + length - 1, reason=reason).result


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
    event = decide_revert(view, 4, 4, reason=None).result
    assert event == Reverted(first=4, last=4, forgotten=(C,))


def test_an_edge_is_removed_with_the_callers_reason() -> None:
    assert decided(connected(B, A), reason=" typo ") == evolve(
        NOTHING, unlinked=((A, B),), reason=Remark(text="typo")
    )


def test_a_forgotten_block_comes_back_with_its_edge() -> None:
    view = after(connected(A, B), BlockForgotten(block_id=A))
    version = FIRST + 1
    assert decide_revert(view, version, version, reason=None).result == Reverted(
        first=version, last=version, lives=(A,), linked=((A, B),)
    )


def test_an_edge_stays_away_while_an_end_is_archived() -> None:
    cut = EdgeDisconnected(source=A, target=B, relation="supports", weight=700_000_000)
    view = after(connected(A, B), cut, BlockForgotten(block_id=B))
    event = decide_revert(view, FIRST + 1, FIRST + 1, reason=None).result
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
    event = decide_revert(view, FIRST + 3, FIRST + 4, reason=None).result
    assert (event.linked, event.left) == (((A, C),), (left("edge", (A, B), "no-room"),))


def test_the_cap_is_that_of_the_restored_policy() -> None:
    narrow = adopted(Policy(name="narrow", degree_cap=1))
    cut = [EdgeDisconnected(source=A, target=other) for other in (B, C)]
    view = after(connected(A, B), connected(A, C), narrow, *cut)
    event = decide_revert(view, FIRST + 2, FIRST + 4, reason=None).result
    assert (event.linked, event.policy_id, event.left) == (((A, B), (A, C)), DEFAULT.id, ())


def test_a_value_changed_later_is_left_and_the_first_version_named() -> None:
    zones = [BlockRezoned(block_id=A, zone=zone) for zone in ("one", "two", "three")]
    assert decided(*zones) == evolve(NOTHING, left=(left("life", (A,), "touched", FIRST + 1),))


def test_a_change_undone_already_is_no_conflict() -> None:
    away, back = (BlockRezoned(block_id=A, zone=zone) for zone in ("elsewhere", "trusted"))
    event = decided(away, back)
    assert (event, changes(event)) == (NOTHING, False)


def test_a_block_scored_by_a_later_outcome_is_not_archived() -> None:
    scored = OutcomeRecorded(block_ids=(C,), signal=900_000_000)
    event = decide_revert(after(scored), 4, 4, reason=None).result
    assert event == Reverted(first=4, last=4, left=(left("life", (C,), "touched", FIRST),))


def test_erased_words_stay_gone() -> None:
    erased = BlockErased(block_id=A)
    event = decided(BlockForgotten(block_id=A), erased)
    assert event == evolve(NOTHING, left=(left("life", (A,), "touched", FIRST + 1),))


def test_a_log_keeps_the_policy_of_its_start() -> None:
    assert decide_revert(after(), 1, 1, reason=None).result == Reverted(first=1, last=1)


@pytest.mark.parametrize(
    ("first", "last", "refusal"),
    [
        (
            0,
            1,
            PointOutOfRange(
                "from_version must be from 1 to 4, got 0", point="version", asked=0, head=4
            ),
        ),
        (
            1,
            5,
            PointOutOfRange(
                "to_version must be from 1 to 4, got 5", point="version", asked=5, head=4
            ),
        ),
        (
            3,
            2,
            FieldRefused(
                "from_version 3 is after to_version 2",
                recovery="Name the earlier version first.",
                field="from_version",
            ),
        ),
        (
            "1",
            2,
            FieldRefused("from_version must be a whole number, got '1'", field="from_version"),
        ),
        (1, True, FieldRefused("to_version must be a whole number, got True", field="to_version")),
    ],
)
def test_an_invalid_range_is_refused(first: int, last: int, refusal: Refused) -> None:
    with pytest.raises(type(refusal)) as refused:
        decide_revert(after(), first, last, reason=None)
    assert refused.value.to_dict() == refusal.to_dict()


def test_a_long_reason_is_refused() -> None:
    with pytest.raises(NoteTooLong, match=r"^reason has 501 characters, the limit is 500\b"):
        decided(connected(A, B), reason="x" * 501)


# --- several causes at once -----------------------------------------------------------------------

D, E = (BlockId(name * 16) for name in "de")
LINE, PLANE = (EmbedderIdentity(name=f"{size}d", dimension=size) for size in (1, 2))
ALL_ACTIVE: tuple[Event, ...] = (
    *BEGUN,
    EmbedderAdopted(embedder=LINE),
    BlocksPromoted(
        promotions=tuple(promotion(block, quantise([1.0], dimension=1)) for block in (A, B, C))
    ),
)
"""The last of them has version 6."""


def reverted(known: tuple[Event, ...], *events: Event, length: int = 1) -> Reverted:
    """Return the revert of the first *length* of *events*; the plain reference expects it too."""
    log = (*known, *events)
    first, last = len(known), len(known) + length - 1
    event = decide_revert(folded(*log), first, last, reason=None).result
    assert event == expected_revert(fold(recorded(*log)), first, last)
    return event


def superseded(old: BlockId, new: BlockId, *moved: BlockId) -> BlockSuperseded:
    return BlockSuperseded(supersession=Supersession(old=old, new=new, moved=moved))


def cut(source: BlockId, target: BlockId) -> EdgeDisconnected:
    return EdgeDisconnected(source=source, target=target)


def scored(*blocks: BlockId) -> OutcomeRecorded:
    return OutcomeRecorded(block_ids=blocks, signal=900_000_000, reinforced=True)


def causes(event: Reverted) -> list[tuple[str, tuple[str, ...], str, int | None]]:
    return [(each.what, each.of, each.why, each.version) for each in event.left]


def test_a_policy_replaced_later_is_left() -> None:
    one, two = (Policy(name=name) for name in ("one", "two"))
    event = reverted(BEGUN, adopted(one), adopted(two))
    assert (event.policy, causes(event)) == (None, [("policy", (two.id,), "touched", 6)])


def test_a_label_retracted_and_counted_again_later_is_left() -> None:
    lane = CompositionId("lane")
    composed = BlocksComposed(members=(Member(block_id=A, role="primary"),), composition_id=lane)
    event = reverted(
        (*BEGUN, composed),
        CompositionLabelled(composition_id=lane, label="helpful"),
        LabelRetracted(composition_id=lane, label_version=6),
        Reverted(first=7, last=7, recounted=(6,)),
    )
    assert (event.retracted, causes(event)) == ((), [("label", ("l6",), "touched", 7)])


def test_learned_blocks_that_were_rezoned_later_are_left_in_the_order_of_their_ids() -> None:
    moves = (BlockRezoned(block_id=block, zone="elsewhere") for block in (E, D))
    event = reverted(BEGUN, learned(E), learned(D), *moves, length=2)
    assert causes(event) == [("life", (D,), "touched", 8), ("life", (E,), "touched", 7)]


def test_a_block_that_a_later_outcome_scored_does_not_return_to_the_inbox() -> None:
    event = reverted(ALL_ACTIVE[:-1], ALL_ACTIVE[-1], scored(B))
    assert event.lives == (A, C)
    assert causes(event)[0] == ("life", (B,), "touched", 7)


def test_a_chain_of_supersessions_is_left_for_the_earliest_of_its_reasons() -> None:
    event = reverted(
        ALL_ACTIVE,
        learned(D),
        superseded(A, D),
        superseded(B, D),
        BlockRezoned(block_id=C, zone="elsewhere"),
        learned(A),
        learned(B),
        length=4,
    )
    assert event.lives == (C,)
    assert causes(event) == [
        ("life", (A,), "touched", 11),
        ("life", (B,), "touched", 12),
        ("life", (D,), "touched", 11),
    ]


def test_reasons_without_a_later_event_come_first_by_name() -> None:
    gone = BlockLearned(block_id=E, text=ERASED)
    event = reverted(
        (*ALL_ACTIVE, gone),
        learned(D),
        superseded(A, D),
        superseded(B, D),
        superseded(E, D),
        EmbedderAdopted(embedder=PLANE),
        learned(B),
        length=4,
    )
    assert causes(event) == [
        ("life", (A,), "no-vector", None),
        ("life", (B,), "touched", 13),
        ("life", (D,), "erased", None),
        ("life", (E,), "erased", None),
    ]


def test_strength_is_left_by_block_and_evidence_by_supersession() -> None:
    event = reverted(ALL_ACTIVE, scored(A, B), superseded(A, B), scored(B), length=2)
    assert (event.lives, event.strength, event.evidence) == ((A,), (A,), ())
    assert causes(event) == [
        ("strength", (B,), "touched", 9),
        ("evidence", (A,), "touched", 9),
        ("evidence", (B,), "touched", 9),
    ]


def test_edges_are_left_in_the_order_of_their_ids() -> None:
    made = [connected(A, E), connected(A, D)]
    again = [evolve(edge, action="reinforced", count=1) for edge in made]
    event = reverted((*BEGUN, learned(E), learned(D)), *made, *again, length=2)
    assert causes(event) == [("edge", (A, D), "touched", 10), ("edge", (A, E), "touched", 9)]


def test_an_edge_stays_with_the_successor_of_a_block_that_is_left() -> None:
    known = (*ALL_ACTIVE, connected(A, C), connected(B, C))
    event = reverted(
        known,
        learned(D),
        learned(E),
        superseded(A, E, C),
        superseded(B, D, C),
        scored(D),
        length=4,
    )
    assert (event.lives, event.forgotten) == ((A,), (E,))
    assert (event.unlinked, event.linked) == (((C, E),), ((A, C),))
    assert causes(event) == [
        ("life", (B,), "touched", 13),
        ("life", (D,), "touched", 13),
        ("edge", (B, C), "archived", None),
        ("edge", (C, D), "touched", 13),
    ]


def test_an_asserted_edge_gets_the_last_place_before_a_heavier_similar_one() -> None:
    narrow = adopted(Policy(name="narrow", degree_cap=1))
    heavy = evolve(connected(A, B, "similar"), weight=900_000_000)
    known = (*BEGUN, heavy, connected(A, C), narrow)
    event = reverted(known, cut(A, B), cut(A, C), length=2)
    assert (event.linked, causes(event)) == (((A, C),), [("edge", (A, B), "no-room", None)])


def test_a_bar_that_a_connection_lifted_is_restored_unless_the_edge_is_left() -> None:
    known = (*BEGUN, cut(A, B))
    again = evolve(connected(A, B), action="reinforced", count=1)
    event = reverted(known, connected(A, B))
    assert (event.unlinked, event.barred, event.left) == (((A, B),), ((A, B),), ())
    event = reverted(known, connected(A, B), again)
    assert (event.barred, causes(event)) == (
        (),
        [("edge", (A, B), "touched", 7), ("barred", (A, B), "linked", None)],
    )


def test_a_pending_connection_of_a_restored_edge_does_not_wait_again() -> None:
    waiting = EdgeDeferred(source=A, target=B, relation="supports", weight=700_000_000)
    known = (*ALL_ACTIVE, connected(A, B, "similar"), waiting)
    event = reverted(known, BlockForgotten(block_id=A))
    assert (event.linked, event.deferred) == (((A, B),), ())
    assert causes(event) == [("pending", (A, B), "linked", None)]


def test_an_edge_takes_the_place_of_one_that_is_removed() -> None:
    narrow = adopted(Policy(name="narrow", degree_cap=1))
    event = reverted((*BEGUN, connected(A, B), narrow), cut(A, B), connected(A, C), length=2)
    assert (event.unlinked, event.linked, event.left) == (((A, C),), ((A, B),), ())


def test_a_bar_that_was_lifted_and_set_again_is_left() -> None:
    event = reverted(BEGUN, cut(A, B), connected(A, B), cut(A, B))
    assert (event.unbarred, causes(event)) == ((), [("barred", (A, B), "touched", 6)])


def test_a_pending_connection_is_left_if_it_was_renewed_or_an_end_is_archived() -> None:
    waiting = EdgeDeferred(source=A, target=B, relation="supports", weight=700_000_000)
    event = reverted(BEGUN, waiting, evolve(waiting, weight=800_000_000))
    assert (event.cancelled, causes(event)) == ((), [("pending", (A, B), "touched", 6)])
    event = reverted((*BEGUN, waiting), cut(A, B), BlockForgotten(block_id=B))
    assert (event.deferred, causes(event)) == ((), [("pending", (A, B), "archived", None)])
