"""Results whose fields are computed when they are read behave like any others."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.results import Contribution, ScoredBlock

WHOLE = ScoredBlock(
    id=BlockId("0" * 16),
    content="bees hum",
    category="knowledge",
    zone="trusted",
    source="",
    actor="agent",
    composite_score=0.5,
    relevance_score=0.25,
    recency_score=1.0,
    usefulness_score=0.5,
    confidence_score=0.75,
    frequency_score=0.0,
    lexical_score=0.1,
    cosine_score=0.2,
    contributions=(Contribution(signal="recency", value=1.0, weight=0.5, contribution=0.5),),
    tokens=7,
)
DETAILS = {"contributions", "relevance_parts"}


def deferred(computed: list[str]) -> ScoredBlock:
    """Return ``WHOLE`` with its details computed when one is read."""
    fields = {each.name: getattr(WHOLE, each.name) for each in attrs.fields(ScoredBlock)}

    def later(name: str) -> dict[str, Any]:
        computed.append(name)
        return {each: fields[each] for each in DETAILS} if name in DETAILS else {}

    return ScoredBlock.deferred(
        later, {name: value for name, value in fields.items() if name not in DETAILS}
    )


def test_a_detail_is_computed_once_and_only_when_it_is_read() -> None:
    computed: list[str] = []
    block = deferred(computed)
    assert (block.content, computed) == ("bees hum", [])
    assert block.contributions == WHOLE.contributions
    assert block.contributions is block.contributions
    assert (block.relevance_parts, computed) == ((), ["contributions"])


@pytest.mark.parametrize(
    "use",
    [
        lambda block: block,
        repr,
        hash,
        str,
        copy.copy,
        copy.deepcopy,
        ScoredBlock.to_dict,
        ScoredBlock.completed,
        attrs.asdict,
        lambda block: attrs.evolve(block, content="bees sleep"),
        lambda block: block.with_fields(content="bees sleep"),
        lambda block: pickle.loads(pickle.dumps(block)),  # noqa: S301 - our own bytes
    ],
)
def test_it_is_used_like_one_that_has_all_fields(use: Callable[[ScoredBlock], object]) -> None:
    assert use(deferred([])) == use(WHOLE)


def test_replacing_a_field_computes_nothing() -> None:
    computed: list[str] = []
    changed = deferred(computed).with_fields(content="bees sleep")
    assert (changed.content, computed) == ("bees sleep", [])
    assert changed.contributions == WHOLE.contributions


@pytest.mark.parametrize("block", [WHOLE, deferred([])])
def test_what_is_no_field_is_no_attribute(block: ScoredBlock) -> None:
    assert not hasattr(block, "wording")
