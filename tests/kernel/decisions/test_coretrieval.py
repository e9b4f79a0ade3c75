"""Effects on pairs that were returned together, on a reading made of plain tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import cast

import pytest
from attrs import field, frozen

from mnemic.kernel.decisions.coretrieval import Effects
from mnemic.kernel.decisions.coretrieval import effects as effects_of
from mnemic.kernel.decisions.degree_cap import Ends
from mnemic.kernel.model.blocks import ACTIVE, ARCHIVED
from mnemic.kernel.model.identity import BlockId, SessionId
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import Reading
from mnemic.kernel.timestamps import Instant

NOW = Instant(active_us=0, recorded_us=0)
SESSION = SessionId("now")


@frozen(kw_only=True)
class Tables:
    """The part of a reading that these decisions use."""

    staged: dict[Ends, tuple[str, ...]] = field(factory=dict)
    """Sessions of each staged pair, those staged longest ago first."""
    linked: frozenset[Ends] = frozenset()
    refreshed: frozenset[Ends] = frozenset()
    barred: frozenset[Ends] = frozenset()
    archived: frozenset[int] = frozenset()
    most: int = 100
    enough: int = 3
    cap: int = 10
    rising: bool = True
    """Whether ids rise with the numbers of blocks."""

    @property
    def policy(self) -> Policy:
        return Policy(
            staging_pairs_max=self.most,
            co_retrieval_sessions=self.enough,
            degree_cap=self.cap,
        )

    def id(self, number: int) -> BlockId:
        return BlockId(f"{number if self.rising else 100 - number:016x}")

    def status(self, number: int) -> int:
        return ARCHIVED if number in self.archived else ACTIVE

    def degree(self, number: int) -> int:
        return sum(number in pair for pair in self.linked)

    def linked_among(self, numbers: Sequence[int]) -> frozenset[Ends]:
        return self.linked & {*combinations(numbers, 2)}

    def barred_among(self, numbers: Sequence[int]) -> frozenset[Ends]:
        return self.barred & {*combinations(numbers, 2)}

    def staged_among(self, numbers: Sequence[int]) -> dict[Ends, Sequence[str]]:
        return {ends: self.staged[ends] for ends in combinations(numbers, 2) if ends in self.staged}

    def was_refreshed(self, a: int, b: int, session: str) -> bool:
        return session == SESSION and (a, b) in self.refreshed

    def staged_sessions(self, a: int, b: int) -> Sequence[str]:
        return self.staged.get((a, b), ())

    def staged_total(self) -> int:
        return len(self.staged)

    def staging_order(self) -> Iterator[tuple[Ends, int]]:
        counts = ((pair, len(sessions)) for pair, sessions in self.staged.items())
        return iter(sorted(counts, key=lambda entry: entry[1]))


def effects(tables: Tables, *returned: int, session: SessionId | None = SESSION) -> Effects:
    return effects_of(cast("Reading", tables), returned, session, NOW)


def test_outside_a_session_nothing_happens() -> None:
    assert effects(Tables(linked=frozenset({(0, 1)})), 0, 1, 2, session=None) == Effects()


def test_every_pair_of_active_blocks_is_staged_the_lower_number_first() -> None:
    tables = Tables(archived=frozenset({2}))
    assert effects(tables, 3, 2, 0, 1) == Effects(staged=((0, 1), (0, 3), (1, 3)))


def test_pairs_staged_in_this_session_or_barred_are_skipped() -> None:
    tables = Tables(staged={(0, 1): ("now",), (0, 2): ("then",)}, barred=frozenset({(1, 2)}))
    assert effects(tables, 0, 1, 2) == Effects(staged=((0, 2),))


def test_skipped_pairs_do_not_end_the_list() -> None:
    tables = Tables(linked=frozenset({(0, 1), (0, 2)}), refreshed=frozenset({(0, 1)}))
    assert effects(tables, 0, 1, 2) == Effects(staged=((1, 2),), refreshed=((0, 2),))


def test_with_enough_sessions_a_pair_below_the_cap_is_linked() -> None:
    often, twice = ("a", "b", "c"), ("a", "b")
    staged = {(0, 1): twice, (0, 2): often, (1, 2): ("a",), (3, 4): often}
    tables = Tables(staged=staged, cap=1, linked=frozenset({(4, 5)}))
    # 0 and 1 take each other's only place; 0 with 2 waits unchanged; so does 3, since 4 is full.
    assert effects(tables, 0, 1, 2) == Effects(staged=((1, 2),), linked=((0, 1),))
    assert effects(tables, 3, 4) == Effects()


@pytest.mark.parametrize(
    ("enough", "cap", "expected"),
    [
        (0, 1, Effects(linked=((0, 1),))),
        (1, 1, Effects(linked=((0, 1),))),
        (2, 1, Effects(staged=((0, 1),))),
        (0, 0, Effects(staged=((0, 1),))),
        (1, 0, Effects(staged=((0, 1),))),
    ],
)
def test_with_one_session_required_a_pair_is_staged_only_at_the_cap(
    enough: int, cap: int, expected: Effects
) -> None:
    assert effects(Tables(enough=enough, cap=cap), 0, 1) == expected


def test_a_pair_waiting_at_the_cap_is_not_staged_further() -> None:
    tables = Tables(staged={(0, 1): ("then",)}, enough=1, cap=0)
    assert effects(tables, 0, 1) == Effects()


# --- when staging is full -------------------------------------------------------------------


def test_staging_can_be_filled_up_to_the_limit() -> None:
    assert effects(Tables(staged={(5, 6): ("a",)}, most=2), 0, 1) == Effects(staged=((0, 1),))


def test_with_equal_sessions_the_older_pair_is_evicted() -> None:
    tables = Tables(staged={(7, 8): ("a",), (5, 6): ("a",)}, most=2)
    assert effects(tables, 0, 1) == Effects(staged=((0, 1),), evicted=((7, 8),))


def test_a_new_pair_with_the_fewest_sessions_is_not_staged() -> None:
    tables = Tables(staged={(0, 1): ("a", "b"), (0, 2): ("a", "b")}, most=2)
    assert effects(tables, 3, 4) == Effects()


def test_a_restaged_pair_counts_with_its_current_sessions() -> None:
    tables = Tables(staged={(0, 1): ("a",), (5, 6): ("a",)}, most=3)
    assert effects(tables, 0, 1, 4) == Effects(staged=((0, 1), (0, 4), (1, 4)), evicted=((5, 6),))


def test_new_pairs_with_the_fewest_sessions_are_evicted_after_older_ones() -> None:
    tables = Tables(staged={(0, 1): ("a",), (5, 6): ("a",), (6, 7): ("a", "b")}, most=3)
    assert effects(tables, 0, 1, 4) == Effects(staged=((0, 1), (1, 4)), evicted=((5, 6),))


def test_new_pairs_are_evicted_in_the_order_of_ids() -> None:
    assert effects(Tables(most=2), 0, 1, 2) == Effects(staged=((0, 2), (1, 2)))
    assert effects(Tables(most=2, rising=False), 0, 1, 2) == Effects(staged=((0, 1), (0, 2)))


def test_a_restaged_pair_can_be_evicted() -> None:
    tables = Tables(staged={(0, 1): ("a",), (5, 6): ("a", "b", "c")}, most=1)
    assert effects(tables, 0, 1) == Effects(evicted=((0, 1),))


def test_a_linked_pair_frees_its_place_in_staging() -> None:
    tables = Tables(staged={(0, 1): ("a", "b"), (5, 6): ("a", "b")}, most=1)
    assert effects(tables, 0, 1) == Effects(linked=((0, 1),))
    tables = Tables(staged={(5, 6): ("a", "b"), (0, 1): ("a", "b")}, most=2)
    assert effects(tables, 0, 1, 2) == Effects(linked=((0, 1),), staged=((1, 2),))


def test_a_lowered_limit_evicts_all_surplus_pairs_at_once() -> None:
    staged = {(5, 6): ("a", "b"), (6, 7): ("a",), (7, 8): ("a", "b")}
    assert effects(Tables(staged=staged, most=1), 0) == Effects(evicted=((6, 7), (5, 6)))
    assert effects(Tables(staged=staged, most=0), 0, 1) == Effects(evicted=((6, 7), (5, 6), (7, 8)))
