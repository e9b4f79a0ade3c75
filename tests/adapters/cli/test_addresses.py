"""Short ids: what they stand for, and when they stand for too much."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic.adapters.cli.addresses import IdAmbiguous, full_id
from mnemic.adapters.inprocess.queries import Queries
from mnemic.kernel.errors import BlockNotFound
from mnemic.kernel.identity import BlockId
from mnemic.kernel.results import Block, Page

IDS = ("aaaaaaaabbbbbbbb", "aaaaaaaacccccccc", "dddddddd00000000")


class Known(Queries):
    """Three blocks, two of which share their first eight characters; one to a page."""

    def _view(self) -> Any:
        raise NotImplementedError

    def blocks(self, *, after: int | None = None, **_: Any) -> Page:
        place = 0 if after is None else after + 1
        block = Block(
            id=BlockId(IDS[place]),
            content="",
            status="active",
            category="knowledge",
            source="api",
            zone="trusted",
            confidence=0.8,
            learned_version=place,
            last_reinforced_hour=0.0,
            decay_rate=0.01,
            recency=1.0,
            usefulness=0.5,
            evidence=0.0,
        )
        return Page(items=(block,), next_after=place if place + 1 < len(IDS) else None)


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
    assert full_id(Known(), given) == found


def test_a_start_that_several_ids_have_is_refused_with_the_candidates() -> None:
    with pytest.raises(IdAmbiguous) as refused:
        full_id(Known(), "aaaaaaaa")
    assert refused.value.facts == {"candidates": list(IDS[:2])}
    assert refused.value.recovery == "Give more characters of the id."


@pytest.mark.parametrize("given", ["ddddddd", "", "eeeeeeee"])
def test_a_start_that_is_too_short_or_that_no_id_has_is_refused(given: str) -> None:
    with pytest.raises(BlockNotFound):
        full_id(Known(), given)
