from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, cast

import attrs
import pytest

from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.learning import (
    UNDATED,
    Earlier,
    Learned,
    Lesson,
    Saying,
    decide_fresh,
    decide_learn,
    drafted,
    revised,
)
from mnemic.kernel.errors import FieldRefused, IdCollision, Refused, TagsRefused
from mnemic.kernel.events import BlockLearned, BlockRestated
from mnemic.kernel.model.blocks import ACTIVE, ARCHIVED, INBOX, BlockFacts
from mnemic.kernel.model.identity import BlockId, block_id, content_id
from mnemic.kernel.model.periods import ALWAYS, Period
from mnemic.kernel.model.texts import ERASED, BlockText, Erased
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.reading import Reading
from mnemic.kernel.timestamps import instant
from mnemic.kernel.validation import checked_name, checked_tags, unit_interval

SALT = b"salt"
KNOWN = BlockId("known")


class Knowing:
    """A reading with one block, which it returns for any id."""

    policy = DEFAULT
    highest = None
    salt = SALT
    learned_count = 1

    def __init__(self, text: BlockText | Erased, status: int, **facts: Any) -> None:
        self._text = text
        self._facts = {"status": status, "zone": "trusted", "said_us": 1_000, **facts}

    def number(self, _: str, /) -> int:
        return 0

    def text(self, _: int) -> BlockText | Erased:
        return self._text

    def facts(self, number: int) -> BlockFacts:
        zeros: dict[str, Any] = dict.fromkeys(attrs.fields_dict(BlockFacts), 0) | {"period": ALWAYS}
        fields: dict[str, Any] = {**zeros, "number": number, "id": KNOWN, **self._facts}
        return BlockFacts(**fields)


def knowing(text: BlockText | Erased, status: int = ARCHIVED, **facts: Any) -> Reading:
    return cast("Reading", Knowing(text, status, **facts))


def outcome(reading: Reading, lesson: Lesson, **more: Any) -> Learned:
    return decide_learn(reading, lesson, **more).result


def learned_event(reading: Reading, lesson: Lesson) -> BlockLearned:
    (event,) = decide_learn(reading, lesson).events
    assert isinstance(event, BlockLearned)
    return event


def test_two_texts_of_one_id_are_refused() -> None:
    with pytest.raises(IdCollision) as caught:
        decide_learn(knowing(BlockText(content="another text")), Lesson(content="a text"))
    assert caught.value.code == "id-collision"
    block = block_id("a text", salt=SALT)
    assert caught.value.message == f"the content has the id {block} of another block"
    assert caught.value.facts == {"block_id": block}


@pytest.mark.parametrize("other", ["A text", "a  text"])
def test_case_and_inner_white_space_are_part_of_the_identity(other: str) -> None:
    with pytest.raises(IdCollision):
        decide_learn(knowing(BlockText(content=other)), Lesson(content="a text"))


def test_a_text_in_another_normal_form_is_the_same_block() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    learned = outcome(knowing(BlockText(content=composed)), Lesson(content=f" {decomposed} "))
    assert learned.action == "reactivated"


@pytest.mark.parametrize(
    "other",
    [{"author": "Ann"}, {"metadata": {"user": "u1"}}, {"metadata": {"user": "u2"}}],
)
def test_author_and_metadata_are_part_of_the_identity(other: dict[str, Any]) -> None:
    empty = cast("Reading", Empty())
    plain = outcome(empty, Lesson(content="a text"))
    assert outcome(empty, Lesson(content="a text", **other)).block_id != plain.block_id
    assert outcome(empty, Lesson(content="a text", tags=("t",))).block_id == plain.block_id


class Empty:
    """A reading without blocks."""

    policy = DEFAULT
    highest = None
    salt = SALT

    def __init__(self, learned_count: int = 0) -> None:
        self.learned_count = learned_count

    def number(self, _: str) -> None:
        return None


def said(place: int, **more: Any) -> str:
    """Return the id of a message learned after *place* other blocks."""
    lesson = Lesson(content="yes", category="message", **more)
    return outcome(cast("Reading", Empty(place)), lesson).block_id


def test_a_message_is_also_its_thread_and_its_place() -> None:
    assert said(0) != said(1)
    assert said(0, thread="a") != said(0, thread="b")


