"""An answer without its details: the same values, and an error where a detail is read."""

from __future__ import annotations

import pickle

import attrs
import pytest

from mnemic.kernel.errors import DetailLeftOut, FieldRefused
from mnemic.kernel.model.identity import BlockId, PolicyId
from mnemic.kernel.results import (
    Block,
    CoreRecallResult,
    RecallResult,
    Result,
    ScoredBlock,
    checked_detail,
    detailed,
)

BLOCK = ScoredBlock(
    id=BlockId("0" * 16),
    content="The gate sticks.",
    category="knowledge",
    tags=("yard",),
    zone="untrusted",
    source="api",
    actor="ines",
    composite_score=0.5,
    relevance_score=0.5,
    recency_score=0.5,
    usefulness_score=0.5,
    confidence_score=0.5,
    frequency_score=0.5,
    lexical_score=0.5,
    cosine_score=0.5,
    tokens=9,
)
COUNTERPOINT = Block(
    id=BlockId("1" * 16),
    content=None,
    lost=True,
    status="active",
    category="knowledge",
    zone="trusted",
    source="api",
    actor="ines",
    confidence=0.8,
    learned_version=3,
    said_version=3,
    last_reinforced_hour=0.0,
    decay_rate=0.01,
    recency=1.0,
    usefulness=0.5,
    evidence=0.0,
)
FULL = RecallResult(
    query="gate?",
    frame="answer",
    blocks=(BLOCK,),
    counterpoints=(COUNTERPOINT,),
    text="[00000000] The gate sticks.",
    tokens=9,
    token_budget=100,
    decision_id=None,
    version=7,
    hour=1.5,
    digest="0" * 16,
    policy_id=PolicyId("p" * 16),
    retriever="ann",
    verdict="no",
)
CORE = detailed(FULL, "core")


def parts(answer: RecallResult) -> tuple[Result, ...]:
    """Return an answer, its best block and its counterpoint."""
    return answer, answer.blocks[0], answer.counterpoints[0]


def test_a_full_answer_is_the_answer_itself() -> None:
    assert detailed(FULL, "full") is FULL


@pytest.mark.parametrize(("core", "full"), [*zip(parts(CORE), parts(FULL), strict=True)])
def test_a_core_answer_reads_like_the_full_one(core: Result, full: Result) -> None:
    assert isinstance(core, type(full))
    assert (str(core), core.summary) == (str(full), full.summary)
    document, whole = core.to_dict(), full.to_dict()
    values = {
        name: value for name, value in document.items() if name not in {"blocks", "counterpoints"}
    }
    assert values == {name: whole[name] for name in values}
    assert len(document) < len(whole)


@pytest.mark.parametrize("core", parts(CORE))
def test_reading_a_detail_is_refused_and_says_how_to_get_it(core: Result) -> None:
    base = type(core).__mro__[1]
    left_out = {*attrs.fields_dict(base)} - {*attrs.fields_dict(type(core))}
    assert left_out
    for name in left_out:
        with pytest.raises(DetailLeftOut, match=f"^{name} is a detail") as caught:
            getattr(core, name)
        assert "detail='full'" in caught.value.recovery
        assert not hasattr(core, name)


def test_an_attribute_that_no_answer_has_is_no_detail() -> None:
    with pytest.raises(AttributeError, match="no attribute 'mood'") as caught:
        getattr(CORE, "mood")  # noqa: B009 - type checkers know that there is none
    assert not isinstance(caught.value, DetailLeftOut)


def test_a_core_answer_is_a_value() -> None:
    assert isinstance(CORE, CoreRecallResult)
    assert pickle.loads(pickle.dumps(CORE)) == CORE != FULL  # noqa: S301 - our own
    assert detailed(CORE, "core") == CORE
    assert "composite_score=0.5" in repr(CORE)
    assert CORE.block_ids == FULL.block_ids


def test_an_unknown_detail_is_refused() -> None:
    assert [checked_detail(each) for each in (None, "core", "full")] == ["full", "core", "full"]
    for wrong in ("most", 7, ["core"]):
        with pytest.raises(FieldRefused, match="detail must be one of core, full"):
            checked_detail(wrong)
