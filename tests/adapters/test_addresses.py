"""Short ids: what they stand for, and when they stand for too much."""

from __future__ import annotations

import pytest

from mnemic.adapters.addresses import IdAmbiguous, completed
from mnemic.kernel.errors import BlockNotFound
from mnemic.kernel.identity import BlockId

IDS = tuple(map(BlockId, ("aaaaaaaabbbbbbbb", "aaaaaaaacccccccc", "dddddddd00000000")))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("dddddddd", IDS[2]),
        ("DDDDDDDD0", IDS[2]),
        ("[dddddddd…]", IDS[2]),
        ("aaaaaaaac", IDS[1]),
        ("0123456789abcdef", "0123456789abcdef"),
    ],
)
def test_a_start_that_only_one_id_has_stands_for_it(given: str, found: str) -> None:
    assert completed(given, IDS) == found


def test_a_start_that_several_ids_have_is_refused_with_the_candidates() -> None:
    with pytest.raises(IdAmbiguous) as refused:
        completed("aaaaaaaa", IDS)
    assert refused.value.facts == {"candidates": list(IDS[:2])}
    assert refused.value.recovery == "Give more characters of the id."


@pytest.mark.parametrize("given", ["ddddddd", "", "eeeeeeee"])
def test_a_start_that_is_too_short_or_that_no_id_has_is_refused(given: str) -> None:
    with pytest.raises(BlockNotFound):
        completed(given, IDS)
