from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, cast

import pytest

from mnemic.kernel.arithmetic import NANO
from mnemic.kernel.decisions.learning import (
    Lesson,
    checked_name,
    checked_tags,
    decide_learn,
    instant,
    unit_interval,
)
from mnemic.kernel.errors import FieldRefused, IdCollision, Refused, TagsRefused
from mnemic.kernel.identity import block_id
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.reading import Reading
from mnemic.kernel.texts import ERASED, BlockText, Erased

SALT = b"salt"


class Knowing:
    """A reading that knows one block, under whatever id is asked for."""

    policy = DEFAULT
    highest = None
    salt = SALT

    def __init__(self, text: BlockText | Erased) -> None:
        self._text = text

    def number(self, _: str) -> int:
        return 0

    def text(self, _: int) -> BlockText | Erased:
        return self._text

    def facts(self, _: int) -> Any:
        class Facts:
            status = 2

        return Facts()


def knowing(text: BlockText | Erased) -> Reading:
    return cast("Reading", Knowing(text))


def test_two_texts_of_one_id_are_refused() -> None:
    with pytest.raises(IdCollision) as caught:
        decide_learn(knowing(BlockText(content="another text")), Lesson(content="a text"))
    assert caught.value.code == "id-collision"
    block = block_id("a text", salt=SALT)
    assert caught.value.message == f"the content has the id {block} of another block"
    assert caught.value.facts == {"block_id": block}


def test_the_same_words_written_otherwise_are_no_collision() -> None:
    learned = decide_learn(knowing(BlockText(content="A  TEXT")), Lesson(content="a text"))
    assert learned.action == "reactivated"


def test_nothing_collides_with_words_that_were_erased() -> None:
    assert decide_learn(knowing(ERASED), Lesson(content="a text")).action == "reactivated"


def test_an_event_keeps_the_words_as_they_were_and_everything_else_normalised() -> None:
    learned = decide_learn(
        knowing(ERASED),
        Lesson(
            content=" Two  Words ",
            tags=("b ", "a", "b"),
            category=" fact ",
            metadata={"b": 1, "a": [True]},
            confidence=0.123456789,
        ),
    )
    event = learned.event
    assert event is not None
    assert event.text == BlockText(
        of=(learned.block_id,),
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
def test_what_is_no_instant_is_refused_by_name(given: object) -> None:
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
def test_what_is_no_unit_is_refused(given: object) -> None:
    with pytest.raises(FieldRefused):
        unit_interval("confidence", given)


def test_limits_come_from_the_policy() -> None:
    tight = Policy(tags_max=1, tag_length_max=2)
    assert checked_tags(["ab", " ab "], tight) == ("ab",)
    for tags in (["a", "b"], ["abc"]):
        with pytest.raises(TagsRefused):
            checked_tags(tags, tight)


@pytest.mark.parametrize("given", ["", "  ", None, 7, "n" * 201, "\ud800"])
def test_what_is_no_name_is_refused(given: object) -> None:
    with pytest.raises(Refused) as caught:
        checked_name("source", given)
    assert caught.value.facts["field"] == "source"
