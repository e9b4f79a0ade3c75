"""Exploration: what a draw of random bytes means, and when it no longer applies."""

from __future__ import annotations

import pytest

from mnemic.kernel.decisions.recalling import DRAW, WORD, among, drawn, propensity
from mnemic.kernel.events import Exploration
from mnemic.kernel.numeric.arithmetic import NANO

TENTH = NANO // 10
HALF = NANO // 2


def draw(whether: int, who: int) -> bytes:
    return whether.to_bytes(WORD, "big") + who.to_bytes(WORD, "big")


@pytest.mark.parametrize(
    ("numbers", "rate", "pool", "place"),
    [
        ((0, 0), TENTH, 8, 0),
        ((0, 2**63), TENTH, 8, 4),
        ((0, 2**64 - 1), TENTH, 8, 7),
        ((0, 2**64 - 1), TENTH, 1, 0),
        # The first number is compared with the rate: just below it explores, at it no more.
        ((2**63 - 1, 2**63), HALF, 8, 4),
        ((2**63, 2**63), HALF, 8, 0),
        ((2**64 - 1, 2**63), NANO, 8, 4),
        ((2**63, 2**63), 1, 8, 0),
        ((2**64 - 1, 2**64 - 1), TENTH, 8, 0),
    ],
)
def test_random_bytes_say_whether_to_explore_and_which_candidate(
    numbers: tuple[int, int], rate: int, pool: int, place: int
) -> None:
    assert drawn(draw(*numbers), rate, pool) == Exploration(rate=rate, pool=pool, drawn=place)


def test_bytes_after_the_draw_are_ignored() -> None:
    assert DRAW == 2 * WORD
    assert drawn(draw(0, 2**63) + b"\xff", TENTH, 8) == drawn(draw(0, 2**63), TENTH, 8)


@pytest.mark.parametrize(("pool", "place"), [(8, 4), (5, 4), (4, 0), (1, 0)])
def test_a_draw_applies_to_another_pool_while_its_place_exists(pool: int, place: int) -> None:
    explored = Exploration(rate=TENTH, pool=8, drawn=4)
    assert among(explored, pool) == Exploration(rate=TENTH, pool=pool, drawn=place)


@pytest.mark.parametrize(
    ("explored", "expected"),
    [
        (None, NANO),
        (Exploration(rate=TENTH, pool=4, drawn=0), NANO - TENTH + TENTH // 4),
        (Exploration(rate=TENTH, pool=4, drawn=3), TENTH // 4),
        (Exploration(rate=3, pool=2, drawn=1), 2),
        (Exploration(rate=1, pool=64, drawn=5), 1),
    ],
)
def test_the_probability_of_an_answer_is_exact(explored: Exploration | None, expected: int) -> None:
    assert propensity(explored) == expected
