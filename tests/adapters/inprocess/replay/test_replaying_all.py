"""replay_all and its engine: batched answers equal single ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.replay.reevaluation import (
    Decision,
    decision_versions,
    decisions,
    rerun,
    reruns,
)
from mnemic.kernel.errors import FieldRefused, FrameUnknown
from mnemic.kernel.events import Answer, RecallRecorded
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.results import RecallResult, ReplaySummary
from mnemic.specs.strategies import commands, texts
from tests.agreement.test_laws import HISTORIES, World

Open: TypeAlias = Callable[..., SyncMemory]
Busy: TypeAlias = Callable[[SyncMemory], list[RecallResult]]

OTHER = evolve(DEFAULT, name="other", candidates=2, top_k=2, relevance_floor=0.05)
FRAMELESS = evolve(
    DEFAULT,
    name="frameless",
    frames=tuple(each for each in DEFAULT.frames if each.name in {"attention", "self"}),
    default_frame="attention",
)
QUESTIONS = st.lists(
    st.builds(
        commands.Recall,
        query=st.one_of(st.none(), texts.contents()),
        frame=st.sampled_from(("attention", "self", "task", "short_term", "world")),
        top_k=st.sampled_from((None, 1, 3)),
    ),
    min_size=1,
    max_size=6,
)


NOTHING = ReplaySummary(
    decisions=0,
    reproduced=0,
    differs=0,
    sealed=0,
    retired=0,
    first_version=None,
    last_version=None,
)


def summary(**counts: Any) -> ReplaySummary:
    """Return a summary with zeros except for the given fields."""
    return evolve(NOTHING, **counts)


# --- replay_all ---------------------------------------------------------------------------------


def test_every_decision_of_a_busy_history_is_counted_as_reproduced(
    opened: Open, busy: Busy
) -> None:
    memory = opened()
    found = [int(str(each.decision_id)[1:]) for each in busy(memory)]
    progress_calls: list[tuple[int, int]] = []
    result = memory.replay_all(progress=lambda done, todo: progress_calls.append((done, todo)))
    count = len(found)
    assert result == summary(
        decisions=count, reproduced=count, first_version=found[0], last_version=found[-1]
    )
    assert result.is_exact
    assert result.summary == f"Reproduced {count} of {count} decisions."
    assert progress_calls == [(count, count)]  # decisions are done sixteen at a time


def test_only_decisions_in_the_range_are_replayed(opened: Open, busy: Busy) -> None:
    memory = opened()
    first, *_, last = [int(str(each.decision_id)[1:]) for each in busy(memory)]
    alone = summary(decisions=1, reproduced=1)
    assert memory.replay_all(upto=first) == evolve(alone, first_version=first, last_version=first)
    assert memory.replay_all(after=last - 1, upto=10**9) == evolve(
        alone, first_version=last, last_version=last
    )
    nothing = memory.replay_all(after=last)
    assert (nothing, nothing.summary) == (summary(), "No decisions.")
    assert memory.replay_all(after=9, upto=3) == summary()


def test_a_memory_without_any_decision_has_nothing_to_replay(memory: SyncMemory) -> None:
    assert memory.replay_all() == summary()


@pytest.mark.parametrize("wrong", ["3", 3.0, True])
def test_an_invalid_version_is_refused(memory: SyncMemory, wrong: object) -> None:
    with pytest.raises(FieldRefused, match="after must be a version"):
        memory.replay_all(after=wrong)  # type: ignore[arg-type]
    with pytest.raises(FieldRefused, match="upto must be a version"):
        memory.replay_all(upto=wrong)  # type: ignore[arg-type]


def test_decisions_that_read_text_erased_since_are_counted_as_sealed(
    memory: SyncMemory,
) -> None:
    secret = memory.learn("the harbour gate is open").block_id
    memory.learn("the crane is oiled")
    memory.recall("harbour")
    memory.erase(secret)
    memory.recall("crane")
    result = memory.replay_all()
    assert (result.decisions, result.reproduced, result.sealed) == (2, 1, 1)
    assert (result.is_exact, result.summary) == (True, "Reproduced 1 of 2 decisions, 1 sealed.")


def test_erasing_an_archived_text_leaves_what_its_words_were_counted_for(
    memory: SyncMemory,
) -> None:
    """The rarity of every later text was computed from the archived one too, and recorded."""
    known = memory.learn("the harbour gate is open").block_id
    memory.consolidate()
    memory.forget(known)
    memory.learn("the harbour gate is shut")
    memory.recall("harbour")
    memory.erase(known)
    assert memory.replay_all().reproduced == 1


def test_erasing_the_only_text_in_a_language_leaves_questions_in_it_reproduced(
    memory: SyncMemory,
) -> None:
    """A question has as many terms as before, though none is looked up in German any more."""
    known = memory.learn("Die Katzen wohnen nicht mehr am Hafen").block_id
    memory.learn("Anna fed the cats at the harbour, 3 of them")
    memory.consolidate()
    memory.forget(known)
    found = memory.recall("Wohnt eine von den drei Katzen bei Anna?")
    memory.recall("Which cats does Anna feed?")
    memory.erase(known)
    assert len(found.blocks) == 1
    assert memory.replay_all().reproduced == 2


class Words:
    """A token counter that counts words."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def test_decisions_with_an_unavailable_token_counter_are_counted_as_retired(opened: Open) -> None:
    plain, counting = opened(), opened(tokens=Words())
    plain.learn("the harbour gate")
    plain.recall("harbour")
    counting.recall("harbour")
    result = plain.replay_all()
    assert (result.decisions, result.reproduced, result.retired) == (2, 1, 1)
    assert result.summary == "Reproduced 1 of 2 decisions, 1 of a retired recipe."
    assert counting.replay_all().reproduced == 2