@pytest.mark.parametrize("key", ["message_id", "turn"])
def test_a_message_with_an_id_is_the_same_at_any_place(key: str) -> None:
    named = {"thread": "a", "metadata": {key: "m1"}}
    assert said(0, **named) == said(7, **named)
    assert said(0, **named) != said(0, thread="a", metadata={key: "m2"})


def test_a_known_statement_is_restated() -> None:
    reading = knowing(BlockText(content="a text"), ACTIVE)
    learned = decide_learn(reading, Lesson(content="a text", source="user"))
    restated = BlockRestated(block_id=KNOWN, source="user")
    now = Saying(zone="trusted", said_us=None, is_now=True)
    assert learned == Decision((restated,), Learned(block_id=KNOWN, action="restated", saying=now))
    undated = decide_learn(reading, Lesson(content="a text", created_at=UNDATED)).events
    assert undated == (BlockRestated(block_id=KNOWN, undated=True),)


@pytest.mark.parametrize(("said_us", "action"), [(999, "restated"), (1_000, "duplicate")])
def test_a_statement_dated_before_it_was_last_said_changes_nothing(
    said_us: int, action: str
) -> None:
    reading = knowing(BlockText(content="a text"), INBOX, said_us=said_us)
    dated = Lesson(content="a text", created_at="1970-01-01T00:00:00.001Z")
    assert outcome(reading, dated).action == action
    undated = knowing(BlockText(content="a text"), INBOX, said_us=None)
    assert outcome(undated, dated).action == "restated"


ENDED = Period(None, 1_000_000)
ENDS = {"valid_until": "1970-01-01T00:00:01Z"}


@pytest.mark.parametrize("category", ["knowledge", "message"])
@pytest.mark.parametrize("said_us", [999, 1_000])
def test_another_period_is_recorded_and_moves_a_date_only_forwards(
    said_us: int, category: str
) -> None:
    text = BlockText(content="a text", metadata='{"turn":"m1"}')
    reading = knowing(text, INBOX, said_us=said_us)
    dated = Lesson(
        content="a text",
        created_at="1970-01-01T00:00:00.001Z",
        category=category,
        metadata={"turn": "m1"},
        **ENDS,
    )
    is_later = said_us == 999 and category == "knowledge"
    (event,) = decide_learn(reading, dated).events
    assert event == BlockRestated(
        block_id=KNOWN,
        said_us=1_000 if is_later else None,
        undated=not is_later,
        valid_until_us=1_000_000,
    )
    known = knowing(text, INBOX, said_us=1_000, period=ENDED)
    assert outcome(known, dated).action == "duplicate"


def test_a_text_said_again_without_a_period_keeps_the_one_it_has() -> None:
    learned = outcome(
        knowing(BlockText(content="a text"), ACTIVE, period=ENDED), Lesson(content="a text")
    )
    assert learned.saying == Saying(zone="trusted", said_us=None, is_now=True, period=ENDED)


def test_a_period_of_a_lower_zone_changes_nothing() -> None:
    lesson = Lesson(content="a text", source="web", **ENDS)
    assert outcome(knowing(BlockText(content="a text"), ACTIVE), lesson).action == "duplicate"


@pytest.mark.parametrize("until", ["2020-01-01", "2019-12-31T23:59:59Z"])
def test_a_period_that_ends_before_it_begins_is_refused(until: str) -> None:
    lesson = Lesson(content="a text", valid_from="2020-01-01", valid_until=until)
    with pytest.raises(FieldRefused, match="is not after valid_from") as refused:
        decide_learn(cast("Reading", Empty()), lesson)
    assert refused.value.facts == {"field": "valid_until"}


def test_a_source_of_a_lower_zone_restates_nothing() -> None:
    reading = knowing(BlockText(content="a text"), ACTIVE)
    assert outcome(reading, Lesson(content="a text", source="web")).action == "duplicate"
    lower = knowing(BlockText(content="a text"), ACTIVE, zone="external")
    assert outcome(lower, Lesson(content="a text")).action == "restated"


def test_the_same_message_is_a_duplicate() -> None:
    text = BlockText(content="yes", metadata='{"turn":"m1"}')
    lesson = Lesson(content="yes", category="message", metadata={"turn": "m1"})
    assert outcome(knowing(text, ACTIVE), lesson).action == "duplicate"


