"""The record of a recall, and what a draw of random bytes means for its last place."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from mnemic.kernel.decisions.recalling import (
    DRAW,
    WORD,
    Asked,
    Found,
    among,
    decide_recall,
    drawn,
    propensity,
)
from mnemic.kernel.events import (
    Answer,
    AnswerRow,
    BlocksPromoted,
    EmbedderAdopted,
    EmbedderIdentity,
    Exploration,
    RecallRecorded,
)
from mnemic.kernel.model.identity import BlockId, SessionId
from mnemic.kernel.model.texts import Embedding, Question
from mnemic.kernel.model.vectors import pack, quantise
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.timestamps import Instant
from tests.kernel.decisions.logs import adopted, folded, learned, promotion

TENTH = NANO // 10
HALF = NANO // 2


LINE = EmbedderIdentity(name="line", dimension=1)
VECTOR = quantise([1.0], dimension=1)
BLOCKS = [BlockId(f"{place:016x}") for place in range(2)]
ACTIVE = folded(
    adopted(DEFAULT),
    EmbedderAdopted(embedder=LINE),
    *(learned(block) for block in BLOCKS),
    *(BlocksPromoted(promotions=(promotion(block, VECTOR),)) for block in BLOCKS),
)
ANSWER = Answer(rows=tuple(AnswerRow(number, NANO, ()) for number in range(2)))
ASKED: dict[str, Any] = {
    "query": "what",
    "vector": VECTOR,
    "where": {"tags": ["b"], "author": ["ann"]},
    "asked_by": "ann",
    "frame": "self",
    "top_k": 7,
    "token_budget": 300,
    "min_probability": NANO // 4,
    "session": SessionId("s"),
}
FOUND: dict[str, Any] = {
    "answer": ANSWER,
    "digest": "d" * 16,
    "answerable": NANO // 3,
    "verdict": "weak",
    "version": 5,
    "at": Instant(11, 12),
    "policy_id": DEFAULT.id,
    "embedder": LINE,
    "recipe": "recall-3+counter",
    "near": (1, 4),
    "explored": Exploration(rate=NANO // 2, pool=2, drawn=1),
    "statistics": ((1, 2, 3),),
}


def recorded(asked: dict[str, Any], found: dict[str, Any]) -> RecallRecorded:
    (event,) = decide_recall(ACTIVE, Asked(**asked), Found(**found), Instant(13, 14)).events
    assert isinstance(event, RecallRecorded)
    return event


def test_the_event_holds_all_that_was_asked_and_found() -> None:
    event = recorded(ASKED, FOUND)
    assert event == RecallRecorded(
        asked=Question(query="what", where='{"author": ["ann"], "tags": ["b"]}', asked_by="ann"),
        vector=Embedding(packed=pack(VECTOR)),
        answer=ANSWER,
        digest="d" * 16,
        policy_id=DEFAULT.id,
        recipe="recall-3+counter",
        read_version=5,
        read_us=11,
        asked_us=12,
        frame="self",
        top_k=7,
        token_budget=300,
        retriever="ann",
        propensity=NANO // 4,
        explored=FOUND["explored"],
        embedder_id=LINE.id,
        staged=((0, 1),),
        near=(1, 4),
        min_probability=NANO // 4,
        answerable=NANO // 3,
        verdict="weak",
        statistics=((1, 2, 3),),
    )
    defaults = {field.name: field.default for field in attrs.fields(RecallRecorded)}
    unset = {name for name, value in defaults.items() if value == getattr(event, name)}
    assert unset == {"linked", "refreshed", "evicted"}


def test_what_was_not_asked_or_computed_is_recorded_as_such() -> None:
    nothing = dict.fromkeys(ASKED, None) | {"frame": "attention"}
    plain = {"near": None, "explored": None, "embedder": None, "answerable": -1, "verdict": ""}
    event = recorded(nothing, {**FOUND, **plain, "statistics": ()})
    assert event == RecallRecorded(
        asked=Question(),
        vector=None,
        answer=ANSWER,
        digest="d" * 16,
        policy_id=DEFAULT.id,
        recipe="recall-3+counter",
        read_version=5,
        read_us=11,
        asked_us=12,
    )
    assert recorded({**nothing, "where": {}}, FOUND).asked == Question()
    assert recorded(ASKED, {**FOUND, "near": ()}).retriever == "ann"


@pytest.mark.parametrize(
    ("kind", "fields", "name"),
    [(kind, fields, name) for kind, fields in ((Asked, ASKED), (Found, FOUND)) for name in fields],
)
def test_leaving_anything_out_is_a_type_error(kind: Any, fields: dict[str, Any], name: str) -> None:
    with pytest.raises(TypeError, match=name):
        kind(**{key: value for key, value in fields.items() if key != name})


def test_asked_and_found_have_no_other_fields() -> None:
    for kind, fields in ((Asked, ASKED), (Found, FOUND)):
        assert {field.name for field in attrs.fields(kind)} == set(fields)


# --- exploration ----------------------------------------------------------------------------


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
