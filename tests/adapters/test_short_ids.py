"""Short ids: which ids they identify, and when they are ambiguous."""

from __future__ import annotations

import pytest

from mnemic.adapters.short_ids import IdAmbiguous, completed
from mnemic.kernel.errors import BlockNotFound
from mnemic.kernel.model.identity import BlockId

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
def test_a_unique_prefix_identifies_an_id(given: str, found: str) -> None:
    assert completed(given, IDS) == found


def test_an_ambiguous_prefix_is_refused_with_the_candidates() -> None:
    with pytest.raises(IdAmbiguous) as refused:
        completed("aaaaaaaa", IDS)
    assert refused.value.facts == {"candidates": list(IDS[:2])}
    assert refused.value.recovery == "Give more characters of the id."


@pytest.mark.parametrize("given", ["ddddddd", "", "eeeeeeee"])
def test_a_short_or_unknown_prefix_is_refused(given: str) -> None:
    with pytest.raises(BlockNotFound):
        completed(given, IDS)