def test_a_lesson_repeated_in_a_batch_is_restated_unless_it_is_dated() -> None:
    empty = cast("Reading", Empty())
    first = learned_event(empty, Lesson(content="a text"))
    now = Saying(zone="trusted", said_us=None, is_now=True)
    earlier = Earlier(created=1, said={first.block_id: now})
    again = outcome(empty, Lesson(content="a text"), earlier=earlier)
    assert (again.block_id, again.action) == (first.block_id, "restated")
    dated = Lesson(content="a text", created_at="2026-01-01")
    assert outcome(empty, dated, earlier=earlier).action == "duplicate"


@pytest.mark.parametrize(("said_us", "action"), [(999, "restated"), (1_000, "duplicate")])
def test_a_batch_counts_what_its_earlier_lessons_said_and_not_what_was_said_before(
    said_us: int, action: str
) -> None:
    dated = Lesson(content="a text", created_at="1970-01-01T00:00:00.001Z")
    for status in (ARCHIVED, ACTIVE):
        reading = knowing(BlockText(content="a text"), status, said_us=7)
        earlier = Earlier(said={KNOWN: Saying(zone="trusted", said_us=said_us)})
        learned = outcome(reading, dated, earlier=earlier)
        assert (learned.block_id, learned.action) == (KNOWN, action)
        assert learned.saying.said_us == 1_000


def test_a_message_of_a_batch_has_its_place_after_the_new_blocks_before_it() -> None:
    lesson = Lesson(content="yes", category="message")
    in_batch = outcome(cast("Reading", Empty(1)), lesson, earlier=Earlier(created=2))
    assert in_batch.block_id == outcome(cast("Reading", Empty(3)), lesson).block_id


def test_nothing_collides_with_an_erased_text() -> None:
    assert outcome(knowing(ERASED), Lesson(content="a text")).action == "reactivated"


def test_an_event_keeps_the_text_verbatim_and_other_fields_normalised() -> None:
    event = learned_event(
        knowing(ERASED),
        Lesson(
            content=" Two  Words ",
            tags=("b ", "a", "b"),
            category=" fact ",
            metadata={"b": 1, "a": [True]},
            confidence=0.123456789,
        ),
    )
    assert event.text == BlockText(
        of=(event.block_id,),
        content=" Two  Words ",
        tags=("a", "b"),
        metadata='{"a":[true],"b":1}',
    )
    assert (event.category, event.confidence) == ("fact", 123_456_789)
    assert (event.created_at_us, event.undated, event.expires_at_us) == (None, False, None)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, None),
        ("1970-01-01", 0),
        ("1970-01-01T00:00:00.000001", 1),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("1970-01-01T01:00:00+01:00", 0),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=-1))), 7_200_000_000),
        (datetime(1970, 1, 2), 86_400_000_000),  # noqa: DTZ001 - naive is UTC
    ],
)
def test_instants_are_microseconds_of_the_epoch(given: object, read: int | None) -> None:
    assert instant("at", given) == read


@pytest.mark.parametrize(
    "given", ["", "now", "2026-02-30", 0, 1.5, date(2026, 1, 1), b"2026-01-01"]
)
def test_an_invalid_date_is_refused_by_name(given: object) -> None:
    with pytest.raises(FieldRefused) as caught:
        instant("since", given)
    assert caught.value.facts["field"] == "since"


def test_instants_reach_from_the_first_to_the_last_day() -> None:
    first = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
    last = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))
    assert instant("at", first) == -62_135_596_800_000_000 - 14 * 3_600_000_000
    assert instant("at", last) == 253_402_300_799_999_999 + 12 * 3_600_000_000
    assert instant("at", datetime(2026, 1, 1, tzinfo=UTC)) == 1_767_225_600_000_000


@pytest.mark.parametrize(
    ("given", "units"), [(0, 0), (1, NANO), (0.5, 500_000_000), (1e-9, 1), (4e-10, 0)]
)
def test_units_are_rounded_to_nano(given: float, units: int) -> None:
    assert unit_interval("confidence", given) == units


@pytest.mark.parametrize("given", [-1e-12, 1.0000001, float("nan"), float("inf"), True, None, "1"])
def test_a_number_outside_the_unit_interval_is_refused(given: object) -> None:
    with pytest.raises(FieldRefused):
        unit_interval("confidence", given)


