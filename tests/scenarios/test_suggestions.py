"""The memory notices what belongs together and asks; the agent decides what it means."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.policy import Policy
from tests.scenarios.conftest import Learn, Open

Near = Callable[..., ScriptedEmbedder]


@pytest.fixture
def memory(opened: Open, near: Near) -> SyncMemory:
    """A memory in which a question brings up two blocks that are not like each other."""
    return opened(embedder=near(["question", "tide", "moon"], tide=0.5, moon=0.5))


def test_before_use_alone_ties_two_blocks_the_agent_is_asked_what_ties_them(
    memory: SyncMemory, learn: Learn
) -> None:
    tide, moon = learn(memory, "tide", "moon")
    with memory.session():
        memory.recall("question")
    with memory.session():
        told = memory.recall("question", suggest=True)
        (suggestion,) = told.suggested_connections
        assert {suggestion.source_id, suggestion.target_id} == {tide, moon}
        assert {suggestion.source_content, suggestion.target_content} == {"tide", "moon"}
        assert (suggestion.suggested_relation, bool(suggestion.reason)) == ("co_occurs", True)
        assert 0.0 < suggestion.confidence <= 1.0
        made = memory.connect(
            suggestion.source_id, suggestion.target_id, "supports", note="the moon pulls the tide"
        )
    assert (made.action, made.relation) == ("created", "supports")
    with memory.session():
        assert memory.recall("question", suggest=True).suggested_connections == ()
    assert [edge.relation for edge in memory.edges(tide)] == ["supports"]


def test_left_alone_the_third_session_ties_them(memory: SyncMemory, learn: Learn) -> None:
    tide, _ = learn(memory, "tide", "moon")
    for _ in range(3):
        with memory.session():
            memory.recall("question")
            memory.recall("question")
    (edge,) = memory.edges(tide)
    assert (edge.relation, edge.weight, edge.origin) == ("co_occurs", 0.55, "co_retrieval")


def test_blocks_that_are_very_much_alike_and_have_no_edge_are_suggested(
    opened: Open, near: Near, learn: Learn
) -> None:
    policy = Policy(name="no edges by likeness", edge_threshold=1.0)
    memory = opened(embedder=near(["tide", "flood", "cargo"], flood=0.85), policy=policy)
    tide, flood, _ = learn(memory, "tide", "flood", "cargo")
    (suggestion,) = memory.recall("tide", top_k=1, suggest=True).suggested_connections
    assert {suggestion.source_id, suggestion.target_id} == {tide, flood}
    assert suggestion.suggested_relation == "similar"
    assert suggestion.confidence > 0.8


def test_there_are_never_more_than_three_and_none_unasked(
    opened: Open, near: Near, learn: Learn
) -> None:
    alike = [f"flood{number}" for number in range(6)]
    policy = Policy(name="no edges by likeness", edge_threshold=1.0)
    cosines = {text: 0.82 + 0.01 * place for place, text in enumerate(alike)}
    memory = opened(embedder=near(["tide", *alike], **cosines), policy=policy)
    _, *blocks = learn(memory, "tide", *alike)
    assert memory.recall("tide").suggested_connections == ()
    told = memory.recall("tide", top_k=1, suggest=True).suggested_connections
    assert len(told) == 3
    assert sorted((each.confidence for each in told), reverse=True) == [
        each.confidence for each in told
    ]
    assert [{each.source_id, each.target_id} & set(blocks) for each in told] == [
        {blocks[5]},
        {blocks[4]},
        {blocks[3]},
    ]
