"""The ledger at any version: additions up to it, less retractions up to it."""

from __future__ import annotations

from mnemic.kernel.events import (
    BlocksComposed,
    CompositionLabelled,
    LabelRetracted,
    Member,
    Recorded,
)
from mnemic.kernel.model.identity import BlockId, CommandId, CompositionId
from mnemic.projections.ledger.ledger import Ledger

LANE = CompositionId("lane")
FIRST = BlocksComposed(members=(Member(block_id=BlockId("1" * 16), role="primary"),))
NAMED = BlocksComposed(members=FIRST.members, composition_id=LANE)


def at(version: int) -> Recorded:
    """Return an envelope; the event itself is passed to the ledger separately."""
    return Recorded(
        version=version,
        active_us=10 * version,
        recorded_us=100 * version,
        command_id=CommandId("c"),
        event=FIRST,
    )


def two_compositions() -> Ledger:
    """Two compositions at 3 and 5, labels of the second at 6 and 7, the first of them gone at 8."""
    ledger = Ledger()
    ledger.compose(FIRST, at(3), [4])
    ledger.compose(NAMED, at(5), [4, 2, 4])
    ledger.label(CompositionLabelled(composition_id=LANE, label="dead_end"), at(6))
    ledger.label(CompositionLabelled(composition_id=LANE, label="helpful"), at(7))
    ledger.retract(LabelRetracted(composition_id=LANE, label_version=6), at(8))
    return ledger


def labels(ledger: Ledger, version: int) -> list[str]:
    return [each.event.label for each in ledger.labels_of(1, version)]


def test_a_composition_goes_by_its_own_id_or_by_its_version() -> None:
    ledger = two_compositions()
    first, second = ledger.find("c3", 9), ledger.find("lane", 9)
    assert first is not None
    assert second is not None
    assert (first.number, first.version, first.active_us, first.recorded_us) == (0, 3, 30, 300)
    assert (second.id, second.members) == (LANE, (4, 2, 4))
    assert [ledger.find(name, 9) for name in ("c5", "nothing", 7, None)] == [None] * 4


def test_a_later_composition_is_not_visible() -> None:
    ledger = two_compositions()
    assert ledger.find("lane", 4) is None
    assert [each.version for each in ledger.upto(4)] == [3]
    assert [each.version for each in ledger.of(4, 4)] == [3]
    assert [each.version for each in ledger.of(2, 4)] == []


def test_compositions_come_latest_first_and_each_once_for_a_block_in_two_roles() -> None:
    ledger = two_compositions()
    assert [each.version for each in ledger.upto(9)] == [5, 3]
    assert [each.version for each in ledger.of(4, 9)] == [5, 3]
    assert ledger.of(7, 9) == []


def test_a_label_counts_from_its_version_until_it_is_retracted() -> None:
    ledger = two_compositions()
    assert [labels(ledger, version) for version in range(5, 10)] == [
        [],
        ["dead_end"],
        ["dead_end", "helpful"],
        ["helpful"],
        ["helpful"],
    ]
    assert ledger.labels_of(0, 9) == []


def test_a_retracted_label_can_still_be_looked_up() -> None:
    ledger = two_compositions()
    found = ledger.label_at(6, 9)
    assert found is not None
    assert (found.event.label, found.retracted, found.counts_at(7), found.counts_at(8)) == (
        "dead_end",
        8,
        True,
        False,
    )
    assert ledger.label_at(7, 6) is None
    assert ledger.label_at(5, 9) is None