def test_limits_come_from_the_policy() -> None:
    tight = Policy(tags_max=1, tag_length_max=2)
    assert checked_tags(["ab", " ab "], tight) == ("ab",)
    for tags in (["a", "b"], ["abc"]):
        with pytest.raises(TagsRefused):
            checked_tags(tags, tight)


@pytest.mark.parametrize("given", ["", "  ", None, 7, "n" * 201, "\ud800"])
def test_an_invalid_name_is_refused(given: object) -> None:
    with pytest.raises(Refused) as caught:
        checked_name("source", given)
    assert caught.value.facts["field"] == "source"


def test_tags_from_an_iterator_can_be_read_more_than_once() -> None:
    assert Lesson(content="new", tags=iter(["a", "b"])).tags == ("a", "b")


# --- ids of earlier releases ------------------------------------------------------------------


class Old(Knowing):
    """A reading with one block, under the id that an earlier release gave its content."""

    def number(self, name: str, /) -> Any:
        return 0 if name == content_id("a text", salt=SALT) else None


def old(text: BlockText | Erased, status: int = ACTIVE) -> Reading:
    return cast("Reading", Old(text, status))


def test_a_block_of_an_earlier_release_is_known_by_its_content() -> None:
    reading = old(BlockText(content="a text", author="Ann"))
    restated = outcome(reading, Lesson(content="a text", author="Ann"))
    assert (restated.block_id, restated.action) == (KNOWN, "restated")
    event = learned_event(
        old(BlockText(content="a text", author="Ann"), ARCHIVED),
        Lesson(content="a text", author="Ann"),
    )
    assert (event.block_id, event.text.of) == (KNOWN, (KNOWN,))


@pytest.mark.parametrize(
    ("text", "category"),
    [
        (BlockText(content="a text", author="Ben"), "knowledge"),
        (BlockText(content="a text", author="Ann"), "message"),
        (ERASED, "knowledge"),
    ],
)
def test_what_only_shares_its_content_is_a_block_of_its_own(
    text: BlockText | Erased, category: str
) -> None:
    learned = outcome(old(text), Lesson(content="a text", author="Ann", category=category))
    assert learned.action == "created"
    assert learned.block_id not in {KNOWN, content_id("a text", salt=SALT)}
    assert learned.saying == Saying(zone="trusted", said_us=None, is_now=True)


def test_a_new_block_is_drafted_under_its_id() -> None:
    empty = cast("Reading", Empty())
    drafts = drafted(empty, Lesson(content="a text"))
    assert decide_fresh(empty, drafts).events == (drafts,)
    assert drafts.text.of == (drafts.block_id,) == (block_id("a text", salt=SALT),)


def test_what_was_said_earlier_in_a_batch_is_not_looked_up_by_content() -> None:
    reading, lesson = old(BlockText(content="a text")), Lesson(content="a text")
    mine = drafted(reading, lesson).block_id
    before = Saying(zone="trusted", said_us=5)
    learned = outcome(reading, lesson, earlier=Earlier(said={mine: before}))
    assert (learned.block_id, learned.action) == (mine, "restated")


def test_the_revision_of_a_message_stays_in_its_place() -> None:
    empty = cast("Reading", Empty(3))
    given: dict[str, Any] = {"category": "message", "thread": "a"}
    draft = drafted(empty, Lesson(content="yes", **given))
    text = BlockText(content="no", thread="a")
    expected = drafted(empty, Lesson(content="no", **given)).block_id
    assert revised(empty, draft, text).block_id == expected
    named = BlockText(content="no", thread="a", metadata='{"turn":"m1"}')
    lesson = Lesson(content="no", metadata={"turn": "m1"}, **given)
    assert revised(empty, draft, named).block_id == drafted(empty, lesson).block_id
    elsewhere = BlockText(content="no", thread="b")
    assert revised(empty, draft, elsewhere).block_id != expected
    fact = drafted(empty, Lesson(content="yes"))
    assert revised(empty, fact, BlockText(content="no")).block_id == block_id("no", salt=SALT)


def test_a_role_is_stored_as_metadata() -> None:
    empty = cast("Reading", Empty())
    text = drafted(empty, Lesson(content="a text", role="user", metadata={"k": 1})).text
    assert isinstance(text, BlockText)
    assert text.metadata == '{"k":1,"role":"user"}'
    with pytest.raises(FieldRefused):
        drafted(empty, Lesson(content="a text", role="owner"))
