"""Events and refusals of compose, label and retract."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from mnemic.kernel.decision import first_of, single
from mnemic.kernel.decisions.composing import (
    MEMBERS_MAX,
    PREVIEW_LENGTH,
    Composition,
    LabelSpec,
    MemberSpec,
    decide_compose,
    decide_label,
    decide_retract,
)
from mnemic.kernel.errors import CompositionExists, LabelNotFound, LabelUnsupported, Refused
from mnemic.kernel.events import (
    BlockErased,
    BlockLearned,
    BlocksComposed,
    CompositionLabelled,
    Event,
    LabelRetracted,
    Member,
    Recorded,
)
from mnemic.kernel.model.compositions import CONSUMES, LABELS, ROLES
from mnemic.kernel.model.identity import BlockId, CommandId, CompositionId
from mnemic.kernel.model.texts import (
    ERASED,
    BlockText,
    CompositionText,
    LabelText,
    MemberText,
    Remark,
)
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.projections.state.apply import apply
from mnemic.projections.state.state import State
from mnemic.projections.view import View, live

ONE, TWO = BlockId("1" * 16), BlockId("2" * 16)
LANE = CompositionId("lane")
LONG = "x" * 500


def learned(block: BlockId, content: str, *tags: str) -> BlockLearned:
    return BlockLearned(block_id=block, text=BlockText(of=(block,), content=content, tags=tags))


KNOWN = (learned(ONE, "first", "a"), learned(TWO, LONG))


def after(*events: Event) -> View:
    """Return the live view after *events*, the first at version 0."""
    state = State()
    for version, event in enumerate(events):
        apply(
            state,
            Recorded(
                version=version,
                active_us=0,
                recorded_us=0,
                command_id=CommandId("c"),
                event=event,
            ),
        )
    return live(state, active_us=0, instant_us=0)


def composed(*members: MemberSpec, view: View | None = None, **more: Any) -> BlocksComposed | None:
    composition = Composition(members=members, **more)
    decided = decide_compose(after(*KNOWN) if view is None else view, composition)
    return first_of(decided.events, BlocksComposed)


def code(call: Any, *args: Any, **more: Any) -> str:
    with pytest.raises(Refused) as refused:
        call(*args, **more)
    assert refused.value.recovery
    return refused.value.code


# --- compose --------------------------------------------------------------------------------


def test_a_composition_records_the_current_state_of_members() -> None:
    assert composed(MemberSpec(block_id=ONE, role="primary"), MemberSpec(block_id=TWO)) == (
        BlocksComposed(
            members=(
                Member(
                    block_id=ONE,
                    role="primary",
                    rank=0,
                    text=MemberText(of=(ONE,), preview="first", metadata='{"tags": ["a"]}'),
                ),
                Member(
                    block_id=TWO,
                    role="supporting",
                    rank=1,
                    text=MemberText(of=(TWO,), preview=LONG[:PREVIEW_LENGTH]),
                ),
            )
        )
    )


def test_what_the_caller_gives_is_kept_as_given() -> None:
    member = MemberSpec(
        block_id=ONE,
        role="related",
        rank=7,
        trust=0.5,
        score=-1.25,
        preview="mine",
        metadata={"tags": ["then"], "n": 1},
    )
    event = composed(
        member,
        composition_id="lane",
        tool="deep",
        mode="fast",
        query="why",
        query_hash="h",
        confidence=1,
        status="open",
        output_preview="so",
        metadata={"b": 2, "a": 1},
        consume="primary_only",
    )
    assert event == BlocksComposed(
        members=(
            Member(
                block_id=ONE,
                role="related",
                rank=7,
                trust=NANO // 2,
                score=-5 * NANO // 4,
                text=MemberText(of=(ONE,), preview="mine", metadata='{"n": 1, "tags": ["then"]}'),
            ),
        ),
        composition_id=LANE,
        text=CompositionText(
            query="why", query_hash="h", output_preview="so", metadata='{"a":1,"b":2}'
        ),
        tool="deep",
        mode="fast",
        status="open",
        confidence=NANO,
        consume="primary_only",
    )


def test_the_digest_of_a_query_is_stored_unless_the_caller_gives_one() -> None:
    one = MemberSpec(block_id=ONE)
    texts = [
        None if event is None else event.text
        for event in (
            composed(one, query="why?"),
            composed(one, query="why?", query_hash="mine"),
            composed(one, query_hash="mine"),
            composed(one),
        )
    ]
    assert texts == [
        CompositionText(query="why?", query_hash="fnv1a64:9b970ef64ee134f2"),
        CompositionText(query="why?", query_hash="mine"),
        CompositionText(query_hash="mine"),
        None,
    ]


def test_a_composition_of_an_earlier_release_has_no_digest_and_is_still_a_duplicate() -> None:
    old = composed(MemberSpec(block_id=ONE), composition_id="lane")
    assert old is not None
    old = evolve(old, text=CompositionText(query="why?"))
    again = Composition(members=[MemberSpec(block_id=ONE)], composition_id="lane", query="why?")
    assert decide_compose(after(*KNOWN, old), again).events == ()
    assert code(decide_compose, after(*KNOWN, old), evolve(again, query="how?")) == (
        "composition-exists"
    )
    assert code(decide_compose, after(*KNOWN, old), evolve(again, query_hash="mine")) == (
        "composition-exists"
    )


def test_members_are_ordered_by_rank_role_and_id() -> None:
    event = composed(
        MemberSpec(block_id=TWO, role="supporting", rank=1),
        MemberSpec(block_id=ONE, role="supporting", rank=1),
        MemberSpec(block_id=TWO, role="related", rank=1),
        MemberSpec(block_id=TWO, role="primary", rank=0),
    )
    assert event is not None
    assert [(member.rank, member.role, member.block_id) for member in event.members] == [
        (0, "primary", TWO),
        (1, "related", TWO),
        (1, "supporting", ONE),
        (1, "supporting", TWO),
    ]


def test_an_erased_block_has_no_preview() -> None:
    text = BlockLearned(block_id=ONE, text=ERASED)
    event = composed(MemberSpec(block_id=ONE), view=after(text, BlockErased(block_id=ONE)))
    assert event is not None
    assert event.members[0].text == MemberText(of=(ONE,))


@pytest.mark.parametrize("role", ROLES)
def test_every_role_can_be_taken(role: str) -> None:
    event = composed(MemberSpec(block_id=ONE, role=role))
    assert event is not None
    assert event.members[0].role == role


@pytest.mark.parametrize("consume", CONSUMES)
def test_a_composition_records_what_it_consumes(consume: str) -> None:
    event = composed(MemberSpec(block_id=ONE), consume=consume)
    assert event is not None
    assert event.consume == consume


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ({"block_id": "3" * 16}, "block-not-found"),
        ({"block_id": 7}, "block-not-found"),
        ({"role": "leading"}, "field-refused"),
        ({"rank": -1}, "field-refused"),
        ({"rank": True}, "field-refused"),
        ({"rank": 2**31}, "field-refused"),
        ({"trust": 1.5}, "field-refused"),
        ({"trust": float("nan")}, "field-refused"),
        ({"score": float("inf")}, "field-refused"),
        ({"score": "high"}, "field-refused"),
        ({"score": 2e6}, "field-refused"),
        ({"preview": 7}, "field-refused"),
        ({"preview": "x" * 2001}, "field-refused"),
        ({"preview": "\ud800"}, "field-refused"),
        ({"metadata": [1]}, "field-refused"),
    ],
)
def test_an_invalid_member_is_refused(member: dict[str, Any], expected: str) -> None:
    fields: dict[str, Any] = {"block_id": ONE, **member}
    assert code(composed, MemberSpec(**fields)) == expected


@pytest.mark.parametrize(
    "field",
    [
        {"consume": "some"},
        {"confidence": -0.1},
        {"confidence": True},
        {"tool": ""},
        {"mode": 7},
        {"status": "  "},
        {"query": "x" * 32_769},
        {"query_hash": "x" * 65},
        {"output_preview": "x" * 2001},
        {"metadata": "{}"},
        {"composition_id": "c7"},
        {"composition_id": "x" * 65},
        {"composition_id": ""},
    ],
    ids=str,
)
def test_an_invalid_composition_is_refused(field: dict[str, Any]) -> None:
    assert code(composed, MemberSpec(block_id=ONE), **field) == "field-refused"


def test_a_composition_has_a_limited_number_of_distinct_members() -> None:
    assert code(composed) == "field-refused"
    assert code(composed, MemberSpec(block_id=ONE), MemberSpec(block_id=ONE)) == "field-refused"
    assert code(composed, *[MemberSpec(block_id=ONE)] * (MEMBERS_MAX + 1)) == "field-refused"


def test_a_composition_can_have_as_many_members_as_the_limit() -> None:
    blocks = [BlockId(f"{number:016x}") for number in range(MEMBERS_MAX)]
    view = after(*(learned(block, block) for block in blocks))
    event = composed(*(MemberSpec(block_id=block) for block in blocks), view=view)
    assert event is not None
    assert [member.block_id for member in event.members] == blocks


def test_member_metadata_is_stored_as_canonical_json() -> None:
    event = composed(MemberSpec(block_id=ONE, metadata={"n": "é", "a": 1, "z": []}))
    assert event is not None
    assert event.members[0].text == MemberText(
        of=(ONE,), preview="first", metadata='{"a": 1, "n": "é", "tags": ["a"], "z": []}'
    )


def test_an_identical_composition_is_a_duplicate_and_another_a_conflict() -> None:
    first = composed(MemberSpec(block_id=ONE), composition_id="lane")
    assert first is not None
    standing = after(*KNOWN, first)
    again = composed(MemberSpec(block_id=ONE), composition_id="lane", view=standing)
    assert again is None
    with pytest.raises(CompositionExists) as conflict:
        composed(MemberSpec(block_id=TWO), composition_id="lane", view=standing)
    assert conflict.value.facts == {"composition_id": "lane"}
    free = composed(MemberSpec(block_id=ONE), view=standing)
    assert free is not None
    assert free.composition_id is None


@pytest.mark.parametrize(
    ("then", "now", "same"),
    [
        ({}, {}, True),
        ({"preview": "mine"}, {"preview": "mine"}, True),
        ({"preview": "mine"}, {"preview": "yours"}, False),
        ({"preview": "mine"}, {}, True),
        ({"metadata": {"tags": ["x"]}}, {"metadata": {"tags": ["x"]}}, True),
        ({"metadata": {"tags": ["x"]}}, {"metadata": {"tags": ["y"]}}, False),
        ({"metadata": {"n": 1}}, {"metadata": {"n": 2}}, False),
        ({"trust": 0.5}, {"trust": 0.25}, False),
        ({"role": "primary"}, {"role": "related"}, False),
    ],
)
def test_given_member_fields_distinguish_compositions(
    then: dict[str, Any], now: dict[str, Any], *, same: bool
) -> None:
    first = composed(MemberSpec(block_id=ONE, **then), composition_id="lane")
    assert first is not None
    call = Composition(members=[MemberSpec(block_id=ONE, **now)], composition_id="lane")
    if same:
        assert decide_compose(after(*KNOWN, first), call).events == ()
    else:
        assert code(decide_compose, after(*KNOWN, first), call) == "composition-exists"


def test_a_composition_with_erased_texts_is_still_a_duplicate() -> None:
    first = composed(MemberSpec(block_id=ONE), composition_id="lane")
    assert first is not None
    bare = evolve(first, members=(evolve(first.members[0], text=ERASED),))
    gone = after(BlockLearned(block_id=ONE, text=ERASED), bare, BlockErased(block_id=ONE))
    assert composed(MemberSpec(block_id=ONE), composition_id="lane", view=gone) is None
    said_otherwise = Composition(members=[MemberSpec(block_id=ONE, rank=3)], composition_id="lane")
    assert code(decide_compose, gone, said_otherwise) == "composition-exists"


# --- labels ---------------------------------------------------------------------------------


@pytest.fixture
def standing() -> View:
    """A composition ``lane`` at version 1, ``helpful`` at 2, ``dead_end`` at 3 and retracted."""
    return after(
        KNOWN[0],
        BlocksComposed(members=(Member(block_id=ONE, role="primary"),), composition_id=LANE),
        CompositionLabelled(composition_id=LANE, label="helpful"),
        CompositionLabelled(composition_id=LANE, label="dead_end"),
        LabelRetracted(composition_id=LANE, label_version=3),
    )


@pytest.mark.parametrize("label", LABELS)
def test_every_label_can_be_set(standing: View, label: str) -> None:
    spec = LabelSpec(composition_id="lane", label=label)
    expected = CompositionLabelled(composition_id=LANE, label=label)
    assert decide_label(standing, spec) == single(expected)


def test_a_label_keeps_its_source_notes_and_delta(standing: View) -> None:
    spec = LabelSpec(
        composition_id="lane",
        label="accepted",
        source="reviewer",
        notes="fits",
        confidence_delta=-0.25,
        metadata={"n": 1},
    )
    assert decide_label(standing, spec) == single(
        CompositionLabelled(
            composition_id=LANE,
            label="accepted",
            source="reviewer",
            confidence_delta=-NANO // 4,
            text=LabelText(notes="fits", metadata='{"n":1}'),
        )
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"label": "great", "composition_id": "nothing"}, "label-unsupported"),
        ({"composition_id": "nothing"}, "composition-not-found"),
        ({"composition_id": None}, "composition-not-found"),
        ({"source": ""}, "field-refused"),
        ({"notes": "x" * 2001}, "field-refused"),
        ({"confidence_delta": 1.01}, "field-refused"),
        ({"confidence_delta": float("nan")}, "field-refused"),
        ({"metadata": 7}, "field-refused"),
    ],
    ids=str,
)
def test_an_invalid_label_is_refused(standing: View, given: dict[str, Any], expected: str) -> None:
    fields: dict[str, Any] = {"composition_id": "lane", "label": "helpful", **given}
    spec = LabelSpec(**fields)
    assert code(decide_label, standing, spec) == expected


def test_the_refusal_names_the_unsupported_label(standing: View) -> None:
    with pytest.raises(LabelUnsupported, match="unsupported outcome_type: great"):
        decide_label(standing, LabelSpec(composition_id="lane", label="great"))


def test_a_label_is_retracted_once(standing: View) -> None:
    assert decide_retract(standing, "l2", reason="wrong").events == (
        LabelRetracted(composition_id=LANE, label_version=2, reason=Remark(text="wrong")),
    )
    assert decide_retract(standing, "l3", reason=None).events == ()


@pytest.mark.parametrize("label_id", ["l1", "l9", "c2", "2", None])
def test_an_unknown_label_cannot_be_retracted(standing: View, label_id: Any) -> None:
    with pytest.raises(LabelNotFound):
        decide_retract(standing, label_id, reason=None)
