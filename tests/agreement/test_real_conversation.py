"""The main use on real input: one whole conversation, learned, queried, replayed and verified.

The conversations are in a shared folder next to the checkout; without them the tests are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from mnemic.adapters import importers
from mnemic.adapters.importers import Reading
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock

CONVERSATIONS = Path(__file__).parents[3] / "shared" / "data" / "locomo-dev.json"
CONVERSATION = "conv-43"
RECALLED = 0.55
"""Least mean share of the evidence among the first ten; measured 0.589, every recall recorded."""
REPLAYED = 50

pytestmark = pytest.mark.skipif(
    not CONVERSATIONS.exists(), reason="shared/data/locomo-dev.json is not available"
)


@frozen
class Asked:
    """One question of the conversation, and its result."""

    decision: str
    evidence: frozenset[str]
    """Blocks of the turns that hold the answer."""
    found: tuple[str, ...]


@frozen
class Heard:
    """A completely learned conversation, and all its questions."""

    memory: SyncMemory
    turns: dict[str, str]
    """Block of each turn."""
    asked: tuple[Asked, ...]


@pytest.fixture(scope="module")
def conversation() -> dict[str, Any]:
    document = json.loads(CONVERSATIONS.read_bytes())
    return next(each for each in document["conversations"] if each["id"] == CONVERSATION)


@pytest.fixture(scope="module")
def heard(
    conversation: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Generator[Heard]:
    turns: dict[str, str] = {}
    path = tmp_path_factory.mktemp("conversation") / "agent.db"
    # Its clock stays still, so the first recall promotes everything, however slow the machine.
    with SyncMemory.open(path, actor="test", clock=ManualClock()) as memory:
        for sitting in importers.read(CONVERSATIONS, Reading(conversation=CONVERSATION)):
            lessons = [item.lesson or {} for item in sitting.items]
            with memory.session():
                learned = memory.learn_many(lessons).results
            turns |= {
                lesson["metadata"]["turn"]: result.block_id
                for lesson, result in zip(lessons, learned, strict=True)
            }
        asked = [_ask(memory, question, turns) for question in conversation["questions"]]
        yield Heard(memory, turns, tuple(asked))


def _ask(memory: SyncMemory, question: dict[str, Any], turns: dict[str, str]) -> Asked:
    answer = memory.recall(question["question"], top_k=10)
    evidence = frozenset(turns[turn] for turn in question["evidence"] if turn in turns)
    return Asked(answer.decision_id or "", evidence, answer.block_ids)


def test_every_turn_is_learned_with_its_words_speaker_and_date(
    heard: Heard, conversation: dict[str, Any]
) -> None:
    blocks = {turn: heard.memory.block(block) for turn, block in heard.turns.items()}
    kept = {
        turn: (block.content, block.author, (block.created_at or "")[:19])
        for turn, block in blocks.items()
    }
    first_said = {
        turn["text"].casefold(): (turn["text"], turn["speaker"], turn["at"])
        for turn in reversed(conversation["turns"])
    }
    assert kept == {
        turn["id"]: first_said[turn["text"].casefold()] for turn in conversation["turns"]
    }


def test_everything_learned_is_consolidated_and_linked(heard: Heard) -> None:
    status = heard.memory.status()
    assert (status.inbox, status.active) == (0, len(set(heard.turns.values())))
    assert status.edges > status.active


def test_the_evidence_for_most_questions_is_among_the_first_ten(heard: Heard) -> None:
    shares = [
        len(asked.evidence.intersection(asked.found)) / len(asked.evidence)
        for asked in heard.asked
        if asked.evidence
    ]
    assert len(shares) > 150
    assert sum(shares) / len(shares) >= RECALLED


def test_decisions_from_first_to_last_are_reproduced(heard: Heard) -> None:
    step = len(heard.asked) // REPLAYED
    outcomes = [
        heard.memory.replay(asked.decision).outcome for asked in heard.asked[::step][:REPLAYED]
    ]
    assert outcomes == ["reproduced"] * REPLAYED


def test_the_log_is_sound(heard: Heard) -> None:
    found = heard.memory.verify()
    assert (found.sound, found.events) == (True, heard.memory.status().version + 1)