def test_explored_decisions_are_reproduced(memory: SyncMemory) -> None:
    for number in range(12):
        memory.learn(f"harbour note {number}", category="message")
    for _ in range(5):
        memory.recall("harbour", top_k=2, explore=1.0)
    assert memory.replay_all().reproduced == 5


# --- the engine ---------------------------------------------------------------------------------


def engine(memory: SyncMemory) -> tuple[SessionHandle, Models]:
    """Return the executor and the models behind the interface."""
    inside = vars(memory)
    return inside["_space"], inside["_shared_models"].models


def one_by_one(memory: SyncMemory, asked: list[Decision]) -> list[tuple[Answer | None, ...]]:
    space, models = engine(memory)
    return [rerun(space, models, each, (None, OTHER, FRAMELESS)).answers for each in asked]


@pytest.mark.extended
@given(history=HISTORIES, questions=QUESTIONS)
def test_batched_answers_equal_single_and_recorded_answers(
    history: list[commands.Command], questions: list[commands.Recall]
) -> None:
    world = World().play([*history[: len(history) // 2], *questions, *history, *questions])
    memory = world.memory
    space, models = engine(memory)
    asked = list(decisions(space, decision_versions(space.view())))
    assert [each.recorded.version for each in asked] == [
        each.version for each in space.recorded(-1) if isinstance(each.event, RecallRecorded)
    ]
    together = list(reruns(space, models, asked, (None, OTHER, FRAMELESS)))
    assert [each.answers for each in together] == one_by_one(memory, asked)
    backwards = reruns(space, models, reversed(asked), (None, OTHER, FRAMELESS))
    assert [each.answers for each in backwards] == one_by_one(memory, asked[::-1])
    recorded = [each.decision.event.answer if each.obstacle is None else None for each in together]
    assert [each.answers[0] if each.answers else None for each in together] == recorded


def test_a_policy_without_the_frame_gives_no_answer(memory: SyncMemory) -> None:
    memory.learn("the harbour gate")
    memory.recall("harbour", frame="world")
    with pytest.raises(FrameUnknown):
        FRAMELESS.frame("world")
    space, models = engine(memory)
    (found,) = reruns(
        space, models, decisions(space, decision_versions(space.view())), (None, FRAMELESS)
    )
    assert (found.answers[0] is None, found.answers[1]) == (False, None)
