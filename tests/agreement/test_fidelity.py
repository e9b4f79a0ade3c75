"""Answers given while a conversation was being learned are reproduced when it is finished.

Once with a conversation of seeded words, and once with a real one, if it is available next to
the checkout. benchmarks/fidelity.py does the same at length.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock

CONVERSATIONS = Path(__file__).parents[3] / "shared" / "data" / "locomo-dev.json"
CONVERSATION = "conv-30"
TOP_K = 10
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONDAY = datetime(2024, 3, 4, 18, tzinfo=UTC)


@frozen
class Sitting:
    """The turns of one evening, and the questions at its end."""

    at: datetime
    lessons: list[dict[str, Any]]
    questions: list[str]


@frozen
class Decision:
    """One recorded answer."""

    id: str
    question: str
    asked_at: datetime
    blocks: tuple[str, ...]


@frozen
class Finished:
    """A finished conversation, and all answers given during it."""

    memory: SyncMemory
    decisions: list[Decision]


def made_up() -> list[Sitting]:
    """Return ten weekly sittings of two speakers; questions are about any week, also later ones.

    Early weeks use few of the words, so that the weight of a word changes during the conversation.
    """
    chance = Random(11)  # noqa: S311 - seeded, not secret
    words = ["".join(chance.choices("abdegiklmnoprstu", k=5)) for _ in range(120)]

    def sentence(week: int) -> str:
        return " ".join(chance.choices(words[: 20 + 10 * week], k=9))

    return [
        Sitting(
            at=MONDAY + timedelta(weeks=week),
            lessons=[
                _lesson(
                    content=f"{week}.{turn} {sentence(week)}",
                    speaker=("Ada", "Ben")[turn % 2],
                    at=MONDAY + timedelta(weeks=week),
                    thread=f"talk/{week}",
                )
                for turn in range(12)
            ],
            questions=[" ".join(chance.choices(words, k=4)) for _ in range(6)],
        )
        for week in range(10)
    ]


def real() -> list[Sitting]:
    """Return a real conversation; each question is asked directly after its evidence."""
    found = json.loads(CONVERSATIONS.read_bytes())["conversations"]
    conversation = next(each for each in found if each["id"] == CONVERSATION)
    session_of = {turn["id"]: turn["session"] for turn in conversation["turns"]}
    asked: dict[int, list[str]] = {}
    for question in conversation["questions"]:
        last = max(session_of[turn] for turn in question["evidence"])
        asked.setdefault(last, []).append(question["question"])
    said: dict[int, list[dict[str, Any]]] = {}
    for turn in conversation["turns"]:
        said.setdefault(turn["session"], []).append(turn)
    return [_evening(session, said[session], asked.get(session, [])) for session in sorted(said)]


def _evening(session: int, turns: list[dict[str, Any]], questions: list[str]) -> Sitting:
    at = datetime.fromisoformat(turns[-1]["at"]).replace(tzinfo=UTC)
    lessons = [
        _lesson(content=turn["text"], speaker=turn["speaker"], at=at, thread=f"talk/{session}")
        for turn in turns
    ]
    return Sitting(at=at, lessons=lessons, questions=questions)


def _lesson(*, content: str, speaker: str, at: datetime, thread: str) -> dict[str, Any]:
    return {
        "content": content,
        "category": "message",
        "author": speaker,
        "created_at": at,
        "thread": thread,
    }


SOURCES = [
    pytest.param(made_up, id="made up"),
    pytest.param(
        real,
        id="real",
        marks=pytest.mark.skipif(
            not CONVERSATIONS.exists(),
            reason="the conversations are not available",
        ),
    ),
]


@pytest.fixture(scope="module", params=SOURCES)
def finished(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Finished]:
    path = tmp_path_factory.mktemp("fidelity") / "agent.db"
    clock = ManualClock()
    decisions = []
    with SyncMemory.open(path, embedder=HashEmbedder(64), clock=clock) as memory:
        for sitting in request.param():
            clock.set(sitting.at + timedelta(minutes=10))
            with memory.session():
                memory.learn_many(sitting.lessons)
                for question in sitting.questions:
                    clock.advance(seconds=20)
                    decisions.append(_decided(memory, clock, question))
    with SyncMemory.open(path, embedder=HashEmbedder(64), clock=clock) as memory:
        yield Finished(memory, decisions)


def _decided(memory: SyncMemory, clock: ManualClock, question: str) -> Decision:
    asked_at = EPOCH + timedelta(microseconds=clock.now_us())
    answer = memory.recall(question, top_k=TOP_K)
    assert answer.decision_id is not None
    return Decision(answer.decision_id, question, asked_at, answer.block_ids)


def test_every_answer_is_reproduced_from_the_finished_log(finished: Finished) -> None:
    result = [finished.memory.replay(decision.id) for decision in finished.decisions]
    assert [each.outcome for each in result] == ["reproduced"] * len(finished.decisions)
    assert [each.recall.block_ids if each.recall else () for each in result] == [
        decision.blocks for decision in finished.decisions
    ]


def test_a_view_at_the_version_of_a_decision_gives_the_same_answer(finished: Finished) -> None:
    again = [
        finished.memory.as_of(decision=decision.id).recall(decision.question, top_k=TOP_K)
        for decision in finished.decisions
    ]
    assert [each.block_ids for each in again] == [each.blocks for each in finished.decisions]


def test_a_date_filter_over_the_finished_index_gives_other_answers(finished: Finished) -> None:
    head = finished.memory.status().version
    filtered = [
        finished.memory.as_of(version=head, now=decision.asked_at).recall(
            decision.question, top_k=TOP_K, where={"until": decision.asked_at}
        )
        for decision in finished.decisions
    ]
    same = [
        answer.block_ids == decision.blocks
        for answer, decision in zip(filtered, finished.decisions, strict=True)
    ]
    assert sum(same) < 0.9 * len(same)
