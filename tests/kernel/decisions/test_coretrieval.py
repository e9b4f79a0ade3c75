"""What becomes of pairs that were returned together, told on a reading made of plain tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import pytest
from attrs import field, frozen

from mnemic.kernel.decisions.coretrieval import Effects, decide_effects
from mnemic.kernel.decisions.room import Ends
from mnemic.kernel.identity import BlockId, SessionId
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import ACTIVE, ARCHIVED, Moment, Reading

NOW = Moment(active_us=0, recorded_us=0)
SESSION = SessionId("now")


@frozen(kw_only=True)
class Tables:
    """As much of a reading as these decisions ask for."""

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

    def is_linked(self, a: int, b: int) -> bool:
        return (a, b) in self.linked

    def was_refreshed(self, a: int, b: int, session: str) -> bool:
        return session == SESSION and (a, b) in self.refreshed

    def is_barred(self, a: int, b: int) -> bool:
        return (a, b) in self.barred

    def staged_sessions(self, a: int, b: int) -> Sequence[str]:
        return self.staged.get((a, b), ())

    def staged_total(self) -> int:
        return len(self.staged)

    def staging_order(self) -> Iterator[tuple[Ends, int]]:
        counts = ((pair, len(sessions)) for pair, sessions in self.staged.items())
        return iter(sorted(counts, key=lambda entry: entry[1]))


def effects(tables: Tables, *returned: int, session: SessionId | None = SESSION) -> Effects:
    return decide_effects(cast("Reading", tables), returned, session, NOW)


def test_outside_a_session_nothing_happens() -> None:
    assert effects(Tables(linked=frozenset({(0, 1)})), 0, 1, 2, session=None) == Effects()


def test_every_pair_of_active_blocks_is_staged_the_lower_number_first() -> None:
    tables = Tables(archived=frozenset({2}))
    assert effects(tables, 3, 2, 0, 1) == Effects(staged=((0, 1), (0, 3), (1, 3)))


def test_what_this_session_staged_or_somebody_took_apart_is_passed_over() -> None:
    tables = Tables(staged={(0, 1): ("now",), (0, 2): ("then",)}, barred=frozenset({(1, 2)}))
    assert effects(tables, 0, 1, 2) == Effects(staged=((0, 2),))


def test_what_was_passed_over_does_not_end_the_list() -> None:
    tables = Tables(linked=frozenset({(0, 1), (0, 2)}), refreshed=frozenset({(0, 1)}))
    assert effects(tables, 0, 1, 2) == Effects(staged=((1, 2),), refreshed=((0, 2),))


def test_with_enough_sessions_a_pair_is_linked_where_both_ends_have_room() -> None:
    often, twice = ("a", "b", "c"), ("a", "b")
    staged = {(0, 1): twice, (0, 2): often, (1, 2): ("a",), (3, 4): often}
    tables = Tables(staged=staged, cap=1, linked=frozenset({(4, 5)}))
    # 0 and 1 take each other's only place; 0 with 2 waits as it is; so does 3, for 4 is full.
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
def test_where_one_session_is_enough_a_pair_is_staged_only_for_want_of_room(
    enough: int, cap: int, expected: Effects
) -> None:
    assert effects(Tables(enough=enough, cap=cap), 0, 1) == expected


def test_a_pair_that_waits_for_room_is_not_staged_any_further() -> None:
    tables = Tables(staged={(0, 1): ("then",)}, enough=1, cap=0)
    assert effects(tables, 0, 1) == Effects()


# --- when staging is full -------------------------------------------------------------------


def test_staging_may_be_as_full_as_the_limit_says() -> None:
    assert effects(Tables(staged={(5, 6): ("a",)}, most=2), 0, 1) == Effects(staged=((0, 1),))


def test_of_equally_many_sessions_the_older_pair_makes_way() -> None:
    tables = Tables(staged={(7, 8): ("a",), (5, 6): ("a",)}, most=2)
    assert effects(tables, 0, 1) == Effects(staged=((0, 1),), evicted=((7, 8),))


def test_a_fresh_pair_with_the_fewest_sessions_is_not_staged_at_all() -> None:
    tables = Tables(staged={(0, 1): ("a", "b"), (0, 2): ("a", "b")}, most=2)
    assert effects(tables, 3, 4) == Effects()


def test_a_pair_that_is_staged_again_counts_with_its_sessions_now() -> None:
    tables = Tables(staged={(0, 1): ("a",), (5, 6): ("a",)}, most=3)
    assert effects(tables, 0, 1, 4) == Effects(staged=((0, 1), (0, 4), (1, 4)), evicted=((5, 6),))


def test_when_the_older_ones_are_too_few_the_fresh_ones_with_the_fewest_sessions_go() -> None:
    tables = Tables(staged={(0, 1): ("a",), (5, 6): ("a",), (6, 7): ("a", "b")}, most=3)
    assert effects(tables, 0, 1, 4) == Effects(staged=((0, 1), (1, 4)), evicted=((5, 6),))


def test_of_fresh_pairs_the_lower_ids_go_first() -> None:
    assert effects(Tables(most=2), 0, 1, 2) == Effects(staged=((0, 2), (1, 2)))
    assert effects(Tables(most=2, rising=False), 0, 1, 2) == Effects(staged=((0, 1), (0, 2)))


def test_a_pair_that_was_staged_before_can_go_though_it_came_up_again() -> None:
    tables = Tables(staged={(0, 1): ("a",), (5, 6): ("a", "b", "c")}, most=1)
    assert effects(tables, 0, 1) == Effects(evicted=((0, 1),))


def test_a_pair_that_becomes_an_edge_leaves_its_place_in_staging() -> None:
    tables = Tables(staged={(0, 1): ("a", "b"), (5, 6): ("a", "b")}, most=1)
    assert effects(tables, 0, 1) == Effects(linked=((0, 1),))
    tables = Tables(staged={(5, 6): ("a", "b"), (0, 1): ("a", "b")}, most=2)
    assert effects(tables, 0, 1, 2) == Effects(linked=((0, 1),), staged=((1, 2),))


def test_under_a_lowered_limit_all_that_is_beyond_it_goes_at_once() -> None:
    staged = {(5, 6): ("a", "b"), (6, 7): ("a",), (7, 8): ("a", "b")}
    assert effects(Tables(staged=staged, most=1), 0) == Effects(evicted=((6, 7), (5, 6)))
    assert effects(Tables(staged=staged, most=0), 0, 1) == Effects(evicted=((6, 7), (5, 6), (7, 8)))
