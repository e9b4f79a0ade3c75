"""Every refusal of a decision: its class, message and facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mnemic.kernel import errors
from mnemic.kernel.decisions.archiving import (
    decide_erase,
    decide_forget,
    decide_revise,
    decide_rezone,
)
from mnemic.kernel.decisions.composing import (
    Composition,
    LabelSpec,
    MemberSpec,
    decide_compose,
    decide_label,
    decide_retract,
)
from mnemic.kernel.decisions.connecting import Assertion, decide_connect, decide_disconnect
from mnemic.kernel.decisions.feedback import Feedback, decide_outcome
from mnemic.kernel.decisions.learning import Lesson, decide_learn
from mnemic.kernel.events import (
    BlockForgotten,
    BlockLearned,
    BlocksComposed,
    CompositionLabelled,
    EdgeConnected,
    Event,
    Member,
    SpaceOpened,
)
from mnemic.kernel.model.identity import BlockId, CompositionId, block_id
from mnemic.kernel.model.texts import BlockText, Salt
from mnemic.kernel.policy import Policy
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View
from tests.kernel.decisions.logs import adopted, folded

SALT = b"salt"
POLICY = Policy(
    content_length_max=40, tags_max=2, tag_length_max=60, note_length_max=4, metadata_bytes_max=10
)
NOW = Instant(active_us=0, recorded_us=0)
ONE, TWO, GONE = (block_id(words, salt=SALT) for words in ("one", "two", "gone"))
NOBODY = "0" * 16
LANE = CompositionId("lane")


def learned(block: BlockId, words: str) -> BlockLearned:
    return BlockLearned(block_id=block, text=BlockText(of=(block,), content=words))


KNOWN: tuple[Event, ...] = (
    SpaceOpened(nonce="0" * 32, salt=Salt(value=SALT)),
    adopted(POLICY),
    learned(ONE, "one"),
    learned(TWO, "two"),
    learned(GONE, "gone"),
    BlockForgotten(block_id=GONE),
    EdgeConnected(source=ONE, target=TWO, relation="supports", weight=1, action="created"),
    BlocksComposed(members=(Member(block_id=ONE, role="primary"),), composition_id=LANE),
    CompositionLabelled(composition_id=LANE, label="helpful"),
)


def space() -> View:
    """Return the view of two connected blocks, a forgotten one, and a composition."""
    return folded(*KNOWN)


Operation = Callable[[View], object]


def learn(**given: Any) -> Operation:
    fields: dict[str, Any] = {"content": "new", **given}
    return lambda view: decide_learn(view, Lesson(**fields))


def connect(source: str = ONE, target: str = TWO, **given: Any) -> Operation:
    assertion = Assertion(source=source, target=target, **given)
    return lambda view: decide_connect(view, assertion, NOW)


def disconnect(source: str = ONE, target: str = TWO, **given: Any) -> Operation:
    asked = {"guard_relation": None, "reason": None, **given}
    return lambda view: decide_disconnect(view, source, target, **asked)


def outcome(**given: Any) -> Operation:
    fields: dict[str, Any] = {"block_ids": [ONE], "signal": 1.0, **given}
    feedback = Feedback(**fields)
    return lambda view: decide_outcome(view, feedback, NOW)


def compose(*members: MemberSpec, **given: Any) -> Operation:
    composition = Composition(members=members or (MemberSpec(block_id=ONE),), **given)
    return lambda view: decide_compose(view, composition)


def compose_one(**given: Any) -> Operation:
    fields: dict[str, Any] = {"block_id": ONE, **given}
    return compose(MemberSpec(**fields))


def label(**given: Any) -> Operation:
    fields: dict[str, Any] = {"composition_id": LANE, "label": "helpful", **given}
    spec = LabelSpec(**fields)
    return lambda view: decide_label(view, spec)


def retract(label_id: Any, reason: Any = None) -> Operation:
    return lambda view: decide_retract(view, label_id, reason=reason)


def rezone(block: str = ONE, zone: Any = "vetted", reason: Any = None) -> Operation:
    return lambda view: decide_rezone(view, block, zone, reason)


def refused(operation: Operation) -> errors.Refused:
    with pytest.raises(errors.Refused) as caught:
        operation(space())
    return caught.value


UNENCODABLE = "'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed"
NAMES = ("source", "category", "zone", "author", "thread")
FIELDS: list[tuple[str, Operation, str]] = [
    ("content", learn(content=7), "content must be text, got int"),
    ("content", learn(content="\ud800"), f"content is not valid text: {UNENCODABLE}"),
    *(
        (name, learn(**{name: " "}), f"{name} must be text that is not empty, got ' '")
        for name in NAMES
    ),
    ("category", learn(category=7), "category must be text that is not empty, got 7"),
    ("category", learn(category="c" * 201), "category is longer than 200 characters"),
    ("category", learn(category="\ud800"), f"category is not valid text: {UNENCODABLE}"),
    ("tag", learn(tags=["\ud800"]), f"tag is not valid text: {UNENCODABLE}"),
    ("confidence", learn(confidence=1.5), "confidence must be a number from 0 to 1, got 1.5"),
    ("confidence", learn(confidence=True), "confidence must be a number from 0 to 1, got True"),
    ("metadata", learn(metadata=[]), "metadata must be an object, got []"),
    (
        "metadata",
        learn(metadata={"a": b""}),
        "metadata is not plain JSON: Object of type bytes is not JSON serializable",
    ),
    (
        "metadata",
        learn(metadata={"a": float("nan")}),
        "metadata is not plain JSON: Out of range float values are not JSON compliant",
    ),
    ("metadata", learn(metadata={"a": "1234"}), "metadata has 12 bytes, the limit is 10"),
    ("created_at", learn(created_at="soon"), "created_at is not an ISO 8601 date: 'soon'"),
    ("expires_at", learn(expires_at="soon"), "expires_at is not an ISO 8601 date: 'soon'"),
    ("created_at", learn(created_at=7), "created_at must be a date or its ISO 8601 text, got 7"),
    ("relation", connect(relation=7), "relation must be text, got 7"),
    ("relation", connect(relation="r" * 101), "relation is longer than 100 characters"),
    ("note", connect(note=7), "note must be text, got 7"),
    ("reason", disconnect(reason=7), "reason must be text, got 7"),
    ("relation", disconnect(guard_relation=7), "relation must be text, got 7"),
    ("source", outcome(source=7), "source must be text of at most 200 characters"),
    ("source", outcome(source="s" * 201), "source must be text of at most 200 characters"),
    ("weight", outcome(weight=0), "weight must be above 0 and at most 1000, got 0"),
    ("weight", outcome(weight=True), "weight must be above 0 and at most 1000, got True"),
    ("weight", outcome(weight="1"), "weight must be above 0 and at most 1000, got '1'"),
    ("zone", rezone(zone=7), "zone must be a short name, got 7"),
    ("zone", rezone(zone=" "), "zone must be a short name, got ' '"),
    ("zone", rezone(zone="z" * 201), f"zone must be a short name, got {'z' * 201!r}"),
    ("reason", rezone(reason=7), "reason must be text, got 7"),
    (
        "content",
        lambda view: decide_revise(view, ONE, " one ", None),
        f"the revision of {ONE} has the text it has already",
    ),
    (
        "content",
        lambda view: decide_revise(view, ONE, "two", None),
        f"the revision of {ONE} has the text of another block",
    ),
    (
        "members",
        lambda view: decide_compose(view, Composition(members=())),
        "a composition has 1 to 200 members, got 0",
    ),
    (
        "members",
        compose(*[MemberSpec(block_id=ONE)] * 201),
        "a composition has 1 to 200 members, got 201",
    ),
    (
        "members",
        compose(*[MemberSpec(block_id=ONE)] * 2),
        "a block takes each role at most once",
    ),
    (
        "consume",
        compose(consume="some"),
        "consume must be one of all, primary_only, none, got 'some'",
    ),
    ("tool", compose(tool=" "), "tool must be text that is not empty, got ' '"),
    ("mode", compose(mode=" "), "mode must be text that is not empty, got ' '"),
    ("status", compose(status=" "), "status must be text that is not empty, got ' '"),
    ("confidence", compose(confidence=2), "confidence must be a number from 0 to 1, got 2"),
    (
        "composition_id",
        compose(composition_id=" "),
        "composition_id must be text that is not empty, got ' '",
    ),
    (
        "composition_id",
        compose(composition_id="c7"),
        "composition_id must have at most 64 characters and not look like c7, got 'c7'",
    ),
    (
        "composition_id",
        compose(composition_id="x" * 90),
        "composition_id must have at most 64 characters and not look like c7, got '" + "x" * 79,
    ),
    ("query", compose(query="q" * 32_769), "query must be text of at most 32768 characters"),
    ("query", compose(query="\ud800"), f"query is not valid text: {UNENCODABLE}"),
    (
        "query_hash",
        compose(query_hash="h" * 65),
        "query_hash must be text of at most 64 characters",
    ),
    (
        "output_preview",
        compose(output_preview=7),
        "output_preview must be text of at most 2000 characters",
    ),
    ("metadata", compose(metadata=[]), "metadata must be an object, got []"),
    (
        "role",
        compose_one(role="lead"),
        "role must be one of primary, supporting, contradicting, superseded, related, got 'lead'",
    ),
    ("rank", compose_one(rank=-1), "rank must be a whole number from 0, got -1"),
    ("rank", compose_one(rank=2**31), "rank must be a whole number from 0, got 2147483648"),
    ("rank", compose_one(rank=True), "rank must be a whole number from 0, got True"),
    ("trust", compose_one(trust=2), "trust must be a number from 0 to 1, got 2"),
    ("score", compose_one(score=True), "score must be a number, got True"),
    ("score", compose_one(score="1"), "score must be a number, got '1'"),
    ("score", compose_one(score=float("inf")), "score must be a number, got inf"),
    ("score", compose_one(score=1e6 + 1), "score must be a number, got 1000001.0"),
    (
        "preview",
        compose_one(preview="p" * 2001),
        "preview must be text of at most 2000 characters",
    ),
    ("metadata", compose_one(metadata=[]), "metadata must be an object, got []"),
    ("notes", label(notes=7), "notes must be text of at most 2000 characters"),
    ("label_source", label(source=" "), "label_source must be text that is not empty, got ' '"),
    ("metadata", label(metadata=[]), "metadata must be an object, got []"),
    (
        "confidence_delta",
        label(confidence_delta=1.5),
        "confidence_delta must be from -1 to 1, got 1.5",
    ),
    (
        "confidence_delta",
        label(confidence_delta=-1.5),
        "confidence_delta must be from -1 to 1, got -1.5",
    ),
    (
        "confidence_delta",
        label(confidence_delta="much"),
        "confidence_delta must be a number, got 'much'",
    ),
]


@pytest.mark.parametrize(
    ("field", "operation", "says"), FIELDS, ids=[field for field, *_ in FIELDS]
)
def test_an_invalid_field_is_named_with_its_value(
    field: str, operation: Operation, says: str
) -> None:
    refusal = refused(operation)
    assert (refusal.code, refusal.message, refusal.facts) == (
        "field-refused",
        says,
        {"field": field},
    )


ABSENT = f"no block has the id {NOBODY!r}"


@pytest.mark.parametrize(
    ("operation", "refusal"),
    [
        (learn(content=" \n"), errors.ContentEmpty("content is empty: ' \\n'")),
        (
            learn(content="x" * 41),
            errors.ContentTooLong(
                "content has 41 characters, the limit is 40", length=41, limit=40
            ),
        ),
        (learn(tags="word"), errors.TagsRefused("tags must be a list of texts, got 'word'")),
        (learn(tags=7), errors.TagsRefused("tags must be a list of texts, got 7")),
        (learn(tags=[7]), errors.TagsRefused("a tag must be text that is not empty, got 7")),
        (learn(tags=[" "]), errors.TagsRefused("a tag must be text that is not empty, got ' '")),
        (
            learn(tags=["t" * 61 + " "]),
            errors.TagsRefused(f"a tag has 61 characters: {'t' * 40!r}…"),
        ),
        (learn(tags=["a", "b", "c"]), errors.TagsRefused("3 tags, the limit is 2", count=3)),
        (
            connect(if_exists="merge"),
            errors.UnknownIfExists("if_exists 'merge' is unknown"),
        ),
        (
            connect(if_exists="m" * 200),
            errors.UnknownIfExists(f"if_exists '{'m' * 99} is unknown"),
        ),
        (
            connect(target=ONE),
            errors.SelfLoop(f"block {ONE!r} cannot be connected with itself"),
        ),
        (connect(source=NOBODY), errors.BlockNotFound(ABSENT, block_id=NOBODY)),
        (connect(target=NOBODY), errors.BlockNotFound(ABSENT, block_id=NOBODY)),
        (
            connect(target=GONE),
            errors.BlockNotActive(f"block {GONE} is archived", block_id=GONE),
        ),
        (
            connect(weight=1.5),
            errors.WeightOutOfRange("weight must be from 0 to 1, got 1.5", weight="1.5"),
        ),
        (
            connect(weight=True),
            errors.WeightOutOfRange("weight must be from 0 to 1, got True", weight="True"),
        ),
        (
            connect(note="12345"),
            errors.NoteTooLong("note has 5 characters, the limit is 4", length=5),
        ),
        (
            connect(if_exists="error"),
            errors.EdgeExists(f"{ONE} and {TWO} are connected as supports", relation="supports"),
        ),
        (disconnect(target=ONE), errors.SelfLoop(f"block {ONE!r} has no edge with itself")),
        (disconnect(source=NOBODY), errors.BlockNotFound(ABSENT, block_id=NOBODY)),
        (disconnect(target=NOBODY), errors.BlockNotFound(ABSENT, block_id=NOBODY)),
        (
            disconnect(reason="12345"),
            errors.NoteTooLong("reason has 5 characters, the limit is 4", length=5),
        ),
        (
            outcome(signal=1.5),
            errors.SignalOutOfRange("signal must be from 0 to 1, got 1.5", signal="1.5"),
        ),
        (
            outcome(signal=True),
            errors.SignalOutOfRange("signal must be from 0 to 1, got True", signal="True"),
        ),
        (
            lambda view: decide_forget(view, NOBODY, None),
            errors.BlockNotFound(ABSENT, block_id=NOBODY),
        ),
        (
            lambda view: decide_forget(view, ONE, "12345"),
            errors.NoteTooLong("reason has 5 characters, the limit is 4", length=5),
        ),
        (lambda view: decide_erase(view, [NOBODY]), errors.BlockNotFound(ABSENT, block_id=NOBODY)),
        (rezone(block=NOBODY), errors.BlockNotFound(ABSENT, block_id=NOBODY)),
        (
            rezone(block=GONE),
            errors.BlockNotActive(f"block {GONE} is archived", block_id=GONE),
        ),
        (compose_one(block_id=NOBODY), errors.BlockNotFound(ABSENT, block_id=NOBODY)),
        (
            compose_one(block_id=7),
            errors.BlockNotFound("no block has the id 7", block_id="7"),
        ),
        (
            compose(composition_id=LANE),
            errors.CompositionExists(
                "another composition has the id 'lane'", composition_id="lane"
            ),
        ),
        (
            label(label="great"),
            errors.LabelUnsupported("unsupported outcome_type: great", label="great"),
        ),
        (label(label=7), errors.LabelUnsupported("unsupported outcome_type: 7", label="7")),
        (
            label(composition_id="none"),
            errors.CompositionNotFound("composition event not found: none", composition_id="none"),
        ),
        (
            label(composition_id=7),
            errors.CompositionNotFound("composition event not found: 7", composition_id="7"),
        ),
        (
            retract("l8", reason="12345"),
            errors.NoteTooLong("reason has 5 characters, the limit is 4", length=5),
        ),
        (retract("l99"), errors.LabelNotFound("no label has the id 'l99'", label_id="l99")),
        (retract("l7"), errors.LabelNotFound("no label has the id 'l7'", label_id="l7")),
        (retract(7), errors.LabelNotFound("no label has the id 7", label_id="7")),
    ],
)
def test_a_refusal_says_what_was_wrong(operation: Operation, refusal: errors.Refused) -> None:
    answer = refused(operation)
    assert type(answer) is type(refusal)
    assert answer.to_dict() == refusal.to_dict()


@pytest.mark.parametrize(
    ("operation", "recovery"),
    [
        (outcome(weight=0), "Give how much this outcome counts, usually 1."),
        (
            learn(created_at="soon"),
            "Write it like 2026-03-02T09:04:00+00:00, or leave it out.",
        ),
        (
            lambda view: decide_revise(view, ONE, "two", None),
            (
                "Give a different text, or connect the two blocks. To change only when its fact "
                "holds, learn the text again with valid_from or valid_until."
            ),
        ),
    ],
)
def test_a_refusal_has_a_specific_recovery_where_needed(
    operation: Operation, recovery: str
) -> None:
    assert refused(operation).recovery == recovery


@pytest.mark.parametrize(
    "operation",
    [
        learn(content="x" * 40),
        learn(tags=["a", " a", "b"]),
        learn(tags=[" " + "t" * 60]),
        learn(category=" " + "c" * 200),
        learn(metadata={"a": "é"}),
        learn(confidence=1),
        learn(confidence=0),
        connect(relation="r" * 100),
        connect(weight=1),
        connect(note="1234"),
        disconnect(reason="1234"),
        outcome(source="s" * 200, weight=1000),
        rezone(zone="z" * 200),
        rezone(zone="z"),
        compose(composition_id="x" * 64, query_hash="h" * 64, output_preview="p" * 2000),
        compose(query="q" * 32_768),
        compose_one(rank=2**31 - 1, score=1e6, preview="p" * 2000),
        compose_one(score=-1e6),
        label(confidence_delta=1),
        label(confidence_delta=-1, notes="n" * 2000),
        retract("l8", reason="1234"),
    ],
)
def test_values_at_the_limits_are_accepted(operation: Operation) -> None:
    assert operation(space()) is not None
